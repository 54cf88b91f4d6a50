"""The files of an import, one after another: members in batches, bytes counted."""

import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, cast

from storage.bundles import Member, members
from storage.complaints import Complaints
from storage.errors import BundleError

STANDARD_INPUT = "-"
Given: TypeAlias = Path | str | bytes
"""A bundle: the path of its file, `-` for standard input, or its very text in UTF-8."""
BATCH_MEMBERS = 1000
BATCH_CHARACTERS = 4 << 20


class Batch(NamedTuple):
    """Members of one bundle, whose drawings lie in `directory`; `done` bytes are read by now.

    A bundle that is no file has no directory: its drawings are data URLs.
    """

    members: list[Member]
    directory: Path | None
    done: int


class _Counted(io.RawIOBase):
    """A stream that counts what is read from it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.done = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = int(cast(Any, self._stream).readinto(buffer) or 0)
        self.done += count
        return count


def total_bytes(bundles: Sequence[Given]) -> int | None:
    """How much there is to read; None when standard input is among it."""
    if any(str(bundle) == STANDARD_INPUT for bundle in bundles):
        return None
    return sum(map(_size, bundles))


def _size(bundle: Given) -> int:
    if isinstance(bundle, bytes):
        return len(bundle)
    return Path(bundle).stat().st_size if Path(bundle).exists() else 0


def batches(bundles: Sequence[Given], complaints: Complaints) -> Iterator[Batch]:
    """The members of every bundle, some at a time. Raises BundleError."""
    before = 0
    for bundle in bundles:
        name, directory = _place(bundle)
        with _opened(bundle) as stream:
            counted = _Counted(stream)
            for batch in _cut(members(cast(BinaryIO, counted), name, complaints)):
                yield Batch(batch, directory, before + counted.done)
            before += counted.done


def _place(bundle: Given) -> tuple[str, Path | None]:
    """How complaints call a bundle, and the directory of its drawings."""
    if isinstance(bundle, bytes):
        return "bundle", None
    name = "standard input" if str(bundle) == STANDARD_INPUT else str(bundle)
    return name, Path(bundle).parent


def _opened(bundle: Given) -> BinaryIO:
    if isinstance(bundle, bytes):
        return io.BytesIO(bundle)
    if str(bundle) == STANDARD_INPUT:
        return cast(BinaryIO, sys.stdin.buffer)
    try:
        return cast(BinaryIO, Path(bundle).open("rb", buffering=0))
    except OSError as error:
        raise BundleError([f"{bundle}: {error.strerror}"]) from error


def _cut(found: Iterator[Member]) -> Iterator[list[Member]]:
    batch: list[Member] = []
    size = 0
    for member in found:
        batch.append(member)
        size += member.size
        if len(batch) == BATCH_MEMBERS or size > BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
