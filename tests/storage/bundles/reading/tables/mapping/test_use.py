"""Names in a mapping that no spreadsheet of the import has may be misspelt."""

from pathlib import Path
from typing import Any

import pytest

from tests.storage.bundles.reading.tables.spreadsheets import (
    Read,
    Rows,
    read,
    write_csv,
    write_xlsx,
)

ROWS: Rows = [["Property", "Floor", "Unit", "Rent"], ["Oak", "1", "101", "1500"]]


@pytest.fixture
def found(tmp_path: Path) -> Any:
    book = write_xlsx(tmp_path / "building.xlsx", {"Rent roll": ROWS, "Notes": [["..."]]})

    def read_with(mapping: dict[str, Any]) -> Read:
        return read(book, mapping=mapping)

    return read_with


@pytest.mark.parametrize(
    ("mapping", "error"),
    [
        (
            {"sheets": {"Rent rol": "apartments"}},
            'the mapping: sheets: there is no sheet "Rent rol"; did you mean "Rent roll"?',
        ),
        (
            {"columns": {"Rnt": "attribute:Rent"}},
            'the mapping: columns: there is no column "Rnt"; did you mean "Rent"?',
        ),
        (
            {"sheets": {"Rent roll": {"columns": {"Rnt": "attribute:Rent"}}}},
            'the mapping: columns: there is no column "Rnt"; did you mean "Rent"?',
        ),
    ],
)
def test_a_sheet_or_column_that_is_in_no_file_is_an_error(
    found: Any, mapping: dict[str, Any], error: str
) -> None:
    assert found(mapping).errors == [error]


@pytest.mark.parametrize(
    ("mapping", "note"),
    [
        ({"sheets": {"Note": "ignore"}}, 'there is no sheet "Note" to ignore; did you mean "Notes'),
        ({"columns": {"Rnt": "ignore"}}, 'there is no column "Rnt" to ignore; did you mean "Rent"'),
        ({"floors": {"PH": "30"}}, 'floors: no row has the floor "PH"'),
        ({"defaults": {"style": "b"}}, 'defaults: no sheet has records with the field "style"'),
    ],
)
def test_what_comes_and_goes_is_a_note(found: Any, mapping: dict[str, Any], note: str) -> None:
    result = found(mapping)
    assert result.errors == []
    assert any(note in each for each in result.notes), result.notes


def test_what_is_used_is_not_spoken_of(found: Any) -> None:
    mapping = {
        "sheets": {"rent-roll": {"columns": {"rent": "ignore"}}, "Notes": "ignore"},
        "columns": {"Rent": "ignore"},
        "floors": {"1": "7"},
        "defaults": {"map_ids": "m", "market": "student"},
    }
    assert not [note for note in found(mapping).notes if note.startswith("the mapping")]
    assert found(mapping).errors == []


def test_one_of_several_files_may_have_it(tmp_path: Path) -> None:
    rents, keys = tmp_path / "rents.csv", tmp_path / "keys.csv"
    write_csv(rents, ROWS)
    write_csv(keys, [["Property", "Unit", "Key no"], ["Oak", "101", "K1"]])
    mapping = {"columns": {"Key no": "reference:keyring", "Rent": "ignore"}}
    assert read(rents, keys, mapping=mapping).errors == []


def test_a_file_that_cannot_be_read_may_have_it(tmp_path: Path) -> None:
    broken = tmp_path / "broken.xlsx"
    broken.write_bytes(b"PK\x03\x04")
    [error] = read(broken, mapping={"sheets": {"Rent roll": "apartments"}}).errors
    assert error.startswith("broken.xlsx: ")


def test_the_first_of_many_names_are_listed(tmp_path: Path) -> None:
    """A mapping may have more names than it takes time to look for what each was meant to be."""
    headers = [f"column {number} of the table of apartments" for number in range(400)]
    path = write_csv(tmp_path / "wide.csv", [["Property", "Floor", "Unit", *headers]])
    columns = {f"colum {number} in a table of an apartment": "ignore" for number in range(20_000)}
    notes = [
        note for note in read(path, mapping={"columns": columns}).notes if "the mapping" in note
    ]
    assert "; did you mean" in notes[0]
    assert notes[100:] == ["the mapping: ... and 19,900 more names that are in none of the files"]
    columns = dict.fromkeys(columns, "reference:key")
    errors = read(path, mapping={"columns": columns}).errors
    assert len([error for error in errors if "did you mean" in error]) == 100
