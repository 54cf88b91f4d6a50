"""The routing network that processing makes of a map, published in one transaction."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from msgspec import to_builtins

from storage.administration import audit
from storage.administration.audit import (
    MAX_LISTED_IDS,
    AuditChange,
    AuditEntry,
    AuditTarget,
    Operation,
    Origin,
)
from storage.bundles.importing.recovery import hold_import_lease
from storage.bundles.importing.timestamps import has_same_content, set_timestamps
from storage.errors import NetworkOutdatedError
from storage.locations import LOCATIONS, PROCESSED_FIELD, Location
from storage.maps import MAPS, NETWORK_FIELD, NETWORK_STATE_FIELD, PATHFINDING_TAG
from storage.mongo import driver, files
from storage.records.kinds import Document
from storage.records.timestamps import UPDATED_AT, current_timestamp
from storage.records.visibility import AssetScope
from storage.routing_inputs import (
    NetworkState,
    RoutingInputs,
    build_withdrawal,
    describe_change,
    rank_floors,
    read_inputs,
    read_state,
)

_CURRENT_PROJECTION = dict.fromkeys(
    (NETWORK_FIELD, NETWORK_STATE_FIELD, "source", "feet_per_unit"), 1
)
UNROUTABLE = "no two locations reach each other"
REPORT_FIELD = "routing_report"
_ROUTING_FIELDS = (
    "asset_id",
    "tags",
    "routing_tier",
    "source",
    "feet_per_unit",
    NETWORK_FIELD,
    NETWORK_STATE_FIELD,
)


class BuiltFrom(NamedTuple):
    """What a network was built from."""

    inputs: RoutingInputs
    is_from_drawing: bool
    is_scale_given: bool

    @property
    def is_own(self) -> bool:
        """Whether the map has its own drawing, with the floors and the scale of the catalog."""
        return self.inputs.floor_sorts is not None


async def publish_network(
    database: driver.Database,
    map_id: str,
    network: bytes,
    routing_tier: str,
    report: dict[str, Any],
    locations: Sequence[Location],
    origin: Origin | None = None,
    built_from: BuiltFrom | None = None,
) -> None:
    """Publish a map's network, tag, tier, scale and locations together.

    Replaces the locations of an earlier publication. `updated_at` of the map changes only if
    something else does. Without `built_from`, the network is taken to be built from what the
    catalog has now. Raises NetworkOutdatedError if that has changed since it was read;
    ImportRunningError, UnavailableError.
    """

    async def work(session: driver.Session) -> tuple[None, AuditEntry | None]:
        now = current_timestamp()
        maps = database[MAPS.name]
        before = await maps.find_one({"_id": map_id}, _ROUTING_FIELDS, session=session)
        if before is None:
            return None, None
        state = await _build_state(database, before, report, built_from, session, digest)
        writes, changes = await _build_location_writes(database, map_id, locations, now, session)
        if writes:
            await database[LOCATIONS.name].bulk_write(writes, session=session)
        routing = {
            NETWORK_FIELD: digest,
            "routing_tier": routing_tier,
            "feet_per_unit": state.feet_per_unit,
        }
        is_same_map = PATHFINDING_TAG in before.get("tags", ()) and before == before | routing
        updated = {} if is_same_map and not writes else {UPDATED_AT: now}
        derived = {REPORT_FIELD: report, NETWORK_STATE_FIELD: to_builtins(state)}
        await maps.update_one(
            {"_id": map_id},
            {"$set": {**routing, **derived, **updated}, "$addToSet": {"tags": PATHFINDING_TAG}},
            session=session,
        )
        return None, _build_entry("map.processed", before, routing, changes)

    with driver.translate_errors():
        # Hold the import lease: until the transaction commits, no map refers to the new file, and
        # an import would delete it. Nor may one change what has been compared.
        async with hold_import_lease(database):
            digest = await files.write_file(database, network)
            await audit.run_in_transaction(database, origin, work)


async def _build_state(
    database: driver.Database,
    unit_map: Document,
    report: dict[str, Any],
    built_from: BuiltFrom | None,
    session: driver.Session,
    digest: str | None = None,
) -> NetworkState:
    """Return what the network with this digest was built from.

    Raises NetworkOutdatedError if that has changed.
    """
    is_own = bool(unit_map.get("source")) if built_from is None else built_from.is_own
    inputs = await read_inputs(database, unit_map["_id"], is_own=is_own, session=session)
    if built_from is not None and built_from.inputs != inputs:
        raise NetworkOutdatedError(
            f"the map {unit_map['_id']!r} was changed while it was processed; process it again"
        )
    floor_ids = [level["level_id"] for level in report.get("levels", ())]
    scale = report.get("feet_per_unit") or unit_map.get("feet_per_unit")
    last = read_state(unit_map) or NetworkState()
    was_scale_given = last.is_scale_given and last.feet_per_unit == scale
    return NetworkState(
        network=digest,
        source=inputs.source,
        feet_per_unit=scale,
        levels=[] if inputs.floor_sorts is None else rank_floors(inputs.floor_sorts, floor_ids),
        is_from_drawing=built_from is None or built_from.is_from_drawing,
        is_scale_given=was_scale_given or (built_from is not None and built_from.is_scale_given),
    )


async def withdraw_network(
    database: driver.Database,
    map_id: str,
    report: dict[str, Any],
    origin: Origin | None = None,
    built_from: BuiltFrom | None = None,
) -> bool:
    """Remove the network, tag and tier of a map that has proved unroutable; return whether it had
    any.

    Its locations stay: clients may hold their ids, and distances fall back to straight lines.
    Raises NetworkOutdatedError as `publish_network` does; ImportRunningError, UnavailableError.
    """

    async def work(session: driver.Session) -> tuple[bool, AuditEntry | None]:
        where = {"_id": map_id}
        before = await database[MAPS.name].find_one(where, session=session)
        if before is None or (
            PATHFINDING_TAG not in before.get("tags", ()) and read_state(before) is None
        ):
            return False, None
        await _build_state(database, before, report, built_from, session)
        fields = build_withdrawal(before, UNROUTABLE, is_stale=False)
        await database[MAPS.name].update_one(
            where, {"$set": {**fields, REPORT_FIELD: report}}, session=session
        )
        if UPDATED_AT not in fields:
            return False, None
        return bool(before.get(NETWORK_FIELD)), _build_entry("map.withdrawn", before, fields)

    with driver.translate_errors():
        async with hold_import_lease(database):
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


async def find_network_digest(
    database: driver.Database, scope: AssetScope, map_id: str
) -> str | None:
    """Return the digest of a visible map's network file, or None if it is not routable."""
    with driver.translate_errors():
        visible = scope.restrict(MAPS, {"_id": map_id})
        found = await driver.find_documents(
            database, MAPS.name, visible, _CURRENT_PROJECTION, limit=1
        )
    # Imports withdraw what they make stale; this holds whoever else writes to the database.
    is_routable = bool(found) and _describe_routing(found[0]).is_routable
    return found[0][NETWORK_FIELD] if is_routable else None


async def load_routing_states(
    database: driver.Database, scope: AssetScope, map_ids: Sequence[str]
) -> dict[str, RoutingState]:
    """Return the states of visible maps, by id. Raises UnavailableError."""
    with driver.translate_errors():
        visible = scope.restrict(MAPS, {"_id": {"$in": [*map_ids]}})
        found = await driver.find_documents(
            database, MAPS.name, visible, _CURRENT_PROJECTION, limit=len(map_ids)
        )
    return {unit_map["_id"]: _describe_routing(unit_map) for unit_map in found}


def _describe_routing(unit_map: Document) -> RoutingState:
    if unit_map.get(NETWORK_FIELD):
        change = describe_change(unit_map)
        return RoutingState(change is None, change is not None, change)
    state = read_state(unit_map) or NetworkState()
    return RoutingState(False, state.is_stale, state.withdrawn)


async def list_imported_locations(database: driver.Database, map_id: str) -> list[Location]:
    """Return the locations of a map that processing did not create."""
    where = {"unit_map_id": map_id, PROCESSED_FIELD: {"$ne": True}}
    with driver.translate_errors():
        documents = await driver.find_documents(
            database, LOCATIONS.name, where, LOCATIONS.projection, limit=driver.NO_LIMIT
        )
    return LOCATIONS.decode(documents)


async def _build_location_writes(
    database: driver.Database,
    map_id: str,
    locations: Sequence[Location],
    now: str,
    session: driver.Session,
) -> tuple[list[driver.WriteOperation], list[AuditChange]]:
    """Build the writes that replace a map's processed locations; none for unchanged ones.

    Return also what they change, for the audit log.
    """
    where = {"unit_map_id": map_id, PROCESSED_FIELD: True}
    documents = await database[LOCATIONS.name].find(where, session=session).to_list(None)
    live = {document["_id"]: LOCATIONS.fill_defaults(document) for document in documents}
    removed = live.keys() - {location.id for location in locations}
    writes: list[driver.WriteOperation] = []
    ids: dict[Operation, list[str]] = {"inserted": [], "updated": [], "removed": sorted(removed)}
    if removed:
        writes.append(driver.DeleteMany({**where, "_id": {"$in": sorted(removed)}}))
    for location in locations:
        document = LOCATIONS.to_document(location)
        before = live.get(document["_id"])
        if before is None or not has_same_content(LOCATIONS, document, before):
            set_timestamps(LOCATIONS, document, before, now)
            key = document.pop("_id")
            ids["inserted" if before is None else "updated"].append(key)
            writes.append(
                driver.UpdateOne(
                    {"_id": key}, {"$set": {**document, PROCESSED_FIELD: True}}, upsert=True
                )
            )
    return writes, [
        AuditChange(LOCATIONS.name, operation, len(changed), changed[:MAX_LISTED_IDS])
        for operation, changed in ids.items()
        if changed
    ]


def _build_entry(
    action: audit.Action, before: Document, routing: Document, changes: Sequence[AuditChange] = ()
) -> AuditEntry:
    had, has = (
        {field: document.get(field) for field in (NETWORK_FIELD, "routing_tier")}
        for document in (before, routing)
    )
    map_id = before["_id"]
    changed = AuditChange.of_all(MAPS.name, "updated", [map_id], had, has)
    target = AuditTarget(MAPS.name, [map_id])
    return AuditEntry(action, target, [changed, *changes], [before["asset_id"]])
