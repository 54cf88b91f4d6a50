"""Archives are in files that processes share, of which the least recently used make room."""

import errno
import hashlib
import mmap
import os
import tempfile
from pathlib import Path

import pytest

from resolvers.networks.archive_files import ArchiveFiles, find_private_directory


def digest(content: bytes) -> str:
    """Return the name of a file with this content."""
    return hashlib.sha256(content).hexdigest()


def add(files: ArchiveFiles, content: bytes) -> bytes:
    """Add a file that can be written; return what was mapped."""
    mapped = files.add(digest(content), content)
    assert isinstance(mapped, mmap.mmap)
    return mapped[:]


def test_what_was_added_is_found_by_any_process(tmp_path: Path) -> None:
    key = digest(b"archive")
    assert ArchiveFiles(tmp_path).find(key) is None
    assert add(ArchiveFiles(tmp_path), b"archive") == b"archive"
    found = ArchiveFiles(tmp_path).find(key)
    assert found is not None and found[:] == b"archive"


def test_the_least_recently_used_make_room_and_stay_readable_where_they_are_mapped(
    tmp_path: Path,
) -> None:
    def names() -> set[str]:
        return {path.name for path in tmp_path.iterdir()}

    files = ArchiveFiles(tmp_path, max_bytes=20)
    first, second, third, huge = (
        bytes([kind]) * size for kind, size in enumerate([10, 10, 10, 99])
    )
    mapped = files.add(digest(first), first)
    add(files, second)
    for at, content in enumerate((first, second)):
        os.utime(tmp_path / digest(content), (1_000 + at, 1_000 + at))
    files.find(digest(first))
    add(files, third)
    assert names() == {digest(first), digest(third)}
    add(files, huge)
    assert names() == {digest(huge)}
    assert mapped[:] == first


@pytest.mark.parametrize("left", [b"", b"arch", b"ARCHIVE"])
def test_a_file_that_was_damaged_is_written_again(left: bytes, tmp_path: Path) -> None:
    files, key = ArchiveFiles(tmp_path), digest(b"archive")
    (tmp_path / key).write_bytes(left)
    assert files.find(key) is None
    assert add(files, b"archive") == b"archive"


def test_without_room_for_a_file_the_content_stays_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    assert ArchiveFiles(tmp_path).add(digest(b"archive"), b"archive") == b"archive"
    assert not [*tmp_path.iterdir()]
    assert "No space left on device" in caplog.text


def test_without_a_directory_for_files_the_content_stays_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/proc/none")
    files = ArchiveFiles()
    assert files.find("a") is None
    assert files.add("a", b"archive") == b"archive"


def test_the_directory_is_the_same_for_all_processes_and_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    directory = find_private_directory()
    assert find_private_directory() == directory
    assert directory.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("way", ["open to others", "a link", "a link to nothing", "a file"])
def test_a_directory_that_others_may_have_made_is_not_used(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    named = tmp_path / f"floorgate-maps-{os.getuid()}"
    if way == "a file":
        named.touch()
    elif way.startswith("a link"):
        if way == "a link":
            (tmp_path / "elsewhere").mkdir(mode=0o700)
        named.symlink_to(tmp_path / "elsewhere")
    else:
        named.mkdir()
        named.chmod(0o777)
    used = find_private_directory()
    assert used != named and used.stat().st_mode & 0o777 == 0o700
