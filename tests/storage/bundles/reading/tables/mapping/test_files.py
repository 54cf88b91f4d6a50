"""The mapping file says what sheets and columns hold; a misspelt key in it is an error."""

from pathlib import Path

import pytest

from storage.bundles.reading.tables.mapping.files import read_mapping
from storage.bundles.reading.tables.values.dates import DateOrder
from storage.errors import BundleError
from tests.doc_pages import page, section


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


def test_an_empty_file_says_nothing(path: Path) -> None:
    path.write_text("")
    assert read_mapping(path).columns == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colums: {}", 'there is no key "colums"; did you mean "columns"?'),
        ("sheets: {A: {colums: {}}}", 'sheets: A: there is no key "colums"; did you mean'),
        ("asset: {nmae: x}", 'asset: there is no key "nmae"; did you mean "name"?'),
        ("sheets: {A: untis}", 'sheets: A: read_as: there is nothing called "untis"; there are'),
        ("columns: {A: untt}", 'columns: A: there is nothing called "untt"; did you mean "unit"?'),
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
        ("dates: us", 'dates: expected day-first or month-first, not "us"'),
        ("unit_ids: numbers", 'unit_ids: expected derived or number, not "numbers"'),
        ("floors: {7: 7, 6: x}", 'floors: 6: sort: expected a whole number, not "x"'),
        ("floors: [a]", "floors: expected names of floors and the sort of each, such as"),
        ("asset: [a]", "asset: expected an id, or id, name and market, not a list"),
        (
            "sheets: {A: {header_row: 0}}",
            'sheets: A: header_row: expected the number of a row, from 1 to 1,048,576, not "0"',
        ),
        ("sheets: {A: {columns: {B: untt}}}", 'sheets: A: columns: B: there is nothing called "u'),
        ("empty: n/a", 'empty: expected a list of words, such as ["-", "n/a"], not "n/a"'),
        ("ignore_rows: ['']", 'ignore_rows: expected a list of words, such as [Total], not ""'),
        ("columns: [a]", "columns: expected headers and what each column holds, such as"),
        ("columns: {A: {B: unit}}", "columns: A: expected headers and what each column holds"),
        ("columns: &a {A: unit}\nfloors: *a", "aliases such as *name are not read"),
        ("!!int 1: a", 'there is no key "1"; there are asset'),
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


def test_an_absent_file_is_an_error(path: Path) -> None:
    with pytest.raises(BundleError, match="No such file"):
        read_mapping(path)


def test_a_file_is_limited(path: Path) -> None:
    path.write_text("#" * 1_048_577)
    with pytest.raises(BundleError, match="larger than 1,048,576 bytes"):
        read_mapping(path)
