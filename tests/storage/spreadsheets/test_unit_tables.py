"""A table of apartments makes a property, floors, units, references and attributes."""

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
