"""The file that undoes an import: the records that it changes or removes, as they were before."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from storage.attributes import ATTRIBUTE_GROUPS
from storage.bundles.importing.planning import PlannedBatch
from storage.bundles.members import encode_line, to_member
from storage.errors import StorageError
from storage.mongo import driver
from storage.records.kinds import Document, RecordType


class UndoFile:
    """A bundle in the line form, written while an import is planned, kept if it is committed."""

    def __init__(self, database: driver.Database, path: Path, stream: BinaryIO) -> None:
        self._database = database
        self.path = path
        self.count = 0
        self._stream = stream
        self.is_kept = False

    async def add_batch(self, kind: RecordType[Any], batch: PlannedBatch) -> None:
        """Add the records that a batch of staged members changes."""
        changed = [
            _with_added_attributes(batch.live[change.key], change.fields)
            if kind is ATTRIBUTE_GROUPS
            else batch.live[change.key]
            for change in batch.changes
            if change.fields is not None and change.key in batch.live
        ]
        await self._add(kind, changed)

    async def add_removed(
        self, kind: RecordType[Any], removals: list[Document], live: list[Document]
    ) -> None:
        """Add records that are removed."""
        await self._add(kind, live)

    async def add_cleared(
        self, kind: RecordType[Any], fields: dict[str, Document], live: list[Document]
    ) -> None:
        """Add records that lose references."""
        await self._add(kind, live)

    async def _add(self, kind: RecordType[Any], documents: Sequence[Document]) -> None:
        for record in kind.decode(documents):
            member = await to_member(self._database, kind, record)
            self._stream.write(encode_line(kind, member))
            self.count += 1

    def keep(self) -> None:
        """Have the file at its place, with all that was added, even after a loss of power."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        if self.count:
            _partial(self.path).replace(self.path)
            self.is_kept = True


def _with_added_attributes(live: Document, changed: Document) -> Document:
    """Return a group as it was, with the attributes that it gets: units that stay may have them."""
    ids = {attribute["attribute_id"] for attribute in live["attributes"]}
    added = [each for each in changed["attributes"] if each["attribute_id"] not in ids]
    return {**live, "attributes": [*live["attributes"], *added]}


@contextmanager
def open_undo_file(database: driver.Database, path: Path | None) -> Iterator[UndoFile | None]:
    """Open an undo file; what is not kept is deleted. None without a path.

    Raises StorageError if there is a file of this name.
    """
    if path is None:
        yield None
        return
    if path.exists():
        raise StorageError(f"{path} exists already: name another file to undo the import with")
    try:
        with _partial(path).open("wb") as stream:
            yield UndoFile(database, path, stream)
    finally:
        _partial(path).unlink(missing_ok=True)


def _partial(path: Path) -> Path:
    return path.with_name(f"{path.name}.partial")
