"""Routers without what is closed on a map, or avoided by a client, built when one is asked for.

Taking floor away builds levels again, which takes up to seconds of CPU time. So floor is taken away
in a thread of its own, apart from searches, and routers over the same floor share it.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from resolvers.request.threads import FairThreads, run_in_thread
from routing.values import Restrictions, TravelMode
from storage.cache.cache import Cache

if TYPE_CHECKING:
    from routing.network.network import Network
    from routing.search.router import Router

MAX_CLOSED_BYTES = 512 << 20
MAX_AVOIDING_BYTES = 128 << 20
"""Of what routers add to those of whole maps, without what is closed and what clients avoid."""
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
        from routing.serialization import weigh_networks

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
        """Of the caches; requests look into them while a thread stores what it has built."""
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
