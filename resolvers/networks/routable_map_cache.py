"""The cache of routers, bounded in bytes."""

import asyncio
import logging
import mmap
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import NamedTuple

from resolvers.networks import routable_maps
from resolvers.networks.archive_files import ArchiveFiles
from resolvers.networks.restricted_routers import RestrictedRouters
from resolvers.networks.routable_maps import RoutableMap
from resolvers.request.threads import ROUTING
from routing.errors import ArchiveError
from routing.values import Restrictions
from storage.cache.cache import Cache

MAX_CACHE_BYTES = 2 << 30
"""Of the files that hold what is cached, and may be dropped from memory."""

FileReader = Callable[[str], Awaitable[bytes | None]]

logger = logging.getLogger("floorgate.routable_maps")


class CachedRoutableMap(NamedTuple):
    """A routable map and the size of its archive."""

    routable: RoutableMap | None
    """None for an unusable archive, so that it is not read again."""
    size_bytes: int


class RoutableMapCache:
    """Cache routers by the digest of their archive. An archive never changes.

    Its arrays stay in a memory-mapped file that all processes share, so that the kernel may drop
    its pages when memory is short. An archive larger than `max_bytes` is cached too, but alone:
    reading it again for each request would cost far more.
    """

    def __init__(
        self,
        read_file: FileReader,
        max_bytes: int = MAX_CACHE_BYTES,
        files: ArchiveFiles | None = None,
    ) -> None:
        self._read_file = read_file
        self._files = files or ArchiveFiles()
        self._routers: Cache[str, CachedRoutableMap] = Cache(
            max_bytes=max_bytes, weigh=lambda _, cached: cached.size_bytes, min_entries=1
        )
        self._restricted = RestrictedRouters()
        self._loading: dict[str, asyncio.Task[CachedRoutableMap | None]] = {}
        self._preparing: set[asyncio.Task[RoutableMap | None]] = set()

    async def get_or_restrict(
        self, digest: str, map_id: str, restrictions: Restrictions
    ) -> RoutableMap | None:
        """Return the routable map in an archive with its router restricted; None as below."""
        routable = await self.get_or_load(digest, map_id)
        if routable is None:
            return None
        whole = routable.router
        router = await self._restricted.get_or_build(digest, whole, restrictions)
        return routable if router is whole else routable._replace(router=router, whole=whole)

    def prepare(self, digest: str, map_id: str, restrictions: Restrictions) -> None:
        """Start building what `get_or_restrict` returns, so that the next request finds it."""
        restricting = self.get_or_restrict(digest, map_id, restrictions)
        # In a context of its own: the deadline of this request does not apply to it.
        task = asyncio.create_task(restricting, context=Context())
        self._preparing.add(task)
        task.add_done_callback(self._end_preparing)

    def _end_preparing(self, task: asyncio.Task[RoutableMap | None]) -> None:
        self._preparing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a router could not be built", exc_info=error)

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
            await ROUTING.load()
            archive: mmap.mmap | bytes | None = await asyncio.to_thread(self._files.find, digest)
            if archive is None:
                archive = await self._read_file(digest)
                if archive is None:
                    return None
                if archive:
                    archive = await asyncio.to_thread(self._files.add, digest, archive)
            try:
                routable = await asyncio.to_thread(routable_maps.deserialize_routable_map, archive)
                loaded = CachedRoutableMap(routable, len(archive))
            except ArchiveError as error:
                logger.warning("the map %r has no usable network: %s", map_id, error)
                loaded = CachedRoutableMap(None, 0)
            self._routers.put(digest, loaded)
            return loaded
        finally:
            del self._loading[digest]
