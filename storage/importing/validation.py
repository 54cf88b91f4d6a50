"""Validation of members against each other and against the catalog.

Owners must exist, staged or live, and match the member (`ForeignKey` in
`storage.records.kinds`). Immutable fields must not change. Fields that existing records copy from
an owner, or values they refer to, must not change or disappear.

The rules on references, repeated keys and drawings take facts, wherever these come from.
`BundleValidator` has them from staged members and the catalog, `check_bundles` from an index in
memory.
"""

import dataclasses
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from storage import catalog
from storage.bundles import drawings
from storage.bundles.json_bundles import BundleMember
from storage.bundles.names import suggest
from storage.bundles.violations import (
    MAX_QUOTED,
    Violations,
    describe_duplicate,
    describe_record,
    quote_first,
    quote_json,
    to_printable,
)
from storage.importing import planning
from storage.importing.batches import BundleSource, read_batches
from storage.importing.staging import (
    KEY_FIELD,
    NEIGHBOURS,
    ORIGIN_FIELD,
    SHOWN_FIELD,
    Staging,
    find_neighbours,
)
from storage.mongo import driver
from storage.records.kinds import KEY_SEPARATOR, Document, ForeignKey, RecordType, stored_name
from storage.spreadsheets.reader import TableReader

NO_MEMBERS_NOTE = "there is nothing to import: the files have no records"
MAX_DOUBTS = 100_000
"""Wrong fields that are remembered. What follows from others is reported, too."""
NOWHERE = ", neither in the bundle nor in the catalog"


class ReferenceFault(NamedTuple):
    """A mistake in a reference of a member, with a sentence about the owner."""

    field: str
    """The field of the member that is wrong."""
    owner_field: str | None
    """The field of the owner that it does not match; None if there is no such owner."""
    message: str = ""


def find_reference_faults(
    owner: ForeignKey, key: str, document: Document, facts: Document | None
) -> Iterator[ReferenceFault]:
    """Yield what is wrong with a reference, from the facts about its owner: None if it is missing.

    The facts may come from the catalog, from staged members or from an index in memory. None in
    place of a value is one that an incomplete member of a merge, or a rejected one, does not give.
    """
    if facts is None:
        yield ReferenceFault(owner.field, None)
        return
    name = describe_record(catalog.RECORD_TYPES_BY_NAME[owner.kind], key)
    for field, owner_field in owner.equal_fields:
        expected, actual = document[stored_name(field)], facts[stored_name(owner_field)]
        if expected is not None and actual is not None and actual != expected:
            message = f"{name} has {owner_field} {quote_json(actual)}, not {quote_json(expected)}"
            yield ReferenceFault(field, owner_field, message)
    if owner.value_in:
        field, path = owner.value_in
        value = document[field]
        if facts[path] is not None and value is not None and value not in facts[path]:
            yield ReferenceFault(field, path, f"{name} has no {field} {quote_json(value)}")


def describe_missing(kind: RecordType[Any], key: str, near: list[str], where: str) -> str:
    """Return the message for a record that does not exist, with the key that was meant."""
    meant = suggest(key, near)
    hint = f"; did you mean {quote_json(meant)}?" if meant else ""
    return f"there is no {describe_record(kind, key)}{where}{hint}"


def describe_repeated(place: str) -> str:
    """Return the message for a unit with two attributes of a group for one."""
    return f"the unit already has an attribute of this group at {place}"


def describe_drawing(
    shown: drawings.ShownParts, floors_by_unit: Mapping[str, str | None], floor_ids: Collection[str]
) -> Iterator[str]:
    """Yield notes about units and Levels of a drawing that do not match the catalog.

    Both arguments are of what there is: the floor of each unit, and the floors of the asset.
    """
    if unknown := [unit_id for unit_id in shown.unit_ids if unit_id not in floors_by_unit]:
        noun = "unit" if len(unknown) == 1 else "units"
        yield f"the drawing shows {len(unknown)} unknown {noun}: {quote_first(unknown)}"
    if names := drawings.find_unmatched_levels(shown.levels, floor_ids):
        noun = "floor" if len(names) == 1 else "floors"
        yield (
            f"the drawing shows {len(names)} unknown {noun}: Level {quote_first(names)}; routes"
            " need a name such as 'Level 2: floor=<id>', or data-tags with floor=<id>; the floors"
            f" are {quote_first(sorted(floor_ids))}"
        )
    if misplaced := drawings.find_misplaced_units(shown, floors_by_unit, floor_ids):
        noun, own = ("unit", "its own") if len(misplaced) == 1 else ("units", "their own")
        floors = "; ".join(
            f"{quote_json(unit_id)} on {quote_json(drawn_on)}, not {quote_json(floor_id)}"
            for unit_id, drawn_on, floor_id in misplaced[:MAX_QUOTED]
        )
        more = "; ..." if len(misplaced) > MAX_QUOTED else ""
        count = len(misplaced)
        yield f"the drawing shows {count} {noun} on another floor than {own}: {floors}{more}"


@dataclasses.dataclass
class BundleValidator:
    """Adds the errors of planned batches to `violations`.

    Pass it all batches of a kind, in their order, and the owner caches of the planner.
    """

    database: driver.Database
    staging: Staging
    owner_caches: dict[str, planning.OwnerCache]
    violations: Violations
    find_removed: planning.FindRemoved
    asset_ids: Collection[str] | None
    """All members must belong to these assets, or to none; None for all."""
    _previous: tuple[str, str] = ("", "")
    """Key and place of the last member of a kind that is read by key."""
    _doubtful: set[tuple[str, str, str]] = dataclasses.field(default_factory=set)
    """These fields of members are wrong: kind, key and field."""

    async def validate_batch(self, kind: RecordType[Any], batch: planning.PlannedBatch) -> None:
        """Validate one batch."""
        for member in batch.incomplete:
            record, lacking = describe_record(kind, member.key), ", ".join(member.lacking)
            self.violations.add(
                member.origin, f"there is no {record} yet, and a new one also needs {lacking}"
            )
        await self._validate_owners(kind, batch.documents, batch.origins)
        if self.asset_ids is not None and kind.scope_field:
            self._validate_assets(kind, batch, self.asset_ids)
        if kind.single_valued_flag:
            self._validate_unique_keys(batch)
        members = zip(batch.documents, batch.origins, batch.changes, strict=True)
        for document, origin, change in members:
            if live := change.before:
                self._validate_immutable_fields(kind, document, live, origin)
                await self._validate_owned_records(kind, document, live, origin)

    async def _validate_owners(
        self, kind: RecordType[Any], documents: Sequence[Document], origins: Sequence[str]
    ) -> None:
        for owner in kind.foreign_keys:
            cache = self.owner_caches[owner.kind]
            await cache.load(
                {key for each in documents for key in planning.values_at(each, owner.field)}
            )
            references = (
                (document, f"{origin}.{owner.field}", key)
                for document, origin in zip(documents, origins, strict=True)
                for key in planning.values_at(document, owner.field)
            )
            for document, place, key in references:
                if self.violations.rejected.includes(owner.kind, key):
                    continue  # it is in the bundle, with errors of its own
                for fault in find_reference_faults(owner, key, document, cache.get(key)):
                    self._add_doubt(kind, document, fault.field)
                    if fault.owner_field is None:
                        await self._add_missing_owner(owner, key, place)
                    elif (owner.kind, key, fault.owner_field) not in self._doubtful:
                        self.violations.add(place, fault.message)

    def _add_doubt(self, kind: RecordType[Any], document: Document, field: str) -> None:
        """Note that a field of a member is wrong: that others do not match it follows from that."""
        if len(self._doubtful) < MAX_DOUBTS:
            self._doubtful.add((kind.name, document["_id"], field))

    async def validate_rejected(self) -> None:
        """Validate the owners of members that were rejected for something else."""
        for member in self.violations.rejected.members:
            await self._validate_owners(member.kind, [member.document], [member.origin])

    async def validate_asset_ids(self) -> None:
        """Find assets to mirror that are neither in the bundle nor in the catalog."""
        ids = sorted(self.asset_ids or ())
        where = {"_id": {"$in": ids}}
        found = await driver.read_all(self.database[catalog.ASSETS.name].find(where, ["_id"]))
        found += await self.staging.find_members(catalog.ASSETS.name, ids, set())
        for asset_id in sorted({*ids} - {document["_id"] for document in found}):
            if not self.violations.rejected.may_include(catalog.ASSETS.name, asset_id):
                await self._add_missing(catalog.ASSETS, asset_id, "assets to mirror")

    def _validate_assets(
        self, kind: RecordType[Any], batch: planning.PlannedBatch, asset_ids: Collection[str]
    ) -> None:
        for document, origin in zip(batch.documents, batch.origins, strict=True):
            asset_id = document[kind.scope_field]
            if asset_id is not None and asset_id not in asset_ids:  # None: its owner is missing
                name = describe_record(kind, document["_id"])
                self.violations.add(
                    origin,
                    f"{name} belongs to asset {quote_json(asset_id)}, which is not one of those to"
                    f" mirror: {', '.join(map(quote_json, sorted(asset_ids)))}",
                )

    async def _add_missing_owner(self, owner: ForeignKey, key: str, place: str) -> None:
        if self.violations.rejected.may_include(owner.kind, key):
            return
        kind = catalog.RECORD_TYPES_BY_NAME[owner.kind]
        if await self.find_removed(owner.kind, [key]):
            message = "is removed by this import: the bundle does not have it"
            self.violations.add(place, f"{describe_record(kind, key)} {message}")
        else:
            await self._add_missing(kind, key, place)

    async def _add_missing(self, kind: RecordType[Any], key: str, place: str) -> None:
        near = list[str]()
        if not self.violations.is_full:
            staged, live = self.staging.collection_of(kind.name), self.database[kind.name]
            near += await find_neighbours(staged, KEY_FIELD, key)
            near += await find_neighbours(live, "_id", key)
        self.violations.add(place, describe_missing(kind, key, near, NOWHERE))

    def _validate_unique_keys(self, batch: planning.PlannedBatch) -> None:
        # Sorted by their staged keys, so documents with the same single-valued key are neighbours.
        for document, origin in zip(batch.documents, batch.origins, strict=True):
            if document["_id"] == self._previous[0]:
                self.violations.add(origin, describe_repeated(self._previous[1]))
            self._previous = document["_id"], origin

    def _validate_immutable_fields(
        self, kind: RecordType[Any], document: Document, live: Document, origin: str
    ) -> None:
        for field in kind.immutable_fields:
            if document[field] != live[field]:
                self._add_doubt(kind, document, field)
                self.violations.add(
                    f"{origin}.{field}",
                    f"{describe_record(kind, live['_id'])} belongs to {quote_json(live[field])} and"
                    f" cannot move to {quote_json(document[field])}",
                )

    async def _validate_owned_records(
        self, kind: RecordType[Any], document: Document, live: Document, origin: str
    ) -> None:
        """Check that fields and values of an owner that live records use do not change."""
        owned = [
            (owned_kind, owner)
            for owned_kind in catalog.RECORD_TYPES
            for owner in owned_kind.foreign_keys
            if owner.kind == kind.name
        ]
        for owned_kind, owner in owned:
            is_of_owner = {owner.field: document["_id"]}
            for field in owner.copied_fields:
                if document[field] != live[field] and await self.database[owned_kind.name].find_one(
                    is_of_owner
                ):
                    self.violations.add(
                        f"{origin}.{field}",
                        f"cannot change from {quote_json(live[field])} while there are"
                        f" {owned_kind.name}",
                    )
            field, path = owner.value_in or ("", "")
            dropped = {*planning.values_at(live, path)} - {*planning.values_at(document, path)}
            where = {**is_of_owner, field: {"$in": sorted(dropped)}}
            if dropped and (kept := await self._find_kept(owned_kind, where)):
                self.violations.add(
                    f"{origin}.{path}",
                    f"{quote_json(kept[field])} cannot be removed while {owned_kind.name} refer to"
                    f" it; the {describe_record(kind, live['_id'])} of the catalog, which all"
                    f" assets share, also has {quote_first(sorted(dropped))}: add what it has, or"
                    " give this one another id",
                )

    async def _find_kept(self, kind: RecordType[Any], where: Document) -> Document | None:
        """Return a record that the import neither removes nor replaces by one of another value."""
        async for batch in driver.iter_batches(self.database[kind.name], where):
            removed = await self.find_removed(kind.name, [document["_id"] for document in batch])
            for document in batch:
                if document["_id"] not in removed and not (
                    document.get(kind.single_valued_flag)
                    and await self.staging.has_key_within(kind.name, document["_id"])
                ):
                    return document
        return None

    async def collect_notes(self) -> list[str]:
        """Return warnings: drawings that show units or floors that there are not, maps tagged
        routable that are not."""
        notes = []
        units, maps = self.owner_caches[catalog.UNITS.name], self.owner_caches[catalog.MAPS.name]
        async for batch in self.staging.iter_batches(catalog.MAPS):
            notes += await self._note_unroutable_maps(batch)
            drawn = [document for document in batch if SHOWN_FIELD in document]
            await maps.load({document["_id"] for document in drawn})
            assets = [(maps.get(document["_id"]) or {})["asset_id"] for document in drawn]
            floor_ids = await self._find_floor_ids({*assets}) if drawn else {}
            for document, asset_id in zip(drawn, assets, strict=True):
                unit_ids, levels, unit_levels = document[SHOWN_FIELD]
                shown = drawings.ShownParts(
                    unit_ids, [*starmap(drawings.ShownLevel, levels)], unit_levels
                )
                place = self.violations.columns.describe(f"{document[ORIGIN_FIELD]}.source")
                await units.load(set(unit_ids))
                found = {unit_id: units.get(unit_id) for unit_id in unit_ids}
                on = {unit_id: unit["floor_id"] for unit_id, unit in found.items() if unit}
                for note in describe_drawing(shown, on, floor_ids.get(asset_id, ())):
                    notes.append(f"{place}: {note}")
        return notes

    async def _find_floor_ids(self, asset_ids: Collection[str]) -> dict[str, set[str]]:
        """Return by asset the floors that it has after the import."""
        where = {"asset_id": {"$in": [*asset_ids]}}
        live = await driver.read_all(self.database[catalog.FLOORS.name].find(where, ["asset_id"]))
        removed = await self.find_removed(catalog.FLOORS.name, [floor["_id"] for floor in live])
        kept = (floor for floor in live if floor["_id"] not in removed)
        floor_ids = defaultdict(set)
        for floor in (*await self.staging.find_floors(asset_ids), *kept):
            floor_ids[floor["asset_id"]].add(floor["_id"])
        return floor_ids

    async def _note_unroutable_maps(self, batch: list[Document]) -> list[str]:
        tagged = {
            document["_id"]: document[ORIGIN_FIELD]
            for document in batch
            if catalog.PATHFINDING_TAG in document.get("tags", ())
            and document.get("source") is None
        }
        if not tagged:
            return []
        where = {"_id": {"$in": [*tagged]}, catalog.NETWORK_FIELD: {"$type": "string"}}
        routable = set(await self.database[catalog.MAPS.name].distinct("_id", where))
        return [
            f"{self.violations.columns.describe(f'{origin}.tags')}: the map is tagged"
            f" {catalog.PATHFINDING_TAG} but is not routable until it is processed"
            for key, origin in tagged.items()
            if key not in routable
        ]


# Bundles are checked without a database: what would an import say of them by themselves?
#
# Members are read, and validated against each other, by the rules of an import. Owners that are in
# none of the files are assumed to be in the catalog, and listed. See
# docs/decisions/import/reading.md.


class IndexedMember(NamedTuple):
    """The place of a member, and the facts about it that its members must match."""

    place: str
    facts: Document


class MemberIndex:
    """The members of a check in memory: their keys, where they are, and what others need to know.

    It keeps the first member with each key. A check of a million units takes 320 to 430 MB, the
    most if their floors are in no file.
    """

    def __init__(self) -> None:
        self._members: dict[str, dict[str, IndexedMember]] = {
            kind.name: {} for kind in catalog.RECORD_TYPES
        }
        self._owner_fields = {
            kind.name: planning.OwnerFields(kind) for kind in catalog.RECORD_TYPES
        }
        self._equal_facts: dict[tuple[object, ...], Document] = {}
        """One document for all members about which there are the same facts."""
        self._sorted_keys: dict[str, list[str]] = {}

    def add(self, kind: RecordType[Any], document: Document, place: str) -> IndexedMember | None:
        """Add a member, or return the one that has its key. It may lack fields."""
        owner_fields = self._owner_fields[kind.name]
        facts = owner_fields.extract(document) | owner_fields.list_unknown(document)
        facts = self._equal_facts.setdefault((*facts.items(),), facts)
        member = IndexedMember(place, facts)
        found = self._members[kind.name].setdefault(document["_id"], member)
        return None if found is member else found

    def get(self, kind_name: str, key: str) -> IndexedMember | None:
        """Return the member of a kind with this key, if there is one."""
        return self._members[kind_name].get(key)

    def iter_sorted(self, kind_name: str) -> Iterator[tuple[str, IndexedMember]]:
        """Yield the members of a kind by key."""
        members = self._members[kind_name]
        for key in self._sort_keys(kind_name):
            yield key, members[key]

    def find_near_keys(self, kind_name: str, key: str) -> list[str]:
        """Return keys that stand next to one in their order. Add no members after this."""
        keys = self._sort_keys(kind_name)
        at = bisect(keys, key)
        return keys[max(0, at - NEIGHBOURS) : at + NEIGHBOURS]

    def _sort_keys(self, kind_name: str) -> list[str]:
        if kind_name not in self._sorted_keys:
            self._sorted_keys[kind_name] = sorted(self._members[kind_name])
        return self._sorted_keys[kind_name]


@dataclasses.dataclass(slots=True)
class Reference:
    """Members that refer to one owner and have the same values of what must match it."""

    owner: ForeignKey
    key: str
    values: Document
    """The fields of the members that must match the owner."""
    places: list[str]
    """The first of the members."""
    count: int = 1

    def find_faults(self, owner: IndexedMember | None) -> Iterator[ReferenceFault]:
        """Yield what is wrong with the reference, given the owner."""
        facts = owner.facts if owner else None
        return find_reference_faults(self.owner, self.key, self.values, facts)


def iter_references(kind: RecordType[Any], document: Document, place: str) -> Iterator[Reference]:
    """Yield the references of a member to its owners."""
    for owner in kind.foreign_keys:
        compared = [stored_name(field) for field, _ in owner.equal_fields]
        compared += [owner.value_in[0]] if owner.value_in else []
        values = {field: document.get(field) for field in compared}
        for key in planning.values_at(document, owner.field):
            yield Reference(owner, key, values, [f"{place}.{owner.field}"])


MAX_CHECK_VIOLATIONS = 1000
MAX_LISTED_OWNERS = 100

DrawingParser: TypeAlias = Callable[[bytes], drawings.ParsedSource]
"""Parses a drawing. Raises drawings.SourceError."""


class AssumedOwner(NamedTuple):
    """A record that is in none of the files and to which members refer."""

    kind: str
    id: str
    members: int
    meant: str | None
    """The id of a member of this kind that resembles it."""

    def __str__(self) -> str:
        name = describe_record(catalog.RECORD_TYPES_BY_NAME[self.kind], self.id)
        hint = f"; did you mean {quote_json(self.meant)}?" if self.meant else ""
        return f"{name} ({self.members:,} member{'s' * (self.members != 1)}){hint}"


class CheckResult(NamedTuple):
    """The result of a check."""

    violations: Violations
    assumed: list[AssumedOwner]
    """The first of them, those with the most members first."""
    assumed_total: int
    notes: list[str]
    members: dict[str, int]
    """So many members of each kind are valid on their own."""


def check_bundles(
    bundles: Sequence[BundleSource],
    violations: Violations,
    parse_drawing: DrawingParser,
    drawings: Mapping[str, drawings.ShownParts] | None = None,
    *,
    is_complete: bool = False,
    is_merge: bool = False,
) -> CheckResult:
    """Check bundles by themselves, adding what is wrong to `violations`.

    `drawings` are what drawings show that are checked with them, by file.
    With `is_complete` they are a whole catalog: owners that are in none of them are violations.
    With `is_merge`, members give only some fields, of records that the
    catalog is assumed to have.
    """
    check = _BundleCheck(violations, parse_drawing, is_merge)
    tables = TableReader()
    for batch in read_batches(bundles, violations, tables, are_partial=is_merge):
        for member in batch.members:
            check.add_member(member, batch.directory)
    check.add_rejected()
    check.add_repeated_rejected()
    check.add_repeated_attributes()
    if bundles:
        for place, shown in (drawings or {}).items():
            check.shown[place] = None, shown
    missing = check.resolve_references(is_complete)
    notes = [*map(to_printable, (*tables.notes, *check.collect_notes(is_complete)))]
    if bundles and not check.members and not violations.total:
        notes.append(NO_MEMBERS_NOTE)
    assumed = [
        AssumedOwner(kind_name, key, count, check.suggest_key(kind_name, key))
        for (kind_name, key), count in missing.most_common(MAX_LISTED_OWNERS)
    ]
    return CheckResult(violations, assumed, len(missing), notes, dict(check.members))


@dataclasses.dataclass
class _BundleCheck:
    """The members that were read so far, and what waits until all are."""

    violations: Violations
    parse_drawing: DrawingParser
    is_merge: bool
    members: Counter[str] = dataclasses.field(default_factory=Counter)
    _index: MemberIndex = dataclasses.field(default_factory=MemberIndex)
    _references: dict[tuple[object, ...], Reference] = dataclasses.field(default_factory=dict)
    """References to owners that were not read before the members, or do not match them."""
    shown: dict[str, tuple[str | None, drawings.ShownParts]] = dataclasses.field(
        default_factory=dict
    )
    """They are the asset of the map, if known, and what it shows, by place of the drawing."""
    _changed: Counter[tuple[str, str]] = dataclasses.field(default_factory=Counter)
    """The records of members that lack what a new record needs."""

    def add_member(self, member: BundleMember, directory: Path | None) -> None:
        """Add a member. Its drawing is relative to the directory."""
        kind, document, place = member.kind, member.document, member.origin
        self.members[kind.name] += 1
        if document.get("source") is not None:
            self._add_drawing(document, place, directory)
        if self.is_merge and planning.find_lacking_fields(kind, document):
            self._changed[kind.name, document["_id"]] += 1
        if other := self._index.add(kind, document, place):
            message = describe_duplicate(kind, document["_id"], other.place)
            self.violations.add(place, message)
        for reference in iter_references(kind, document, place):
            owner = self._index.get(reference.owner.kind, reference.key)
            if any(reference.find_faults(owner)):
                self._add_reference(reference)

    def _add_reference(self, reference: Reference) -> None:
        """Add a reference from one place, to be checked when all members are read.

        Members that refer to an owner in the same way are one reference.
        """
        identity = (reference.owner, reference.key, *reference.values.values())
        known = self._references.setdefault(identity, reference)
        if known is not reference:
            known.count += 1
            if len(known.places) < self.violations.max_kept:
                known.places += reference.places

    def add_rejected(self) -> None:
        """Add what members refer to that were rejected for something else."""
        for member in self.violations.rejected.members:
            if member.document.get("source") is not None:
                self._add_drawing(member.document, member.origin, member.directory)
            for reference in iter_references(member.kind, member.document, member.origin):
                self._add_reference(reference)

    def _add_drawing(self, document: Document, place: str, directory: Path | None) -> None:
        try:
            drawing = self.parse_drawing(drawings.read_source(document["source"], directory))
            source = self.violations.columns.describe(f"{place}.source")
            self.shown[source] = document.get("asset_id"), drawing.shown
        except drawings.SourceError as error:
            self.violations.add(f"{place}.source", str(error))

    def _lacks_owner(self, kind: RecordType[Any], fault: ReferenceFault, facts: Document) -> bool:
        """Return whether a member names an owner that is missing where another does not match it:
        that is its error."""
        return any(
            owner.field == fault.owner_field and self._is_missing(owner.kind, facts[owner.field])
            for owner in kind.foreign_keys
        )

    def _is_missing(self, kind_name: str, key: str) -> bool:
        is_rejected = self.violations.rejected.may_include(kind_name, key)
        return not is_rejected and self._index.get(kind_name, key) is None

    def resolve_references(self, is_complete: bool) -> Counter[tuple[str, str]]:
        """Check the references that waited; return the owners that do not exist."""
        missing = self._changed
        rejected = self.violations.rejected
        for reference in self._references.values():
            owner, key, count = reference.owner, reference.key, reference.count
            member = self._index.get(owner.kind, key)
            if member and rejected.includes(owner.kind, key):
                continue
            kind = catalog.RECORD_TYPES_BY_NAME[owner.kind]
            for fault in reference.find_faults(member):
                if member is not None:
                    if not (is_complete and self._lacks_owner(kind, fault, member.facts)):
                        self.violations.add_all(reference.places, fault.message, count)
                elif is_complete and self._is_missing(owner.kind, key):
                    is_full = self.violations.is_full
                    near = [] if is_full else self._index.find_near_keys(owner.kind, key)
                    message = describe_missing(kind, key, near, " in any of the files")
                    self.violations.add_all(reference.places, message, count)
                elif self._is_missing(owner.kind, key):
                    missing[owner.kind, key] += count
        return missing

    def suggest_key(self, kind_name: str, key: str) -> str | None:
        """Return the key of a member that resembles one, if any."""
        if self._index.get(kind_name, key):
            return None
        return suggest(key, self._index.find_near_keys(kind_name, key))

    def add_repeated_rejected(self) -> None:
        """Add members with the keys of members that were rejected for something else."""
        for kind, places in self.violations.rejected.iter_places():
            for key, place in places.items():
                if member := self._index.get(kind.name, key):
                    self.violations.add_duplicate(kind, key, place, member.place)

    def add_repeated_attributes(self) -> None:
        """Check that units have one attribute of a group for one."""
        kind, previous = catalog.ASSIGNMENTS, ("", "")
        for key, member in self._index.iter_sorted(kind.name):
            document: Document = dict(zip(kind.key_fields, key.split(KEY_SEPARATOR), strict=True))
            group = self._index.get(catalog.ATTRIBUTE_GROUPS.name, document["group_id"])
            document |= {kind.single_valued_flag: group and group.facts[kind.single_valued_flag]}
            stored_key = kind.key_of(document)
            if stored_key == previous[0]:
                self.violations.add(member.place, describe_repeated(previous[1]))
            previous = stored_key, member.place

    def collect_notes(self, is_complete: bool) -> list[str]:
        """Return notes about drawings that show units or floors that are in none of the files.

        Files without any unit are not complete, unless it is said: their units are in the catalog.
        """
        has_units = is_complete or bool(self.members[catalog.UNITS.name])
        notes = []
        floor_ids: dict[str, set[str]] = defaultdict(set)
        for floor_id, floor in self._index.iter_sorted(catalog.FLOORS.name) if self.shown else ():
            floor_ids[floor.facts["asset_id"]].add(floor_id)
        for place, (asset_id, shown) in self.shown.items():
            # Which asset a drawing shows that is no map's is known by its Levels.
            assets = [floor_ids[asset_id]] if asset_id else floor_ids.values()
            floors: Collection[str] = min(
                assets,
                key=lambda each: len(drawings.find_unmatched_levels(shown.levels, each)),
                default=(),
            )
            units = {key: self._index.get(catalog.UNITS.name, key) for key in shown.unit_ids}
            on = {key: unit.facts["floor_id"] for key, unit in units.items() if unit}
            noted = shown if has_units else shown._replace(unit_ids=(), unit_levels=())
            notes += [f"{place}: {note}" for note in describe_drawing(noted, on, floors)]
        return notes
