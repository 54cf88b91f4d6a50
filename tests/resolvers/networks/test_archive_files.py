"""Archives are in files that processes share, of which the least recently used make room."""

import os
import tempfile
from pathlib import Path

import pytest

from resolvers.networks.archive_files import ArchiveFiles, find_private_directory


def touch(directory: Path, *names: str) -> None:
    """Make files used one after another, a second apart, long ago."""
    for at, name in enumerate(names):
        os.utime(directory / name, (1_000 + at, 1_000 + at))


def test_what_was_added_is_found_by_any_process(tmp_path: Path) -> None:
    assert ArchiveFiles(tmp_path).find("a") is None
    assert ArchiveFiles(tmp_path).add("a", b"archive")[:] == b"archive"
    found = ArchiveFiles(tmp_path).find("a")
    assert found is not None and found[:] == b"archive"


def test_the_least_recently_used_make_room_and_stay_readable_where_they_are_mapped(
    tmp_path: Path,
) -> None:
    files = ArchiveFiles(tmp_path, max_bytes=20)
    first = files.add("first", b"1" * 10)
    files.add("second", b"2" * 10)
    touch(tmp_path, "first", "second")
    files.find("first")
    files.add("third", b"3" * 10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "third"]
    files.add("huge", b"4" * 100)
    assert [path.name for path in tmp_path.iterdir()] == ["huge"]
    assert first[:] == b"1" * 10


def test_a_file_is_removed_once(tmp_path: Path) -> None:
    files = ArchiveFiles(tmp_path)
    files.add("a", b"archive")
    files.remove("a")
    files.remove("a")
    assert files.find("a") is None


def test_the_directory_is_the_same_for_all_processes_and_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    directory = find_private_directory()
    assert find_private_directory() == directory
    assert directory.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("way", ["open to others", "a link"])
def test_a_directory_that_others_may_have_made_is_not_used(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    named = tmp_path / f"floorgate-maps-{os.getuid()}"
    if way == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        named.symlink_to(tmp_path / "elsewhere")
    else:
        named.mkdir()
        named.chmod(0o777)
    used = find_private_directory()
    assert used != named and used.stat().st_mode & 0o777 == 0o700
