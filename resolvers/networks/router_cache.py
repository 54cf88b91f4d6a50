"""Routers in memory: those of the maps that were asked for last, up to a number of bytes."""

import asyncio
import logging
import mmap
import tempfile
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from resolvers.networks import routable_maps
from resolvers.networks.routable_maps import RoutableMap
from routing.errors import ArchiveError

MAX_CACHE_BYTES = 512 << 20

FileReader = Callable[[str], Awaitable[bytes | None]]

logger = logging.getLogger("floorgate.routers")


class CachedRouter(NamedTuple):
    """A map's router and the size of the archive that it was loaded from."""

    routable: RoutableMap | None
    """None for an archive of no use, so that nobody reads it again."""
    size_bytes: int


class RouterCache:
    """Routers by the digest of their archive, which never changes.

    An archive is mapped from an unnamed file: the system may drop its pages and read them again,
    and workers share none of it by accident. What was asked for longest ago goes first.
    """

    def __init__(self, read_file: FileReader, max_bytes: int = MAX_CACHE_BYTES) -> None:
        self._read_file = read_file
        self._max_bytes = max_bytes
        self._entries: OrderedDict[str, CachedRouter] = OrderedDict()
        self._loading: dict[str, asyncio.Task[CachedRouter | None]] = {}

    async def get_or_load(self, digest: str, map_id: str) -> RoutableMap | None:
        """What a map's archive holds; None when it is gone, or of another version's format."""
        loaded = self._entries.get(digest)
        if loaded is not None:
            self._entries.move_to_end(digest)
            return loaded.routable
        if digest not in self._loading:
            self._loading[digest] = asyncio.create_task(self._load(digest, map_id))
        loaded = await asyncio.shield(self._loading[digest])
        return loaded.routable if loaded else None

    async def _load(self, digest: str, map_id: str) -> CachedRouter | None:
        try:
            content = await self._read_file(digest)
            if content is None:
                return None
            try:
                loaded = CachedRouter(await asyncio.to_thread(_map_archive, content), len(content))
            except ArchiveError as error:
                logger.warning("the map %r is not routed on: %s", map_id, error)
                loaded = CachedRouter(None, 0)
            self._entries[digest] = loaded
            self._evict()
            return loaded
        finally:
            del self._loading[digest]

    def _evict(self) -> None:
        while len(self._entries) > 1 and self._total_bytes() > self._max_bytes:
            self._entries.popitem(last=False)

    def _total_bytes(self) -> int:
        return sum(loaded.size_bytes for loaded in self._entries.values())


def _map_archive(content: bytes) -> RoutableMap:
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()
        return routable_maps.deserialize_routable_map(
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        )
