"""Reads of what maps have in addition to their records: networks, closures, drawings."""

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from resolvers.networks.routable_maps import RoutableMap
from resolvers.request.context import Context, align
from routing.values import Restrictions
from storage import closures, networks
from storage.catalog import MAPS, NETWORK_FIELD
from storage.closures import Closures
from storage.networks import RoutingState
from storage.store import StoredDrawing

MAX_REPORTS_PER_COMMAND = 20
"""Reports on floor plans in one command: a report may have a megabyte."""
MAX_NETWORKS_LOADED = 20
"""Networks of one request that are loaded to say whether they can be: some 20 ms each, once."""


async def load_routable_map(
    context: Context, map_id: str, avoided: Restrictions | None = None
) -> RoutableMap | None:
    """Return the router and locations of a visible map, or None if it is not routable.

    The router uses nothing that is closed, or that is `avoided`.
    """
    return await _load_restricted_map(
        context, map_id, lambda closed: closed | avoided if avoided else closed
    )


async def load_whole_map(context: Context, map_id: str) -> RoutableMap | None:
    """Return a visible map as `load_routable_map` does, with all that is closed."""
    return await _load_restricted_map(context, map_id, lambda _: Restrictions())


async def load_archive(context: Context, digest: str, map_id: str) -> RoutableMap | None:
    """Return the map in an archive; None if it is gone or of another format."""
    cache = context.routable_map_cache
    return await cache.get_or_load(digest, map_id) if cache else None


async def prepare_routes(context: Context, map_id: str) -> None:
    """Start building what routes on a map need now."""
    database = context.log_keys(MAPS, [map_id]).database
    network = await networks.find_network(database, context.caller.scope, map_id)
    if network is not None and context.routable_map_cache is not None:
        closed = to_restrictions(network.closures)
        context.routable_map_cache.prepare(network.digest, map_id, closed)


async def _load_restricted_map(
    context: Context, map_id: str, restrict: Callable[[Restrictions], Restrictions]
) -> RoutableMap | None:
    async def load() -> tuple[str, Restrictions] | None:
        document = context.find_document(map_id)
        if document is not None:  # all reads of a query see the same
            network = networks.read_network(document)
        else:
            database = context.log_keys(MAPS, [map_id]).database
            network = await networks.find_network(database, context.caller.scope, map_id)
        return network and (network.digest, to_restrictions(network.closures))

    network = await context.get_or_load(MAPS, NETWORK_FIELD, map_id, load)
    if network is None or context.routable_map_cache is None:
        return None
    digest, closed = network
    routable = await context.routable_map_cache.get_or_restrict(digest, map_id, restrict(closed))
    if routable is None:
        # Uploading a file emits no change event, so its absence must not be cached.
        context.reads.mark_incomplete()
    return routable


def to_restrictions(closed: Closures) -> Restrictions:
    """Return what routes do not use because it is closed."""
    return Restrictions(
        frozenset(closed.connectors), frozenset(closed.doors), frozenset(closed.spaces)
    )


async def load_routing_states(context: Context, map_ids: Sequence[str]) -> list[RoutingState]:
    """Return whether each map is routable; a map that is not visible is not.

    Of a few maps, the networks are loaded to know; of more, what is recorded has to do.
    """

    async def load(map_ids: list[str]) -> Sequence[RoutingState]:
        database = context.log_keys(MAPS, map_ids).database
        states = await networks.load_routing_states(database, context.caller.scope, map_ids)
        if len(states) <= MAX_NETWORKS_LOADED and context.routable_map_cache is not None:
            for map_id, state in states.items():
                if state.is_routable and await load_whole_map(context, map_id) is None:
                    states[map_id] = networks.UNLOADABLE
        return [states.get(map_id, RoutingState()) for map_id in map_ids]

    return await context.get_loader("routing", load).load(map_ids)


async def load_routing_reports(
    context: Context, map_ids: Sequence[str]
) -> list[dict[str, Any] | None]:
    """Return the report of each map's last processing; None without one, or if not visible."""
    sizes: list[int] = []

    async def load(map_ids: list[str]) -> Sequence[dict[str, Any] | None]:
        database = context.log_keys(MAPS, map_ids).database
        reports = await networks.load_routing_reports(database, context.caller.scope, map_ids)
        sizes.append(len(orjson.dumps(reports)))
        context.budget.check_least(sum(sizes))
        return [reports.get(map_id) for map_id in map_ids]

    loader = context.get_loader("routing reports", load, MAX_REPORTS_PER_COMMAND)
    return await loader.load(map_ids)


async def load_closures(context: Context, map_ids: Sequence[str]) -> list[Closures]:
    """Return what is closed on each map: nothing on one that is not visible."""

    async def load(map_ids: list[str]) -> Sequence[Closures]:
        store = context.log_keys(MAPS, map_ids)
        found = await closures.load_closures(store, context.caller.scope, map_ids)
        return [found.get(map_id, Closures()) for map_id in map_ids]

    return await context.get_loader("closures", load).load(map_ids)


async def load_stored_drawings(
    context: Context, map_ids: Sequence[str | None]
) -> list[StoredDrawing | None]:
    """Return what is known of each map's parsed drawing; None for None and maps without one."""

    async def load(map_ids: list[str | None]) -> Sequence[StoredDrawing | None]:
        keys = [map_id for map_id in map_ids if map_id is not None]
        store = context.log_keys(MAPS, keys)
        found = await store.load_stored_drawings(context.caller.scope, keys) if keys else {}
        return align(map_ids, found)

    return await context.get_loader("stored drawings", load).load(map_ids)


async def load_drawing_digests(context: Context, map_ids: Sequence[str | None]) -> list[str | None]:
    """Return the digest of each map's parsed drawing; None for None and maps without one."""
    return [found and found.digest for found in await load_stored_drawings(context, map_ids)]


async def load_drawings(context: Context, map_ids: Sequence[str]) -> list[bytes | None]:
    """Return each map's parsed drawing as JSON; None for maps without one."""

    store = context.log_keys(MAPS, map_ids)

    async def load(digests: list[str | None]) -> Sequence[bytes | None]:
        keys = {digest for digest in digests if digest is not None}
        check_size = context.budget.check_least
        found = await store.load_drawings(keys, check_size) if keys else {}
        if len(found) < len(keys):
            context.reads.mark_incomplete()  # as for archives: no event tells of a file
        return align(digests, found)

    digests = await load_drawing_digests(context, map_ids)
    return await context.get_loader("drawings", load).load(digests)
