"""The files of an import, one after another: members in batches, bytes counted."""

import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, cast

from storage.bundles.format import BundleMember, read_members
from storage.bundles.violations import Violations
from storage.errors import BundleError

STANDARD_INPUT = "-"
BundleSource: TypeAlias = Path | str | bytes
"""A bundle: the path of its file, `-` for standard input, or its very text in UTF-8."""
MAX_BATCH_MEMBERS = 1000
MAX_BATCH_CHARACTERS = 4 << 20


class MemberBatch(NamedTuple):
    """Members of one bundle, whose drawings lie in `directory`; `done` bytes are read by now.

    A bundle that is no file has no directory: its drawings are data URLs.
    """

    members: list[BundleMember]
    directory: Path | None
    bytes_read: int


class _CountingReader(io.RawIOBase):
    """A stream that counts what is read from it."""

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
    """How much there is to read; None when standard input is among it."""
    if any(str(bundle) == STANDARD_INPUT for bundle in bundles):
        return None
    return sum(map(_size_bytes, bundles))


def _size_bytes(bundle: BundleSource) -> int:
    if isinstance(bundle, bytes):
        return len(bundle)
    return Path(bundle).stat().st_size if Path(bundle).exists() else 0


def read_batches(bundles: Sequence[BundleSource], violations: Violations) -> Iterator[MemberBatch]:
    """The members of every bundle, some at a time. Raises BundleError."""
    before = 0
    for bundle in bundles:
        name, directory = _name_and_directory(bundle)
        with _open_source(bundle) as stream:
            counted = _CountingReader(stream)
            for batch in _split_into_batches(
                read_members(cast(BinaryIO, counted), name, violations)
            ):
                yield MemberBatch(batch, directory, before + counted.bytes_read)
            before += counted.bytes_read


def _name_and_directory(bundle: BundleSource) -> tuple[str, Path | None]:
    """How complaints call a bundle, and the directory of its drawings."""
    if isinstance(bundle, bytes):
        return "bundle", None
    name = "standard input" if str(bundle) == STANDARD_INPUT else str(bundle)
    return name, Path(bundle).parent


def _open_source(bundle: BundleSource) -> BinaryIO:
    if isinstance(bundle, bytes):
        return io.BytesIO(bundle)
    if str(bundle) == STANDARD_INPUT:
        return cast(BinaryIO, sys.stdin.buffer)
    try:
        return cast(BinaryIO, Path(bundle).open("rb", buffering=0))
    except OSError as error:
        raise BundleError([f"{bundle}: {error.strerror}"]) from error


def _split_into_batches(found: Iterator[BundleMember]) -> Iterator[list[BundleMember]]:
    batch: list[BundleMember] = []
    size = 0
    for member in found:
        batch.append(member)
        size += member.text_length
        if len(batch) == MAX_BATCH_MEMBERS or size > MAX_BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
