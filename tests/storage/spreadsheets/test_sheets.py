"""Sheets, headers and mapping files: what is wrong in one is named, and no cell is lost."""

import gzip
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.errors import BundleError
from storage.spreadsheets import sheets
from storage.spreadsheets.cells import DateOrder
from storage.spreadsheets.mapping import MappingUse
from storage.spreadsheets.mapping_file import read_mapping
from storage.spreadsheets.reader import is_spreadsheet
from storage.spreadsheets.workbook_process import MAX_UNPACKED_BYTES
from tests.doc_pages import page, section
from tests.storage.spreadsheets.spreadsheets import (
    RENT_ROLL_HEADERS,
    Read,
    Rows,
    read,
    write_csv,
    write_xlsx,
)

ROWS = [["id", "name"], ["a", "Café"]]


@pytest.mark.parametrize(
    ("encoding", "delimiter"),
    [("utf-8", "|"), ("utf-8-sig", ","), ("utf-16", "\t"), ("utf-16-le", ","), ("cp1252", ";")],
)
def test_encodings_and_separators(tmp_path: Path, encoding: str, delimiter: str) -> None:
    found = read(write_csv(tmp_path / "assets.csv", ROWS, encoding, delimiter))
    assert found.errors == []
    assert found.members["assets"][0]["name"] == "Café"
    assert ("Windows-1252" in " ".join(found.notes)) == (encoding == "cp1252")


def test_quotes_and_line_breaks_in_cells(tmp_path: Path) -> None:
    path = tmp_path / "assets.csv"
    path.write_text('id,name\r\na,"Oak, ""The"" \nStreet"\r\nb,\r\n', newline="")
    found = read(path)
    assert found.members["assets"][0]["name"] == 'Oak, "The" \nStreet'
    assert found.errors[0].startswith('assets.csv: row 3, column "name": ')  # as Excel numbers it


def test_a_quote_that_is_never_closed_hides_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "assets.csv"
    path.write_text('id,name\na,"Oak\nb,Elm\nc,Ash\n')
    assert read(path).errors == [
        "assets.csv: row 2: it cannot be read: unexpected end of data; is a quote missing?"
    ]


def test_a_row_that_cannot_be_read_comes_after_the_errors_above_it(tmp_path: Path) -> None:
    path = tmp_path / "assets.csv"
    path.write_text("id,name\na,\n" + "".join(f"b{row},Elm\n" for row in range(3, 100)) + 'c,"Ash')
    first, second = read(path).errors
    assert first.startswith("assets.csv: row 2, column")
    assert second.startswith("assets.csv: row 100: it cannot be read")


def test_the_first_line_may_name_the_separator(tmp_path: Path) -> None:
    path = tmp_path / "assets.csv"
    path.write_text("sep=;\nid;name\na;x,y,z\nb;\n")
    found = read(path)
    assert found.members["assets"][0]["name"] == "x,y,z"
    assert found.errors[0].startswith("assets.csv: row 4,")


def test_gzipped_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "assets.csv.gz"
    path.write_bytes(gzip.compress(b"id,name\na,Alder\n", mtime=0))
    assert read(path).ids("assets") == ["a"]
    path.write_bytes(path.read_bytes()[:-10])
    assert "the gzip data is damaged" in read(path).errors[0]


def test_blanks_around_cells_are_no_part_of_them(tmp_path: Path) -> None:
    path = tmp_path / "assets.csv"
    path.write_text("id , name\n\N{NO-BREAK SPACE}a\N{NO-BREAK SPACE}, Alder \n \n,\n")
    [asset] = read(path).members["assets"]
    assert (asset["_id"], asset["name"]) == ("a", "Alder")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id,name\na," + b"x" * 40_000, "row 2: the cell has 40,000 characters; at most 32,767"),
        (b'id,name\na,"' + b"x\n" * 100_000, "row 2: it cannot be read: field larger than"),
        (b"id," + b"," * 600, "row 1: there are over 500 columns"),
        (b"id,name\na,\x81\xff", "line 2 is neither UTF-8 nor Windows-1252"),
        (b"\xff\xfei\0d\0,\0\0\xd8", "the text begins as UTF-16, but is damaged"),
        (b"", "there is nothing to import"),
    ],
)
def test_what_cannot_be_read_is_one_error(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "assets.csv"
    path.write_bytes(content)
    [error] = read(path).errors
    assert message in error


def test_rows_are_limited(tmp_path: Path) -> None:
    path = tmp_path / "assets.csv"
    path.write_bytes(b"id,name\n" + b"\n" * 1_048_576)
    assert "there are more than 1,048,576 rows" in read(path).errors[0]


def test_a_pipe_is_left_to_the_reader_of_bundles(tmp_path: Path) -> None:
    pipe = tmp_path / "units.csv"
    os.mkfifo(pipe)
    assert not is_spreadsheet(pipe)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("units.csv", b"id,name", True),
        ("units.txt", b"id\tname", True),
        ("units.csv.gz", gzip.compress(b"id,name", mtime=0), True),
        ("bundle.txt", b' {"units": []}', False),
        ("bundle.csv", b"\xef\xbb\xbf{}", False),
        ("bundle.json", b"id,name", False),
        ("bundle", b"PK\x03\x04", True),
        ("absent.xlsx", None, True),
        ("absent.json", None, False),
    ],
)
def test_a_spreadsheet_is_known_by_its_name_and_content(
    tmp_path: Path, name: str, content: bytes | None, expected: bool
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert is_spreadsheet(tmp_path / name) == expected


HEADERS = [*RENT_ROLL_HEADERS, "id", "name", "asset_id", "floor_id", "x", "tags", "created_at"]
HEADERS += ["attribute:A", "attributes:B", "reference:key", "unit_id", "floor_sort", "sort"]
VALUES = ["", "1", "-1", "1e400", "nan", "1/2/3000", "#REF!", '"', '"a;b', "a=b", ";=;", "?", "[]"]
CELLS = st.one_of(st.sampled_from(VALUES), st.text(max_size=6))
TEXTS = st.builds(
    lambda header, rows, separator: "\n".join(separator.join(row) for row in [header, *rows]),
    st.lists(st.sampled_from(HEADERS), min_size=1, max_size=8, unique=True),
    st.lists(st.lists(CELLS, max_size=8), max_size=6),
    st.sampled_from(",;\t|"),
)


@given(
    name=st.sampled_from(["units", "rents", "floors", "locations", "maps"]),
    content=st.binary(max_size=60) | TEXTS.map(lambda text: text.encode("utf-8", "ignore")),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_reading_ends_with_members_or_errors(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.tsv"
    path.write_bytes(content)
    if content.lstrip()[:1] == b"{" or content.startswith((b"PK\x03\x04", b"\x1f\x8b")):
        return
    found = read(path)
    assert isinstance(found.errors, list)
    for error in found.errors:
        assert f"{name}.tsv" in error


OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "b.xlsx"


def sample(path: Path) -> bytes:
    return write_xlsx(path, {"Assets": [["id", "name"], ["a", "Alder"]]}).read_bytes()


ODS_ROW = (
    "<table:table-row>"
    '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    "</table:table-row>"
)
ODS = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
    ' xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
    ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    ' xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0">'
    "<office:body><office:spreadsheet>{}</office:spreadsheet></office:body>"
    "</office:document-content>"
)


def write_ods(path: Path, body: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", ODS.format(body))
    return path


def test_an_opendocument_sheet_is_read(tmp_path: Path) -> None:
    rows = ODS_ROW.format("id", "name") + ODS_ROW.format("a", "Alder")
    body = f'<table:table table:name="Assets">{rows}</table:table>'
    found = read(write_ods(tmp_path / "b.ods", body))
    assert found.errors == []
    assert found.members["assets"][0]["name"] == "Alder"


def test_errors_in_opendocument_sheets_are_found(tmp_path: Path) -> None:
    """As LibreOffice writes them."""
    cell = (
        '<table:table-cell office:value-type="string" office:string-value=""'
        ' calcext:value-type="error"><text:p>#REF!</text:p></table:table-cell>'
    )
    row = ODS_ROW.format("a", "Alder").split("<table:table-cell", 2)
    rows = ODS_ROW.format("id", "name")
    rows += f"{row[0]}<table:table-cell{row[1]}{cell}</table:table-row>"
    body = f'<table:table table:name="Assets">{rows}</table:table>'
    [error] = read(write_ods(tmp_path / "b.ods", body)).errors
    assert 'row 2, column "name": the cell shows the error #REF!' in error


def test_a_workbook_of_excel_97_is_read() -> None:
    found = read(Path(__file__).with_name("excel-97.xls"))
    assert found.errors == []
    assert found.members["assets"][0]["name"] == "Alder"
    assert "errors of cells such as #REF! cannot be told from empty cells" in found.notes[0]


def test_a_damaged_workbook_is_one_sentence(path: Path) -> None:
    content = sample(path)
    for end in (4, 100, len(content) // 2, len(content) - 30):
        path.write_bytes(content[:end])
        [error] = read(path).errors
        assert error.startswith("b.xlsx: the workbook is damaged, or of a form that is not read")
    path.write_bytes(OLE_MAGIC + bytes(2000))
    [error] = read(path).errors
    assert "the workbook is damaged" in error


def test_a_workbook_with_flipped_bytes_never_ends_the_import(path: Path) -> None:
    content = sample(path)
    for at in range(40, len(content), 400):
        path.write_bytes(content[:at] + bytes([content[at] ^ 255]) + content[at + 1 :])
        found = read(path)
        assert found.errors or found.members


def test_a_workbook_with_a_password_says_so(path: Path) -> None:
    path.write_bytes(OLE_MAGIC + bytes(1000) + "EncryptedPackage".encode("utf-16-le"))
    assert read(path).errors == ["b.xlsx: the workbook has a password; save it without one"]


def test_text_named_as_a_workbook_is_an_error(path: Path) -> None:
    path.write_bytes(b"<html><table>")
    assert read(path).errors == [
        "b.xlsx: is not a workbook, whatever its name says; open and save it anew"
    ]


def test_a_zip_bomb_is_not_unpacked(path: Path) -> None:
    sample(path)
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("xl/bomb.xml", "w") as member,
    ):
        for _ in range((MAX_UNPACKED_BYTES >> 20) + 1):
            member.write(bytes(1 << 20))
    [error] = read(path).errors
    assert error == "b.xlsx: the workbook unpacks to more than 536,870,912 bytes"


def test_a_stray_cell_far_away_is_an_error(path: Path) -> None:
    """The reader would fill memory with the 17 billion cells in between."""

    def add_stray(book: xlsxwriter.Workbook) -> None:
        book.get_worksheet_by_name("Assets").write(1048575, 16383, "x")

    write_xlsx(path, {"Assets": [["id", "name"], ["a", "A"]]}, add_stray)
    [error] = read(path).errors
    assert "stray cell" in error


def test_cells_rows_and_columns_are_limited(path: Path) -> None:
    write_xlsx(path, {"Assets": [["id", "name"] + ["x"] * 600]})
    [error] = read(path).errors
    assert error == 'b.xlsx: sheet "Assets": row 1 has over 500 columns'

    def add_far(book: xlsxwriter.Workbook) -> None:
        book.get_worksheet_by_name("Assets").write(1048575, 30, "x")

    write_xlsx(path, {"Assets": [["id", "name"]]}, add_far)
    [error] = read(path).errors
    assert 'up to sheet "Assets" there are over 20,000,000 cells' in error


def test_files_are_limited(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from storage.spreadsheets import reader

    sample(path)
    monkeypatch.setattr(reader, "MAX_SPREADSHEET_BYTES", 1000)
    assert read(path).errors == ["b.xlsx: is larger than 1,000 bytes"]


def test_a_reader_that_dies_is_one_sentence(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample(path)
    program = path.with_name("dying.py")
    program.write_text("import os; os.abort()")
    monkeypatch.setattr(sheets, "PROGRAM", program)
    [error] = read(path).errors
    assert error.startswith("b.xlsx: the workbook needs too much memory or time to read")


@pytest.fixture
def mapping_path(tmp_path: Path) -> Path:
    return tmp_path / "mapping.yaml"


def test_the_example_of_the_docs(mapping_path: Path) -> None:
    text = section(page("spreadsheets.md"), "## A mapping file")
    mapping_path.write_text(text.partition("```yaml\n")[2].partition("```")[0])
    mapping = read_mapping(mapping_path)
    assert mapping.asset.name == "Oak Street"
    assert mapping.dates is DateOrder.MONTH_FIRST
    use = MappingUse(mapping)
    assert (use.sheet("rent roll").read_as, use.sheet("rent roll").header_row) == ("apartments", 3)
    assert use.floor("mezzanine").sort == 1
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
def test_what_is_wrong_is_said(mapping_path: Path, text: str, message: str) -> None:
    mapping_path.write_text(text)
    with pytest.raises(BundleError) as caught:
        read_mapping(mapping_path)
    assert str(caught.value).startswith(str(mapping_path))
    assert message in str(caught.value)


def test_all_that_is_wrong_is_said_at_once(mapping_path: Path) -> None:
    mapping_path.write_text(
        "unit_ids: numbers\nempty: x\nignore_rows: Total\ncolumns: {A: a, B: b}"
    )
    with pytest.raises(BundleError) as caught:
        read_mapping(mapping_path)
    places = [error.removeprefix(f"{mapping_path}: ") for error in caught.value.violations]
    assert [place.partition(": ")[0] for place in places] == [
        *("columns", "columns", "empty", "ignore_rows", "unit_ids")
    ]


def test_the_first_of_many_errors_are_listed(mapping_path: Path) -> None:
    mapping_path.write_text("columns:\n" + "".join(f"  column {n}: unti {n}\n" for n in range(300)))
    with pytest.raises(BundleError) as caught:
        read_mapping(mapping_path)
    assert len(caught.value.violations) == 101
    assert caught.value.violations[-1] == f"{mapping_path}: there are more errors than these"


def test_a_file_is_limited(mapping_path: Path) -> None:
    mapping_path.write_text("#" * 1_048_577)
    with pytest.raises(BundleError, match="larger than 1,048,576 bytes"):
        read_mapping(mapping_path)


# Names that no spreadsheet has


RENT_ROWS: Rows = [["Property", "Floor", "Unit", "Rent"], ["Oak", "1", "101", "1500"]]


@pytest.fixture
def found(tmp_path: Path) -> Any:
    book = write_xlsx(tmp_path / "building.xlsx", {"Rent roll": RENT_ROWS, "Notes": [["..."]]})

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
    write_csv(rents, RENT_ROWS)
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


TABLE_HEADERS = ["Property", "Floor", "Unit", "Status"]


@pytest.fixture
def table_path(tmp_path: Path) -> Path:
    return tmp_path / "rents.csv"


def test_a_row_with_more_cells_than_headers_is_an_error(table_path: Path) -> None:
    """A separator that is not in quotes has shifted them."""
    table_path.write_text("Property,Floor,Unit,Rent,Status\nO,1,101,1,500,Vacant\nO,1,102,900,?\n")
    errors = read(table_path).errors
    assert errors[0] == (
        "rents.csv: row 2: there are 6 cells below 5 headers; a cell that has the separator in it"
        ' must be in quotes: "1,500"'
    )
    assert errors[1].startswith("rents.csv: row 3, column")
    assert len(errors) == 2


def test_cells_below_an_empty_header_are_noted(table_path: Path, tmp_path: Path) -> None:
    rows: Rows = [
        [*TABLE_HEADERS[:3], "", "Status"],
        *(["O", 1, n, "x", "Vacant"] for n in (1, 2)),
    ]
    note = ": cells not read, because there is no header above: 2, first at row 2, column D"
    found = read(write_csv(table_path, rows))
    assert found.errors == []
    assert f"rents.csv{note}" in found.notes
    book = write_xlsx(tmp_path / "b.xlsx", {"Rents": rows})
    assert f'b.xlsx: sheet "Rents"{note}' in read(book).notes


def test_words_of_the_mapping_are_empty_cells(table_path: Path) -> None:
    rows = [
        [*TABLE_HEADERS, "Layout"],
        ["O", "1", "101", "-", "#N/A"],
        ["O", "1", "102", "N/A", "A1"],
    ]
    assert len(read(write_csv(table_path, rows)).errors) == 2
    found = read(table_path, mapping={"empty": ["-", "n/a", "#N/A"]})
    assert found.errors == []
    assert [each["unit_id"] for each in found.members["attribute_assignments"]] == ["o-102"]


def test_a_sign_alone_is_no_attribute_and_the_remedy_is_said(table_path: Path) -> None:
    [error] = read(write_csv(table_path, [TABLE_HEADERS, ["O", "1", "101", "\N{EM DASH}"]])).errors
    assert error.endswith(
        'no id can be made of "\N{EM DASH}": it has neither letters nor digits; if it means that'
        ' there is none, say so in the mapping: empty: ["\N{EM DASH}"]'
    )


def test_the_same_mistake_in_many_rows_is_one_error(table_path: Path) -> None:
    rows = [["O", "1", f"{number}", "-" if number % 2 else "?"] for number in range(1, 5001)]
    first, second = read(write_csv(table_path, [TABLE_HEADERS, *rows])).errors
    assert first.startswith('rents.csv: row 2, column "Status": no id can be made of "-"')
    assert first.endswith("(and in 2,499 more rows)")
    assert second.startswith('rents.csv: row 3, column "Status": no id can be made of "?"')


def test_an_attribute_that_may_mean_none_is_noted_with_its_remedy(table_path: Path) -> None:
    notes = read(write_csv(table_path, [TABLE_HEADERS, ["O", "1", "101", "n/a"]])).notes
    assert any(
        note.endswith('if "n/a" means that there is none, say so in the mapping: empty: ["n/a"]')
        for note in notes
    )


def test_rows_of_totals_are_ignored_if_the_mapping_says_so(table_path: Path) -> None:
    rows = [
        TABLE_HEADERS,
        ["O", "1", "101", ""],
        ["Total units", "", "", "1"],
        ["", "TOTALS", "", ""],
    ]
    floor, unit, *_ = read(write_csv(table_path, rows)).errors
    assert floor == (
        'rents.csv: row 3, column "Floor": a floor is required; if this is a row of totals, say so'
        ' in the mapping: ignore_rows: ["Total"]'
    )
    assert unit.startswith('rents.csv: row 3, column "Unit": a unit is required; if this is')
    found = read(table_path, mapping={"ignore_rows": ["total"]})
    assert (found.errors, found.ids("assets"), found.ids("units")) == ([], ["o"], ["o-101"])
    assert "rents.csv: rows ignored, as the mapping says: 2, first at row 3" in found.notes


def test_headers_that_are_repeated_on_each_page_are_skipped_with_a_note(table_path: Path) -> None:
    rows = [
        TABLE_HEADERS,
        ["O", "1", "101", "Vacant"],
        [*TABLE_HEADERS, ""],
        ["O", "1", "102", "Vacant"],
    ]
    found = read(write_csv(table_path, rows))
    assert (found.ids("assets"), found.ids("units")) == (["o"], ["o-101", "o-102"])
    assert [each["unit_id"] for each in found.members["attribute_assignments"]] == [
        "o-101",
        "o-102",
    ]
    assert found.notes[1] == (
        "rents.csv: rows skipped, because headers are repeated or have several rows: 1, first at"
        " row 3"
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
    assert any("have several rows: 1, first at row 2" in note for note in found.notes)


def test_a_row_with_nothing_but_a_merged_cell_from_above_is_blank(tmp_path: Path) -> None:
    rows: Rows = [TABLE_HEADERS, ["", "1", "101", ""], [], ["", "1", "102", ""], ["", "Total", 2]]
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
    table_path: Path, header: str, misspelt: str, message: str
) -> None:
    """Not one of each row, and its units are not said to be absent."""
    headers = [misspelt if each == header else each for each in ("Property", "Floor", "Unit")]
    rows = [["Oak", "1", f"{number}", f"u{number}", "Vacant"] for number in range(300)]
    found = read(write_csv(table_path, [[*headers, "Unit ID", "Status"], *rows]))
    assert len(found.errors) == 1
    assert found.errors[0].startswith(
        f'rents.csv: row 1: there is no column "{header}"{message};'
        f' "{misspelt}" was not read: did you mean that?'
    )
    assert "attribute_assignments" not in found.members


def test_a_table_without_units_names_the_header_that_may_be_meant(table_path: Path) -> None:
    [error] = read(
        write_csv(table_path, [["Property", "Floor", "Unitt #"], ["O", "1", "1"]])
    ).errors
    assert error.startswith("rents.csv: there is nothing to import")
    assert error.endswith('; "Unitt #" was not read: did you mean "unit"?')


def test_a_column_that_resembles_floors_is_no_column_of_them(table_path: Path) -> None:
    rows = [["Asset ID", "Unit ID", "Status", "Flooring"], ["o", "u", "Vacant", "Oak"]]
    assert read(write_csv(table_path, rows)).errors == []


def test_misspelt_columns_are_noted_with_what_may_be_meant(table_path: Path) -> None:
    headers = ["Bedroms", "Statuss", "Unitt ID", "SqFt"]
    rows = [["Property", "Floor", "Unit", *headers], ["Oak", "1", "101", "1", "Vacant", "u", "9"]]
    notes = [note for note in read(write_csv(table_path, rows)).notes if "was not read" in note]
    assert [note.partition("; ")[2].split(";")[0] for note in notes] == [
        'did you mean "bedrooms"?',
        'did you mean "status"?',
        'did you mean "unit id"?',
        "map it to attribute:GROUP, reference:KEY or ignore",
    ]


def test_a_wrong_key_of_references_is_one_error(table_path: Path) -> None:
    rows = [["o", f"{number}", "K1"] for number in range(300)]
    table_path = write_csv(table_path, [["Asset ID", "Unit", "reference:Key ring"], *rows])
    assert read(table_path).errors == [
        'rents.csv: row 1, column "reference:Key ring": "Key ring" is no key of references:'
        " expected a lowercase letter, then 1 to 254 lowercase letters, digits or hyphens;"
        " reference:key-ring is one"
    ]
