"""The networks of maps: publishing and withdrawing one, and whether a map has one that it uses."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from storage.administration import audit
from storage.administration.audit import (
    AuditEntry,
    Origin,
)
from storage.catalog import (
    LOCATIONS,
    MAPS,
    NETWORK_FIELD,
    NETWORK_STATE_FIELD,
    PATHFINDING_TAG,
    PROCESSED_FIELD,
    REPORT_FIELD,
    Location,
)
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
from storage.routing_inputs import (
    REPROCESS_COMMAND,
    NetworkState,
    build_withdrawal,
    describe_change,
    read_state,
)

_CURRENT_PROJECTION = dict.fromkeys(
    (NETWORK_FIELD, NETWORK_STATE_FIELD, "source", "feet_per_unit", "tags"), 1
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

    async def work(session: driver.Session) -> tuple[None, AuditEntry | None]:
        await lease.update({}, session)
        await check_unchanged(database, publication.map_id, publication.built_from, session)
        return None, await publish(database, publication, written, session)

    with driver.translate_errors():
        # Hold the import lease: until the transaction commits, no map refers to the new files, and
        # an import would delete them. Nor may one change what has been compared.
        async with hold_import_lease(database) as lease:
            written = await write_files(database, publication)
            await audit.run_in_transaction(database, publication.origin, work)


async def withdraw_network(
    database: driver.Database,
    map_id: str,
    report: dict[str, Any],
    origin: Origin | None = None,
    built_from: BuiltFrom | None = None,
) -> bool:
    """Remove the network, tag and tier of a map that has proved unroutable; return whether it had
    any.

    Its locations stay, since clients may hold their ids and distances fall back to straight lines,
    and so does its parsed map.
    Raises NetworkOutdatedError as `publish_network` does; ImportRunningError, UnavailableError.
    """

    async def work(session: driver.Session) -> tuple[bool, AuditEntry | None]:
        await lease.update({}, session)
        where = {"_id": map_id}
        before = await database[MAPS.name].find_one(where, session=session)
        if before is None or (
            PATHFINDING_TAG not in before.get("tags", ()) and read_state(before) is None
        ):
            return False, None
        await check_unchanged(database, map_id, built_from, session)
        fields = build_withdrawal(before, UNROUTABLE, is_stale=False)
        await database[MAPS.name].update_one(
            where, {"$set": {**fields, REPORT_FIELD: report}}, session=session
        )
        if UPDATED_AT not in fields:
            return False, None
        return bool(before.get(NETWORK_FIELD)), build_entry("map.withdrawn", before, fields)

    with driver.translate_errors():
        async with hold_import_lease(database) as lease:
            return await audit.run_in_transaction(database, origin, work)


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
    reason=f"its network is missing or damaged; `{REPROCESS_COMMAND}` builds it again",
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
    with driver.translate_errors():
        found = await _find_visible(database, scope, [map_id], dict.fromkeys(NETWORK_FIELDS, 1))
    return read_network(found[0]) if found else None


def read_network(unit_map: Document) -> CurrentNetwork | None:
    """Return the network in a map's document, or None if it is not routable."""
    # Imports withdraw what they make stale; this holds whoever else writes to the database.
    if not _describe_routing(unit_map).is_routable:
        return None
    return CurrentNetwork(unit_map[NETWORK_FIELD], read_closures(unit_map))


async def load_routing_states(
    database: driver.Database, scope: AssetScope, map_ids: Sequence[str]
) -> dict[str, RoutingState]:
    """Return the states of visible maps, by id. Raises UnavailableError."""
    with driver.translate_errors():
        found = await _find_visible(database, scope, map_ids, _CURRENT_PROJECTION)
    return {unit_map["_id"]: _describe_routing(unit_map) for unit_map in found}


async def load_state(database: driver.Database, map_id: str) -> NetworkState:
    """Return what is known of what a map's network was built from. Raises UnavailableError."""
    with driver.translate_errors():
        found = await _find_visible(database, ALL_ASSETS, [map_id], {NETWORK_STATE_FIELD: 1})
    return (read_state(found[0]) if found else None) or NetworkState()


async def load_routing_reports(
    database: driver.Database, scope: AssetScope, map_ids: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return the reports on visible maps that have been processed, by id.

    Raises UnavailableError.
    """
    with driver.translate_errors():
        found = await _find_visible(database, scope, map_ids, {REPORT_FIELD: 1})
    return {each["_id"]: report for each in found if (report := each.get(REPORT_FIELD))}


async def _find_visible(
    database: driver.Database, scope: AssetScope, map_ids: Sequence[str], projection: Document
) -> Sequence[Document]:
    condition = map_ids[0] if len(map_ids) == 1 else {"$in": [*map_ids]}
    found = await driver.find_documents(
        database,
        MAPS.name,
        {"_id": condition},
        project_asset(MAPS, projection),
        limit=len(map_ids),
    )
    return scope.keep_visible(MAPS, found)


def _describe_routing(unit_map: Document) -> RoutingState:
    if unit_map.get(NETWORK_FIELD):
        change = describe_change(unit_map)
        return RoutingState(change is None, change is not None, change)
    state = read_state(unit_map) or NetworkState()
    is_claimed = PATHFINDING_TAG in unit_map.get("tags", ())
    reason = state.withdrawn or (UNPROCESSED if is_claimed else None)
    return RoutingState(False, state.is_stale, reason)


async def list_imported_locations(database: driver.Database, map_id: str) -> list[Location]:
    """Return the locations of a map that processing did not create."""
    where = {"unit_map_id": map_id, PROCESSED_FIELD: {"$ne": True}}
    with driver.translate_errors():
        documents = await driver.find_documents(
            database, LOCATIONS.name, where, LOCATIONS.projection, limit=driver.NO_LIMIT
        )
    return LOCATIONS.decode(documents)
