"""What looks at the changes of an import while they are planned."""

from typing import Any, Protocol

from storage.bundles.importing.planning import PlannedBatch
from storage.records.kinds import Document, RecordType


class ChangeObserver(Protocol):
    """Is shown all that an import changes: kind by kind, in batches."""

    async def add_batch(self, kind: RecordType[Any], batch: PlannedBatch) -> None:
        """Take the changes of staged members."""

    async def add_removed(
        self, kind: RecordType[Any], removals: list[Document], live: list[Document]
    ) -> None:
        """Take staged removals, and the records as they are."""

    async def add_cleared(
        self, kind: RecordType[Any], fields: dict[str, Document], live: list[Document]
    ) -> None:
        """Take the fields to set in records that lose references, by key, and the records."""
