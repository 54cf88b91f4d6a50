"""Files that get their name once all of them is written."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


class PendingFile:
    """A file that stands beside its place until it is kept."""

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self.path = path
        self.stream = stream
        self.is_kept = False

    def write(self, content: bytes) -> None:
        """Add to the file. Raises OSError with its name."""
        with _name_in_errors(self.path):
            self.stream.write(content)

    def keep(self) -> None:
        """Give the file its name, with all that was written, even after a loss of power.

        Raises OSError with its name, such as FileExistsError if there is another file of it by now.
        """
        if self.is_kept:
            return
        with _name_in_errors(self.path):
            self.stream.flush()
            os.fsync(self.stream.fileno())
            self.path.open("xb").close()
            _partial(self.path).replace(self.path)
        self.is_kept = True


@contextmanager
def open_pending_file(path: Path) -> Iterator[PendingFile]:
    """Open a file that only its owner can read; it is deleted if it is not kept."""
    partial = _partial(path)
    with _name_in_errors(path):
        partial.unlink(missing_ok=True)  # of a command that was killed
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    stream = os.fdopen(descriptor, "wb")
    try:
        yield PendingFile(path, stream)
    finally:
        with suppress(OSError):  # a full disk, which `keep` has reported
            stream.close()
        partial.unlink(missing_ok=True)


@contextmanager
def _name_in_errors(path: Path) -> Iterator[None]:
    """Name the file that is wanted, not the one that is written first."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def _partial(path: Path) -> Path:
    return path.with_name(f"{path.name}.partial")
