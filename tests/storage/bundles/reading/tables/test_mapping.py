"""The mapping file says what sheets and columns hold; a misspelt key in it is an error."""

from pathlib import Path

import pytest

from storage.bundles.reading.tables.mapping import read_mapping
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
        ("sheets: {A: untis}", 'sheets: A: there is nothing called "untis"; there are'),
        ("columns: {A: untt}", 'columns: A: there is nothing called "untt"; did you mean "unit"?'),
        ("columns: {A: 'attribute:'}", 'columns: A: there is nothing called "attribute:"'),
        ("defaults: {markt: x}", 'defaults: there is no field "markt"; did you mean "market"?'),
        ("dates: german", "dates: Invalid enum value 'german'"),
        ("floors: {M: high}", "floors"),
        ("sheets: {A: {header_row: 0}}", "Expected `int` >= 1"),
        ("empty: n/a", "empty: Expected `array`, got `str`"),
        ("columns: [a]", "columns: Expected `object`, got `array`"),
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


def test_an_absent_file_is_an_error(path: Path) -> None:
    with pytest.raises(BundleError, match="No such file"):
        read_mapping(path)


def test_a_file_is_limited(path: Path) -> None:
    path.write_text("#" * 1_048_577)
    with pytest.raises(BundleError, match="larger than 1,048,576 bytes"):
        read_mapping(path)
