"""A pending file gets its name when it is kept, and never that of another file."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from storage.bundles.changes.pending_file import open_pending_file


def test_a_kept_file_has_its_name_and_all_that_was_written(tmp_path: Path) -> None:
    path = tmp_path / "undo.ndjson"
    with open_pending_file(path) as file:
        file.stream.write(b"{}\n")
        assert not path.exists()
        file.keep()
        assert path.read_bytes() == b"{}\n"
    assert [*tmp_path.iterdir()] == [path]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_not_kept_is_deleted(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), open_pending_file(tmp_path / "undo.ndjson"):
        raise ZeroDivisionError
    assert [*tmp_path.iterdir()] == []


def test_a_file_that_has_taken_the_name_meanwhile_stays(tmp_path: Path) -> None:
    path = tmp_path / "undo.ndjson"
    with open_pending_file(path) as file:
        path.write_text("of another program")
        with pytest.raises(FileExistsError):
            file.keep()
    assert path.read_text() == "of another program"
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("fails", ["open", "fsync"])
def test_an_error_names_the_file_that_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    def is_full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "undo.ndjson"
    monkeypatch.setattr(os, fails, is_full)
    with pytest.raises(OSError, match="No space left") as caught, open_pending_file(path) as file:
        file.keep()
    assert caught.value.filename == str(path)


def test_what_a_killed_program_has_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "undo.ndjson"
    (tmp_path / "undo.ndjson.partial").write_text("half")
    with open_pending_file(path) as file:
        file.keep()
    assert path.read_bytes() == b""
