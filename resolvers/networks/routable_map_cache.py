"""The cache of routers, bounded in bytes."""

import asyncio
import logging
import mmap
import tempfile
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import NamedTuple

from resolvers.networks import routable_maps
from resolvers.networks.restricted_routers import RestrictedRouters
from resolvers.networks.routable_maps import RoutableMap
from routing.errors import ArchiveError
from routing.network.restrictions import Restrictions
from storage.cache.cache import Cache

MAX_CACHE_BYTES = 512 << 20

FileReader = Callable[[str], Awaitable[bytes | None]]

logger = logging.getLogger("floorgate.routable_maps")


class CachedRoutableMap(NamedTuple):
    """A routable map and the size of its archive."""

    routable: RoutableMap | None
    """None for an unusable archive, so that it is not read again."""
    size_bytes: int


class RoutableMapCache:
    """Cache routers by the digest of their archive. An archive never changes.

    The tables of a router stay in a memory-mapped unnamed file, so that the kernel may write its
    pages back and drop them when memory is short. An archive larger than `max_bytes` is cached too,
    but alone: reading it again for each request would cost far more.
    """

    def __init__(self, read_file: FileReader, max_bytes: int = MAX_CACHE_BYTES) -> None:
        self._read_file = read_file
        self._routers: Cache[str, CachedRoutableMap] = Cache(
            max_bytes=max_bytes, weigh=lambda _, cached: cached.size_bytes, min_entries=1
        )
        self._restricted = RestrictedRouters()
        self._loading: dict[str, asyncio.Task[CachedRoutableMap | None]] = {}

    async def get_or_restrict(
        self, digest: str, map_id: str, restrictions: Restrictions
    ) -> RoutableMap | None:
        """Return the routable map in an archive with its router restricted; None as below."""
        routable = await self.get_or_load(digest, map_id)
        if routable is None:
            return None
        whole = routable.router
        router = await self._restricted.get_or_build(digest, whole, restrictions)
        return routable if router is whole else RoutableMap(router, routable.placements, whole)

    async def get_or_load(self, digest: str, map_id: str) -> RoutableMap | None:
        """Return the routable map in an archive.

        None if the archive is gone or has another version's format.
        """
        cached = self._routers.get(digest)
        if cached is None:
            # Concurrent requests for one archive share one read.
            if digest not in self._loading:
                # In a context of its own: the deadline of the first request is not that of others.
                self._loading[digest] = asyncio.create_task(
                    self._load(digest, map_id), context=Context()
                )
            cached = await asyncio.shield(self._loading[digest])
        return cached.routable if cached else None

    async def _load(self, digest: str, map_id: str) -> CachedRoutableMap | None:
        try:
            content = await self._read_file(digest)
            if content is None:
                return None
            try:
                loaded = CachedRoutableMap(
                    await asyncio.to_thread(_map_archive, content), len(content)
                )
            except ArchiveError as error:
                logger.warning("the map %r has no usable network: %s", map_id, error)
                loaded = CachedRoutableMap(None, 0)
            self._routers.put(digest, loaded)
            return loaded
        finally:
            del self._loading[digest]


def _map_archive(content: bytes) -> RoutableMap:
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()
        return routable_maps.deserialize_routable_map(
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        )
