"""CSV files with any separator and encoding that programs write."""

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.bundles.reading.tables.reader import is_spreadsheet
from tests.storage.bundles.reading.tables.spreadsheets import RENT_ROLL_HEADERS, read, write_csv

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
