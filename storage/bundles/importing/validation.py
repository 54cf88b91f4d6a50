"""Validation of staged members against each other and against the catalog.

Owners must exist, staged or live, and match the member (`ForeignKey` in
`storage.records.kinds`). Immutable fields must not change. Fields that existing records copy from
an owner, or values they refer to, must not change or disappear.
"""

from typing import Any

from storage.bundles.importing.owners import OwnerCache, find_mismatches, is_consistent, values_at
from storage.bundles.importing.planning import PlannedBatch
from storage.bundles.importing.staging import (
    ORIGIN_FIELD,
    SHOWN_UNITS_FIELD,
    Staging,
    describe_record,
)
from storage.bundles.reading.violations import Violations, quote_json
from storage.catalog import RECORD_TYPES, RECORD_TYPES_BY_NAME
from storage.maps import MAPS, NETWORK_FIELD, PATHFINDING_TAG
from storage.mongo import driver
from storage.records.kinds import Document, ForeignKey, RecordType
from storage.units import UNITS

MAX_IDS_IN_NOTE = 5


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
    ) -> None:
        self._database = database
        self._staging = staging
        self._owner_caches = owner_caches
        self._violations = violations
        self._previous = ("", "")
        """Key and origin of the last document with a single-valued key."""

    async def validate_batch(self, kind: RecordType[Any], batch: PlannedBatch) -> None:
        """Validate one batch. Raises BundleError once there are too many violations."""
        for member in batch.incomplete:
            record, lacking = describe_record(kind, member.key), ", ".join(member.lacking)
            self._violations.add(
                member.origin, f"there is no {record} yet, and a new one also needs {lacking}"
            )
        for owner in kind.foreign_keys:
            await self._validate_owners(owner, batch)
        if kind.single_valued_flag:
            self._validate_unique_keys(batch)
        for document, origin in zip(batch.documents, batch.origins, strict=True):
            if live := batch.live.get(document["_id"]):
                self._validate_immutable_fields(kind, document, live, origin)
                await self._validate_owned_records(kind, document, live, origin)

    async def _validate_owners(self, owner: ForeignKey, batch: PlannedBatch) -> None:
        cache = self._owner_caches[owner.kind]
        keys_by_document = [values_at(document, owner.field) for document in batch.documents]
        await cache.load({key for keys in keys_by_document for key in keys})
        for document, origin, keys in zip(
            batch.documents, batch.origins, keys_by_document, strict=True
        ):
            for key in keys:
                facts = cache.get(key)
                if facts is None or not is_consistent(owner, document, facts):
                    self._add_owner_violations(owner, key, document, origin, facts)

    def _add_owner_violations(
        self, owner: ForeignKey, key: str, document: Document, origin: str, facts: Document | None
    ) -> None:
        name = describe_record(RECORD_TYPES_BY_NAME[owner.kind], key)
        messages = (
            [f"there is no {name}, neither in the bundle nor in the catalog"]
            if facts is None
            else [f"{name} {mismatch}" for mismatch in find_mismatches(owner, document, facts)]
        )
        for message in messages:
            self._violations.add(f"{origin}.{owner.field}", message)

    def _validate_unique_keys(self, batch: PlannedBatch) -> None:
        # Sorted by their staged keys, so documents with the same single-valued key are neighbours.
        for document, origin in zip(batch.documents, batch.origins, strict=True):
            key, (previous_key, previous_origin) = document["_id"], self._previous
            if key == previous_key:
                self._violations.add(
                    origin, f"the unit already has an attribute of this group at {previous_origin}"
                )
            self._previous = (key, origin)

    def _validate_immutable_fields(
        self, kind: RecordType[Any], document: Document, live: Document, origin: str
    ) -> None:
        for field in kind.immutable_fields:
            if document[field] != live[field]:
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
        orphan = dropped and await self._database[owned_kind.name].find_one(
            {owner.field: document["_id"], field: {"$in": sorted(dropped)}}
        )
        if orphan:
            self._violations.add(
                f"{origin}.{path}",
                f"{quote_json(orphan[field])} cannot be removed while {owned_kind.name} refer"
                " to it",
            )

    async def collect_notes(self) -> list[str]:
        """Return warnings: drawings that show unknown units, maps tagged routable that are not."""
        notes = []
        units = self._owner_caches[UNITS.name]
        async for batch in self._staging.iter_batches(MAPS):
            notes += await self._note_unroutable_maps(batch)
            for document in batch:
                unit_ids = document.get(SHOWN_UNITS_FIELD, ())
                await units.load(set(unit_ids))
                if unknown := [unit_id for unit_id in unit_ids if units.get(unit_id) is None]:
                    examples = ", ".join(map(quote_json, unknown[:MAX_IDS_IN_NOTE]))
                    more = ", ..." if len(unknown) > MAX_IDS_IN_NOTE else ""
                    notes.append(
                        f"{document[ORIGIN_FIELD]}.source: the drawing shows {len(unknown)} unknown"
                        f" units: {examples}{more}"
                    )
        return notes

    async def _note_unroutable_maps(self, batch: list[Document]) -> list[str]:
        tagged = {
            document["_id"]: document[ORIGIN_FIELD]
            for document in batch
            if PATHFINDING_TAG in document.get("tags", ())
        }
        if not tagged:
            return []
        where = {"_id": {"$in": [*tagged]}, NETWORK_FIELD: {"$type": "string"}}
        routable = set(await self._database[MAPS.name].distinct("_id", where))
        return [
            f"{origin}.tags: the map is tagged {PATHFINDING_TAG} but is not routable until it is"
            " processed"
            for key, origin in tagged.items()
            if key not in routable
        ]
