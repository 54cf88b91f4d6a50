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
