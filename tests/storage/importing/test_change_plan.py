"""The plan of an import, and the bundle that undoes it."""

import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from storage.bundles.drawings import to_data_url
from storage.importing.change_plan import (
    ChangeRequest,
    FieldChange,
    RecordChange,
    open_pending_file,
)
from storage.importing.import_bundles import import_bundles
from tests.storage.catalogs import SMALL, Bundle, small, write_arrays
from tests.storage.importing.mirroring import MIRROR, exported, ids_of, mirror

pytestmark = pytest.mark.anyio


async def test_a_plan_names_what_is_added_and_each_field_that_changes(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    source = {"units": [*small()["units"], {**SMALL["units"][0], "id": "u9"}]}
    source["units"][0] |= {"name": "x" * 200, "map_ids": None}
    source["level_tags"] = [SMALL["level_tags"][0] | {"values": []}]
    summary = await mirror(database, path, source, dry_run=True)
    assert summary.plan is not None
    assert summary.plan.changes == [
        RecordChange(
            "units",
            "changed",
            "u1",
            [
                FieldChange("name", '"101"', '"' + "x" * 78 + "\N{HORIZONTAL ELLIPSIS}"),
                FieldChange("map_ids", '["am"]', "null"),
            ],
        ),
        RecordChange("units", "added", "u9"),
        RecordChange(
            "level_tags",
            "changed",
            "am/floor",
            [
                FieldChange(
                    "values",
                    '[{"name":"First","value":"a1"},{"name":"Roof","value":"roof"}]',
                    "[]",
                )
            ],
        ),
    ]


async def test_a_plan_shows_the_items_and_drawings_that_differ(
    database: Any, bundle: Path, path: Path
) -> None:
    plan = small()["attribute_groups"][0]
    plan["attributes"] = [
        {"attribute_id": each, "attribute_name": each.title(), "attribute_key": each}
        for each in ("s", "vacant", "occupied", "leased")
    ]
    group = {"attribute_groups": [{**plan, "attributes": plan["attributes"][:3]}]}
    drawing = {
        "id": "am",
        "asset_id": "a",
        "name": "Plates",
        "background_id": "ab",
        "tags": ["ils"],
    }
    old, new = (to_data_url(f"<svg>{text}</svg>".encode()) for text in ("one", "x" * 1_000))
    await import_bundles(database, [bundle])
    written: list[RecordChange] = []
    request = ChangeRequest(is_planned=True, write_change=written.append)
    await mirror(database, path, {**group, "maps": [{**drawing, "source": old}]}, request)
    written.clear()
    source = {"attribute_groups": [plan], "maps": [{**drawing, "source": new}]}
    summary = await mirror(database, path, source, request, dry_run=True)
    assert summary.plan is not None
    shown = {each.record_id: each.fields for each in summary.plan.changes}
    leased = '{"attribute_id":"leased","attribute_name":"Leased","attribute_key":"leased"}'
    assert shown["plan"] == [FieldChange("attributes", "[…]", f"[…,{leased}]")]
    [change] = shown["am"]
    assert re.fullmatch(r"drawing [0-9a-f]{8} \(14 bytes\)", change.before)
    assert re.fullmatch(r"drawing [0-9a-f]{8} \(1.0 kB\)", change.after)
    [whole] = [each.fields[0] for each in written if each.record_id == "plan"]
    assert json.loads(whole.after) == plan["attributes"]


async def test_a_plan_lists_the_first_changes_and_writes_all(
    database: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.importing.change_plan.MAX_LISTED_CHANGES", 2)
    written: list[RecordChange] = []
    request = ChangeRequest(is_planned=True, write_change=written.append)
    summary = await mirror(database, path, SMALL, request)
    assert summary.plan is not None
    total = sum(len(array) for array in SMALL.values())
    assert len(written) == total == len(summary.plan.changes) + summary.plan.unlisted
    assert sum(change.kind == "units" for change in summary.plan.changes) == 2


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
