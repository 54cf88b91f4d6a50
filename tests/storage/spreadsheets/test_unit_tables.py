"""Tables of apartments and sheets of records make records, references and attributes."""

import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.storage.spreadsheets.spreadsheets import Rows, read, rent_roll, write_csv, write_xlsx


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rent roll.csv"


def test_three_hundred_apartments_as_a_property_manager_has_them(path: Path) -> None:
    found = read(write_csv(path, rent_roll()))
    assert found.errors == []
    assert {kind: len(members) for kind, members in found.members.items()} == {
        "assets": 1,
        "floors": 12,
        "units": 300,
        "unit_references": 300,
        "attribute_groups": 4,
        "attribute_assignments": 1200,
    }
    [asset] = found.members["assets"]
    assert (asset["_id"], asset["name"]) == ("oak-street", "Oak Street")
    floor = found.members["floors"][1]
    assert (floor["_id"], floor["name"], floor["sort"]) == ("oak-street-floor-2", "Floor 2", 2)
    assert floor["short_label"] == "2"
    unit = found.members["units"][0]
    assert (unit["_id"], unit["name"]) == ("oak-street-101", "101")
    assert unit["floor_id"] == "oak-street-floor-1"
    reference = found.members["unit_references"][0]
    assert (reference["key"], reference["value"]) == ("pms-unit-id", "P-101")
    groups = {group["group_name"]: group for group in found.members["attribute_groups"]}
    assert groups.keys() == {"Bedrooms", "Bathrooms", "Floor plan", "Status"}
    status = groups["Status"]
    assert status["one_attribute_per_unit"]
    assert [item["attribute_id"] for item in status["attributes"]] == [
        "status-vacant",
        "status-occupied",
    ]
    assert [item["attribute_name"] for item in groups["Bathrooms"]["attributes"]] == ["1.5", "1"]


def test_what_became_of_each_column_is_said(path: Path) -> None:
    notes = read(write_csv(path, rent_roll(1, 1))).notes
    assert notes[0] == (
        'rent roll.csv: read as apartments, headers in row 1: "Property" as asset, "Building" as'
        ' building, "Floor" as floor, "Unit #" as unit, "Bed" as attribute:Bedrooms, "Bath" as'
        ' attribute:Bathrooms, "Status" as attribute:Status, "Floor Plan" as attribute:Floor plan,'
        ' "PMS Unit ID" as reference:pms-unit-id'
    )
    unread = [note for note in notes if "was not read" in note]
    assert [note.split('"')[1] for note in unread] == ["SqFt", "Rent", "Available From"]
    assert unread[0].endswith("map it to attribute:GROUP, reference:KEY or ignore")
    assert any('"Status" gets 1 new attribute: Vacant' in note for note in notes)


def test_a_mapping_says_what_other_columns_hold(path: Path) -> None:
    rows = [["Apt.", "Lvl", "Rent", "Key", "Extras"], ["101", "1", "1500", "K1", "Balcony;  Bay"]]
    mapping = {
        "asset": {"id": "oak", "name": "Oak Street", "market": "student"},
        "columns": {
            "Apt.": "unit",
            "Lvl": "floor",
            "Rent": "ignore",
            "Key": "reference:keyring",
            "Extras": "attributes:Extras",
        },
        "defaults": {"map_ids": "plates"},
        "floors": {"1": {"name": "Lobby", "sort": "0", "id": "oak-lobby"}},
    }
    found = read(write_csv(path, rows), mapping=mapping)
    assert found.errors == []
    assert found.members["assets"][0]["market"] == "student"
    [floor] = found.members["floors"]
    assert (floor["_id"], floor["name"], floor["sort"]) == ("oak-lobby", "Lobby", 0)
    [unit] = found.members["units"]
    assert (unit["_id"], unit["map_ids"]) == ("oak-101", ["plates"])
    assert [each["attribute_id"] for each in found.members["attribute_assignments"]] == [
        "extras-balcony",
        "extras-bay",
    ]
    assert not [note for note in found.notes if "was not read" in note]


def test_dates_of_units_are_attributes_of_one_form(tmp_path: Path) -> None:
    dates = [date(2026, 3, 1), "3/1/2026", "01.03.2026", "1 March 2026", "2026-03-01 09:30"]
    rows: Rows = [
        ["Property", "Unit", "Available"],
        *(["Oak", f"{n}", d] for n, d in enumerate(dates)),
    ]
    mapping = {"columns": {"Available": "date:Available"}, "dates": "month-first"}
    found = read(write_xlsx(tmp_path / "b.xlsx", {"Rents": rows}), mapping=mapping)
    assert found.errors == []
    [group] = found.members["attribute_groups"]
    assert group["one_attribute_per_unit"]
    assert [item["attribute_name"] for item in group["attributes"]] == ["2026-03-01"]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("3/1/2026", '"3/1/2026" is 2026-01-03 or 2026-03-01: write one of these, or say'),
        ("13/25/2026", 'there is no date "13/25/2026": month must be in 1..12'),
        ("3/1/26", 'not "3/1/26"; write all four digits of the year'),
        ("now", 'not "now"; if it means that there is none, say so in the mapping: empty: ["now"]'),
        ("46082", 'expected a date such as 2026-01-31 or 31 January 2026, not "46082"'),
    ],
)
def test_what_is_no_date_is_an_error(path: Path, cell: str, message: str) -> None:
    rows = [["Property", "Unit", "date:Available"], ["Oak", "1", cell], ["Oak", "2", cell]]
    [error] = read(write_csv(path, rows)).errors
    assert error.startswith('rent roll.csv: row 2, column "date:Available": ')
    assert message in error
    assert error.endswith(" (and in 1 more rows)")


def test_the_number_of_a_unit_can_be_its_id_if_it_is_unique(path: Path) -> None:
    """So that a drawing names units by their numbers."""
    mapping = {"unit_ids": "number"}
    assert read(write_csv(path, rent_roll(1, 2)), mapping=mapping).ids("units") == ["101", "102"]
    rows = [["Property", "Floor", "Unit"], ["Oak", "1", "101"], ["Elm", "1", "101"]]
    assert read(write_csv(path, rows), mapping=mapping).errors == [
        'rent roll.csv: row 3, column "Unit": the unit "101" is already at rent roll.csv: row 2;'
        ' "unit_ids: number" in the mapping needs numbers that no two units have, also of'
        " different properties and buildings"
    ]


def test_units_of_several_buildings_have_ids_of_their_own(path: Path) -> None:
    rows = [["Property", "Building", "Floor", "Unit"]]
    rows += [["Oak", tower, "1", "101"] for tower in ("Tower A", "Tower B")]
    found = read(write_csv(path, rows))
    assert found.ids("units") == ["oak-tower-a-101", "oak-tower-b-101"]
    assert [floor["name"] for floor in found.members["floors"]] == [
        "Floor 1, Tower A",
        "Floor 1, Tower B",
    ]


@pytest.mark.parametrize(
    ("units", "message"),
    [
        (
            ["101", "101"],
            'rent roll.csv: row 3, column "Unit": the unit "101" is already at rent roll.csv:'
            " row 2",
        ),
        (
            ["A-1", "a 1"],
            'rent roll.csv: row 3, column "Unit": "a 1" and "A-1" at rent roll.csv: row 2 get the'
            ' same id "oak-a-1"; give one of them another in a column "Unit ID"',
        ),
        (
            ["101", "?"],
            'rent roll.csv: row 3, column "Unit": no id can be made of "?"; give the unit one in a'
            ' column "Unit ID"',
        ),
        (["101", ""], 'rent roll.csv: row 3, column "Unit": a unit is required'),
    ],
)
def test_a_unit_without_an_id_of_its_own_is_an_error(
    path: Path, units: list[str], message: str
) -> None:
    rows: Rows = [["Property", "Floor", "Unit"], *(["Oak", "1", unit] for unit in units)]
    found = read(write_csv(path, rows))
    assert [error.replace(f"{path.parent}/", "") for error in found.errors] == [message]


def test_all_errors_of_a_row_are_reported_at_once(path: Path) -> None:
    rows = [
        ["Property", "Building", "Floor", "Unit", "Status", "Layout", "Map IDs", "Key number"],
        ["Oak", "", "1", "101", "?", "!", "", ""],
        ["", "#REF!", "", "", "??", "!!", "", "#REF!"],
        ["Oak", "", "1", "101", "", "", '"m', ""],
    ]
    mapping = {"columns": {"Key number": "reference:keyring"}}
    errors = read(write_csv(path, rows), mapping=mapping).errors
    found = [error.removeprefix("rent roll.csv: ").split(": ")[0] for error in errors]
    second = ("Building", "Floor", "Key number", "Layout", "Property", "Status", "Unit")
    assert found == [
        *('row 2, column "Layout"', 'row 2, column "Status"'),
        *(f'row 3, column "{header}"' for header in second),
        *('row 4, column "Map IDs"', 'row 4, column "Unit"'),
    ]


def test_values_that_would_be_one_attribute_are_an_error(path: Path) -> None:
    rows = [["Property", "Unit", "Floor plan"], ["Oak", "1", "A+"], ["Oak", "2", "A"]]
    [error] = read(write_csv(path, rows)).errors
    assert error.startswith('rent roll.csv: row 3, column "Floor plan": "A" and "A+" (')
    assert "row 2" in error
    assert "write them alike" in error


def test_attributes_of_the_catalog_are_found_by_name_and_stay_in_their_group(path: Path) -> None:
    group = {
        "_id": "plan",
        "group_name": "Floor plan",
        "one_attribute_per_unit": True,
        "attributes": [
            {"attribute_id": "s", "attribute_name": "Studio", "attribute_key": "studio"},
            {"attribute_id": "t", "attribute_name": "Two rooms", "attribute_key": "two"},
        ],
    }
    rows = [["Property", "Unit", "Floor Plan"], ["Oak", "1", "studio"], ["Oak", "2", "t"]]
    found = read(write_csv(path, rows), groups=[group])
    assert "attribute_groups" not in found.members
    assigned = [each["attribute_id"] for each in found.members["attribute_assignments"]]
    assert assigned == ["s", "t"]
    found = read(write_csv(path, [*rows, ["Oak", "3", "Loft"]]), groups=[group])
    [changed] = found.members["attribute_groups"]
    assert [item["attribute_id"] for item in changed["attributes"]] == ["s", "t", "plan-loft"]


def test_the_catalog_keeps_what_the_table_does_not_say(path: Path) -> None:
    kept = read(write_csv(path, rent_roll(1, 1))).kept
    assert kept["assets"] == {("market",)}
    assert kept["floors"] == {("label", "short_label", "sort")}
    assert kept["units"] == {("map_ids",)}


@pytest.mark.parametrize(
    ("cell", "name", "sort"),
    [
        ("1", "Floor 1", 1),
        (1.0, "Floor 1", 1),
        ("2nd floor", "2nd floor", 2),
        ("Level 03", "Level 03", 3),
        ("Lobby", "Lobby", 0),
        ("B2", "B2", -2),
        (-1, "Basement 1", -1),
        ("Penthouse", "Penthouse", 900),
        ("Roof", "Roof", 1000),
    ],
)
def test_floors_are_sorted_by_their_names(tmp_path: Path, cell: Any, name: str, sort: int) -> None:
    rows = [["Property", "Floor", "Unit"], ["Oak", cell, "1"]]
    [floor] = read(write_xlsx(tmp_path / "b.xlsx", {"Rents": rows})).members["floors"]
    assert (floor["name"], floor["sort"]) == (name, sort)


def test_a_floor_of_unknown_height_is_noted(path: Path) -> None:
    rows = [["Property", "Floor", "Unit"], ["Oak", "Mezzanine", "1"]]
    notes = " ".join(read(write_csv(path, rows)).notes)
    assert 'the height of floor "Mezzanine" is unknown' in notes
    found = read(write_csv(path, rows), mapping={"floors": {"Mezzanine": "1"}})
    assert found.members["floors"][0]["sort"] == 1
    assert "is unknown" not in " ".join(found.notes)


def test_a_mapping_gives_a_property_another_id(path: Path) -> None:
    mapping = {"asset": {"id": "oak", "name": "Oak Street"}}
    rows = [["Property", "Floor", "Unit"], ["Oak Street", "1", "101"], ["", "1", "102"]]
    found = read(write_csv(path, rows), mapping=mapping)
    assert found.errors == []
    assert (found.ids("assets"), found.ids("units")) == (["oak"], ["oak-101", "oak-102"])


def test_a_row_of_another_property_than_the_mapping_is_an_error(path: Path) -> None:
    """Either is misspelt, and the units of a known property would be those of a new one."""
    rows = [["Property", "Floor", "Unit"], ["Oak Street", "1", "101"], ["Oak Street", "1", "102"]]
    assert read(write_csv(path, rows), mapping={"asset": {"name": "Elm"}}).errors == [
        'rent roll.csv: row 2, column "Property": the mapping says that the property is "elm", and'
        ' this row that it is "Oak Street": remove asset from the mapping, or, if both are one'
        " property, say there asset: {id: elm, name: Oak Street}"
    ]


def test_two_tables_may_name_one_property(tmp_path: Path) -> None:
    for number in (1, 2):
        rows = [["Property", "Floor", "Unit", "Status"], ["Oak", "1", f"{number}", f"S{number}"]]
        write_csv(tmp_path / f"part{number}.csv", rows)
    found = read(tmp_path / "part1.csv", tmp_path / "part2.csv")
    assert found.errors == []
    assert (found.ids("assets"), found.ids("floors")) == (["oak"], ["oak-floor-1"])
    [group] = found.members["attribute_groups"]
    assert [item["attribute_name"] for item in group["attributes"]] == ["S1", "S2"]


def test_a_floor_with_a_sheet_is_found_under_all_its_names(tmp_path: Path) -> None:
    floors = write_csv(
        tmp_path / "floors.csv",
        [
            ["id", "asset_id", "name"],
            ["ff", "o", "First floor"],
            ["tower", "o", "Level 1, Tower A"],
            ["old", "o", "2"],
            ["new", "o", "Second floor"],
        ],
    )
    rows = [
        ["Property ID", "Building", "Floor", "Unit"],
        ["o", "", "1", "101"],
        ["o", "", "First floor", "102"],
        ["o", "Tower A", "1st floor", "103"],
        ["o", "", "Second floor", "201"],
        ["o", "", "2nd floor", "202"],
    ]
    found = read(floors, write_csv(tmp_path / "rents.csv", rows))
    assert found.errors == []
    by_unit = [unit["floor_id"] for unit in found.members["units"]]
    assert by_unit[:4] == ["ff", "ff", "tower", "new"]
    assert by_unit[4] not in ("old", "new")  # either may be meant


def test_case_does_not_matter_where_a_header_says_what_it_holds(path: Path) -> None:
    """Excel writes the first letter of a cell in capitals."""
    headers = ["Property", "Unit", "Attribute:Finish", "ATTRIBUTES:Extras", "Reference:keyring"]
    found = read(write_csv(path, [headers, ["Oak", "101", "Classic", "Bay; Balcony", "K1"]]))
    assert found.ids("attribute_groups") == ["finish", "extras"]
    assert found.members["unit_references"][0]["key"] == "keyring"


def test_blanks_within_names_do_not_matter(path: Path) -> None:
    rows = [
        ["Property", "Building", "Floor", "Unit", "Status"],
        ["Oak Street", "Tower A", "First floor", "A 1", "On notice"],
        ["Oak  Street", "Tower\N{NO-BREAK SPACE}A", "First  floor", "A  2", "On\nnotice"],
    ]
    found = read(write_csv(path, rows))
    assert found.errors == []
    assert [unit["name"] for unit in found.members["units"]] == ["A 1", "A 2"]
    [group] = found.members["attribute_groups"]
    assert [item["attribute_name"] for item in group["attributes"]] == ["On notice"]


def test_without_floors_only_attributes_and_references_of_units_are_read(path: Path) -> None:
    rows = [["Asset ID", "Unit ID", "attribute:Finish", "reference:keyring"], ["a", "u", "Oak", ""]]
    found = read(write_csv(path, rows))
    assert found.errors == []
    assert found.members.keys() == {"attribute_assignments", "attribute_groups"}
    assert "only attributes and references of units are read" in " ".join(found.notes)


def test_properties_and_floors_with_sheets_of_their_own_keep_their_ids(tmp_path: Path) -> None:
    sheets: dict[str, Rows] = {
        "Rents": [["Property", "Floor", "Unit"], ["Oak Street", "First", "101"]],
        "Assets": [["ID", "Name"], ["o", "Oak Street"]],
        "Floors": [["ID", "Asset ID", "Name", "Sort"], ["o1", "o", "First", 1]],
    }
    found = read(write_xlsx(tmp_path / "b.xlsx", sheets))
    assert found.errors == []
    assert (found.ids("assets"), found.ids("floors")) == (["o"], ["o1"])
    [unit] = found.members["units"]
    assert (unit["asset_id"], unit["floor_id"]) == ("o", "o1")


@pytest.fixture
def workbook_path(tmp_path: Path) -> Path:
    return tmp_path / "building.xlsx"


@pytest.mark.parametrize(
    ("title", "header"),
    [("Units", "Floor ID"), ("unit", "floor_id"), ("UNITS", "FLOOR-ID"), (" units ", "FloorId")],
)
def test_sheets_and_columns_are_named_freely(workbook_path: Path, title: str, header: str) -> None:
    rows = [["id", "Asset ID", header, "Name"], ["u", "a", "f", "101"]]
    found = read(write_xlsx(workbook_path, {title: rows}))
    assert found.errors == []
    [unit] = found.members["units"]
    assert (unit["_id"], unit["floor_id"], unit["name"]) == ("u", "f", "101")


def test_cells_of_all_kinds(workbook_path: Path) -> None:
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
    found = read(write_xlsx(workbook_path, sheets))
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
    workbook_path: Path, column: str, cell: Any, message: str
) -> None:
    headers = ["ID", "Asset ID", "Unit map ID", "Name", "X", "Y", "Tags", "Created at"]
    values: list[Any] = ["l", "a", "m", "Gym", 1, 2, "", ""]
    values[headers.index(column)] = cell
    [error] = read(write_xlsx(workbook_path, {"Locations": [headers, values]})).errors
    assert error.startswith(f'building.xlsx: sheet "Locations", row 2, column "{column}": ')
    assert message in error


def test_all_errors_of_a_record_are_reported_at_once(workbook_path: Path) -> None:
    """Cells that cannot be read, empty ones that are required, and values that are too long."""
    headers = ["ID", "Asset ID", "Floor ID", "Name", "Created at"]
    rows: Rows = [headers, ["u" * 300, "a", "", "#REF!", "soon"]]
    errors = read(write_xlsx(workbook_path, {"Units": rows})).errors
    assert [error.split('column "')[1] for error in errors] == [
        'Created at": expected a date such as 2026-01-31 or 31 January 2026, not "soon"; if it'
        ' means that there is none, say so in the mapping: empty: ["soon"]',
        'Floor ID": a value is required: floor_id',
        'ID": expected text of at most 255 characters',
        'Name": the cell shows the error #REF!; correct its formula',
    ]


def test_a_repeated_id_is_found_whatever_else_is_wrong_with_its_rows(
    workbook_path: Path,
) -> None:
    rows: Rows = [["ID", "Name", "Created at"], ["a", "A", "soon"], ["a", "", "soon"]]
    errors = read(write_xlsx(workbook_path, {"Assets": rows})).errors
    place = 'building.xlsx: sheet "Assets", row'
    assert f'{place} 3: asset "a" is already at {place} 2' in errors


def test_defaults_are_values_of_cells(workbook_path: Path) -> None:
    sheets: dict[str, Rows] = {
        "Floors": [["id", "name"], ["f", "First"]],
        "Maps": [["id", "name", "tags"], ["m", "Plates", ""], ["n", "Plans", "mls"]],
    }
    write_xlsx(workbook_path, sheets)
    mapping = {"asset": "oak", "defaults": {"sort": "3", "tags": "ils; x"}}
    found = read(workbook_path, mapping=mapping)
    assert (found.members["floors"][0]["asset_id"], found.members["floors"][0]["sort"]) == (
        "oak",
        3,
    )
    assert [each["tags"] for each in found.members["maps"]] == [["ils", "x"], ["mls"]]
    [error] = read(workbook_path, mapping=mapping | {"defaults": {"sort": "low"}}).errors
    assert error == (
        'building.xlsx: the mapping gives "sort" a wrong default: expected a number, not "low"'
    )


def test_ids_that_are_absent_are_made_of_names(workbook_path: Path) -> None:
    sheets: dict[str, Rows] = {
        "Assets": [["name"], ["Oak Street"]],
        "Floors": [["asset_id", "name"], ["oak-street", "Floor 1"]],
        "Units": [["asset_id", "floor_id", "name"], ["oak-street", "oak-street-floor-1", "#101"]],
        "Maps": [["asset_id", "name"], ["oak-street", "Floor plates"]],
    }
    found = read(write_xlsx(workbook_path, sheets))
    assert found.errors == []
    assert found.ids("assets") == ["oak-street"]
    assert found.ids("floors") == ["oak-street-floor-1"]
    assert found.ids("units") == ["oak-street-101"]
    assert found.ids("maps") == ["oak-street-floor-plates"]


def test_the_catalog_keeps_fields_without_a_column_and_drawings(workbook_path: Path) -> None:
    rows = [["id", "asset_id", "name", "source"], ["m", "a", "Plates", ""]]
    [kept] = read(write_xlsx(workbook_path, {"Maps": rows})).kept["maps"]
    assert "style" in kept
    assert "source" in kept
    assert "name" not in kept


def test_the_header_may_be_below_a_title(workbook_path: Path) -> None:
    rows: Rows = [
        ["Our buildings"],
        [],
        ["as of January", None],
        ["ID", "Name"],
        ["a", "Alder"],
        [],
        [],
    ]
    found = read(write_xlsx(workbook_path, {"Assets": rows}))
    assert found.ids("assets") == ["a"]
    assert found.notes == ['building.xlsx: sheet "Assets": read as assets, headers in row 4']


def test_a_mapping_says_in_which_row_the_header_is(workbook_path: Path) -> None:
    rows: Rows = [["Name"], ["Not this"], *([["..."]] * 70), ["Name"], ["Alder"]]
    write_xlsx(workbook_path, {"Assets": rows})
    assert read(workbook_path, mapping={"sheets": {"Assets": {"header_row": "73"}}}).ids(
        "assets"
    ) == ["alder"]
    assert read(workbook_path).ids("assets")[0] == "not-this"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("3", "row 3 has no header of assets"),
        ("2", "the mapping says header_row: 2, but that row is empty"),
        ("9", "the mapping says header_row: 9, but the last row is 3"),
    ],
)
def test_a_header_that_is_not_in_the_given_row_is_an_error(
    workbook_path: Path, row: str, message: str
) -> None:
    write_xlsx(workbook_path, {"Assets": [["Name"], [], ["Alder"]]})
    [error] = read(workbook_path, mapping={"sheets": {"Assets": {"header_row": row}}}).errors
    assert error == f'building.xlsx: sheet "Assets": {message}'


def test_an_id_is_required_only_if_none_can_be_made(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "assets.csv", [["Name", "Market"], ["?", ""], ["", "office"]])
    assert read(path).errors == [
        'assets.csv: row 2, column "Name": no id can be made of "?"; give it one in a column "ID"',
        'assets.csv: row 3, column "Name": a value is required: name',
    ]


def test_unknown_columns_and_sheets_are_noted(workbook_path: Path) -> None:
    sheets: dict[str, Rows] = {
        "Assets": [["id", "name", "markt"], ["a", "A", "x"]],
        "Floor notes": [["..."]],
    }
    notes = read(write_xlsx(workbook_path, sheets)).notes
    assert notes[0] == (
        'building.xlsx: sheet "Assets": column "markt" was not read; did you mean "market"?; rename'
        " or map it, or map it to ignore"
    )
    assert 'sheet "Floor notes": the sheet is not named after a resource' in notes[1]


def test_two_columns_for_one_field_are_an_error(workbook_path: Path) -> None:
    sheets = {"Assets": [["id", "name", "Name"], ["a", "A", "B"]]}
    [error] = read(write_xlsx(workbook_path, sheets)).errors
    assert error == (
        'building.xlsx: sheet "Assets", row 1: the columns B "name" and C "Name" both hold name;'
        " rename one, or map it to ignore"
    )


def test_a_hidden_sheet_is_not_read_unless_a_mapping_names_it(workbook_path: Path) -> None:
    sheets = {"Floors": [["asset_id", "name"], ["a", "1"]], "Assets": [["name"], ["A"]]}

    def hide(book: Any) -> None:
        book.get_worksheet_by_name("Assets").hide()

    write_xlsx(workbook_path, sheets, hide)
    found = read(workbook_path)
    assert "assets" not in found.members
    assert any("the sheet is hidden, and was not read" in note for note in found.notes)
    assert read(workbook_path, mapping={"sheets": {"Assets": "assets"}}).ids("assets") == ["a"]


def test_formulas_give_their_values_and_errors_are_found(workbook_path: Path) -> None:
    def add_formulas(book: Any) -> None:
        sheet = book.get_worksheet_by_name("Assets")
        sheet.write_formula("B2", '="Oak"', value="Oak")
        sheet.write_formula("B3", "=1/0", value="#DIV/0!")

    rows: Rows = [["id", "name"], ["a", None], ["b", None]]
    found = read(write_xlsx(workbook_path, {"Assets": rows}, add_formulas))
    assert found.members["assets"][0]["name"] == "Oak"
    [error] = found.errors
    assert error == (
        'building.xlsx: sheet "Assets", row 3, column "name": the cell shows the error #DIV/0!;'
        " correct its formula"
    )


@pytest.mark.parametrize("value", ["<v/>", ""])
def test_a_formula_without_a_saved_value_is_an_error(workbook_path: Path, value: str) -> None:
    """As programs write it that do not calculate; a formula may also have given an empty text."""

    def add_formulas(book: Any) -> None:
        sheet = book.get_worksheet_by_name("Assets")
        sheet.write_formula("B2", '="Oak"', value="unsaved")
        sheet.write_formula("C2", '=""', value="empty")

    rows: Rows = [["id", "name", "market"], ["a", None, None]]
    write_xlsx(workbook_path, {"Assets": rows}, add_formulas)
    replace_in_sheet(workbook_path, ' t="str"><f>"Oak"</f><v>unsaved</v>', f'><f>"Oak"</f>{value}')
    replace_in_sheet(workbook_path, "<v>empty</v>", "<v></v>")
    [error] = read(workbook_path).errors
    assert error == (
        'building.xlsx: sheet "Assets", row 2, column "name": the formula has no saved value; open'
        " the workbook in a spreadsheet program, and save it"
    )


def replace_in_sheet(workbook_path: Path, old: str, new: str) -> None:
    """Replace a part of the XML of the first sheet of a workbook."""
    with zipfile.ZipFile(workbook_path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old.encode() in parts["xl/worksheets/sheet1.xml"]
    parts["xl/worksheets/sheet1.xml"] = parts["xl/worksheets/sheet1.xml"].replace(
        old.encode(), new.encode()
    )
    with zipfile.ZipFile(workbook_path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_nothing_to_import_is_an_error(workbook_path: Path) -> None:
    [error] = read(write_xlsx(workbook_path, {"Sheet1": [["Hello"]]})).errors
    assert error.startswith("building.xlsx: there is nothing to import: no sheet is named assets,")
