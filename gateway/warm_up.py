"""What a worker prepares right after it is ready, because no gateway needs it to begin to serve.

A request that needs some of it sooner prepares it itself. See docs/decisions/server/start.md.
"""

import asyncio
from collections.abc import Iterable

from rest.endpoints import DeferredHandler
from rest.path_routing import PathRoute

_PAUSE_SECONDS = 0.002
"""Between two steps, for requests: the event loop is never held for longer than one takes."""


async def warm_up(routes: Iterable[PathRoute]) -> None:
    """Prepare the handlers of all routes."""
    for route in routes:
        for handler in route.handlers.values():
            if isinstance(handler, DeferredHandler):
                handler.prepare()
                await asyncio.sleep(_PAUSE_SECONDS)
