"""What an import changes, for its record in the audit log: all of it counted, the first ids."""

from typing import Any

from storage.administration.audit import (
    MAX_LISTED_IDS,
    AuditChange,
    AuditEntry,
    AuditTarget,
    Operation,
)
from storage.bundles.importing.planning import PlannedBatch
from storage.records.kinds import RecordType

BUNDLES = "bundles"


class AuditTrail:
    """Collects the changes of an import, batch by batch."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, Operation], int] = {}
        self._ids: dict[tuple[str, Operation], list[str]] = {}
        self._asset_ids: set[str] = set()

    def add_batch(self, kind: RecordType[Any], batch: PlannedBatch) -> None:
        """Add the changes of a batch."""
        for document, change in zip(batch.documents, batch.changes, strict=True):
            if change.fields is None:
                continue
            operation: Operation = "inserted" if change.is_new else "updated"
            key = kind.name, operation
            self._counts[key] = self._counts.get(key, 0) + 1
            ids = self._ids.setdefault(key, [])
            if len(ids) < MAX_LISTED_IDS:
                ids.append(change.key)
            if len(self._asset_ids) < MAX_LISTED_IDS and kind.scope_field:
                self._asset_ids.add(document[kind.scope_field])

    def build_entry(self, bundle_names: list[str]) -> AuditEntry:
        """Return the audit entry of the import."""
        changes = [
            AuditChange(kind, operation, count, self._ids[kind, operation])
            for (kind, operation), count in self._counts.items()
        ]
        target = AuditTarget(BUNDLES, bundle_names)
        return AuditEntry("catalog.imported", target, changes, self._asset_ids)
