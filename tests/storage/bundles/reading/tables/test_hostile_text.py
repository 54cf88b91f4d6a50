"""Whatever a text file holds, reading it ends with members or with errors."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.storage.bundles.reading.tables.spreadsheets import RENT_ROLL_HEADERS, read

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


@pytest.mark.parametrize("name", ["units", "rents", "floors", "locations", "maps"])
@given(content=st.binary(max_size=60) | TEXTS.map(lambda text: text.encode("utf-8", "ignore")))
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
