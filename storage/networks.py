"""The routing network that processing makes of a map, published in one transaction."""

from collections.abc import Sequence
from typing import Any

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
from storage.locations import LOCATIONS, Location
from storage.maps import MAPS, NETWORK_FIELD, NO_ROUTING, PATHFINDING_TAG
from storage.mongo import driver, files
from storage.records.kinds import Document
from storage.records.timestamps import UPDATED_AT, current_timestamp
from storage.records.visibility import AssetScope

REPORT_FIELD = "routing_report"
AUDITED_FIELDS = ("asset_id", "tags", "routing_tier", NETWORK_FIELD)
PROCESSED_FIELD = "processed"
"""Field that marks locations which processing has created and may replace."""


async def publish_network(
    database: driver.Database,
    map_id: str,
    network: bytes,
    routing_tier: str,
    report: dict[str, Any],
    locations: Sequence[Location],
    origin: Origin | None = None,
) -> None:
    """Publish a map's network, tag, tier and locations together.

    Replaces the locations of an earlier publication. `updated_at` of the map changes only if
    something else does. Raises ImportRunningError, UnavailableError.
    """

    async def work(session: driver.Session) -> tuple[None, AuditEntry | None]:
        now = current_timestamp()
        writes, changes = await _build_location_writes(database, map_id, locations, now, session)
        if writes:
            await database[LOCATIONS.name].bulk_write(writes, session=session)
        maps = database[MAPS.name]
        routing = {NETWORK_FIELD: digest, "routing_tier": routing_tier}
        before = await maps.find_one({"_id": map_id}, AUDITED_FIELDS, session=session)
        if before is None:
            return None, None
        is_same_map = PATHFINDING_TAG in before.get("tags", ()) and before == before | routing
        updated = {} if is_same_map and not writes else {UPDATED_AT: now}
        await maps.update_one(
            {"_id": map_id},
            {
                "$set": {**routing, REPORT_FIELD: report, **updated},
                "$addToSet": {"tags": PATHFINDING_TAG},
            },
            session=session,
        )
        return None, _build_entry("map.processed", before, routing, changes)

    with driver.translate_errors():
        # Hold the import lease: until the transaction commits, no map refers to the new file, and
        # an import would delete it.
        async with hold_import_lease(database):
            digest = await files.write_file(database, network)
            await audit.run_in_transaction(database, origin, work)


async def withdraw_network(
    database: driver.Database, map_id: str, report: dict[str, Any], origin: Origin | None = None
) -> bool:
    """Remove a map's network, tag and tier; return whether it had any.

    Its locations stay: clients may hold their ids, and distances fall back to straight lines.
    Raises ImportRunningError, UnavailableError.
    """

    async def work(session: driver.Session) -> tuple[bool, AuditEntry | None]:
        before = await database[MAPS.name].find_one_and_update(
            {"_id": map_id, "tags": PATHFINDING_TAG},
            {
                "$unset": {NETWORK_FIELD: ""},
                "$pull": {"tags": PATHFINDING_TAG},
                "$set": {
                    "routing_tier": NO_ROUTING,
                    REPORT_FIELD: report,
                    UPDATED_AT: current_timestamp(),
                },
            },
            session=session,
        )
        if before is None:
            return False, None
        entry = _build_entry("map.withdrawn", before, {"routing_tier": NO_ROUTING})
        return bool(before.get(NETWORK_FIELD)), entry

    with driver.translate_errors():
        async with hold_import_lease(database):
            return await audit.run_in_transaction(database, origin, work)


async def find_network_digest(
    database: driver.Database, scope: AssetScope, map_id: str
) -> str | None:
    """Return the digest of a visible map's network file, or None if it is not routable."""
    with driver.translate_errors():
        visible = scope.restrict(MAPS, {"_id": map_id})
        found = await driver.find_documents(
            database, MAPS.name, visible, {NETWORK_FIELD: 1, "_id": 0}, limit=1
        )
    return found[0].get(NETWORK_FIELD) if found else None


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
