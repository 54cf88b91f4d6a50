"""The plan of an import: every record that it adds, changes or removes, and the fields.

It is computed as the changes are, batch by batch. A plan keeps the first changes of each kind; all
of them can be written to a file on the way. Its digest covers all of them, so that what is applied
can be compared with what was shown.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from storage.bundles.changes.shown_values import describe_size, show_change, to_json
from storage.bundles.importing.planning import PlannedBatch
from storage.bundles.importing.timestamps import list_changed_fields
from storage.bundles.removing.removals import OWNER_FIELD, VALUES_FIELD
from storage.catalog import PARSED_FIELD
from storage.mongo import driver, files
from storage.records.kinds import TIMESTAMP_FIELDS, Document, RecordType, format_key, get_key_values

ChangeOperation: TypeAlias = Literal["added", "changed", "removed"]

MAX_LISTED_CHANGES = 1_000
"""Changes of one kind and operation in a plan."""
DRAWING_FIELDS = ("source", PARSED_FIELD)
"""Fields of a map that hold the digest of a file."""


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


class PlanRecorder:
    """Collects the changes of an import into its plan.

    `write_change` receives every change, with whole values, also those that the plan does not list.
    """

    def __init__(
        self,
        database: driver.Database,
        write_change: Callable[[RecordChange], None] | None = None,
    ) -> None:
        self._database = database
        self._write_change = write_change
        self._plan = ChangePlan()
        self._counts: dict[tuple[str, str], int] = {}
        self._hash = hashlib.sha256()

    async def add_batch(self, kind: RecordType[Any], batch: PlannedBatch) -> None:
        """Add the changes of staged members."""
        changes = [
            (document, list_changed_fields(kind, change.fields, batch.live.get(change.key)))
            for document, change in zip(batch.documents, batch.changes, strict=True)
            if change.fields is not None
        ]
        drawings = await self._describe_drawings([changed for _, changed in changes])
        for document, changed in changes:
            operation: ChangeOperation = "changed" if document["_id"] in batch.live else "added"
            key = format_key(get_key_values(kind, document))
            self._add(kind, operation, key, changed, drawings=drawings)

    async def add_removed(
        self, kind: RecordType[Any], removals: list[Document], live: list[Document]
    ) -> None:
        """Add staged removals."""
        for removal in removals:
            key = format_key(removal[VALUES_FIELD])
            self._add(kind, "removed", key, {}, owner=removal.get(OWNER_FIELD))

    async def add_cleared(
        self, kind: RecordType[Any], fields: dict[str, Document], live: list[Document]
    ) -> None:
        """Add records that lose references."""
        for document in live:
            changed = {
                name: (document[name], value)
                for name, value in fields[document["_id"]].items()
                if name not in TIMESTAMP_FIELDS
            }
            self._add(kind, "changed", format_key(get_key_values(kind, document)), changed)

    def finish(self) -> ChangePlan:
        """Return the plan."""
        self._plan.digest = self._hash.hexdigest()
        return self._plan

    def _add(
        self,
        kind: RecordType[Any],
        operation: ChangeOperation,
        key: str,
        changed: Mapping[str, tuple[Any, Any]],
        *,
        owner: str | None = None,
        drawings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._hash.update(msgspec.json.encode([kind.name, operation, key, changed, owner]))
        count = self._counts[kind.name, operation] = self._counts.get((kind.name, operation), 0) + 1
        is_listed = count <= MAX_LISTED_CHANGES
        if not is_listed and self._write_change is None:
            self._plan.unlisted += 1
            return
        shown = _pick_shown(kind, changed) if operation == "changed" else {}

        def build(show: Callable[[Any, Any], tuple[str, str]]) -> RecordChange:
            fields = []
            for name, (before, after) in shown.items():
                texts = show(before, after)
                if name in DRAWING_FIELDS:
                    texts = drawings.get(before, texts[0]), drawings.get(after, texts[1])
                fields.append(FieldChange(name, *texts))
            return RecordChange(kind.name, operation, key, fields, owner)

        if self._write_change is not None:
            self._write_change(build(lambda before, after: (to_json(before), to_json(after))))
        if is_listed:
            self._plan.changes.append(build(show_change))
        else:
            self._plan.unlisted += 1

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
        sizes = await files.get_sizes(self._database, digests)
        return {
            digest: f"drawing {digest[:8]} ({describe_size(size)})"
            for digest, size in sizes.items()
        }


def _pick_shown(
    kind: RecordType[Any], changed: Mapping[str, tuple[Any, Any]]
) -> Mapping[str, tuple[Any, Any]]:
    """Return the changed fields of the record itself; if there are none, such as of a drawing that
    a new release parses otherwise, all."""
    own = {name: values for name, values in changed.items() if name in kind.projection}
    return own or changed
