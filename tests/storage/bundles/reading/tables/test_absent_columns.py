"""Columns that are absent or misspelt are one error, which names the header that may be meant."""

from pathlib import Path

import pytest

from tests.storage.bundles.reading.tables.spreadsheets import read, write_csv


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rent roll.csv"


@pytest.mark.parametrize(
    ("header", "misspelt", "message"),
    [
        ("Property", "Propertty", "; add one, or name it in the mapping: asset: ID"),
        ("Floor", "Flor", ", which is required"),
        ("Unit", "Unitt", ", which is required"),
    ],
)
def test_a_misspelt_column_is_one_error(
    path: Path, header: str, misspelt: str, message: str
) -> None:
    """Not one of each row, and its units are not said to be absent."""
    headers = [misspelt if each == header else each for each in ("Property", "Floor", "Unit")]
    rows = [["Oak", "1", f"{number}", f"u{number}", "Vacant"] for number in range(300)]
    found = read(write_csv(path, [[*headers, "Unit ID", "Status"], *rows]))
    assert len(found.errors) == 1
    assert found.errors[0].startswith(
        f'rent roll.csv: row 1: there is no column "{header}"{message};'
        f' "{misspelt}" was not read: did you mean that?'
    )
    assert "attribute_assignments" not in found.members


def test_a_table_without_units_names_the_header_that_may_be_meant(path: Path) -> None:
    [error] = read(write_csv(path, [["Property", "Floor", "Unitt #"], ["O", "1", "1"]])).errors
    assert error.startswith("rent roll.csv: there is nothing to import")
    assert error.endswith('; "Unitt #" was not read: did you mean "unit"?')


def test_a_column_that_resembles_floors_is_no_column_of_them(path: Path) -> None:
    rows = [["Asset ID", "Unit ID", "Status", "Flooring"], ["o", "u", "Vacant", "Oak"]]
    assert read(write_csv(path, rows)).errors == []


def test_misspelt_columns_are_noted_with_what_may_be_meant(path: Path) -> None:
    headers = ["Bedroms", "Statuss", "Unitt ID", "SqFt"]
    rows = [["Property", "Floor", "Unit", *headers], ["Oak", "1", "101", "1", "Vacant", "u", "9"]]
    notes = [note for note in read(write_csv(path, rows)).notes if "was not read" in note]
    assert [note.partition("; ")[2].split(";")[0] for note in notes] == [
        'did you mean "bedrooms"?',
        'did you mean "status"?',
        'did you mean "unit id"?',
        "map it to attribute:GROUP, reference:KEY or ignore",
    ]


def test_a_wrong_key_of_references_is_one_error(path: Path) -> None:
    rows = [["o", f"{number}", "K1"] for number in range(300)]
    path = write_csv(path, [["Asset ID", "Unit", "reference:Key ring"], *rows])
    assert read(path).errors == [
        'rent roll.csv: row 1, column "reference:Key ring": "Key ring" is no key of references:'
        " expected a lowercase letter, then 1 to 254 lowercase letters, digits or hyphens;"
        " reference:key-ring is one"
    ]
