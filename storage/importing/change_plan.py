"""The request for a change of the catalog, the plan that shows it, the bundle that undoes it."""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple, TypeAlias

import msgspec

from storage import catalog
from storage.administration.audit import Operation
from storage.bundles.json_bundles import encode_line, to_member
from storage.bundles.violations import list_first, quote_json
from storage.catalog import ASSIGNMENTS, ATTRIBUTE_GROUPS, PARSED_FIELD
from storage.errors import BundleError, StorageError
from storage.importing.planning import Change, list_changed_fields
from storage.importing.removals import RemovalLimit
from storage.mongo import driver, files
from storage.records import kinds
from storage.routing_inputs import (
    ROUTING_FIELDS,
    StaleNetwork,
    can_be_rebuilt,
    describe_change,
    load_floor_sorts,
    position_of,
    read_state,
)

MAX_VALUE_CHARACTERS = 80
"""The JSON of a value in a plan has no more."""
SAME_CHARACTERS = 30
"""Values that are cut show so much before their first difference."""
_MORE = "\N{HORIZONTAL ELLIPSIS}"


def to_json(value: Any) -> str:
    """Return a value as JSON."""
    return msgspec.json.encode(value).decode()


def show_change(before: Any, after: Any) -> tuple[str, str]:
    """Return two values as JSON. Of long ones, only what differs, with an ellipsis for the rest.

    >>> days = [{"key": f"day-{number}"} for number in range(20)]
    >>> show_change(days, [*days, {"key": "holidays"}])
    ('[…]', '[…,{"key":"holidays"}]')
    >>> show_change("x" * 300 + ": open", "x" * 300 + ": closed")
    ('…xxxxxxxxxxxxxxxxxxxxxxxxxxxx: open"', '…xxxxxxxxxxxxxxxxxxxxxxxxxxxx: closed"')
    """
    texts = to_json(before), to_json(after)
    if _are_long(texts) and isinstance(before, list) and isinstance(after, list):
        texts = _leave_out_common(before, after) or texts
    return _cut(texts) if _are_long(texts) else texts


def _are_long(texts: Iterable[str]) -> bool:
    return any(len(text) > MAX_VALUE_CHARACTERS for text in texts)


def _leave_out_common(before: list[Any], after: list[Any]) -> tuple[str, str] | None:
    """Return two lists without the items of both; None if only their order differs."""
    old, new = Counter(map(to_json, before)), Counter(map(to_json, after))
    if old == new:
        return None
    has_common = old & new
    first, second = (
        f"[{','.join([*([_MORE] if has_common else []), *items.elements()])}]"
        for items in (old - new, new - old)
    )
    return first, second


def _cut(texts: tuple[str, str]) -> tuple[str, str]:
    differing = (place for place, (old, new) in enumerate(zip(*texts, strict=False)) if old != new)
    start = max(0, next(differing, min(map(len, texts))) - SAME_CHARACTERS)
    first, second = (_cut_one(text, start) for text in texts)
    return first, second


def _cut_one(text: str, start: int) -> str:
    shown = _MORE + text[start:] if start else text
    if len(shown) <= MAX_VALUE_CHARACTERS:
        return shown
    return shown[: MAX_VALUE_CHARACTERS - len(_MORE)] + _MORE


# A plan is computed as the changes are, batch by batch. It keeps the first changes of each kind;
# all of them can be written to a file on the way. Its digest covers all of them, so that what is
# applied can be compared with what was shown.

ChangeOperation: TypeAlias = Literal["added", "changed", "removed"]
CHANGE_OPERATIONS: dict[Operation, ChangeOperation] = {
    "inserted": "added",
    "updated": "changed",
    "removed": "removed",
}
"""A plan calls the operations of the audit log so."""

MAX_LISTED_CHANGES = 1_000
"""Changes of one kind and operation in a plan."""
DRAWING_FIELDS = ("source", PARSED_FIELD)
"""These fields of a map hold the digest of a file."""


class FieldChange(msgspec.Struct, frozen=True):
    """A field that changes; the values are JSON, or name a drawing by its digest and size."""

    field: str
    before: Annotated[str, "Shortened to where it differs, as `after` is; `…` stands for the rest."]
    after: str


class RecordChange(msgspec.Struct, frozen=True):
    """A record that an import adds, changes or removes."""

    kind: Annotated[str, "The collection, such as `units`."]
    operation: Annotated[str, "`added`, `changed` or `removed`."]
    record_id: Annotated[str, "The identifying fields, with slashes between them."]
    fields: Annotated[list[FieldChange], "Of a changed record, the fields."] = []
    removed_with: Annotated[
        str | None, "The owner that a record is removed with; null if it is removed for itself."
    ] = None


class ChangePlan(msgspec.Struct):
    """What an import changes."""

    digest: Annotated[str, "Of all changes: the same only if the changes are the same."] = ""
    changes: Annotated[
        list[RecordChange], f"The first {MAX_LISTED_CHANGES:,} of each kind and operation."
    ] = []
    unlisted: Annotated[int, "How many more there are."] = 0


@dataclass
class PlanRecorder:
    """Collects the changes of an import into its plan.

    `write_change` receives every change, with whole values, also those that the plan does not list.
    """

    database: driver.Database
    write_change: Callable[[RecordChange], None] | None
    _plan: ChangePlan = field(default_factory=ChangePlan)
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    _hash: Any = field(default_factory=hashlib.sha256)

    async def add(self, kind: kinds.RecordType[Any], changes: Sequence[Change]) -> None:
        """Add changes."""
        fields = [
            list_changed_fields(kind, change.after, change.before) if change.after else {}
            for change in changes
        ]
        drawings = await self._describe_drawings(fields)
        for change, changed in zip(changes, fields, strict=True):
            self._add(kind, change, changed, drawings)

    def finish(self) -> ChangePlan:
        """Return the plan."""
        self._plan.digest = self._hash.hexdigest()
        return self._plan

    def _add(
        self,
        kind: kinds.RecordType[Any],
        change: Change,
        changed: Mapping[str, tuple[Any, Any]],
        drawings: Mapping[str, str],
    ) -> None:
        operation, owner = CHANGE_OPERATIONS[change.operation], change.owner
        key = kinds.format_key(kinds.get_key_values(kind, change.after or change.before))
        self._hash.update(msgspec.json.encode([kind.name, operation, key, changed, owner]))
        self._counts[kind.name, operation] += 1
        is_listed = self._counts[kind.name, operation] <= MAX_LISTED_CHANGES
        self._plan.unlisted += not is_listed
        if not is_listed and self.write_change is None:
            return
        own = {name: values for name, values in changed.items() if name in kind.projection}
        # All, where none is of the record itself: a new release may parse a drawing otherwise.
        shown = (own or changed) if operation == "changed" else {}

        def build(show: Callable[[Any, Any], tuple[str, str]]) -> RecordChange:
            fields = []
            for name, (before, after) in shown.items():
                texts = show(before, after)
                if name in DRAWING_FIELDS:
                    texts = drawings.get(before, texts[0]), drawings.get(after, texts[1])
                fields.append(FieldChange(name, *texts))
            return RecordChange(kind.name, operation, key, fields, owner)

        if self.write_change is not None:
            self.write_change(build(lambda before, after: (to_json(before), to_json(after))))
        if is_listed:
            self._plan.changes.append(build(show_change))

    async def _describe_drawings(
        self, changes: Iterable[Mapping[str, tuple[Any, Any]]]
    ) -> dict[str, str]:
        """Return how the files of drawings that change are shown, by digest."""
        digests = {
            digest
            for changed in changes
            for name in DRAWING_FIELDS
            for digest in changed.get(name, ())
            if digest is not None
        }
        sizes = await files.get_sizes(self.database, digests)
        return {digest: f"drawing {digest[:8]} ({size:,} bytes)" for digest, size in sizes.items()}


class ChangeRequest(NamedTuple):
    """A request for more than writing the members of an import; by default for nothing."""

    force_drawings: bool = False
    """Import drawings that are mostly an image, too."""
    merges: bool = False
    """Change only the fields that members have; without `mirrors`."""
    mirrors: bool = False
    """Remove what the bundles do not have, of the kinds that they mention."""
    asset_ids: frozenset[str] | None = None
    """The assets to mirror; all members must belong to them. None for all."""
    removed_kind: str = ""
    removed_keys: tuple[str, ...] = ()
    """Records to remove: their kind, and their keys as text."""
    limit: RemovalLimit = RemovalLimit()
    """No more may be removed."""
    is_planned: bool = False
    """The summary has the plan."""
    expected_digest: str | None = None
    """The plan that was shown has it: anything else is not applied."""
    undo_path: Path | None = None
    """Write what is changed or removed to this file, as a bundle."""
    max_undo_bytes: int | None = None
    """Return that bundle with the summary instead, if it has no more bytes."""
    write_change: Callable[[RecordChange], None] | None = None
    """Receives each change of the plan."""
    import_id: str | None = None
    """The id that the client has given: of its imports with the same id, one is made."""

    @property
    def needs_plan(self) -> bool:
        """True if the changes are to be listed."""
        return self.is_planned or self.expected_digest is not None or self.write_change is not None


NO_REMOVALS = ChangeRequest()


@dataclass
class PendingFile:
    """A file that stands beside its place until it is kept."""

    path: Path
    stream: BinaryIO
    is_kept: bool = False

    def write(self, content: bytes) -> None:
        """Add to the file. Raises OSError with its name."""
        with _name_in_errors(self.path):
            self.stream.write(content)

    def keep(self) -> None:
        """Give the file its name, with all that was written, even after a loss of power.

        Raises OSError with its name, such as FileExistsError if there is another file of it by now.
        """
        if self.is_kept:
            return
        with _name_in_errors(self.path):
            self.stream.flush()
            os.fsync(self.stream.fileno())
            self.path.open("xb").close()
            _partial(self.path).replace(self.path)
        self.is_kept = True


@contextmanager
def open_pending_file(path: Path) -> Iterator[PendingFile]:
    """Open a file that only its owner can read; it is deleted if it is not kept."""
    partial = _partial(path)
    with _name_in_errors(path):
        partial.unlink(missing_ok=True)  # of a command that was killed
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    stream = os.fdopen(descriptor, "wb")
    try:
        yield PendingFile(path, stream)
    finally:
        with suppress(OSError):  # a full disk, which `keep` has reported
            stream.close()
        partial.unlink(missing_ok=True)


@contextmanager
def _name_in_errors(path: Path) -> Iterator[None]:
    """Name the file that is wanted, not the one that is written first."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def _partial(path: Path) -> Path:
    return path.with_name(f"{path.name}.partial")


@dataclass
class UndoBundle:
    """The bundle that undoes an import: the records that it changes or removes, as they were.

    It has the line form, and is written while the import is planned. Raises BundleError then if it
    has more than `max_bytes`.
    """

    database: driver.Database
    file: PendingFile | BytesIO
    max_bytes: int | None = None
    count: int = 0
    size_bytes: int = 0
    has_drawings: bool = False

    async def add(self, kind: kinds.RecordType[Any], changes: Sequence[Change]) -> None:
        """Add the records that are changed or removed."""
        documents = [
            _restore_group(each.before, each.after)
            if kind is ATTRIBUTE_GROUPS and each.after
            else each.before
            for each in changes
            if each.before
        ]
        for record in kind.decode(documents):
            member = await to_member(self.database, kind, record)
            line = encode_line(kind, member)
            self.file.write(line)
            self.size_bytes += len(line)
            self.has_drawings |= bool(member.get("source"))
            self.count += 1
        if self.max_bytes is not None and self.size_bytes > self.max_bytes:
            raise BundleError(
                [
                    f"the bundle that undoes this has over {self.max_bytes:,} bytes: use floorgate"
                    " import or remove, which write it to a file"
                ]
            )

    @property
    def options(self) -> list[str]:
        """The options of `floorgate import` that it needs: its drawings were accepted before."""
        return ["--force-drawings"] if self.has_drawings else []


def _restore_group(live: kinds.Document, changed: kinds.Document) -> kinds.Document:
    """Return a group as it was, but for what units that stay may need.

    These are the attributes that it gets, and whether a unit may have several.
    """
    ids = {attribute["attribute_id"] for attribute in live["attributes"]}
    added = [each for each in changed["attributes"] if each["attribute_id"] not in ids]
    flag = ASSIGNMENTS.single_valued_flag
    return {**live, flag: changed[flag], "attributes": [*live["attributes"], *added]}


@contextmanager
def open_undo_file(path: Path | None) -> Iterator[PendingFile | None]:
    """Open the file of an undo bundle; what is not kept is deleted. None without a path.

    Raises StorageError if there is a file of this name, or the name cannot be shown.
    """
    if path is None:
        yield None
        return
    if not kinds.is_storable(str(path)):
        raise StorageError(f"{str(path)!r} is not UTF-8: name another file to undo the import with")
    if path.exists():
        raise StorageError(f"{path} exists already: name another file to undo the import with")
    with open_pending_file(path) as file:
        yield file


# The networks that an import makes stale: it changes the drawing, scale, floors or locations that
# they were built from.
#
# They are withdrawn in the transaction that commits the import, before anything is applied, so that
# no network is ever beside what it does not match.


MAX_LOSS_NOTES = 20
UNPROCESSED = "it is tagged pathfinding and has no network"
PLAN_REPLACED = "its plan is being replaced"
"""This is the reason until the network of the new plan is published."""


class StaleNetworks:
    """The networks that an import makes stale; give it all changes, then ask."""

    def __init__(self, database: driver.Database) -> None:
        self._database = database
        self._maps: dict[str, kinds.Document] | None = None
        """The maps with networks, as the import leaves them; None before they are read."""
        self._floor_sorts: dict[str, dict[str, int]] = {}
        """These floors have a new `sort`, by asset."""
        self._moved: set[str] = set()
        """Maps with locations that are moved or removed."""
        self._removed_floors: set[str] = set()
        self._removed_maps: set[str] = set()
        self._losses: list[str] = []
        self._withdrawn: list[StaleNetwork] = []
        """Maps of the import that an earlier one made stale, and that were not processed since."""

    async def add(self, kind: kinds.RecordType[Any], changes: Sequence[Change]) -> None:
        """Note what changes."""
        if kind is catalog.FLOORS:
            for change in changes:
                if change.after:
                    sorts = self._floor_sorts.setdefault(change.after["asset_id"], {})
                    sorts[change.key] = change.after["sort"]
                else:
                    self._removed_floors.add(change.key)
        elif kind is catalog.MAPS:
            routable = await self._load_maps()
            for change in changes:
                if not change.after:
                    self._removed_maps.add(change.key)
                    self._losses += filter(None, [_describe_loss(change.before)])
                elif change.key in routable:
                    planned = {name: change.after[name] for name in ("source", "feet_per_unit")}
                    routable[change.key] |= planned
        elif kind is catalog.LOCATIONS:
            for change in changes:
                # A network need not know all locations: new ones are not in its way.
                if change.before and (
                    not change.after or position_of(change.after) != position_of(change.before)
                ):
                    self._moved.add(change.before["unit_map_id"])

    def add_maps(self, changes: Sequence[Change]) -> None:
        """Note the maps of the import, also unchanged ones, that have no network any more."""
        for change in changes:
            unit_map = change.after
            state = read_state(unit_map)
            if not change.is_unchanged and _claims_network(unit_map):
                self._withdrawn.append(StaleNetwork(change.key, UNPROCESSED, True, True))
            elif state is not None and state.is_stale and state.withdrawn is not None:
                can_rebuild = can_be_rebuilt(unit_map)
                stale = StaleNetwork(change.key, state.withdrawn, can_rebuild, is_withdrawn=True)
                self._withdrawn.append(stale)

    def list_losses(self) -> list[str]:
        """Return notes of what removed maps have that no undo brings back: the first of them."""
        return list_first(self._losses, MAX_LOSS_NOTES, "routable or drawn maps")

    async def find(self) -> list[StaleNetwork]:
        """Return the networks that are stale once the import is applied, by map, and those that
        were withdrawn before."""
        routable = await self._load_maps()
        sorts: dict[str, dict[str, int]] = {}
        stale = [each for each in self._withdrawn if each.map_id not in self._removed_maps]
        for map_id, unit_map in sorted(routable.items()):
            if map_id in self._removed_maps:
                continue
            asset_id = unit_map["asset_id"]
            changed = self._floor_sorts.get(asset_id, {})
            if (changed or self._removed_floors) and asset_id not in sorts:
                live = await load_floor_sorts(self._database, asset_id)
                kept = {key: live[key] for key in live.keys() - self._removed_floors}
                sorts[asset_id] = kept | changed
            levels = (unit_map.get(catalog.REPORT_FIELD) or {}).get("levels") or ()
            has_lost_floor = any(level["level_id"] in self._removed_floors for level in levels)
            reason = (
                "a floor of it is removed"
                if has_lost_floor
                else describe_change(unit_map, sorts.get(asset_id))
            )
            if reason is None and map_id in self._moved:
                reason = "its locations have changed"
            if reason is not None:
                stale.append(StaleNetwork(map_id, reason, can_be_rebuilt(unit_map)))
        return stale

    async def _load_maps(self) -> dict[str, kinds.Document]:
        if self._maps is None:
            where = {catalog.NETWORK_FIELD: {"$type": "string"}}
            fields = (*ROUTING_FIELDS, f"{catalog.REPORT_FIELD}.levels.level_id")
            found = await driver.read_all(self._database[catalog.MAPS.name].find(where, fields))
            self._maps = {unit_map["_id"]: unit_map for unit_map in found}
        return self._maps


def _claims_network(unit_map: kinds.Document) -> bool:
    """Return whether a map with a drawing is tagged as routable, without ever being processed."""
    is_tagged = catalog.PATHFINDING_TAG in unit_map.get("tags", ())
    is_processed = unit_map.get(catalog.NETWORK_FIELD) or unit_map.get(catalog.NETWORK_STATE_FIELD)
    return is_tagged and not is_processed and unit_map.get("source") is not None


def _describe_loss(unit_map: kinds.Document) -> str | None:
    """Return as a note what a removed map has that is in no bundle; None if it has nothing."""
    has_network = unit_map.get(catalog.NETWORK_FIELD)
    has_plan = unit_map.get(catalog.PARSED_FIELD) and unit_map.get("source") is None
    parts = ["routing network and closures"] if has_network else []
    parts += ["parsed map"] if has_plan else []
    if not parts:
        return None
    source = "the plan" if has_plan else "its drawing"
    return (
        f"map {quote_json(unit_map['_id'])} loses its {' and its '.join(parts)}, which no undo"
        f" brings back: it must be processed from {source} again"
    )
