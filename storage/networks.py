"""The networks of maps: publishing and withdrawing one, and whether a map has one that it uses."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from storage import catalog, routing_inputs
from storage.administration import audit
from storage.closures import CLOSURES_FIELD, Closures, read_closures
from storage.importing.import_bundles import hold_import_lease
from storage.mongo import driver
from storage.publication import (
    BuiltFrom,
    Publication,
    build_entry,
    check_unchanged,
    publish,
    write_files,
)
from storage.records.kinds import UPDATED_AT, Document
from storage.records.visibility import ALL_ASSETS, AssetScope, project_asset

_CURRENT_PROJECTION = dict.fromkeys(
    (catalog.NETWORK_FIELD, catalog.NETWORK_STATE_FIELD, "source", "feet_per_unit", "tags"), 1
)
NETWORK_FIELDS = (*_CURRENT_PROJECTION, CLOSURES_FIELD)
"""The fields that `read_network` looks at."""
UNPROCESSED = "it has not been processed since it was imported"
UNROUTABLE = "no two locations reach each other"


async def publish_network(database: driver.Database, publication: Publication) -> None:
    """Publish a map's network, parsed map, tag, tier, scale and locations together.

    Raises NetworkOutdatedError if what it was built from has changed since it was read;
    ImportRunningError, UnavailableError.
    """

    async def work(session: driver.Session) -> tuple[None, audit.AuditEntry | None]:
        await lease.update({}, session)
        await check_unchanged(database, publication.map_id, publication.built_from, session)
        return None, await publish(database, publication, written, session)

    with driver.translate_errors():
        # Hold the import lease: until the transaction commits, no map refers to the new files, and
        # an import would delete them. Nor may one change what has been compared.
        async with hold_import_lease(database) as lease:
            written = await write_files(database, publication)
            await audit.run_audited(database, publication.origin, work)


async def withdraw_network(
    database: driver.Database,
    map_id: str,
    report: dict[str, Any],
    origin: audit.Origin | None = None,
    built_from: BuiltFrom | None = None,
) -> bool:
    """Remove the network, tag and tier of a map that has proved unroutable; return whether it had
    any.

    Its locations stay, since clients may hold their ids and distances fall back to straight lines,
    and so does its parsed map.
    Raises NetworkOutdatedError as `publish_network` does; ImportRunningError, UnavailableError.
    """

    async def work(session: driver.Session) -> tuple[bool, audit.AuditEntry | None]:
        await lease.update({}, session)
        where = {"_id": map_id}
        before = await database[catalog.MAPS.name].find_one(where, session=session)
        if before is None or (
            catalog.PATHFINDING_TAG not in before.get("tags", ())
            and routing_inputs.read_state(before) is None
        ):
            return False, None
        await check_unchanged(database, map_id, built_from, session)
        fields = routing_inputs.build_withdrawal(before, UNROUTABLE, is_stale=False)
        await database[catalog.MAPS.name].update_one(
            where, {"$set": {**fields, catalog.REPORT_FIELD: report}}, session=session
        )
        if UPDATED_AT not in fields:
            return False, None
        return bool(before.get(catalog.NETWORK_FIELD)), build_entry("map.withdrawn", before, fields)

    with driver.translate_errors():
        async with hold_import_lease(database) as lease:
            return await audit.run_audited(database, origin, work)


class RoutingState(NamedTuple):
    """Whether a map is routable, and if it no longer is, why."""

    is_routable: Annotated[bool, "Whether there are routes and walking distances."] = False
    is_stale: Annotated[
        bool,
        "Whether the map was routable, until something changed that its network was built from."
        " Processing it again makes it routable.",
    ] = False
    reason: Annotated[
        str | None, "Why the map is no longer routable, such as `its drawing has changed`."
    ] = None


UNLOADABLE = RoutingState(
    is_stale=True,
    reason="its network is missing or damaged;"
    f" `{routing_inputs.REPROCESS_COMMAND}` builds it again",
)


class CurrentNetwork(NamedTuple):
    """The network of a routable map, and what is closed in it, as read at one time."""

    digest: str
    closures: Closures = Closures()


async def find_network_digest(
    database: driver.Database, scope: AssetScope, map_id: str
) -> str | None:
    """Return the digest of a visible map's network file, or None if it is not routable."""
    network = await find_network(database, scope, map_id)
    return network.digest if network else None


async def find_network(
    database: driver.Database, scope: AssetScope, map_id: str
) -> CurrentNetwork | None:
    """Return the network of a visible map, or None if it is not routable."""
    found = await _find_visible(database, scope, [map_id], dict.fromkeys(NETWORK_FIELDS, 1))
    return read_network(found[0]) if found else None


def read_network(unit_map: Document) -> CurrentNetwork | None:
    """Return the network in a map's document, or None if it is not routable."""
    # Imports withdraw what they make stale; this holds whoever else writes to the database.
    if not _describe_routing(unit_map).is_routable:
        return None
    return CurrentNetwork(unit_map[catalog.NETWORK_FIELD], read_closures(unit_map))


async def load_routing_states(
    database: driver.Database, scope: AssetScope, map_ids: Sequence[str]
) -> dict[str, RoutingState]:
    """Return the states of visible maps, by id. Raises UnavailableError."""
    found = await _find_visible(database, scope, map_ids, _CURRENT_PROJECTION)
    return {unit_map["_id"]: _describe_routing(unit_map) for unit_map in found}


async def load_state(database: driver.Database, map_id: str) -> routing_inputs.NetworkState:
    """Return what is known of what a map's network was built from. Raises UnavailableError."""
    found = await _find_visible(database, ALL_ASSETS, [map_id], {catalog.NETWORK_STATE_FIELD: 1})
    return (routing_inputs.read_state(found[0]) if found else None) or routing_inputs.NetworkState()


async def load_routing_reports(
    database: driver.Database, scope: AssetScope, map_ids: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return the reports on visible maps that have been processed, by id.

    Raises UnavailableError.
    """
    found = await _find_visible(database, scope, map_ids, {catalog.REPORT_FIELD: 1})
    return {each["_id"]: report for each in found if (report := each.get(catalog.REPORT_FIELD))}


async def _find_visible(
    database: driver.Database, scope: AssetScope, map_ids: Sequence[str], projection: Document
) -> Sequence[Document]:
    condition = map_ids[0] if len(map_ids) == 1 else {"$in": [*map_ids]}
    with driver.translate_errors():
        found = await driver.find_documents(
            database,
            catalog.MAPS.name,
            {"_id": condition},
            project_asset(catalog.MAPS, projection),
            limit=len(map_ids),
        )
    return scope.keep_visible(catalog.MAPS, found)


def _describe_routing(unit_map: Document) -> RoutingState:
    if unit_map.get(catalog.NETWORK_FIELD):
        change = routing_inputs.describe_change(unit_map)
        return RoutingState(change is None, change is not None, change)
    state = routing_inputs.read_state(unit_map) or routing_inputs.NetworkState()
    is_claimed = catalog.PATHFINDING_TAG in unit_map.get("tags", ())
    reason = state.withdrawn or (UNPROCESSED if is_claimed else None)
    return RoutingState(False, state.is_stale, reason)


async def list_imported_locations(database: driver.Database, map_id: str) -> list[catalog.Location]:
    """Return the locations of a map that processing did not create."""
    where = {"unit_map_id": map_id, catalog.PROCESSED_FIELD: {"$ne": True}}
    with driver.translate_errors():
        documents = await driver.find_documents(
            database,
            catalog.LOCATIONS.name,
            where,
            catalog.LOCATIONS.projection,
            limit=driver.NO_LIMIT,
        )
    return catalog.LOCATIONS.decode(documents)
