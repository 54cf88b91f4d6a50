"""`floorgate check` prints all that is wrong with files, and needs no database."""

import json
from functools import partial
from pathlib import Path

import pytest

from gateway.cli import drawing_check
from resolvers.processes.cpu_limit import limit_cpu_time
from tests.gateway.cli.commands import floorgate, output_of
from tests.storage.catalogs import SMALL, small, write_arrays

DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100"/>'


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
    *lines, drawing, assets, floors, maps, summary = checked.stdout.splitlines()
    assert lines == [
        "good.SVG: warning: the drawing has no Level [no-level]",
        *lines[1:2],  # what to do about it
        "good.SVG: 0 levels, 0 units, 0 hit areas, 0 other shapes; 1 warning",
        'b.json: $.units[0]: there is no field "flor"; did you mean floor_id?',
        "b.json: $.units[0]: required but missing: name",
        "b.json: $.units[1].name: Expected `str`, got `int`",
    ]
    assert drawing.startswith("plan.svg: line 1, column 6: ")
    assert [assets, floors, maps] == [
        'Assumed to be in the catalog: asset "a" (1 member)',
        'Assumed to be in the catalog: map "am" (1 member)',
        'Assumed to be in the catalog: floor "a1" (1 member)',
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


def test_a_drawing_that_takes_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing_check, "limit_cpu_time", partial(limit_cpu_time, 0.01))
    Path("plan.svg").write_text(f"<svg>{'<g><path/></g>' * 50_000}</svg>")
    assert "plan.svg: the drawing takes over 0.01 seconds" in floorgate("check", "plan.svg").stdout
