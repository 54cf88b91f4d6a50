"""Archives in files that all processes of a machine map, so that memory holds one copy of each."""

import hashlib
import logging
import mmap
import os
import stat
import tempfile
from contextlib import suppress
from functools import cached_property
from itertools import accumulate
from pathlib import Path

MAX_FILES_BYTES = 4 << 30

logger = logging.getLogger("floorgate.routable_maps")


def find_private_directory() -> Path:
    """Return a directory that only this user can change, the same for all of the user's processes.

    It is a new one for this process if what has its name is not private.
    """
    directory = Path(tempfile.gettempdir()) / f"floorgate-maps-{os.getuid()}"
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    status = directory.lstat()
    is_private = stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o077
    if is_private and status.st_uid == os.getuid():
        return directory
    return Path(tempfile.mkdtemp(prefix="floorgate-maps-"))


class ArchiveFiles:
    """Files by the digest of their content, the least recently used of which are removed.

    A file that is removed stays readable for the processes that have mapped it.
    """

    def __init__(self, directory: Path | None = None, max_bytes: int = MAX_FILES_BYTES) -> None:
        self._given_directory = directory
        self._max_bytes = max_bytes

    @cached_property
    def _directory(self) -> Path:
        return self._given_directory or find_private_directory()

    def find(self, digest: str) -> mmap.mmap | None:
        """Map the file of a digest; None if there is none, or it was damaged."""
        try:
            path = self._directory / digest
            with path.open("rb") as file:
                os.utime(path)
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # mmap refuses an empty file
            return None
        return mapped if hashlib.sha256(mapped).hexdigest() == digest else None

    def add(self, digest: str, content: bytes) -> mmap.mmap | bytes:
        """Write a file and map it; where that is impossible, return the content."""
        try:
            self._write(digest, content)
        except OSError as error:
            logger.warning("a network is kept in memory, since no file can be written: %s", error)
        return self.find(digest) or content

    def _write(self, digest: str, content: bytes) -> None:
        with tempfile.NamedTemporaryFile(dir=self._directory, delete=False) as file:
            try:
                file.write(content)
                file.flush()
                # Other processes see all of it or nothing.
                Path(file.name).replace(self._directory / digest)
            except OSError:
                Path(file.name).unlink()
                raise
        self._remove_oldest()

    def _remove_oldest(self) -> None:
        used: list[tuple[int, int, Path]] = []
        for path in self._directory.iterdir():
            with suppress(FileNotFoundError):  # another process has removed it
                status = path.stat()
                used.append((status.st_mtime_ns, status.st_size, path))
        newest_first = sorted(used, reverse=True)
        sizes = accumulate(size for _, size, _ in newest_first)
        for (_, _, path), size in [*zip(newest_first, sizes, strict=True)][1:]:
            if size > self._max_bytes:
                path.unlink(missing_ok=True)
