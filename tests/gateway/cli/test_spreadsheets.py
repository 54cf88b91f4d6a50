"""Spreadsheets on the command line: templates, mappings and exports."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from gateway.cli.demo_bundle import DEMO_BUNDLE
from tests.gateway.cli.commands import assert_explains, floorgate, output_of
from tests.storage.bundles.reading.tables.spreadsheets import rent_roll, write_csv

pytestmark = pytest.mark.slow
DEMO = json.loads(DEMO_BUNDLE.read_text())


def template(path: Path, *options: str) -> Path:
    run = floorgate("template", "--xlsx", path, *options)
    assert run.exit_code == 0, run.stderr
    assert f"floorgate import --dry-run {path}" in run.stderr
    return path


def counts(summary: dict[str, Any], change: str) -> dict[str, int]:
    return {kind: count[change] for kind, count in summary["kinds"].items() if count[change]}


def test_an_untouched_template_imports_the_demo(storage: list[str], tmp_path: Path) -> None:
    path = template(tmp_path / "building.xlsx")
    summary = output_of(floorgate("import", path, "--json", *storage))
    assert counts(summary, "inserted") == {kind: len(array) for kind, array in DEMO.items()}
    [note] = summary["notes"]
    assert 'sheet "About"' in note
    table = template(tmp_path / "rents.xlsx", "--table")
    summary = output_of(floorgate("import", table, "--json", *storage))
    assert summary["total"]["inserted"] == summary["total"]["updated"] == 0
    assert counts(summary, "unchanged")["units"] == len(DEMO["units"])


def test_an_untouched_template_keeps_the_drawings_of_the_demo(
    storage: list[str], tmp_path: Path
) -> None:
    assert floorgate("import", DEMO_BUNDLE, *storage).exit_code == 0
    before = floorgate("export", *storage).stdout
    path = template(tmp_path / "building.xlsx")
    summary = output_of(floorgate("import", path, "--json", *storage))
    assert summary["total"]["updated"] == summary["total"]["inserted"] == 0
    assert floorgate("export", *storage).stdout == before


def notes_of(path: Path) -> list[str]:
    """Return the notes of the cells of a workbook."""
    with ZipFile(path) as parts:
        names = [name for name in parts.namelist() if name.startswith("xl/comments")]
        texts = [parts.read(name).decode() for name in names]
    return [
        unescape(note)
        for text in texts
        for note in re.findall("<t(?: [^>]*)?>(.*?)</t>", text, re.S)
    ]


def test_each_header_of_a_template_has_a_note(tmp_path: Path) -> None:
    notes = "\n\n".join(notes_of(template(tmp_path / "building.xlsx")))
    floor_id = (
        "The id: opaque text that no other floor has.\nMade of Asset ID and Name if the cell is"
    )
    assert f"\n\n{floor_id} empty." in notes  # not required, as the sheet About says
    assert "\n\nRequired. The name or number of the unit." in notes
    assert "; empty for every map of its asset." in notes
    notes = "\n\n".join(notes_of(template(tmp_path / "rents.xlsx", "--table")))
    assert "The attributes of the unit in the group Views & features: one; two." in notes
    assert "in another system, which is called keyring." in notes


def test_an_untouched_template_is_loaded_beside_groups_of_other_tables(
    storage: list[str], tmp_path: Path
) -> None:
    """A column such as Floor plan makes a group that all properties share."""
    rents = write_csv(tmp_path / "rents.csv", rent_roll(1, 2))
    assert floorgate("import", rents, *storage).exit_code == 0
    for options in ([], ["--table"]):
        path = template(tmp_path / "template.xlsx", "--force", *options)
        output_of(floorgate("import", path, "--json", *storage))
    groups = tmp_path / "attribute-groups.csv"
    groups.write_text("group_id,group_name,attributes\nfloor-plan,Floor plan,s=Studio=s\n")
    assert_explains(
        floorgate("import", groups, *storage),
        1,
        'row 2, column "attributes": "floor-plan-a1" cannot be removed while attribute_assignments'
        ' refer to it; the attribute_group of group_id "floor-plan" of the catalog, which all'
        ' assets share, also has "floor-plan-a1": add what it has, or give this one another id',
    )


@pytest.mark.parametrize("options", [[], ["--table"]])
def test_an_empty_template_has_nothing_to_import(
    storage: list[str], tmp_path: Path, options: list[str]
) -> None:
    path = template(tmp_path / "building.xlsx", "--empty", *options)
    run = floorgate("import", path, *storage)
    assert "Traceback" not in run.stderr
    assert run.exit_code == 0


def test_a_template_replaces_no_file_unless_forced(tmp_path: Path) -> None:
    path = template(tmp_path / "building.xlsx")
    assert_explains(floorgate("template", "--xlsx", path), 1, "exists; --force replaces it")
    template(path, "--force")
    assert floorgate("template", "--xlsx", tmp_path / "building.ods").exit_code == 2


def test_three_hundred_apartments_are_loaded_and_ten_changed(
    storage: list[str], tmp_path: Path
) -> None:
    rows = rent_roll()
    path = write_csv(tmp_path / "rents.csv", rows)
    planned = output_of(floorgate("import", "--dry-run", path, "--json", *storage))
    summary = output_of(floorgate("import", path, "--json", *storage))
    assert planned["kinds"] == summary["kinds"]
    assert counts(summary, "inserted")["units"] == 300
    assert output_of(floorgate("import", path, "--json", *storage))["total"]["updated"] == 0
    for row in rows[1:11]:
        row[9] = "Reserved"
    write_csv(path, rows)
    summary = output_of(floorgate("import", path, "--json", *storage))
    assert counts(summary, "updated") == {"attribute_groups": 1, "attribute_assignments": 10}
    assert any('"Status" gets 1 new attribute: Reserved' in note for note in summary["notes"])


def test_a_mapping_is_for_spreadsheets(storage: list[str], tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text("unit_ids: number\ncolumns: {Rent: 'reference:rent'}\n")
    path = write_csv(tmp_path / "rents.csv", rent_roll(1, 2))
    output_of(floorgate("import", path, "--mapping", mapping, "--json", *storage))
    exported = output_of(floorgate("export", *storage))
    assert [unit["id"] for unit in exported["units"]] == ["101", "102"]
    assert {each["key"] for each in exported["unit_references"]} == {"rent", "pms-unit-id"}
    run = floorgate("import", DEMO_BUNDLE, "--mapping", mapping, *storage)
    assert_explains(run, 2, "--mapping is for spreadsheets")
    mapping.write_text("colums: {}")
    run = floorgate("import", path, "--mapping", mapping, *storage)
    assert_explains(run, 1, 'there is no key "colums"; did you mean "columns"?')


def test_a_table_is_checked_without_a_database(tmp_path: Path) -> None:
    rows = rent_roll(1, 2)
    path = write_csv(tmp_path / "rents.csv", rows)
    run = floorgate("check", path)
    assert run.exit_code == 0
    assert 'column "SqFt" was not read' in run.stdout
    rows[2][3] = "101"
    run = floorgate("check", write_csv(path, rows))
    assert run.exit_code == 1
    assert (
        f'{path}: row 3, column "Unit #": the unit "101" is already at {path}: row 2' in run.stdout
    )
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text("columns: {Rent: ignore}")
    assert '"Rent"' not in floorgate("check", path, "--mapping", mapping).stdout
    mapping.write_text("columns: {Rnt: 'reference:rent'}")
    unused = f'{mapping}: columns: there is no column "Rnt"; did you mean "Rent"?'
    assert unused in floorgate("check", path, "--mapping", mapping).stdout


def test_an_import_with_errors_prints_its_notes_too(storage: list[str], tmp_path: Path) -> None:
    """The cause may be among them, such as a misspelt header."""
    path = tmp_path / "assets.csv"
    path.write_text("ID,Name,Markt,Created at\no,Oak,multifamily,soon\n")
    run = floorgate("import", "--dry-run", path, *storage)
    assert_explains(run, 1, 'column "Created at": expected a date')
    assert f'Note: {path}: column "Markt" was not read; did you mean "market"?' in run.stderr


def test_some_cells_are_merged(storage: list[str], tmp_path: Path) -> None:
    rents = write_csv(tmp_path / "rents.csv", rent_roll(1, 2))
    output_of(floorgate("import", rents, "--json", *storage))
    units = tmp_path / "units.csv"
    units.write_text("ID,Name\noak-street-101,101A\noak-street-102,\n")
    summary = output_of(floorgate("import", "--merge", units, "--json", *storage))
    assert (counts(summary, "updated"), counts(summary, "unchanged")) == (
        {"units": 1},
        {"units": 1},
    )
    exported = output_of(floorgate("export", *storage))
    assert [unit["name"] for unit in exported["units"]] == ["101A", "102"]


def test_what_a_row_refers_to_is_checked_whatever_else_is_wrong_with_it(
    storage: list[str], tmp_path: Path
) -> None:
    """Its owners and its drawing, by an import and by a check."""
    assets, maps, units = (tmp_path / f"{name}.csv" for name in ("assets", "maps", "units"))
    assets.write_text("ID,Name\nharbor-view,Harbor View\n")
    maps.write_text(
        'ID,Asset ID,Name,Source,Feet per unit\nm2,harbor-view,A,nofile.svg,"0,5"\n'
        "m3,harbor-view,B,../x.svg,-1\nm4,harbor-vew,C,,0.5 ft\n"
    )
    units.write_text("ID,Asset ID,Floor ID,Name\nu1,harbor-vew,none,\n")
    errors = (
        f'{maps}: row 2, column "Feet per unit": expected a number, not "0,5"',
        f'{maps}: row 2, column "Source": "nofile.svg" next to the bundle: No such file',
        f'{maps}: row 3, column "Feet per unit": expected a number of more than 0',
        f'{maps}: row 3, column "Source": "../x.svg" is outside the directory of the bundle',
        f'{maps}: row 4, column "Asset ID": there is no asset "harbor-vew"',
        f'{maps}: row 4, column "Feet per unit": expected a number, not "0.5 ft"',
        f'{units}: row 2, column "Asset ID": there is no asset "harbor-vew"',
        f'{units}: row 2, column "Floor ID": there is no floor "none"',
        f'{units}: row 2, column "Name": a value is required',
    )
    run = floorgate("import", "--dry-run", assets, maps, units, *storage)
    assert_explains(run, 1, *errors)
    assert run.stderr.count(": row ") == len(errors)
    checked = floorgate("check", "--complete", assets, maps, units).stdout
    assert [error for error in errors if error not in checked] == []
    assert f"{len(errors)} errors." in checked


def test_a_drawing_of_numbered_units_is_loaded_with_the_table(
    storage: list[str], tmp_path: Path
) -> None:
    table = write_csv(tmp_path / "rents.csv", rent_roll(1, 2))
    mapping = tmp_path / "mapping.yaml"
    rects = "".join(f'<rect id="{id}" data-type="Unit" width="9" height="9"/>' for id in (101, 109))
    (tmp_path / "oak.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><g data-type="Level">'
        f'<g data-type="UnitLayer">{rects}</g></g><g id="Roof" data-type="Level"/></svg>'
    )
    maps = tmp_path / "maps.csv"
    maps.write_text("Asset ID,Name,Drawing,Feet per unit\noak-street,Floor plates,oak.svg,0.1\n")
    mapping.write_text("unit_ids: number\ncolumns: {Drawing: source}")
    files = (table, maps, "--mapping", mapping)
    note = f'{maps}: row 2, column "Drawing": the drawing shows 1 unknown unit: "109"'
    floors = 'the drawing shows 2 unknown floors: Level "Level 1", "Roof"; routes need'
    level = f'{maps}: row 2, column "Drawing": {floors}'
    checked = floorgate("check", *files, tmp_path / "oak.svg").stdout
    notes = "\n".join(output_of(floorgate("import", *files, "--json", *storage))["notes"])
    for text in (note, level):
        assert text in checked
        assert text in notes
    assert f"oak.svg: {floors}" in checked
    [loaded] = output_of(floorgate("export", *storage))["maps"]
    assert (loaded["id"], loaded["feet_per_unit"]) == ("oak-street-floor-plates", 0.1)


def test_a_catalog_is_exported_to_spreadsheets(storage: list[str], tmp_path: Path) -> None:
    assert floorgate("import", DEMO_BUNDLE, *storage).exit_code == 0
    run = floorgate("export", "--xlsx", tmp_path / "catalog.xlsx", *storage)
    assert run.exit_code == 0
    assert "a workbook has no drawings" in run.stderr
    run = floorgate("export", "--attributes", tmp_path / "attributes.csv", *storage)
    assert run.exit_code == 0
    for name, members in (
        ("catalog.xlsx", sum(map(len, DEMO.values()))),
        ("attributes.csv", len(DEMO["attribute_assignments"])),
    ):
        summary = output_of(floorgate("import", tmp_path / name, "--json", *storage))
        assert summary["total"] == {"inserted": 0, "updated": 0, "unchanged": members, "removed": 0}
    run = floorgate("export", "--attributes", tmp_path / "attributes.json", *storage)
    assert_explains(run, 2, "the name must end in .xlsx or .csv")
