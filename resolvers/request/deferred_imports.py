"""Modules that take long to import, and that a gateway needs for some requests only.

What uses them imports them in its functions. A worker loads them in a thread once it is ready; a
request that comes before waits for `load`, so that the event loop never imports them itself.
"""

import asyncio
import importlib


class DeferredImport:
    """Modules that are imported in a thread, once.

    >>> asyncio.run(DeferredImport("this_module_is_missing").load())
    Traceback (most recent call last):
    ModuleNotFoundError: No module named 'this_module_is_missing'
    """

    def __init__(self, *modules: str) -> None:
        self._modules = modules
        self._is_loaded = False

    async def load(self) -> None:
        """Return when the modules are there."""
        if not self._is_loaded:
            await asyncio.to_thread(self._import)

    def _import(self) -> None:
        # Several threads may do this at once: Python makes them wait for each other.
        for module in self._modules:
            importlib.import_module(module)
        self._is_loaded = True


ROUTING = DeferredImport(
    "routing.directions.steps",
    "routing.network.restrictions",
    "routing.serialization",
    "routing.search.euclidean",
)
"""With numpy, shapely and igraph."""
DRAWINGS = DeferredImport("parsing.svg.unit_map", "resolvers.drawings.drawn_features")
"""For what other processes make of drawings: the classes of their results."""
ALL = (ROUTING, DRAWINGS)
