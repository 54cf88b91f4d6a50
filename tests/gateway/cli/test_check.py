"""`floorgate check` prints all that is wrong with files, and needs no database."""

import json
from pathlib import Path

import pytest

from tests.gateway.cli.commands import floorgate, output_of
from tests.storage.catalogs import SMALL, Bundle, small, write_arrays

DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100"><path d="M0 0h9"/></svg>'


@pytest.fixture(autouse=True)
def _in_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_correct_catalog_has_no_errors() -> None:
    write_arrays(Path("b.json"), SMALL)
    checked = floorgate("check", "--complete", "b.json")
    assert checked.exit_code == 0
    assert checked.stdout.startswith("Checked 2 assets, 2 floors, 2 maps,")
    assert checked.stdout.endswith("1 location: no errors.\n")


def test_all_errors_are_printed_with_what_was_assumed() -> None:
    units = [{"id": "u1", "asset_id": "a", "flor": "f"}, {**SMALL["units"][1], "name": 7}]
    write_arrays(Path("b.json"), {"units": units, "locations": SMALL["locations"]})
    Path("plan.svg").write_text("<svg>")
    Path("good.SVG").write_text(DRAWING)
    checked = floorgate("check", "b.json", "plan.svg", "good.SVG")
    assert checked.exit_code == 1
    *lines, drawing, asset, floor, unit_map, summary = checked.stdout.splitlines()
    assert lines == [
        "good.SVG: warning: the drawing has no Level [no-level]",
        *lines[1:2],  # what to do about it
        "good.SVG: 0 levels, 0 units, 0 hit areas, 1 other shape; 1 warning",
        'b.json: $.units[0]: there is no field "flor"; did you mean floor_id?',
        "b.json: $.units[0]: required but missing: name",
        "b.json: $.units[1].name: Expected `str`, got `int`",
    ]
    assert drawing.startswith("plan.svg: line 1, column 6: ")
    assert [asset, floor, unit_map] == [  # also by members with errors
        'Assumed to be in the catalog: asset "a" (3 members)',
        'Assumed to be in the catalog: floor "a1" (2 members)',
        'Assumed to be in the catalog: map "am" (1 member)',
    ]
    assert summary == "Checked 1 location, 2 drawings: 4 errors."


def test_the_first_errors_are_printed_and_all_are_counted() -> None:
    write_arrays(Path("b.json"), {"assets": [{"id": f"a{number}"} for number in range(1213)]})
    lines = floorgate("check", "b.json").stdout.splitlines()
    assert lines[999:] == [
        "b.json: $.assets[999]: required but missing: name",
        "... and 213 more errors",
        "Checked no members: 1,213 errors.",
    ]


def test_the_result_may_be_json() -> None:
    bundle = small()
    bundle["units"][1]["floor_id"] = "a2"
    write_arrays(Path("b.json"), bundle)
    assert output_of(floorgate("check", "--json", "b.json")) == {
        "drawings": [],
        "errors": [],
        "error_count": 0,
        "assumed": [{"kind": "floors", "id": "a2", "members": 1, "meant": None}],
        "assumed_count": 1,
        "notes": [],
        "members": {kind: len(array) for kind, array in SMALL.items()},
    }
    checked = floorgate("check", "--json", "--complete", "b.json")
    assert checked.exit_code == 1
    assert json.loads(checked.stdout)["errors"] == [
        {
            "place": "b.json: $.units[1].floor_id",
            "message": 'there is no floor "a2" in any of the files',
        }
    ]


def test_what_a_merge_takes_is_checked_as_such() -> None:
    """Members need only their keys; of what they do not give, nothing is said."""
    Path("units.csv").write_text("ID,Name\nu1,101A\n")
    changes: Bundle = {
        "units": [{"id": "u2", "floor_id": "a1"}, {"id": "u3", "name": 7}],
        "floors": [{"id": "a1", "name": "Lobby"}, SMALL["floors"][1]],
        "attribute_groups": [{"group_id": "plan", "group_name": "Layout"}],
        "attribute_assignments": [{**SMALL["attribute_assignments"][0], "group_id": "plan"}],
    }
    write_arrays(Path("b.json"), changes)
    checked = floorgate("check", "--merge", "b.json", "units.csv")
    assert checked.stdout.startswith("b.json: $.units[1].name: ")
    assumed = [
        line.removeprefix("Assumed to be in the catalog: ")
        for line in checked.stdout.splitlines()
        if line.startswith("Assumed")
    ]
    assert 'unit "u1" (1 member)' in assumed
    assert 'floor "a1" (1 member)' in assumed
    assert not any("b1" in each or "did you mean" in each for each in assumed)
    assert "1 error." in checked.stdout
    refused = floorgate("check", "--merge", "--complete", "b.json")
    assert refused.exit_code == 2
    assert "--merge excludes --complete" in refused.stderr


def test_a_bundle_may_come_from_standard_input() -> None:
    checked = floorgate("check", "-", stdin='{"assets": [{}]}')
    assert checked.stdout.startswith("standard input: $.assets[0]: required but missing: id, name")


def test_files_that_cannot_be_read_are_errors() -> None:
    checked = floorgate("check", "missing.json", "missing.svg")
    assert checked.exit_code == 1
    assert checked.stdout.splitlines()[:2] == [
        "missing.json: No such file or directory",
        "missing.svg: No such file or directory",
    ]
