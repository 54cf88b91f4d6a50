"""Publishing the network that processing makes of a map, in one transaction.

With the catalog of its plan it is part of an import, whose staged members are the redo log: it is
staged like them, and published once they are written.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import to_builtins

from storage import catalog, closures, routing_inputs
from storage.administration import audit
from storage.administration.import_lease import ImportLease
from storage.errors import NetworkOutdatedError
from storage.importing.planning import has_same_content, set_timestamps
from storage.mongo import driver, files
from storage.records.kinds import UPDATED_AT, Document, current_timestamp
from storage.tombstones import add_tombstones, end_tombstones

_FIELDS = (
    *(*routing_inputs.ROUTING_FIELDS, *catalog.PARSED_FIELDS),
    *(closures.CLOSURES_FIELD, closures.CLOSED_PARTS_FIELD),
)
"""The fields of a map that publishing its network looks at, or changes."""


class PublishedFiles(NamedTuple):
    """The digests of the files of a publication."""

    network: str
    parsed: str | None = None
    georeference: Document | None = None
    """The georeference of the parsed map."""
    plan: str | None = None


class BuiltFrom(NamedTuple):
    """The inputs that a network was built from."""

    inputs: routing_inputs.RoutingInputs
    is_from_drawing: bool
    is_scale_given: bool

    @property
    def is_own(self) -> bool:
        """True if the map has its own drawing, with the floors and the scale of the catalog."""
        return self.inputs.floor_sorts is not None


class Publication(msgspec.Struct, frozen=True):
    """A network to publish, and what becomes visible with it."""

    map_id: str
    network: bytes
    routing_tier: str
    report: dict[str, Any]
    locations: Sequence[catalog.Location]
    """Replace those of an earlier publication."""
    built_from: BuiltFrom | None = None
    """None if it was built from what the catalog has when it is published."""
    origin: audit.Origin | None = None
    """None for the user who runs this process."""
    parts: Sequence[closures.NetworkPart] | None = None
    """The parts that can be closed in the network; None if it has what the one before has."""
    parsed: bytes | None = None
    """The parsed map of a plan that is not the map's own drawing; None keeps what the map has."""
    plan: bytes | None = None
    """The plan as a zip, if it is not the map's own drawing; None forgets that of the map."""
    plan_format: str | None = None
    """The format that was given with the plan."""
    is_stored_plan: bool = False
    """True if the plan was read from the database: it may have been replaced since."""


async def check_unchanged(
    database: driver.Database,
    map_id: str,
    built_from: BuiltFrom | None,
    session: driver.Session,
) -> None:
    """Raise NetworkOutdatedError if what a network was built from has changed since."""
    if built_from is None:
        return
    inputs = await routing_inputs.read_inputs(
        database, map_id, is_own=built_from.is_own, session=session
    )
    if built_from.inputs != inputs:
        raise NetworkOutdatedError(
            f"the map {map_id!r} was changed while it was processed; process it again"
        )


async def write_files(database: driver.Database, publication: Publication) -> PublishedFiles:
    """Write the files of a publication. Requires the import lease: no map refers to them yet."""
    parsed, plan = publication.parsed, publication.plan
    return PublishedFiles(
        await files.write_file(database, publication.network),
        None if parsed is None else await files.write_file(database, parsed),
        None if parsed is None else catalog.find_georeference(parsed),
        None if plan is None else await files.write_file(database, plan),
    )


async def publish(
    database: driver.Database,
    publication: Publication,
    written: PublishedFiles,
    session: driver.Session,
) -> audit.AuditEntry | None:
    """Publish a map's network, parsed map, tag, tier, scale and locations with a transaction;
    return the record of it.

    `updated_at` of the map changes only if something else does.
    """
    map_id, report = publication.map_id, publication.report
    maps = database[catalog.MAPS.name]
    before = await maps.find_one({"_id": map_id}, _FIELDS, session=session)
    if before is None:
        return None
    now = current_timestamp()
    state = await _build_state(database, before, publication, written, session)
    writes, changes = await _build_location_writes(
        database, map_id, publication.locations, now, session
    )
    if writes:
        await database[catalog.LOCATIONS.name].bulk_write(writes, session=session)
    routing: Document = {
        catalog.NETWORK_FIELD: written.network,
        "routing_tier": publication.routing_tier,
        "feet_per_unit": state.feet_per_unit,
    }
    if written.parsed is not None:
        routing[catalog.PARSED_FIELD] = written.parsed
        if before.get(catalog.GEOREFERENCE_FIELD) != written.georeference:
            routing[catalog.GEOREFERENCE_FIELD] = written.georeference
    closed, is_same_closed = Document(), True
    if publication.parts is not None and before.get(closures.CLOSURES_FIELD):
        kept = closures.keep_closures(before, publication.parts, state.feet_per_unit or 1.0)
        closed = closures.build_fields(kept.closures, kept.parts)
        report = {**report, "notes": [*kept.notes, *report.get("notes", ())]}
        changes += kept.changes
        is_same_closed = not kept.changes
    is_same_map = catalog.PATHFINDING_TAG in before.get("tags", ()) and before == before | routing
    updated = {} if is_same_map and is_same_closed and not writes else {UPDATED_AT: now}
    derived = {catalog.REPORT_FIELD: report, catalog.NETWORK_STATE_FIELD: to_builtins(state)}
    await maps.update_one(
        {"_id": map_id},
        {
            "$set": {**routing, **derived, **closed, **updated},
            "$addToSet": {"tags": catalog.PATHFINDING_TAG},
        },
        session=session,
    )
    return build_entry("map.processed", before, routing, changes)


async def stage_publication(
    database: driver.Database, staged: driver.Collection, publication: Publication
) -> None:
    """Stage a publication in a collection of its own."""
    origin = publication.origin or audit.get_process_origin()
    content = msgspec.msgpack.encode(msgspec.structs.replace(publication, origin=origin))
    await staged.insert_one({"_id": 0, "file": await files.write_file(database, content)})


async def publish_staged(
    database: driver.Database, staged: driver.Collection, lease: ImportLease
) -> None:
    """Publish what is staged in a collection, if anything still is. Raises the lease's error."""
    found = await driver.find_documents(database, staged.name, {"_id": 0}, {"file": 1}, limit=1)
    content = await files.read_file(database, found[0]["file"]) if found else None
    if content is None:
        return
    publication = msgspec.msgpack.decode(content, type=Publication)
    written = await write_files(database, publication)

    async def work(session: driver.Session) -> tuple[None, audit.AuditEntry | None]:
        await lease.update({}, session)
        deleted = await staged.delete_one({"_id": 0}, session=session)
        if not deleted.deleted_count:
            return None, None
        return None, await publish(database, publication, written, session)

    await audit.run_audited(database, publication.origin, work)


async def _build_state(
    database: driver.Database,
    unit_map: Document,
    publication: Publication,
    written: PublishedFiles,
    session: driver.Session,
) -> routing_inputs.NetworkState:
    """Return what the network of a publication was built from."""
    report, built_from = publication.report, publication.built_from
    is_own = bool(unit_map.get("source")) if built_from is None else built_from.is_own
    inputs = await routing_inputs.read_inputs(
        database, unit_map["_id"], is_own=is_own, session=session
    )
    floor_ids = [level["level_id"] for level in report.get("levels", ())]
    scale = report.get("feet_per_unit") or unit_map.get("feet_per_unit")
    last = routing_inputs.read_state(unit_map) or routing_inputs.NetworkState()
    if publication.is_stored_plan and last.plan != written.plan:
        raise NetworkOutdatedError(
            f"the plan of the map {unit_map['_id']!r} was replaced meanwhile"
        )
    was_scale_given = last.is_scale_given and last.feet_per_unit == scale
    return routing_inputs.NetworkState(
        network=written.network,
        network_format=routing_inputs.read_format(publication.network),
        source=inputs.source,
        feet_per_unit=scale,
        levels=[]
        if inputs.floor_sorts is None
        else routing_inputs.rank_floors(inputs.floor_sorts, floor_ids),
        is_from_drawing=built_from is None or built_from.is_from_drawing,
        plan=written.plan,
        plan_format=publication.plan_format,
        is_scale_given=was_scale_given or (built_from is not None and built_from.is_scale_given),
    )


async def _build_location_writes(
    database: driver.Database,
    map_id: str,
    locations: Sequence[catalog.Location],
    now: str,
    session: driver.Session,
) -> tuple[list[driver.WriteOperation], list[audit.AuditChange]]:
    """Build the writes that replace a map's processed locations; none for unchanged ones.

    Return also what they change, for the audit log.
    """
    where = {"unit_map_id": map_id, catalog.PROCESSED_FIELD: True}
    documents = await driver.read_all(database[catalog.LOCATIONS.name].find(where, session=session))
    live = {document["_id"]: catalog.LOCATIONS.fill_defaults(document) for document in documents}
    removed = live.keys() - {location.id for location in locations}
    inserted = {location.id for location in locations} - live.keys()
    await add_tombstones(
        database, catalog.LOCATIONS, [live[key] for key in sorted(removed)], session
    )
    await end_tombstones(database, catalog.LOCATIONS, [{"_id": key} for key in inserted], session)
    writes: list[driver.WriteOperation] = []
    ids: dict[audit.Operation, list[str]] = {
        "inserted": [],
        "updated": [],
        "removed": sorted(removed),
    }
    if removed:
        writes.append(driver.DeleteMany({**where, "_id": {"$in": sorted(removed)}}))
    for location in locations:
        document = catalog.LOCATIONS.to_document(location)
        before = live.get(document["_id"])
        if before is None or not has_same_content(catalog.LOCATIONS, document, before):
            set_timestamps(catalog.LOCATIONS, document, before, now)
            key = document.pop("_id")
            ids["inserted" if before is None else "updated"].append(key)
            writes.append(
                driver.UpdateOne(
                    {"_id": key}, {"$set": {**document, catalog.PROCESSED_FIELD: True}}, upsert=True
                )
            )
    return writes, [
        audit.AuditChange(
            catalog.LOCATIONS.name, operation, len(changed), changed[: audit.MAX_LISTED_IDS]
        )
        for operation, changed in ids.items()
        if changed
    ]


def build_entry(
    action: audit.Action,
    before: Document,
    routing: Document,
    changes: Sequence[audit.AuditChange] = (),
) -> audit.AuditEntry:
    """Return the audit entry of a map whose fields of routing have changed, and what else has."""
    target = audit.AuditTarget(catalog.MAPS.name, [before["_id"]])
    changed = routing_inputs.build_audit_change(before, routing)
    return audit.AuditEntry(action, target, [changed, *changes], [before["asset_id"]])
