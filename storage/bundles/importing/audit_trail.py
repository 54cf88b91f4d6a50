"""What an import changes, for its record in the audit log: all of it counted, the first ids."""

from typing import Any

from storage.administration.audit import (
    MAX_LISTED_IDS,
    Action,
    AuditChange,
    AuditEntry,
    AuditTarget,
    Operation,
)
from storage.bundles.importing.planning import PlannedBatch
from storage.records.kinds import Document, RecordType

BUNDLES = "bundles"


class AuditTrail:
    """Collects the changes of an import, batch by batch."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, Operation], int] = {}
        self._ids: dict[tuple[str, Operation], list[str]] = {}
        self._asset_ids: set[str] = set()

    async def add_batch(self, kind: RecordType[Any], batch: PlannedBatch) -> None:
        """Add the changes of a batch."""
        for document, change in zip(batch.documents, batch.changes, strict=True):
            if change.fields is None:
                continue
            operation: Operation = "inserted" if change.is_new else "updated"
            asset_id = document[kind.scope_field] if kind.scope_field else ""
            self._add(kind, operation, change.key, asset_id)

    async def add_removed(
        self, kind: RecordType[Any], removals: list[Document], live: list[Document]
    ) -> None:
        """Add staged removals."""
        for removal in removals:
            self._add(kind, "removed", removal["_id"], removal["asset_id"])

    async def add_cleared(
        self, kind: RecordType[Any], fields: dict[str, Document], live: list[Document]
    ) -> None:
        """Add records that lose references."""
        for document in live:
            asset_id = document[kind.scope_field] if kind.scope_field else ""
            self._add(kind, "updated", document["_id"], asset_id)

    def _add(
        self, kind: RecordType[Any], operation: Operation, record_id: str, asset_id: str
    ) -> None:
        key = kind.name, operation
        self._counts[key] = self._counts.get(key, 0) + 1
        ids = self._ids.setdefault(key, [])
        if len(ids) < MAX_LISTED_IDS:
            ids.append(record_id)
        if asset_id and len(self._asset_ids) < MAX_LISTED_IDS:
            self._asset_ids.add(asset_id)

    def build_entry(self, action: Action, target: AuditTarget) -> AuditEntry:
        """Return the audit entry of the import."""
        changes = [
            AuditChange(kind, operation, count, self._ids[kind, operation])
            for (kind, operation), count in self._counts.items()
        ]
        return AuditEntry(action, target, changes, self._asset_ids)
