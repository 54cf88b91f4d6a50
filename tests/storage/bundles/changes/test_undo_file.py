"""Undo files bring back what was, whatever the import has added that stays."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from storage.bundles.changes.pending_file import open_pending_file
from storage.bundles.importing.import_bundles import import_bundles
from tests.storage.bundles.removing.mirroring import MIRROR, exported, ids_of, mirror
from tests.storage.catalogs import SMALL, Bundle, small, write_arrays

pytestmark = pytest.mark.anyio


async def test_a_wrong_mirror_is_undone_by_importing_its_undo_file(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    before = await exported(database)
    undo = path.with_name("undo.ndjson")
    request = MIRROR._replace(undo_path=undo)
    wrong: Bundle = {name: [] for name in SMALL}
    assert (await mirror(database, path, wrong, request, dry_run=True)).undo is None
    assert not undo.exists()
    summary = await mirror(database, path, wrong, request)
    assert summary.undo == str(undo)
    assert await ids_of(database, "units") == []
    await import_bundles(database, [undo])
    assert await exported(database) == before
    with pytest.raises(Exception, match="exists already"):
        await mirror(database, path, wrong, request)
    assert [each.name for each in path.parent.iterdir() if "partial" in each.name] == []


@pytest.mark.parametrize("was_single", [True, False])
async def test_the_undo_file_leaves_how_many_attributes_units_have(
    database: Any, path: Path, was_single: bool
) -> None:
    """Units that stay may have got as many: there were none, or the import would be refused."""
    catalog = small() | {"attribute_assignments": []}
    [group, *groups] = catalog["attribute_groups"]
    group["one_attribute_per_unit"] = was_single
    await import_bundles(database, [write_arrays(path, catalog)])
    changed = {**group, "group_name": "wrong", "one_attribute_per_unit": not was_single}
    given = [
        {"group_id": "plan", "attribute_id": each, "asset_id": "a", "unit_id": "u1"}
        for each in (["s", "t"] if was_single else ["s"])
    ]
    source = catalog | {
        "units": catalog["units"][:1],
        "attribute_groups": [changed, *groups],
        "attribute_assignments": given,
    }
    undo = path.with_name("undo.ndjson")
    await mirror(database, path, source, MIRROR._replace(undo_path=undo))
    await import_bundles(database, [undo])
    assert await ids_of(database, "units") == ["u1", "u2", "v1"]
    undone = await database["attribute_groups"].find_one({"_id": "plan"})
    assert undone["group_name"] == group["group_name"]
    assert undone["one_attribute_per_unit"] is not was_single


# Files that get their name when they are kept


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
