"""The routing network that processing makes of a map, published in one transaction."""

from collections.abc import Sequence
from typing import Any

from storage.bundles.importing.recovery import hold_import_lease
from storage.bundles.importing.timestamps import has_same_content, set_timestamps
from storage.locations import LOCATIONS, Location
from storage.maps import MAPS, NETWORK_FIELD, NO_ROUTING, PATHFINDING_TAG
from storage.mongo import driver, files
from storage.records.timestamps import UPDATED_AT, current_timestamp
from storage.records.visibility import AssetScope

REPORT_FIELD = "routing_report"
PROCESSED_FIELD = "processed"
"""Field that marks locations which processing has created and may replace."""


async def publish_network(
    database: driver.Database,
    map_id: str,
    network: bytes,
    routing_tier: str,
    report: dict[str, Any],
    locations: Sequence[Location],
) -> None:
    """Publish a map's network, tag, tier and locations together.

    Replaces the locations of an earlier publication. `updated_at` of the map changes only if
    something else does. Raises ImportRunningError, UnavailableError.
    """

    async def work(session: driver.Session) -> None:
        now = current_timestamp()
        writes = await _build_location_writes(database, map_id, locations, now, session)
        if writes:
            await database[LOCATIONS.name].bulk_write(writes, session=session)
        maps = database[MAPS.name]
        routing = {NETWORK_FIELD: digest, "routing_tier": routing_tier}
        unchanged = {"_id": map_id, "tags": PATHFINDING_TAG, **routing}
        is_same_map = await maps.find_one(unchanged, {"_id": 1}, session=session) is not None
        updated = {} if is_same_map and not writes else {UPDATED_AT: now}
        await maps.update_one(
            {"_id": map_id},
            {
                "$set": {**routing, REPORT_FIELD: report, **updated},
                "$addToSet": {"tags": PATHFINDING_TAG},
            },
            session=session,
        )

    with driver.translate_errors():
        # Hold the import lease: until the transaction commits, no map refers to the new file, and
        # an import would delete it.
        async with hold_import_lease(database):
            digest = await files.write_file(database, network)
            await driver.run_in_transaction(database.client, work)


async def withdraw_network(database: driver.Database, map_id: str, report: dict[str, Any]) -> bool:
    """Remove a map's network, tag and tier; return whether it had any.

    Its locations stay: clients may hold their ids, and distances fall back to straight lines.
    Raises ImportRunningError, UnavailableError.
    """
    with driver.translate_errors():
        async with hold_import_lease(database):
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
            )
            return bool(before and before.get(NETWORK_FIELD))


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
        documents = await database[LOCATIONS.name].find(where, LOCATIONS.projection).to_list(None)
    return LOCATIONS.decode(documents)


async def _build_location_writes(
    database: driver.Database,
    map_id: str,
    locations: Sequence[Location],
    now: str,
    session: driver.Session,
) -> list[driver.WriteOperation]:
    """Build the writes that replace a map's processed locations; none for unchanged ones."""
    where = {"unit_map_id": map_id, PROCESSED_FIELD: True}
    documents = await database[LOCATIONS.name].find(where, session=session).to_list(None)
    live = {document["_id"]: LOCATIONS.fill_defaults(document) for document in documents}
    removed = live.keys() - {location.id for location in locations}
    writes: list[driver.WriteOperation] = []
    if removed:
        writes.append(driver.DeleteMany({**where, "_id": {"$in": sorted(removed)}}))
    for location in locations:
        document = LOCATIONS.to_document(location)
        before = live.get(document["_id"])
        if before is None or not has_same_content(LOCATIONS, document, before):
            set_timestamps(LOCATIONS, document, before, now)
            key = document.pop("_id")
            writes.append(
                driver.UpdateOne(
                    {"_id": key}, {"$set": {**document, PROCESSED_FIELD: True}}, upsert=True
                )
            )
    return writes
