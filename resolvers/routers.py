"""Routers in memory: those of the maps that were asked for last, up to a number of bytes."""

import asyncio
import logging
import mmap
import tempfile
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from resolvers import routables
from resolvers.routables import Routable
from routing.errors import FormatError

MOST_BYTES = 512 << 20

ReadFile = Callable[[str], Awaitable[bytes | None]]

logger = logging.getLogger("floorgate.routers")


class Loaded(NamedTuple):
    """A map's router and the size of the archive that it was loaded from."""

    routable: Routable | None
    """None for an archive of no use, so that nobody reads it again."""
    bytes: int


class Routers:
    """Routers by the digest of their archive, which never changes.

    An archive is mapped from an unnamed file: the system may drop its pages and read them again,
    and workers share none of it by accident. What was asked for longest ago goes first.
    """

    def __init__(self, read: ReadFile, most_bytes: int = MOST_BYTES) -> None:
        self._read = read
        self._most_bytes = most_bytes
        self._loaded: OrderedDict[str, Loaded] = OrderedDict()
        self._loading: dict[str, asyncio.Task[Loaded | None]] = {}

    async def get(self, digest: str, map_id: str) -> Routable | None:
        """What a map's archive holds; None when it is gone, or of another version's format."""
        loaded = self._loaded.get(digest)
        if loaded is not None:
            self._loaded.move_to_end(digest)
            return loaded.routable
        if digest not in self._loading:
            self._loading[digest] = asyncio.create_task(self._load(digest, map_id))
        loaded = await asyncio.shield(self._loading[digest])
        return loaded.routable if loaded else None

    async def _load(self, digest: str, map_id: str) -> Loaded | None:
        try:
            content = await self._read(digest)
            if content is None:
                return None
            try:
                loaded = Loaded(await asyncio.to_thread(_map, content), len(content))
            except FormatError as error:
                logger.warning("the map %r is not routed on: %s", map_id, error)
                loaded = Loaded(None, 0)
            self._loaded[digest] = loaded
            self._make_room()
            return loaded
        finally:
            del self._loading[digest]

    def _make_room(self) -> None:
        while len(self._loaded) > 1 and self._size() > self._most_bytes:
            self._loaded.popitem(last=False)

    def _size(self) -> int:
        return sum(loaded.bytes for loaded in self._loaded.values())


def _map(content: bytes) -> Routable:
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()
        return routables.load(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
