"""Sheets of workbooks and text files, and what is wrong with them."""

import gzip
import os
import zipfile
from pathlib import Path

import pytest
import xlsxwriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.spreadsheets import sheets
from storage.spreadsheets.reader import is_spreadsheet
from storage.spreadsheets.workbook_process import MAX_UNPACKED_BYTES
from tests.storage.spreadsheets.spreadsheets import RENT_ROLL_HEADERS, read, write_csv, write_xlsx

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
