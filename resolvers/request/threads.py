"""Keep the event loop free: work in threads, pauses in long work, imports in a thread."""

import asyncio
import contextvars
import importlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import TypeVar, TypeVarTuple
from weakref import WeakValueDictionary

from storage.mongo.spans import Span, name_of
from storage.store import OBJECTS_IN_PART as OBJECTS_IN_PART
from storage.store import build_in_parts as build_in_parts
from storage.store import pause_if_due as pause_if_due

# Work in threads, in which API keys take turns.
#
# Python runs one thread at a time, so the work of many requests of one key would delay all others.


T = TypeVar("T")
Ts = TypeVarTuple("Ts")

MAX_THREADS = 6

owner: ContextVar[str] = ContextVar("owner", default="")
"""The id of the API key that this task works for."""


class FairThreads:
    """Threads that do work of each owner one call after another, in the order of the calls."""

    def __init__(self, name: str, max_threads: int = MAX_THREADS) -> None:
        self._name = name
        self._threads = ThreadPoolExecutor(max_threads, name)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Maps an owner that has calls to their turn."""

    async def run(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Return what `function` returns in a thread."""
        turn = self._turns.setdefault(owner.get(), asyncio.Lock())
        with Span(f"wait {self._name} thread"):
            await turn.acquire()
        try:
            with Span(f"thread {self._name} {name_of(function)}"):
                run = contextvars.copy_context().run
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._threads, run, function, *arguments)
        finally:
            turn.release()


run_in_thread = FairThreads("work").run


# Modules that take long to import, and that a gateway needs for some requests only.
#
# What uses them imports them in its functions. A worker loads them in a thread once it is ready; a
# request that comes before waits for `load`, so that the event loop never imports them itself.


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
    "routing.archive",
    "routing.search.matrix",
)
"""Routing imports numpy, shapely and igraph."""
DRAWINGS = DeferredImport("parsing.svg.unit_map", "resolvers.drawings.drawn_features")
"""The classes of the results that other processes make of drawings."""
ALL = (ROUTING, DRAWINGS)
