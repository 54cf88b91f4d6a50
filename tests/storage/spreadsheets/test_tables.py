"""Headers and the cells below: none is lost without a word, and what is absent is one error."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.storage.spreadsheets.spreadsheets import Rows, read, write_csv, write_xlsx

HEADERS = ["Property", "Floor", "Unit", "Status"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rents.csv"


def test_a_row_with_more_cells_than_headers_is_an_error(path: Path) -> None:
    """A separator that is not in quotes has shifted them."""
    path.write_text("Property,Floor,Unit,Rent,Status\nO,1,101,1,500,Vacant\nO,1,102,900,?\n")
    errors = read(path).errors
    assert errors[0] == (
        "rents.csv: row 2: there are 6 cells below 5 headers; a cell that has the separator in it"
        ' must be in quotes: "1,500"'
    )
    assert errors[1].startswith("rents.csv: row 3, column")
    assert len(errors) == 2


def test_cells_below_an_empty_header_are_noted(path: Path, tmp_path: Path) -> None:
    rows: Rows = [[*HEADERS[:3], "", "Status"], *(["O", 1, n, "x", "Vacant"] for n in (1, 2))]
    note = (
        ": 2 cells were not read, because there is no header above: the first is in row 2, column D"
    )
    found = read(write_csv(path, rows))
    assert found.errors == []
    assert f"rents.csv{note}" in found.notes
    book = write_xlsx(tmp_path / "b.xlsx", {"Rents": rows})
    assert f'b.xlsx: sheet "Rents"{note}' in read(book).notes


def test_words_of_the_mapping_are_empty_cells(path: Path) -> None:
    rows = [[*HEADERS, "Layout"], ["O", "1", "101", "-", "#N/A"], ["O", "1", "102", "N/A", "A1"]]
    assert len(read(write_csv(path, rows)).errors) == 2
    found = read(path, mapping={"empty": ["-", "n/a", "#N/A"]})
    assert found.errors == []
    assert [each["unit_id"] for each in found.members["attribute_assignments"]] == ["o-102"]


def test_a_sign_alone_is_no_attribute_and_the_remedy_is_said(path: Path) -> None:
    [error] = read(write_csv(path, [HEADERS, ["O", "1", "101", "\N{EM DASH}"]])).errors
    assert error.endswith(
        'no id can be made of "\N{EM DASH}": it has neither letters nor digits; if it means that'
        ' there is none, say so in the mapping: empty: ["\N{EM DASH}"]'
    )


def test_the_same_mistake_in_many_rows_is_one_error(path: Path) -> None:
    rows = [["O", "1", f"{number}", "-" if number % 2 else "?"] for number in range(1, 5001)]
    first, second = read(write_csv(path, [HEADERS, *rows])).errors
    assert first.startswith('rents.csv: row 2, column "Status": no id can be made of "-"')
    assert first.endswith("(and in 2,499 more rows)")
    assert second.startswith('rents.csv: row 3, column "Status": no id can be made of "?"')


def test_an_attribute_that_may_mean_none_is_noted_with_its_remedy(path: Path) -> None:
    notes = read(write_csv(path, [HEADERS, ["O", "1", "101", "n/a"]])).notes
    assert any(
        note.endswith('if "n/a" means that there is none, say so in the mapping: empty: ["n/a"]')
        for note in notes
    )


def test_rows_of_totals_are_ignored_if_the_mapping_says_so(path: Path) -> None:
    rows = [HEADERS, ["O", "1", "101", ""], ["Total units", "", "", "1"], ["", "TOTALS", "", ""]]
    floor, unit, *_ = read(write_csv(path, rows)).errors
    assert floor == (
        'rents.csv: row 3, column "Floor": a floor is required; if this is a row of totals, say so'
        ' in the mapping: ignore_rows: ["Total"]'
    )
    assert unit.startswith('rents.csv: row 3, column "Unit": a unit is required; if this is')
    found = read(path, mapping={"ignore_rows": ["total"]})
    assert (found.errors, found.ids("assets"), found.ids("units")) == ([], ["o"], ["o-101"])
    assert "rents.csv: 2 rows are ignored, as the mapping says: the first is row 3" in found.notes


def test_headers_that_are_repeated_on_each_page_are_skipped_with_a_note(path: Path) -> None:
    rows = [HEADERS, ["O", "1", "101", "Vacant"], [*HEADERS, ""], ["O", "1", "102", "Vacant"]]
    found = read(write_csv(path, rows))
    assert (found.ids("assets"), found.ids("units")) == (["o"], ["o-101", "o-102"])
    assert [each["unit_id"] for each in found.members["attribute_assignments"]] == [
        "o-101",
        "o-102",
    ]
    assert found.notes[1] == (
        "rents.csv: 1 row is skipped, because headers are repeated or have several rows: the first"
        " is row 3"
    )


def merge(*ranges: str) -> Callable[[Any], None]:
    def finish(book: Any) -> None:
        sheet = book.get_worksheet_by_name("Rents")
        for each in ranges:
            first, _, text = each.partition("=")
            sheet.merge_range(first, text)

    return finish


def test_merged_headers_are_no_row_of_data(tmp_path: Path) -> None:
    rows: Rows = [
        ["", "", "", "", ""],
        ["", "No.", "Type", "", ""],
        *(["O", f"10{number}", "A1", "1", "Vacant"] for number in (1, 2, 3)),
    ]
    merged = merge("A1:A2=Property", "B1:C1=Unit", "D1:D2=Floor", "E1:E2=Status")
    found = read(write_xlsx(tmp_path / "b.xlsx", {"Rents": rows}, merged))
    assert (found.errors, found.ids("assets")) == ([], ["o"])
    assert found.ids("units") == ["o-101", "o-102", "o-103"]
    [group] = found.members["attribute_groups"]
    assert [each["attribute_name"] for each in group["attributes"]] == ["Vacant"]
    assert any("have several rows: the first is row 2" in note for note in found.notes)


def test_a_row_with_nothing_but_a_merged_cell_from_above_is_blank(tmp_path: Path) -> None:
    rows: Rows = [HEADERS, ["", "1", "101", ""], [], ["", "1", "102", ""], ["", "Total", 2]]
    book = write_xlsx(tmp_path / "b.xlsx", {"Rents": rows}, merge("A2:A5=O"))
    found = read(book, mapping={"ignore_rows": ["Total"]})
    assert (found.errors, found.ids("units")) == ([], ["o-101", "o-102"])


# Columns that are absent or misspelt


@pytest.mark.parametrize(
    ("header", "misspelt", "message"),
    [
        ("Property", "Propertty", "; add one, or name it in the mapping: asset: ID"),
        ("Floor", "Flor", ", which is required"),
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
        f'rents.csv: row 1: there is no column "{header}"{message};'
        f' "{misspelt}" was not read: did you mean that?'
    )
    assert "attribute_assignments" not in found.members


def test_a_table_without_units_names_the_header_that_may_be_meant(path: Path) -> None:
    [error] = read(write_csv(path, [["Property", "Floor", "Unitt #"], ["O", "1", "1"]])).errors
    assert error.startswith("rents.csv: there is nothing to import")
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
        'rents.csv: row 1, column "reference:Key ring": "Key ring" is no key of references:'
        " expected a lowercase letter, then 1 to 254 lowercase letters, digits or hyphens;"
        " reference:key-ring is one"
    ]
