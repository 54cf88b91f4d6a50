"""Workbooks of all formats, damaged and hostile ones among them."""

import zipfile
from pathlib import Path

import pytest
import xlsxwriter

from storage.bundles.reading.tables.files import workbooks
from storage.bundles.reading.tables.files.workbook_process import MAX_UNPACKED_BYTES
from tests.storage.bundles.reading.tables.spreadsheets import read, write_xlsx

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
    from storage.bundles.reading.tables import reader

    sample(path)
    monkeypatch.setattr(reader, "MAX_SPREADSHEET_BYTES", 1000)
    assert read(path).errors == ["b.xlsx: is larger than 1,000 bytes"]


def test_a_reader_that_dies_is_one_sentence(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample(path)
    program = path.with_name("dying.py")
    program.write_text("import os; os.abort()")
    monkeypatch.setattr(workbooks, "PROGRAM", program)
    [error] = read(path).errors
    assert error.startswith("b.xlsx: the workbook needs too much memory or time to read")
