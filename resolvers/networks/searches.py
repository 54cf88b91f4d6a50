"""Searches of routable maps, in a thread of their own."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# One thread: GEOS changes a prepared geometry while it tests it, so two searches of a map at once
# end the process.
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="search")


async def run_search(search: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Return what `search` returns, after the searches that were started before."""
    return await asyncio.get_running_loop().run_in_executor(_thread, search, *arguments)
