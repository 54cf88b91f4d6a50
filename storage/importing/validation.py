"""Validation of staged members against each other and against the catalog.

Owners must exist, staged or live, and match the member (`ForeignKey` in
`storage.records.kinds`). Immutable fields must not change. Fields that existing records copy from
an owner, or values they refer to, must not change or disappear.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import starmap
from typing import Any

from storage.bundles.drawings import (
    MisplacedUnit,
    ShownLevel,
    ShownParts,
    find_misplaced_units,
    find_unmatched_levels,
)
from storage.bundles.violations import Violations, describe_record, quote_json
from storage.catalog import (
    ASSETS,
    FLOORS,
    MAPS,
    NETWORK_FIELD,
    PATHFINDING_TAG,
    RECORD_TYPES,
    RECORD_TYPES_BY_NAME,
    UNITS,
)
from storage.importing.planning import (
    FindRemoved,
    OwnerCache,
    PlannedBatch,
    RepeatedKeys,
    describe_missing,
    find_mismatches,
    find_none_removed,
    values_at,
)
from storage.importing.staging import KEY_FIELD, ORIGIN_FIELD, SHOWN_FIELD, Staging, find_neighbours
from storage.mongo import driver
from storage.records.kinds import Document, ForeignKey, RecordType

MAX_IDS_IN_NOTE = 5
MAX_DOUBTS = 100_000
"""Wrong fields that are remembered. What follows from others is reported, too."""
NOWHERE = ", neither in the bundle nor in the catalog"


class BundleValidator:
    """Adds the errors of planned batches to `violations`.

    Pass it all batches of a kind, in their order, and the owner caches of the planner.
    """

    def __init__(
        self,
        database: driver.Database,
        staging: Staging,
        owner_caches: dict[str, OwnerCache],
        violations: Violations,
        find_removed: FindRemoved = find_none_removed,
        asset_ids: Collection[str] | None = None,
    ) -> None:
        """With `asset_ids`, all members must belong to these assets, or to none."""
        self._find_removed = find_removed
        self._asset_ids = asset_ids
        self._database = database
        self._staging = staging
        self._owner_caches = owner_caches
        self._violations = violations
        self._repeated_keys = RepeatedKeys()
        self._doubtful: set[tuple[str, str, str]] = set()
        """Fields of members that are wrong: kind, key and field."""

    async def validate_batch(self, kind: RecordType[Any], batch: PlannedBatch) -> None:
        """Validate one batch."""
        for member in batch.incomplete:
            record, lacking = describe_record(kind, member.key), ", ".join(member.lacking)
            self._violations.add(
                member.origin, f"there is no {record} yet, and a new one also needs {lacking}"
            )
        for owner in kind.foreign_keys:
            await self._validate_owners(kind, owner, batch)
        if self._asset_ids is not None and kind.scope_field:
            self._validate_assets(kind, batch, self._asset_ids)
        if kind.single_valued_flag:
            self._validate_unique_keys(batch)
        for document, origin in zip(batch.documents, batch.origins, strict=True):
            if live := batch.live.get(document["_id"]):
                self._validate_immutable_fields(kind, document, live, origin)
                await self._validate_owned_records(kind, document, live, origin)

    async def _validate_owners(
        self, kind: RecordType[Any], owner: ForeignKey, batch: PlannedBatch
    ) -> None:
        cache = self._owner_caches[owner.kind]
        keys_by_document = [values_at(document, owner.field) for document in batch.documents]
        await cache.load({key for keys in keys_by_document for key in keys})
        for document, origin, keys in zip(
            batch.documents, batch.origins, keys_by_document, strict=True
        ):
            place = f"{origin}.{owner.field}"
            for key in keys:
                if self._violations.rejected.includes(owner.kind, key):
                    continue  # it is in the bundle, with errors of its own
                facts = cache.get(key)
                if facts is None:
                    self._add_doubt(kind, document, owner.field)
                    await self._add_missing_owner(owner, key, place)
                    continue
                name = describe_record(RECORD_TYPES_BY_NAME[owner.kind], key)
                for mismatch in find_mismatches(owner, document, facts):
                    self._add_doubt(kind, document, mismatch.field)
                    if (owner.kind, key, mismatch.owner_field) not in self._doubtful:
                        self._violations.add(place, f"{name} {mismatch.message}")

    def _add_doubt(self, kind: RecordType[Any], document: Document, field: str) -> None:
        """Note that a field of a member is wrong: that others do not match it follows from that."""
        if len(self._doubtful) < MAX_DOUBTS:
            self._doubtful.add((kind.name, document["_id"], field))

    async def validate_rejected(self) -> None:
        """Validate the owners of members that were rejected for something else."""
        for member in self._violations.rejected.members:
            batch = PlannedBatch([member.document], [member.origin], {}, [])
            for owner in member.kind.foreign_keys:
                await self._validate_owners(member.kind, owner, batch)

    async def validate_asset_ids(self) -> None:
        """Find assets to mirror that are neither in the bundle nor in the catalog."""
        ids = sorted(self._asset_ids or ())
        found = await self._database[ASSETS.name].find({"_id": {"$in": ids}}, ["_id"]).to_list(None)
        found += await self._staging.find_members(ASSETS.name, ids, set())
        for asset_id in sorted({*ids} - {document["_id"] for document in found}):
            if not self._violations.rejected.may_include(ASSETS.name, asset_id):
                await self._add_missing(ASSETS, asset_id, "assets to mirror")

    def _validate_assets(
        self, kind: RecordType[Any], batch: PlannedBatch, asset_ids: Collection[str]
    ) -> None:
        for document, origin in zip(batch.documents, batch.origins, strict=True):
            asset_id = document[kind.scope_field]
            if asset_id is not None and asset_id not in asset_ids:  # None: its owner is missing
                name = describe_record(kind, document["_id"])
                self._violations.add(
                    origin,
                    f"{name} belongs to asset {quote_json(asset_id)}, which is not one of those to"
                    f" mirror: {', '.join(map(quote_json, sorted(asset_ids)))}",
                )

    async def _add_missing_owner(self, owner: ForeignKey, key: str, place: str) -> None:
        if self._violations.rejected.may_include(owner.kind, key):
            return
        if await self._find_removed(owner.kind, [key]):
            name = describe_record(RECORD_TYPES_BY_NAME[owner.kind], key)
            self._violations.add(
                place, f"{name} is removed by this import: the bundle does not have it"
            )
            return
        await self._add_missing(RECORD_TYPES_BY_NAME[owner.kind], key, place)

    async def _add_missing(self, kind: RecordType[Any], key: str, place: str) -> None:
        near = [] if self._violations.is_full else await self._find_near_keys(kind.name, key)
        self._violations.add(place, describe_missing(kind, key, near, NOWHERE))

    async def _find_near_keys(self, kind_name: str, key: str) -> list[str]:
        staged = self._staging.collection_of(kind_name)
        live = self._database[kind_name]
        return [
            *await find_neighbours(staged, KEY_FIELD, key),
            *await find_neighbours(live, "_id", key),
        ]

    def _validate_unique_keys(self, batch: PlannedBatch) -> None:
        # Sorted by their staged keys, so documents with the same single-valued key are neighbours.
        for document, origin in zip(batch.documents, batch.origins, strict=True):
            if message := self._repeated_keys.find(document["_id"], origin):
                self._violations.add(origin, message)

    def _validate_immutable_fields(
        self, kind: RecordType[Any], document: Document, live: Document, origin: str
    ) -> None:
        for field in kind.immutable_fields:
            if document[field] != live[field]:
                self._add_doubt(kind, document, field)
                self._violations.add(
                    f"{origin}.{field}",
                    f"{describe_record(kind, live['_id'])} belongs to {quote_json(live[field])} and"
                    f" cannot move to {quote_json(document[field])}",
                )

    async def _validate_owned_records(
        self, kind: RecordType[Any], document: Document, live: Document, origin: str
    ) -> None:
        """Check that fields and values of an owner that live records use do not change."""
        for owned_kind in RECORD_TYPES:
            for owner in owned_kind.foreign_keys:
                if owner.kind == kind.name:
                    await self._validate_copied_fields(owned_kind, owner, document, live, origin)
                    await self._validate_dropped_values(owned_kind, owner, document, live, origin)

    async def _validate_copied_fields(
        self,
        owned_kind: RecordType[Any],
        owner: ForeignKey,
        document: Document,
        live: Document,
        origin: str,
    ) -> None:
        owned_records = self._database[owned_kind.name]
        for field in owner.copied_fields:
            if document[field] != live[field] and await owned_records.find_one(
                {owner.field: document["_id"]}
            ):
                self._violations.add(
                    f"{origin}.{field}",
                    f"cannot change from {quote_json(live[field])} while there are"
                    f" {owned_kind.name}",
                )

    async def _validate_dropped_values(
        self,
        owned_kind: RecordType[Any],
        owner: ForeignKey,
        document: Document,
        live: Document,
        origin: str,
    ) -> None:
        if not owner.value_in:
            return
        field, path = owner.value_in
        dropped = set(values_at(live, path)) - set(values_at(document, path))
        if not dropped:
            return
        where = {owner.field: document["_id"], field: {"$in": sorted(dropped)}}
        async for batch in driver.iter_batches(self._database[owned_kind.name], where):
            kept = await self._find_kept(owned_kind, batch)
            if kept is None:
                continue
            lacking = describe_dropped_values(owner.kind, live["_id"], sorted(dropped))
            self._violations.add(
                f"{origin}.{path}",
                f"{quote_json(kept[field])} cannot be removed while {owned_kind.name} refer to it;"
                f" {lacking}",
            )
            return

    async def _find_kept(self, kind: RecordType[Any], documents: list[Document]) -> Document | None:
        """Return a record that the import neither removes nor replaces by one of another value."""
        removed = await self._find_removed(kind.name, [document["_id"] for document in documents])
        for document in documents:
            if document["_id"] not in removed and not (
                document.get(kind.single_valued_flag)
                and await self._staging.has_key_within(kind.name, document["_id"])
            ):
                return document
        return None

    async def collect_notes(self) -> list[str]:
        """Return warnings: drawings that show units or floors that there are not, maps tagged
        routable that are not."""
        notes = []
        units, maps = self._owner_caches[UNITS.name], self._owner_caches[MAPS.name]
        async for batch in self._staging.iter_batches(MAPS):
            notes += await self._note_unroutable_maps(batch)
            drawn = [document for document in batch if SHOWN_FIELD in document]
            await maps.load({document["_id"] for document in drawn})
            assets = [(maps.get(document["_id"]) or {})["asset_id"] for document in drawn]
            floor_ids = await self._find_floor_ids({*assets}) if drawn else {}
            for document, asset_id in zip(drawn, assets, strict=True):
                unit_ids, levels, unit_levels = document[SHOWN_FIELD]
                shown = ShownParts(unit_ids, [*starmap(ShownLevel, levels)], unit_levels)
                place = self._violations.columns.describe(f"{document[ORIGIN_FIELD]}.source")
                await units.load(set(unit_ids))
                if unknown := [unit_id for unit_id in unit_ids if units.get(unit_id) is None]:
                    notes.append(f"{place}: {describe_unknown_units(unknown)}")
                floors = floor_ids.get(asset_id, ())
                if unmatched := find_unmatched_levels(shown.levels, floors):
                    notes.append(f"{place}: {describe_unmatched_levels(unmatched, floors)}")
                on = {unit_id: (units.get(unit_id) or {}).get("floor_id") for unit_id in unit_ids}
                if misplaced := find_misplaced_units(shown, on, floors):
                    notes.append(f"{place}: {describe_misplaced_units(misplaced)}")
        return notes

    async def _find_floor_ids(self, asset_ids: Collection[str]) -> dict[str, set[str]]:
        """Return by asset the floors that it has after the import."""
        where = {"asset_id": {"$in": [*asset_ids]}}
        live = await self._database[FLOORS.name].find(where, ["asset_id"]).to_list(None)
        removed = await self._find_removed(FLOORS.name, [floor["_id"] for floor in live])
        kept = (floor for floor in live if floor["_id"] not in removed)
        floor_ids = defaultdict(set)
        for floor in (*await self._staging.find_floors(asset_ids), *kept):
            floor_ids[floor["asset_id"]].add(floor["_id"])
        return floor_ids

    async def _note_unroutable_maps(self, batch: list[Document]) -> list[str]:
        tagged = {
            document["_id"]: document[ORIGIN_FIELD]
            for document in batch
            if PATHFINDING_TAG in document.get("tags", ()) and document.get("source") is None
        }
        if not tagged:
            return []
        where = {"_id": {"$in": [*tagged]}, NETWORK_FIELD: {"$type": "string"}}
        routable = set(await self._database[MAPS.name].distinct("_id", where))
        return [
            f"{self._violations.columns.describe(f'{origin}.tags')}: the map is tagged"
            f" {PATHFINDING_TAG} but is not routable until it is processed"
            for key, origin in tagged.items()
            if key not in routable
        ]


def describe_dropped_values(kind_name: str, key: str, values: list[str]) -> str:
    """Return what a bundle lacks of an owner that has values in the catalog, and what to do."""
    record = describe_record(RECORD_TYPES_BY_NAME[kind_name], key)
    return (
        f"the {record} of the catalog, which all assets share, also has"
        f" {_list_first(values)}: add what it has, or give this one another id"
    )


def describe_unknown_units(unit_ids: list[str]) -> str:
    """Return the note about a map with a drawing of units that do not exist."""
    noun = "unit" if len(unit_ids) == 1 else "units"
    return f"the drawing shows {len(unit_ids)} unknown {noun}: {_list_first(unit_ids)}"


def describe_misplaced_units(units: Sequence[MisplacedUnit]) -> str:
    """Return the note about a map with a drawing of units on other floors than they are on."""
    noun, own = ("unit", "its own") if len(units) == 1 else ("units", "their own")
    floors = "; ".join(
        f"{quote_json(unit_id)} on {quote_json(drawn_on)}, not {quote_json(floor_id)}"
        for unit_id, drawn_on, floor_id in units[:MAX_IDS_IN_NOTE]
    )
    more = "; ..." if len(units) > MAX_IDS_IN_NOTE else ""
    return f"the drawing shows {len(units)} {noun} on another floor than {own}: {floors}{more}"


def describe_unmatched_levels(names: list[str], floor_ids: Collection[str]) -> str:
    """Return the note about a map with a drawing of Levels that match no floor of its asset."""
    noun = "floor" if len(names) == 1 else "floors"
    return (
        f"the drawing shows {len(names)} unknown {noun}: Level {_list_first(names)}; routes need a"
        " name such as 'Level 2: floor=<id>', or data-tags with floor=<id>; the floors are"
        f" {_list_first(sorted(floor_ids))}"
    )


def _list_first(ids: list[str]) -> str:
    examples = ", ".join(map(quote_json, ids[:MAX_IDS_IN_NOTE]))
    return f"{examples}, ..." if len(ids) > MAX_IDS_IN_NOTE else examples
