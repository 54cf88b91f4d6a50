"""The mapping file says what sheets and columns hold; what is misspelt in it is an error."""

from pathlib import Path
from typing import Any

import pytest

from storage.errors import BundleError
from storage.spreadsheets.cells import DateOrder
from storage.spreadsheets.mapping_file import read_mapping
from tests.doc_pages import page, section
from tests.storage.spreadsheets.spreadsheets import Read, Rows, read, write_csv, write_xlsx


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mapping.yaml"


def test_the_example_of_the_docs(path: Path) -> None:
    text = section(page("spreadsheets.md"), "## A mapping file")
    path.write_text(text.partition("```yaml\n")[2].partition("```")[0])
    mapping = read_mapping(path)
    assert mapping.asset.name == "Oak Street"
    assert mapping.dates is DateOrder.MONTH_FIRST
    assert mapping.sheet("rent roll").read_as == "apartments"
    assert mapping.sheet("rent roll").header_row == 3
    assert mapping.floor("mezzanine").sort == 1
    assert mapping.columns["No"] == "unit"  # not the boolean of YAML


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colums: {}", 'there is no key "colums"; did you mean "columns"?'),
        ("sheets: {A: {colums: {}}}", 'sheets: A: there is no key "colums"; did you mean'),
        ("sheets: {A: untis}", 'sheets: A: read_as: there is nothing called "untis"; there are'),
        (
            "columns: {A: 'attribute:'}",
            'columns: A: there is nothing called "attribute:"; there are asset, asset_id, building,'
            " floor, floor_id, floor_sort, unit, unit_id, map_ids, attribute:GROUP,"
            " attributes:GROUP, date:GROUP, reference:KEY, ignore, and the fields of records",
        ),
        ("columns: {A: 'attribut:Rent'}", '"attribut:Rent"; did you mean "attribute:Rent"?'),
        (
            "defaults: {markt: x}",
            'defaults: markt: there is no field "markt"; did you mean "market"?',
        ),
        ("defaults: foo", 'defaults: expected fields and their values, such as "style: b", not "f'),
        ("floors: {7: 7, 6: x}", 'floors: 6: sort: expected a whole number, not "x"'),
        (
            "sheets: {A: {header_row: 0}}",
            'sheets: A: header_row: expected the number of a row, from 1 to 1,048,576, not "0"',
        ),
        ("empty: n/a", 'empty: expected a list of words, such as ["-", "n/a"], not "n/a"'),
        ("columns: {A: {B: unit}}", "columns: A: expected headers and what each column holds"),
        ("columns: &a {A: unit}\nfloors: *a", "aliases such as *name are not read"),
        ("- a", "a mapping file has keys such as asset:"),
        ("columns: {A: unit, A: floor}", '"A" is given more than once'),
        ("columns: {", "expected the node content"),
    ],
)
def test_what_is_wrong_is_said(path: Path, text: str, message: str) -> None:
    path.write_text(text)
    with pytest.raises(BundleError) as caught:
        read_mapping(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_all_that_is_wrong_is_said_at_once(path: Path) -> None:
    path.write_text("unit_ids: numbers\nempty: x\nignore_rows: Total\ncolumns: {A: a, B: b}")
    with pytest.raises(BundleError) as caught:
        read_mapping(path)
    places = [error.removeprefix(f"{path}: ") for error in caught.value.violations]
    assert [place.partition(": ")[0] for place in places] == [
        *("columns", "columns", "empty", "ignore_rows", "unit_ids")
    ]


def test_the_first_of_many_errors_are_listed(path: Path) -> None:
    path.write_text("columns:\n" + "".join(f"  column {n}: unti {n}\n" for n in range(300)))
    with pytest.raises(BundleError) as caught:
        read_mapping(path)
    assert len(caught.value.violations) == 101
    assert caught.value.violations[-1] == f"{path}: there are more errors than these"


def test_a_file_is_limited(path: Path) -> None:
    path.write_text("#" * 1_048_577)
    with pytest.raises(BundleError, match="larger than 1,048,576 bytes"):
        read_mapping(path)


# Names that no spreadsheet has


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
    columns = {f"colum {number} in a table of an apartment": "ignore" for number in range(2_000)}
    notes = [
        note for note in read(path, mapping={"columns": columns}).notes if "the mapping" in note
    ]
    assert "; did you mean" in notes[0]
    assert notes[100:] == ["the mapping: ... and 1,900 more names that are in none of the files"]
    columns = dict.fromkeys(columns, "reference:key")
    errors = read(path, mapping={"columns": columns}).errors
    assert len([error for error in errors if "did you mean" in error]) == 100
