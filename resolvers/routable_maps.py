"""Routable maps: the result of processing a map, as one archive in the database.

An archive holds the router, and the positions of the locations when the map was processed. Workers
keep archives in files that they share, and routers in a cache. A router without what is closed or
avoided is built from that of the whole map.
"""

import asyncio
import hashlib
import logging
import mmap
import os
import stat
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from resolvers.request.threads import ROUTING, FairThreads, run_in_thread
from routing.errors import ArchiveError
from routing.values import Restrictions, TravelMode
from storage.cache.cache import Cache
from storage.catalog import Location
from storage.mongo.spans import Span

if TYPE_CHECKING:
    from routing.network.network import Network
    from routing.search.router import Router


MAX_FILES_BYTES = 4 << 30

logger = logging.getLogger("floorgate.routable_maps")


def find_private_directory() -> Path:
    """Return a directory that only this user can change, the same for all of the user's processes.

    It is a new one for this process if what has its name is not private.
    """
    directory = Path(tempfile.gettempdir()) / f"floorgate-maps-{os.getuid()}"
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    status = directory.lstat()
    is_private = stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o077
    if is_private and status.st_uid == os.getuid():
        return directory
    return Path(tempfile.mkdtemp(prefix="floorgate-maps-"))


class ArchiveFiles:
    """Files by the digest of their content, the least recently used of which are removed.

    A file that is removed stays readable for the processes that have mapped it.
    """

    def __init__(self, directory: Path | None = None, max_bytes: int = MAX_FILES_BYTES) -> None:
        self._given_directory = directory
        self._max_bytes = max_bytes

    @cached_property
    def _directory(self) -> Path:
        return self._given_directory or find_private_directory()

    def find(self, digest: str) -> mmap.mmap | None:
        """Map the file of a digest; None if there is none, or it was damaged."""
        try:
            path = self._directory / digest
            with path.open("rb") as file:
                os.utime(path)
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # mmap refuses an empty file
            return None
        return mapped if hashlib.sha256(mapped).hexdigest() == digest else None

    def add(self, digest: str, content: bytes) -> mmap.mmap | bytes:
        """Write a file and map it; where that is impossible, return the content."""
        try:
            self._write(digest, content)
        except OSError as error:
            logger.warning("a network is kept in memory, since no file can be written: %s", error)
        return self.find(digest) or content

    def _write(self, digest: str, content: bytes) -> None:
        with tempfile.NamedTemporaryFile(dir=self._directory, delete=False) as file:
            try:
                file.write(content)
                file.flush()
                # Other processes see all of it or nothing.
                Path(file.name).replace(self._directory / digest)
            except OSError:
                Path(file.name).unlink()
                raise
        self._remove_oldest()

    def _remove_oldest(self) -> None:
        used: list[tuple[int, int, Path]] = []
        for path in self._directory.iterdir():
            with suppress(FileNotFoundError):  # another process has removed it
                status = path.stat()
                used.append((status.st_mtime_ns, status.st_size, path))
        newest_first = sorted(used, reverse=True)
        sizes = accumulate(size for _, size, _ in newest_first)
        for (_, _, path), size in [*zip(newest_first, sizes, strict=True)][1:]:
            if size > self._max_bytes:
                path.unlink(missing_ok=True)


ARCHIVE_KIND = "routable"


class Placement(NamedTuple):
    """Where a location is, in the map's units; its own floor is the first of `floor_ids`."""

    id: str
    name: str
    x: float
    y: float
    floor_ids: tuple[str, ...]

    @property
    def floor_id(self) -> str:
        """The location's own floor; empty if it is on none."""
        return self.floor_ids[0] if self.floor_ids else ""


class RoutableMap(NamedTuple):
    """The router of a map, and its locations by id."""

    router: "Router"
    placements: Mapping[str, Placement]
    whole: "Router | None" = None
    """The router of the map with nothing closed or avoided, if `router` is another."""


def to_placement(location: Location) -> Placement:
    """Return where a location is according to its record."""
    floor_ids = tuple(floor.id for floor in location.floors)
    return Placement(location.id, location.name, location.x, location.y, floor_ids)


def serialize_routable_map(router: "Router", placements: Iterable[Placement]) -> bytes:
    """Return an archive for `deserialize_routable_map`."""
    import numpy as np

    from routing.archive import pack_archive, serialize_router

    content = np.frombuffer(serialize_router(router), np.uint8)
    return pack_archive(ARCHIVE_KIND, {"placements": list(placements)}, {"router": content})


def deserialize_routable_map(buffer: Any) -> RoutableMap:
    """Return the map in an archive; its tables stay in `buffer`. Raises ArchiveError."""
    from routing.archive import deserialize_router, raise_archive_errors, unpack_archive

    with raise_archive_errors():
        values, arrays = unpack_archive(ARCHIVE_KIND, buffer)
        router = deserialize_router(arrays["router"])
        # One object for each id, and for each list of floors: a third of the memory of placements.
        ids = {key: key for key in router.networks[TravelMode.FOOT].location_ids}
        floors: dict[tuple[str, ...], tuple[str, ...]] = {}
        placements = {}
        for key, name, x, y, floor_ids in values["placements"]:
            location_id, on_floors = ids.get(key, key), tuple(floor_ids)
            on_floors = floors.setdefault(on_floors, on_floors)
            placements[location_id] = Placement(location_id, name, x, y, on_floors)
        return RoutableMap(router, placements)


def is_loadable(archive: bytes | None) -> bool:
    """Return whether there is an archive, whole and of this release's format."""
    try:
        return archive is not None and bool(deserialize_routable_map(archive))
    except ArchiveError:
        return False


# Routers without what is closed on a map, or avoided by a client, built when one is asked for.
#
# Taking floor away builds levels again, which takes up to seconds of CPU time. So floor is taken
# away in a thread of its own, apart from searches, and routers over the same floor share it.


MAX_CLOSED_BYTES = 512 << 20
MAX_AVOIDING_BYTES = 128 << 20
"""Routers without what is closed, or what clients avoid, add at most so much to whole maps."""
MAX_ROUTERS_OF_FLOOR = 16
"""Over one floor: clients can avoid eight sets of connectors."""

FloorKey = tuple[str, Restrictions]


@dataclass(frozen=True)
class RestrictedFloor:
    """The networks of a map with less floor, and routers over them by all of the restrictions."""

    original: "Router"
    networks: "Mapping[TravelMode, Network]"
    routers: "dict[Restrictions, Router]" = field(default_factory=dict)

    def weigh(self) -> int:
        """Return the bytes that this takes beside the original."""
        from routing.archive import weigh_networks

        routers = [*self.routers.values()]
        restricted = (self.networks, *(router.networks for router in routers))
        return weigh_networks(
            (network for networks in restricted for network in networks.values()),
            self.original.networks.values(),
        )


FloorCache: TypeAlias = Cache[FloorKey, RestrictedFloor]


class RestrictedRouters:
    """Cache restricted routers by the digest of their archive and what is restricted.

    What clients avoid cannot evict what is closed, which everybody's routes need.
    """

    def __init__(
        self,
        max_closed_bytes: int = MAX_CLOSED_BYTES,
        max_avoiding_bytes: int = MAX_AVOIDING_BYTES,
    ) -> None:
        self._closed, self._avoiding = (
            FloorCache(max_bytes=max_bytes, weigh=lambda _, floor: floor.weigh(), min_entries=1)
            for max_bytes in (max_closed_bytes, max_avoiding_bytes)
        )
        self._lock = threading.Lock()
        """It guards the caches: requests look into them while a thread stores what it has built."""
        # One thread: a second request for a floor finds what the first has built, and however many
        # floors a client asks for, those of others are built in turn with them.
        self._run_build = FairThreads("floor", max_threads=1).run

    async def get_or_build(
        self, digest: str, router: "Router", restrictions: Restrictions
    ) -> "Router":
        """Return the router of an archive without what is restricted.

        It is `router` itself if the map has none of that.
        """
        if restrictions:
            from routing.network.restrictions import omit_ineffective

            restrictions = omit_ineffective(router.networks, restrictions)
        if not restrictions:
            return router
        cache, key = self._cache_of(restrictions), (digest, restrictions.of_floor)
        with self._lock:
            floor = cache.get(key)
        if floor is None:
            takes_long = bool(restrictions.of_floor)
            run = self._run_build if takes_long else run_in_thread
            floor = await run(self._build_floor, cache, key, router)
        built = floor.routers.get(restrictions)
        if built is None:
            built = await run_in_thread(self._build_router, cache, key, floor, restrictions)
        return built

    def _build_floor(self, cache: FloorCache, key: FloorKey, router: "Router") -> RestrictedFloor:
        from routing.network.restrictions import close_floor

        _, restrictions = key
        floor = cache.peek(key, None)
        if floor is None:
            floor = RestrictedFloor(router, close_floor(router.networks, restrictions))
            with self._lock:
                cache.put(key, floor)
        return floor

    def _build_router(
        self, cache: FloorCache, key: FloorKey, floor: RestrictedFloor, restrictions: Restrictions
    ) -> "Router":
        from routing.network.restrictions import close_connectors
        from routing.search.router import Router

        if known := floor.routers.get(restrictions):
            return known
        networks = close_connectors(floor.networks, restrictions)
        tables = {
            mode: table
            for mode, table in floor.original.tables.items()
            if networks[mode] is floor.original.networks[mode]
        }
        built = Router(networks, tables)
        with self._lock:
            if len(floor.routers) >= MAX_ROUTERS_OF_FLOOR:
                floor.routers.clear()
            floor.routers[restrictions] = built
            cache.reweigh(key)
        return built

    def _cache_of(self, restrictions: Restrictions) -> FloorCache:
        is_closed = restrictions.have_ids and not restrictions.outdoors
        return self._closed if is_closed else self._avoiding


MAX_CACHE_BYTES = 2 << 30
"""The files that hold what is cached have at most so much; memory may drop them."""

FileReader = Callable[[str], Awaitable[bytes | None]]


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
            max_bytes=max_bytes,
            weigh=lambda _, cached: cached.size_bytes,
            min_entries=1,
            name="maps",
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
            with Span("wait network"):
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
                routable = await asyncio.to_thread(deserialize_routable_map, archive)
                loaded = CachedRoutableMap(routable, len(archive))
            except ArchiveError as error:
                logger.warning("the map %r has no usable network: %s", map_id, error)
                loaded = CachedRoutableMap(None, 0)
            self._routers.put(digest, loaded)
            return loaded
        finally:
            del self._loading[digest]
