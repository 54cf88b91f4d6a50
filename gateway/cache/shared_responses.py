"""Responses that are the same for all clients, such as documents and files."""

import asyncio
from collections.abc import Callable
from functools import partial

from gateway.cache.cached_response import CachedResponse


class SharedResponses:
    """Responses by name. Each is made when first requested, with all encodings, in a thread.

    They are kept for ever, so their names must be few.
    """

    def __init__(self) -> None:
        self._responses: dict[str, asyncio.Task[CachedResponse]] = {}

    async def get_or_make(self, name: str, make: Callable[[], CachedResponse]) -> CachedResponse:
        """Return a response. Requests that arrive while it is made wait for the same one.

        Raises what `make` raises; then the next request calls it again.
        """
        making = self._responses.get(name)
        if making is None:
            making = asyncio.create_task(asyncio.to_thread(_make_with_encodings, make))
            self._responses[name] = making
            making.add_done_callback(partial(self._forget_failed, name))
        return await asyncio.shield(making)

    def _forget_failed(self, name: str, made: asyncio.Task[CachedResponse]) -> None:
        if made.cancelled() or made.exception() is not None:
            del self._responses[name]


def _make_with_encodings(make: Callable[[], CachedResponse]) -> CachedResponse:
    response = make()
    response.encode_all()
    return response
