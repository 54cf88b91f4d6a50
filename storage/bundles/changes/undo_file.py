"""The bundle that undoes an import: the records that it changes or removes, as they were before."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

from storage.bundles.changes.pending_file import PendingFile, open_pending_file
from storage.bundles.importing.planning import PlannedBatch
from storage.bundles.members import encode_line, to_member
from storage.catalog import ASSIGNMENTS, ATTRIBUTE_GROUPS
from storage.errors import BundleError, StorageError
from storage.mongo import driver
from storage.records.kinds import Document, RecordType, is_storable

FIELDS_OF_ASSIGNMENTS = [
    name
    for owner in ASSIGNMENTS.foreign_keys
    if owner.kind == ATTRIBUTE_GROUPS.name
    for name in owner.copied_fields
]
"""Fields of a group that do not change while it has assignments."""


class Writable(Protocol):
    """A file, or what is like one."""

    def write(self, content: bytes, /) -> object:
        """Add to it."""


class UndoBundle:
    """A bundle in the line form, written while an import is planned."""

    def __init__(self, database: driver.Database, file: Writable) -> None:
        self._database = database
        self._file = file
        self.count = 0
        self.has_drawings = False

    async def add_batch(self, kind: RecordType[Any], batch: PlannedBatch) -> None:
        """Add the records that a batch of staged members changes."""
        changed = [
            _restore_group(batch.live[change.key], change.fields)
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
            self._file.write(encode_line(kind, member))
            self.has_drawings |= bool(member.get("source"))
            self.count += 1

    @property
    def options(self) -> list[str]:
        """What `floorgate import` needs to import it: its drawings were accepted before."""
        return ["--force-drawings"] if self.has_drawings else []


class UndoFile(UndoBundle):
    """An undo bundle in a file, which is kept if the import is committed."""

    def __init__(self, database: driver.Database, file: PendingFile) -> None:
        super().__init__(database, file)
        self.file = file

    def keep(self) -> None:
        """Have the file at its place, unless there is nothing to undo."""
        if self.count:
            self.file.keep()


class UndoText(UndoBundle):
    """An undo bundle in memory. Raises BundleError while it is made if it is too large."""

    def __init__(self, database: driver.Database, max_bytes: int) -> None:
        self._buffer = BytesIO()
        super().__init__(database, self._buffer)
        self._max_bytes = max_bytes

    async def _add(self, kind: RecordType[Any], documents: Sequence[Document]) -> None:
        await super()._add(kind, documents)
        if self._buffer.tell() > self._max_bytes:
            raise BundleError(
                [
                    f"the bundle that undoes this has over {self._max_bytes:,} bytes: use floorgate"
                    " import or remove, which write it to a file"
                ]
            )

    @property
    def text(self) -> str:
        """The bundle."""
        return self._buffer.getvalue().decode()


def _restore_group(live: Document, changed: Document) -> Document:
    """Return a group as it was, but for what units that stay may need.

    These are the attributes that it gets, and whether a unit may have several.
    """
    ids = {attribute["attribute_id"] for attribute in live["attributes"]}
    added = [each for each in changed["attributes"] if each["attribute_id"] not in ids]
    kept = {name: changed[name] for name in FIELDS_OF_ASSIGNMENTS}
    return {**live, **kept, "attributes": [*live["attributes"], *added]}


@contextmanager
def open_undo_file(database: driver.Database, path: Path | None) -> Iterator[UndoFile | None]:
    """Open an undo file; what is not kept is deleted. None without a path.

    Raises StorageError if there is a file of this name, or the name cannot be shown.
    """
    if path is None:
        yield None
        return
    if not is_storable(str(path)):
        raise StorageError(f"{str(path)!r} is not UTF-8: name another file to undo the import with")
    if path.exists():
        raise StorageError(f"{path} exists already: name another file to undo the import with")
    with open_pending_file(path) as file:
        yield UndoFile(database, file)
