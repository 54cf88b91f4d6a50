"""Sheets named after resources: a row for each record, a column for each field."""

import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.storage.spreadsheets.spreadsheets import Rows, read, write_csv, write_xlsx


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "building.xlsx"


@pytest.mark.parametrize(
    ("title", "header"),
    [("Units", "Floor ID"), ("unit", "floor_id"), ("UNITS", "FLOOR-ID"), (" units ", "FloorId")],
)
def test_sheets_and_columns_are_named_freely(path: Path, title: str, header: str) -> None:
    rows = [["id", "Asset ID", header, "Name"], ["u", "a", "f", "101"]]
    found = read(write_xlsx(path, {title: rows}))
    assert found.errors == []
    [unit] = found.members["units"]
    assert (unit["_id"], unit["floor_id"], unit["name"]) == ("u", "f", "101")


def test_cells_of_all_kinds(path: Path) -> None:
    sheets: dict[str, Rows] = {
        "Units": [
            ["id", "asset_id", "floor_id", "name", "map_ids", "created_at"],
            ["u", "a", "f", 101.0, "m1; m2", date(2026, 1, 31)],
            ["v", "a", "f", "0101", "[]", "31 Jan 2026 09:30"],
        ],
        "Attribute groups": [
            ["group_id", "group_name", "one_attribute_per_unit", "attributes"],
            ["g", "Plan", True, "s=Studio=studio; t=Two rooms=two"],
            ["h", "Extras", "no", None],
        ],
        "Locations": [
            ["id", "asset_id", "unit_map_id", "name", "x", "y", "floors", "tags"],
            ["l", "a", "m", "Gym", 12.5, "-3", "f1; f2", 'leisure=gym; "a=b"=c'],
        ],
        "Maps": [["id", "asset_id", "name", "tags"], ["m", "a", "Plates", "ils, mls"]],
        "Level tags": [["map_id", "key", "name", "values"], ["m", "floor", "Floor", "First=f1"]],
    }
    found = read(write_xlsx(path, sheets))
    assert found.errors == []
    first, second = found.members["units"]
    assert (first["name"], second["name"]) == ("101", "0101")
    assert (first["map_ids"], second["map_ids"]) == (["m1", "m2"], [])
    assert first["created_at"] == "2026-01-31T00:00:00+00:00"
    assert second["created_at"] == "2026-01-31T09:30:00+00:00"
    group, extras = found.members["attribute_groups"]
    assert group["attributes"][1]["attribute_name"] == "Two rooms"
    assert (group["one_attribute_per_unit"], extras["one_attribute_per_unit"]) == (True, False)
    [location] = found.members["locations"]
    assert (location["x"], location["y"]) == (12.5, -3)
    assert location["floors"] == [{"id": "f1"}, {"id": "f2"}]
    assert [(tag["key"], tag["value"]) for tag in location["tags"]] == [
        ("leisure", "gym"),
        ("a=b", "c"),
    ]
    assert found.members["maps"][0]["tags"] == ["ils", "mls"]
    assert found.members["level_tags"][0]["values"][0]["value"] == "f1"


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("X", "far", 'expected a number, not "far"'),
        ("X", -2e9, "expected a number of at least -1e+09"),
        ("X", "1,240", "write it without separators of thousands and with a point"),
        ("Name", "#REF!", "the cell shows the error #REF!; correct its formula"),
        ("Created at", "3/1/2026", '"3/1/2026" is 2026-01-03 or 2026-03-01: write one of these'),
        ("Created at", "30 Feb 2026", 'there is no date "30 Feb 2026"'),
        ("Tags", "leisure", 'expected key=value, not "leisure"'),
        ("ID", "i" * 256, "at most 255 characters"),
    ],
)
def test_an_error_names_sheet_row_and_column(
    path: Path, column: str, cell: Any, message: str
) -> None:
    headers = ["ID", "Asset ID", "Unit map ID", "Name", "X", "Y", "Tags", "Created at"]
    values: list[Any] = ["l", "a", "m", "Gym", 1, 2, "", ""]
    values[headers.index(column)] = cell
    [error] = read(write_xlsx(path, {"Locations": [headers, values]})).errors
    assert error.startswith(f'building.xlsx: sheet "Locations", row 2, column "{column}": ')
    assert message in error


def test_all_errors_of_a_row_are_reported_at_once(path: Path) -> None:
    """Cells that cannot be read, empty ones that are required, and values that are too long."""
    headers = ["ID", "Asset ID", "Floor ID", "Name", "Created at"]
    rows: Rows = [headers, ["u" * 300, "a", "", "#REF!", "soon"]]
    errors = read(write_xlsx(path, {"Units": rows})).errors
    assert [error.split('column "')[1] for error in errors] == [
        'Created at": expected a date such as 2026-01-31 or 31 January 2026, not "soon"; if it'
        ' means that there is none, say so in the mapping: empty: ["soon"]',
        'Floor ID": a value is required: floor_id',
        'ID": expected text of at most 255 characters',
        'Name": the cell shows the error #REF!; correct its formula',
    ]


def test_a_repeated_id_is_found_whatever_else_is_wrong_with_its_rows(path: Path) -> None:
    rows: Rows = [["ID", "Name", "Created at"], ["a", "A", "soon"], ["a", "", "soon"]]
    errors = read(write_xlsx(path, {"Assets": rows})).errors
    place = 'building.xlsx: sheet "Assets", row'
    assert f'{place} 3: asset "a" is already at {place} 2' in errors


def test_defaults_are_values_of_cells(path: Path) -> None:
    sheets: dict[str, Rows] = {
        "Floors": [["id", "name"], ["f", "First"]],
        "Maps": [["id", "name", "tags"], ["m", "Plates", ""], ["n", "Plans", "mls"]],
    }
    write_xlsx(path, sheets)
    mapping = {"asset": "oak", "defaults": {"sort": "3", "tags": "ils; x"}}
    found = read(path, mapping=mapping)
    assert (found.members["floors"][0]["asset_id"], found.members["floors"][0]["sort"]) == (
        "oak",
        3,
    )
    assert [each["tags"] for each in found.members["maps"]] == [["ils", "x"], ["mls"]]
    [error] = read(path, mapping=mapping | {"defaults": {"sort": "low"}}).errors
    assert error == (
        'building.xlsx: the mapping gives "sort" a wrong default: expected a number, not "low"'
    )


def test_ids_that_are_absent_are_made_of_names(path: Path) -> None:
    sheets: dict[str, Rows] = {
        "Assets": [["name"], ["Oak Street"]],
        "Floors": [["asset_id", "name"], ["oak-street", "Floor 1"]],
        "Units": [["asset_id", "floor_id", "name"], ["oak-street", "oak-street-floor-1", "#101"]],
        "Maps": [["asset_id", "name"], ["oak-street", "Floor plates"]],
    }
    found = read(write_xlsx(path, sheets))
    assert found.errors == []
    assert found.ids("assets") == ["oak-street"]
    assert found.ids("floors") == ["oak-street-floor-1"]
    assert found.ids("units") == ["oak-street-101"]
    assert found.ids("maps") == ["oak-street-floor-plates"]


def test_the_catalog_keeps_fields_without_a_column_and_drawings(path: Path) -> None:
    rows = [["id", "asset_id", "name", "source"], ["m", "a", "Plates", ""]]
    [kept] = read(write_xlsx(path, {"Maps": rows})).kept["maps"]
    assert "style" in kept
    assert "source" in kept
    assert "name" not in kept


def test_the_header_may_be_below_a_title(path: Path) -> None:
    rows: Rows = [
        ["Our buildings"],
        [],
        ["as of January", None],
        ["ID", "Name"],
        ["a", "Alder"],
        [],
        [],
    ]
    found = read(write_xlsx(path, {"Assets": rows}))
    assert found.ids("assets") == ["a"]
    assert found.notes == ['building.xlsx: sheet "Assets": read as assets, headers in row 4']


def test_a_mapping_says_in_which_row_the_header_is(path: Path) -> None:
    rows: Rows = [["Name"], ["Not this"], *([["..."]] * 70), ["Name"], ["Alder"]]
    write_xlsx(path, {"Assets": rows})
    assert read(path, mapping={"sheets": {"Assets": {"header_row": "73"}}}).ids("assets") == [
        "alder"
    ]
    assert read(path).ids("assets")[0] == "not-this"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("3", "row 3 has no header of assets"),
        ("2", "the mapping says header_row: 2, but that row is empty"),
        ("9", "the mapping says header_row: 9, but the last row is 3"),
    ],
)
def test_a_header_that_is_not_in_the_given_row_is_an_error(
    path: Path, row: str, message: str
) -> None:
    write_xlsx(path, {"Assets": [["Name"], [], ["Alder"]]})
    [error] = read(path, mapping={"sheets": {"Assets": {"header_row": row}}}).errors
    assert error == f'building.xlsx: sheet "Assets": {message}'


def test_an_id_is_required_only_if_none_can_be_made(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "assets.csv", [["Name", "Market"], ["?", ""], ["", "office"]])
    assert read(path).errors == [
        'assets.csv: row 2, column "Name": no id can be made of "?"; give it one in a column "ID"',
        'assets.csv: row 3, column "Name": a value is required: name',
    ]


def test_unknown_columns_and_sheets_are_noted(path: Path) -> None:
    sheets: dict[str, Rows] = {
        "Assets": [["id", "name", "markt"], ["a", "A", "x"]],
        "Floor notes": [["..."]],
    }
    notes = read(write_xlsx(path, sheets)).notes
    assert notes[0] == (
        'building.xlsx: sheet "Assets": column "markt" was not read; did you mean "market"?; rename'
        " or map it, or map it to ignore"
    )
    assert 'sheet "Floor notes": the sheet is not named after a resource' in notes[1]


def test_two_columns_for_one_field_are_an_error(path: Path) -> None:
    sheets = {"Assets": [["id", "name", "Name"], ["a", "A", "B"]]}
    [error] = read(write_xlsx(path, sheets)).errors
    assert error == (
        'building.xlsx: sheet "Assets", row 1: the columns B "name" and C "Name" both hold name;'
        " rename one, or map it to ignore"
    )


def test_a_hidden_sheet_is_not_read_unless_a_mapping_names_it(path: Path) -> None:
    sheets = {"Floors": [["asset_id", "name"], ["a", "1"]], "Assets": [["name"], ["A"]]}

    def hide(book: Any) -> None:
        book.get_worksheet_by_name("Assets").hide()

    write_xlsx(path, sheets, hide)
    found = read(path)
    assert "assets" not in found.members
    assert any("the sheet is hidden, and was not read" in note for note in found.notes)
    assert read(path, mapping={"sheets": {"Assets": "assets"}}).ids("assets") == ["a"]


def test_formulas_give_their_values_and_errors_are_found(path: Path) -> None:
    def add_formulas(book: Any) -> None:
        sheet = book.get_worksheet_by_name("Assets")
        sheet.write_formula("B2", '="Oak"', value="Oak")
        sheet.write_formula("B3", "=1/0", value="#DIV/0!")

    rows: Rows = [["id", "name"], ["a", None], ["b", None]]
    found = read(write_xlsx(path, {"Assets": rows}, add_formulas))
    assert found.members["assets"][0]["name"] == "Oak"
    [error] = found.errors
    assert error == (
        'building.xlsx: sheet "Assets", row 3, column "name": the cell shows the error #DIV/0!;'
        " correct its formula"
    )


@pytest.mark.parametrize("value", ["<v/>", ""])
def test_a_formula_without_a_saved_value_is_an_error(path: Path, value: str) -> None:
    """As programs write it that do not calculate; a formula may also have given an empty text."""

    def add_formulas(book: Any) -> None:
        sheet = book.get_worksheet_by_name("Assets")
        sheet.write_formula("B2", '="Oak"', value="unsaved")
        sheet.write_formula("C2", '=""', value="empty")

    rows: Rows = [["id", "name", "market"], ["a", None, None]]
    write_xlsx(path, {"Assets": rows}, add_formulas)
    replace_in_sheet(path, ' t="str"><f>"Oak"</f><v>unsaved</v>', f'><f>"Oak"</f>{value}')
    replace_in_sheet(path, "<v>empty</v>", "<v></v>")
    [error] = read(path).errors
    assert error == (
        'building.xlsx: sheet "Assets", row 2, column "name": the formula has no saved value; open'
        " the workbook in a spreadsheet program, and save it"
    )


def replace_in_sheet(path: Path, old: str, new: str) -> None:
    """Replace a part of the XML of the first sheet of a workbook."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old.encode() in parts["xl/worksheets/sheet1.xml"]
    parts["xl/worksheets/sheet1.xml"] = parts["xl/worksheets/sheet1.xml"].replace(
        old.encode(), new.encode()
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_nothing_to_import_is_an_error(path: Path) -> None:
    [error] = read(write_xlsx(path, {"Sheet1": [["Hello"]]})).errors
    assert error.startswith("building.xlsx: there is nothing to import: no sheet is named assets,")
