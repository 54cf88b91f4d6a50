"""What a worker prepares right after it is ready, because no gateway needs it to begin to serve.

A request that needs some of it sooner prepares it itself. See docs/decisions/server/start.md.
"""

import asyncio
import sys
from collections.abc import Iterable

from resolvers.request import threads
from rest.endpoints import DeferredHandler
from rest.path_routing import PathRoute

_PAUSE_SECONDS = 0.002
"""Between two steps, for requests: the event loop is never held for longer than one takes."""


_SWITCH_SECONDS = 0.0005
"""After which Python lets the event loop run while a thread imports; it is 5 ms by default."""


async def warm_up(routes: Iterable[PathRoute]) -> None:
    """Prepare the handlers of all routes, and import what some requests need."""
    for route in routes:
        for handler in route.handlers.values():
            if isinstance(handler, DeferredHandler):
                handler.prepare()
                await asyncio.sleep(_PAUSE_SECONDS)
    switch_seconds = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        for modules in threads.ALL:
            await modules.load()
    finally:
        sys.setswitchinterval(switch_seconds)
