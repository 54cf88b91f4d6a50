"""Reading the bundles of an import one after another, in batches of members."""

import hashlib
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, cast

from storage.bundles.json_bundles import BundleMember, read_members
from storage.bundles.violations import Violations
from storage.spreadsheets.reader import Spreadsheet, TableReader, is_spreadsheet

STANDARD_INPUT = "-"
BundleSource: TypeAlias = Path | str | bytes | Spreadsheet
"""A bundle or spreadsheet: the path of its file, `-` for standard input, the content of a bundle
as UTF-8 bytes, or a spreadsheet with a mapping."""
MAX_BATCH_MEMBERS = 1000
MAX_BATCH_CHARACTERS = 4 << 20


class MemberBatch(NamedTuple):
    """Some members of one bundle."""

    members: list[BundleMember]
    directory: Path | None
    """The drawings are relative to it; None if the bundle is no file, so that all are data URLs."""
    bytes_read: int
    """Bytes of all bundles read so far, but of no spreadsheet."""


class _CountingReader(io.RawIOBase):
    """A stream that counts the bytes read from it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.bytes_read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = int(cast(Any, self._stream).readinto(buffer) or 0)
        self.bytes_read += count
        return count


def count_total_bytes(bundles: Sequence[BundleSource]) -> int | None:
    """Return the size of all bundles in bytes; None with standard input or a spreadsheet."""
    if STANDARD_INPUT in map(str, bundles) or any(map(to_spreadsheet, bundles)):
        return None
    return sum(map(_size_bytes, bundles))


def _size_bytes(bundle: BundleSource) -> int:
    if isinstance(bundle, bytes):
        return len(bundle)
    path = _path_of(bundle)
    return path.stat().st_size if path.exists() else 0


def digest_bundle(bundle: BundleSource) -> str:
    """Return the SHA-256 of a bundle, without drawings in files beside it.

    It is empty for a file that cannot be read, and for standard input, which is read only once.
    """
    if isinstance(bundle, bytes):
        return hashlib.sha256(bundle).hexdigest()
    with suppress(OSError), _path_of(bundle).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
    return ""


def _path_of(bundle: Path | str | Spreadsheet) -> Path:
    return bundle.path if isinstance(bundle, Spreadsheet) else Path(bundle)


def to_spreadsheet(bundle: BundleSource) -> Spreadsheet | None:
    """Return a bundle that is a spreadsheet; None for any other."""
    if isinstance(bundle, bytes) or str(bundle) == STANDARD_INPUT:
        return None
    if isinstance(bundle, Spreadsheet):
        return bundle
    return Spreadsheet(Path(bundle)) if is_spreadsheet(Path(bundle)) else None


def read_batches(
    bundles: Sequence[BundleSource],
    violations: Violations,
    tables: TableReader | None = None,
    *,
    are_partial: bool = False,
) -> Iterator[MemberBatch]:
    """Yield the members of all bundles in batches, whole or partial ones.

    Spreadsheets are read by `tables`, which then has notes on them.
    """
    tables = tables or TableReader()
    finished_bytes = 0
    for bundle in bundles:
        name = get_bundle_name(bundle)
        directory = None if isinstance(bundle, bytes) else _path_of(bundle).parent
        violations.rejected.directory = directory
        if spreadsheet := to_spreadsheet(bundle):
            members = tables.read(spreadsheet, violations, are_partial=are_partial)
            for batch in _split_into_batches(members):
                yield MemberBatch(batch, directory, finished_bytes)
            continue
        try:
            source = _open_source(bundle)
        except OSError as error:
            violations.add(name, str(error.strerror or error))
            violations.rejected.add_unknown()
            continue
        with source as stream:
            counted = _CountingReader(stream)
            members = read_members(
                cast(BinaryIO, counted), name, violations, are_partial=are_partial
            )
            for batch in _split_into_batches(members):
                yield MemberBatch(batch, directory, finished_bytes + counted.bytes_read)
            finished_bytes += counted.bytes_read
    for batch in _split_into_batches(tables.finish(violations)):
        yield MemberBatch(batch, None, finished_bytes)


def get_bundle_name(bundle: BundleSource) -> str:
    """Return the name of a bundle, for messages and the audit log."""
    if isinstance(bundle, bytes):
        return "bundle"
    name = "standard input" if str(bundle) == STANDARD_INPUT else str(bundle)
    return name.encode(errors="backslashreplace").decode()  # of a file may be no UTF-8


def _open_source(bundle: BundleSource) -> BinaryIO:
    if isinstance(bundle, bytes):
        return io.BytesIO(bundle)
    if str(bundle) == STANDARD_INPUT:
        return cast(BinaryIO, sys.stdin.buffer)
    return cast(BinaryIO, _path_of(bundle).open("rb", buffering=0))


def _split_into_batches(members: Iterator[BundleMember]) -> Iterator[list[BundleMember]]:
    batch: list[BundleMember] = []
    size = 0
    for member in members:
        batch.append(member)
        size += member.text_length
        if len(batch) == MAX_BATCH_MEMBERS or size > MAX_BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
