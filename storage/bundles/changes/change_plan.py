"""The plan of an import: every record that it adds, changes or removes, and the fields.

It is computed as the changes are, batch by batch. A plan keeps the first changes of each kind; all
of them can be written to a file on the way. Its digest covers all of them, so that what is applied
can be compared with what was shown.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from storage.bundles.importing.planning import PlannedBatch
from storage.bundles.importing.timestamps import list_changed_fields
from storage.bundles.removing.removals import OWNER_FIELD, VALUES_FIELD
from storage.records.key_text import format_key, get_key_values
from storage.records.kinds import Document, RecordType
from storage.records.timestamps import TIMESTAMP_FIELDS

ChangeOperation: TypeAlias = Literal["added", "changed", "removed"]

MAX_LISTED_CHANGES = 1_000
"""Changes of one kind and operation in a plan."""
MAX_VALUE_CHARACTERS = 80
"""Of the JSON of a value in a plan."""


class FieldChange(msgspec.Struct, frozen=True):
    """A field that changes; the values are JSON, shortened."""

    field: str
    before: str
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

    `write_change` receives every change, also those that the plan does not list.
    """

    def __init__(self, write_change: Callable[[RecordChange], None] | None = None) -> None:
        self._write_change = write_change
        self._plan = ChangePlan()
        self._counts: dict[tuple[str, str], int] = {}
        self._hash = hashlib.sha256()

    async def add_batch(self, kind: RecordType[Any], batch: PlannedBatch) -> None:
        """Add the changes of staged members."""
        for document, change in zip(batch.documents, batch.changes, strict=True):
            if change.fields is not None:
                live = batch.live.get(change.key)
                changed = list_changed_fields(kind, change.fields, live)
                key = format_key(get_key_values(kind, document))
                self._add(kind, "added" if live is None else "changed", key, changed)

    async def add_removed(
        self, kind: RecordType[Any], removals: list[Document], live: list[Document]
    ) -> None:
        """Add staged removals."""
        for removal in removals:
            key = format_key(removal[VALUES_FIELD])
            self._add(kind, "removed", key, {}, removal.get(OWNER_FIELD))

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
        owner: str | None = None,
    ) -> None:
        self._hash.update(msgspec.json.encode([kind.name, operation, key, changed, owner]))
        count = self._counts[kind.name, operation] = self._counts.get((kind.name, operation), 0) + 1
        is_listed = count <= MAX_LISTED_CHANGES
        if not is_listed and self._write_change is None:
            self._plan.unlisted += 1
            return
        fields = [
            FieldChange(name, _shorten(before), _shorten(after))
            for name, (before, after) in _pick_shown(kind, changed).items()
            if operation == "changed"
        ]
        change = RecordChange(kind.name, operation, key, fields, owner)
        if self._write_change is not None:
            self._write_change(change)
        if is_listed:
            self._plan.changes.append(change)
        else:
            self._plan.unlisted += 1


def _pick_shown(
    kind: RecordType[Any], changed: Mapping[str, tuple[Any, Any]]
) -> Mapping[str, tuple[Any, Any]]:
    """Return the changed fields of the record itself; if there are none, such as of a drawing that
    a new release parses otherwise, all."""
    own = {name: values for name, values in changed.items() if name in kind.projection}
    return own or changed


def _shorten(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    if len(text) <= MAX_VALUE_CHARACTERS:
        return text
    return text[: MAX_VALUE_CHARACTERS - 1] + "\N{HORIZONTAL ELLIPSIS}"
