"""Routable maps: what processing makes of a map, published so that readers see old or new."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pymongo import DeleteMany, UpdateOne

from storage import files
from storage.bundles.importing import hold_import_lease
from storage.bundles.timestamps import UPDATED_AT, has_same_content, set_timestamps
from storage.locations import LOCATIONS, Location
from storage.maps import MAPS, NETWORK_FIELD, NO_ROUTING, PATHFINDING_TAG
from storage.mongo import driver
from storage.records.visibility import Scope

REPORT_FIELD = "routing_report"
PROCESSED_FIELD = "processed"
"""The field that marks locations which processing made, and may replace."""


async def publish_network(
    database: driver.Database,
    map_id: str,
    network: bytes,
    routing_tier: str,
    report: dict[str, Any],
    locations: Sequence[Location],
) -> None:
    """Makes a map routable at once: its network, its tag and tier, its locations.

    Locations that an earlier publishing made and this one does not are gone afterwards. The map
    counts as updated where anything is different now. Raises ImportRunning, Unavailable.
    """

    async def work(session: driver.Session) -> None:
        at = _now()
        writes = await _build_location_writes(database, map_id, locations, at, session)
        if writes:
            await database[LOCATIONS.name].bulk_write(writes, session=session)
        maps = database[MAPS.name]
        tier = {"routing_tier": routing_tier}
        published = {"_id": map_id, NETWORK_FIELD: digest, "tags": PATHFINDING_TAG, **tier}
        is_same_map = await maps.find_one(published, {"_id": 1}, session=session) is not None
        updated = {} if is_same_map and not writes else {UPDATED_AT: at}
        await maps.update_one(
            {"_id": map_id},
            {
                "$set": {NETWORK_FIELD: digest, REPORT_FIELD: report, **tier, **updated},
                "$addToSet": {"tags": PATHFINDING_TAG},
            },
            session=session,
        )

    with driver.translate_errors():
        # Importing sweeps files that no map names, as this one is until the transaction ends.
        async with hold_import_lease(database):
            digest = await files.write_file(database, network)
            await driver.run_in_transaction(database.client, work)


async def withdraw(database: driver.Database, map_id: str, report: dict[str, Any]) -> bool:
    """Takes a map's network, tag and tier away; whether it had any.

    Its locations stay, so that ids that clients hold stay known and straight lines join them.
    Raises ImportRunning, Unavailable.
    """
    with driver.translate_errors():
        async with hold_import_lease(database):
            done = await database[MAPS.name].update_one(
                {"_id": map_id, "tags": PATHFINDING_TAG},
                {
                    "$unset": {NETWORK_FIELD: ""},
                    "$pull": {"tags": PATHFINDING_TAG},
                    "$set": {"routing_tier": NO_ROUTING, REPORT_FIELD: report, UPDATED_AT: _now()},
                },
            )
            return bool(done.matched_count)


async def find_network_digest(database: driver.Database, scope: Scope, map_id: str) -> str | None:
    """Under which digest a visible map's network is kept, if it is routable."""
    with driver.translate_errors():
        visible = scope.restrict(MAPS, {"_id": map_id})
        found = await driver.find_documents(
            database, MAPS.name, visible, {NETWORK_FIELD: 1, "_id": 0}, limit=1
        )
    return found[0].get(NETWORK_FIELD) if found else None


async def list_imported_locations(database: driver.Database, map_id: str) -> list[Location]:
    """The locations of a map that processing did not make."""
    where = {"unit_map_id": map_id, PROCESSED_FIELD: {"$ne": True}}
    with driver.translate_errors():
        documents = await database[LOCATIONS.name].find(where, LOCATIONS.projection).to_list(None)
    return LOCATIONS.decode(documents)


def _now() -> str:
    return datetime.now(UTC).replace(microsecond=0).isoformat()


async def _build_location_writes(
    database: driver.Database,
    map_id: str,
    locations: Sequence[Location],
    at: str,
    session: driver.Session,
) -> list[DeleteMany | UpdateOne]:
    """What makes a map's processed locations these; nothing where they are so already."""
    where = {"unit_map_id": map_id, PROCESSED_FIELD: True}
    found = await database[LOCATIONS.name].find(where, session=session).to_list(None)
    live = {document["_id"]: document for document in found}
    gone = live.keys() - {location.id for location in locations}
    writes: list[DeleteMany | UpdateOne] = []
    if gone:
        writes.append(DeleteMany({**where, "_id": {"$in": sorted(gone)}}))
    for location in locations:
        document = LOCATIONS.to_document(location)
        before = live.get(document["_id"])
        if before is None or not has_same_content(LOCATIONS, document, before):
            set_timestamps(LOCATIONS, document, before, at)
            key = document.pop("_id")
            writes.append(
                UpdateOne({"_id": key}, {"$set": {**document, PROCESSED_FIELD: True}}, upsert=True)
            )
    return writes
