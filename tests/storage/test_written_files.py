"""A file that is written again stays as private as it was."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from storage.written_files import write_file

NOBODY = 65534


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "export.csv"
    file.touch()
    file.chmod(mode)
    before = file.stat().st_ino
    write_file(file, b"keys")
    assert (file.stat().st_mode & 0o777, file.read_bytes()) == (mode, b"keys")
    assert file.stat().st_ino != before  # replaced, and not half written for a moment
    assert [*tmp_path.iterdir()] == [file]


def test_a_new_file_has_the_mode_of_the_process(tmp_path: Path) -> None:
    write_file(tmp_path / "written", b"")
    (tmp_path / "touched").touch()
    modes = {file.stat().st_mode for file in tmp_path.iterdir()}
    assert len(modes) == 1


@contextmanager
def without_root() -> Iterator[None]:
    """Root may write everywhere."""
    user = os.geteuid()
    if not user:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_writable_file_in_a_directory_that_is_not_is_written() -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:  # others may enter it
        folder = Path(name)
        file = folder / "plan.txt"
        file.write_text("a longer text")
        file.chmod(0o666)
        folder.chmod(0o555)
        with without_root():
            write_file(file, b"plan")
            with pytest.raises(PermissionError, match="other"):
                write_file(folder / "other", b"plan")
        assert file.read_bytes() == b"plan"
        assert [*folder.iterdir()] == [file]
        folder.chmod(0o755)
