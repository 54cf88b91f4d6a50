"""Checking bundles without a database: what an import would say of them by themselves.

Members are read, and validated against each other, by the rules of an import. Owners that are in
none of the files are assumed to be in the catalog, and listed. See
docs/decisions/import/reading.md.
"""

from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from storage.bundles.drawings import (
    ParsedSource,
    ShownParts,
    SourceError,
    find_unmatched_levels,
    read_source,
)
from storage.bundles.json_bundles import BundleMember
from storage.bundles.names import suggest
from storage.bundles.violations import (
    Violations,
    describe_duplicate,
    describe_record,
    quote_json,
    to_printable,
)
from storage.catalog import FLOORS, RECORD_TYPES, RECORD_TYPES_BY_NAME, UNITS
from storage.importing import planning, validation
from storage.importing.batches import BundleSource, read_batches
from storage.importing.staging import NEIGHBOURS
from storage.importing.validation import NO_MEMBERS_NOTE
from storage.records.kinds import KEY_SEPARATOR, Document, ForeignKey, RecordType, stored_name
from storage.spreadsheets.reader import TableReader


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
            kind.name: {} for kind in RECORD_TYPES
        }
        self._owner_fields = {kind.name: planning.OwnerFields(kind) for kind in RECORD_TYPES}
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


@dataclass(slots=True)
class Reference:
    """Members that refer to one owner and have the same values of what must match it."""

    owner: ForeignKey
    key: str
    values: Document
    """The fields of the members that must match the owner."""
    places: list[str]
    """The first of the members."""
    count: int = 1

    def find_faults(self, owner: IndexedMember | None) -> Iterator[validation.ReferenceFault]:
        """Yield what is wrong with the reference, given the owner."""
        facts = owner.facts if owner else None
        return validation.find_reference_faults(self.owner, self.key, self.values, facts)


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

DrawingParser: TypeAlias = Callable[[bytes], ParsedSource]
"""Parses a drawing. Raises SourceError."""


class AssumedOwner(NamedTuple):
    """A record that is in none of the files and to which members refer."""

    kind: str
    id: str
    members: int
    meant: str | None
    """The id of a member of this kind that resembles it."""

    def __str__(self) -> str:
        name = describe_record(RECORD_TYPES_BY_NAME[self.kind], self.id)
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
    drawings: Mapping[str, ShownParts] | None = None,
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
    check = _BundleCheck(violations, parse_drawing, is_merge=is_merge)
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
    notes = [*map(to_printable, (*tables.notes, *check.collect_notes()))]
    if bundles and not check.members and not violations.total:
        notes.append(NO_MEMBERS_NOTE)
    assumed = [
        AssumedOwner(kind_name, key, count, check.suggest_key(kind_name, key))
        for (kind_name, key), count in missing.most_common(MAX_LISTED_OWNERS)
    ]
    return CheckResult(violations, assumed, len(missing), notes, dict(check.members))


class _BundleCheck:
    """The members that were read so far, and what waits until all are."""

    def __init__(
        self, violations: Violations, parse_drawing: DrawingParser, *, is_merge: bool
    ) -> None:
        self.members: Counter[str] = Counter()
        self._violations = violations
        self._parse_drawing = parse_drawing
        self._is_merge = is_merge
        self._index = MemberIndex()
        self._references: dict[tuple[object, ...], Reference] = {}
        """References to owners that were not read before the members, or do not match them."""
        self.shown: dict[str, tuple[str | None, ShownParts]] = {}
        """They are the asset of the map, if known, and what it shows, by place of the drawing."""
        self._changed: Counter[tuple[str, str]] = Counter()
        """The records of members that lack what a new record needs."""

    def add_member(self, member: BundleMember, directory: Path | None) -> None:
        """Add a member. Its drawing is relative to the directory."""
        kind, document, place = member.kind, member.document, member.origin
        self.members[kind.name] += 1
        if document.get("source") is not None:
            self._add_drawing(document, place, directory)
        if self._is_merge and planning.find_lacking_fields(kind, document):
            self._changed[kind.name, document["_id"]] += 1
        if other := self._index.add(kind, document, place):
            message = describe_duplicate(kind, document["_id"], other.place)
            self._violations.add(place, message)
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
            if len(known.places) < self._violations.max_kept:
                known.places += reference.places

    def add_rejected(self) -> None:
        """Add what members refer to that were rejected for something else."""
        for member in self._violations.rejected.members:
            if member.document.get("source") is not None:
                self._add_drawing(member.document, member.origin, member.directory)
            for reference in iter_references(member.kind, member.document, member.origin):
                self._add_reference(reference)

    def _add_drawing(self, document: Document, place: str, directory: Path | None) -> None:
        try:
            drawing = self._parse_drawing(read_source(document["source"], directory))
            source = self._violations.columns.describe(f"{place}.source")
            self.shown[source] = document.get("asset_id"), drawing.shown
        except SourceError as error:
            self._violations.add(f"{place}.source", str(error))

    def _lacks_owner(
        self, kind: RecordType[Any], fault: validation.ReferenceFault, facts: Document
    ) -> bool:
        """Return whether a member names an owner that is missing where another does not match it:
        that is its error."""
        return any(
            owner.field == fault.owner_field and self._is_missing(owner.kind, facts[owner.field])
            for owner in kind.foreign_keys
        )

    def _is_missing(self, kind_name: str, key: str) -> bool:
        is_rejected = self._violations.rejected.may_include(kind_name, key)
        return not is_rejected and self._index.get(kind_name, key) is None

    def resolve_references(self, is_complete: bool) -> Counter[tuple[str, str]]:
        """Check the references that waited; return the owners that do not exist."""
        missing = self._changed
        rejected = self._violations.rejected
        for reference in self._references.values():
            owner, key, count = reference.owner, reference.key, reference.count
            member = self._index.get(owner.kind, key)
            if member and rejected.includes(owner.kind, key):
                continue
            kind = RECORD_TYPES_BY_NAME[owner.kind]
            for fault in reference.find_faults(member):
                if member is not None:
                    if not (is_complete and self._lacks_owner(kind, fault, member.facts)):
                        self._violations.add_all(reference.places, fault.message, count)
                elif is_complete and self._is_missing(owner.kind, key):
                    message = self._describe_missing(owner, key)
                    self._violations.add_all(reference.places, message, count)
                elif self._is_missing(owner.kind, key):
                    missing[owner.kind, key] += count
        return missing

    def _describe_missing(self, owner: ForeignKey, key: str) -> str:
        is_full = self._violations.is_full
        near = [] if is_full else self._index.find_near_keys(owner.kind, key)
        return validation.describe_missing(
            RECORD_TYPES_BY_NAME[owner.kind], key, near, " in any of the files"
        )

    def suggest_key(self, kind_name: str, key: str) -> str | None:
        """Return the key of a member that resembles one, if any."""
        if self._index.get(kind_name, key):
            return None
        return suggest(key, self._index.find_near_keys(kind_name, key))

    def add_repeated_rejected(self) -> None:
        """Add members with the keys of members that were rejected for something else."""
        for kind, places in self._violations.rejected.iter_places():
            for key, place in places.items():
                if member := self._index.get(kind.name, key):
                    self._violations.add_duplicate(kind, key, place, member.place)

    def add_repeated_attributes(self) -> None:
        """Check that units have one attribute of a group for one."""
        for kind in RECORD_TYPES:
            if kind.single_valued_flag:
                self._add_repeated_keys(kind)

    def _add_repeated_keys(self, kind: RecordType[Any]) -> None:
        repeated = validation.RepeatedKeys()
        (owner,) = (
            row for row in kind.foreign_keys if kind.single_valued_flag in row.copied_fields
        )
        for key, member in self._index.iter_sorted(kind.name):
            document: Document = dict(zip(kind.key_fields, key.split(KEY_SEPARATOR), strict=True))
            group = self._index.get(owner.kind, document[owner.field])
            document |= {kind.single_valued_flag: group and group.facts[kind.single_valued_flag]}
            if message := repeated.find(kind.key_of(document), member.place):
                self._violations.add(member.place, message)

    def collect_notes(self) -> list[str]:
        """Return notes about drawings that show units or floors that are in none of the files."""
        notes = []
        floor_ids: dict[str, set[str]] = defaultdict(set)
        for floor_id, floor in self._index.iter_sorted(FLOORS.name) if self.shown else ():
            floor_ids[floor.facts["asset_id"]].add(floor_id)
        for place, (asset_id, shown) in self.shown.items():
            # Which asset a drawing shows that is no map's is known by its Levels.
            assets = [floor_ids[asset_id]] if asset_id else floor_ids.values()
            floors: Collection[str] = min(
                assets,
                key=lambda each: len(find_unmatched_levels(shown.levels, each)),
                default=(),
            )
            on = self._find_floors(shown.unit_ids)
            notes += [f"{place}: {note}" for note in validation.describe_drawing(shown, on, floors)]
        return notes

    def _find_floors(self, unit_ids: Iterable[str]) -> dict[str, str | None]:
        members = {unit_id: self._index.get(UNITS.name, unit_id) for unit_id in unit_ids}
        return {key: each.facts["floor_id"] for key, each in members.items() if each}
