"""The cursors of changes, as clients keep them."""

import re

import pytest

from storage.changes.positions import CURSOR_CHARACTERS, CURSOR_PATTERN, Cursor, Position


@pytest.mark.parametrize("byte", range(256))
def test_the_pattern_of_the_descriptions_admits_the_cursors_of_every_database(byte: int) -> None:
    text = str(Cursor(bytes([byte]) * 4, Position(byte << 24, byte, byte)))
    assert re.fullmatch(CURSOR_PATTERN, text)
    assert len(text) == CURSOR_CHARACTERS


@pytest.mark.parametrize("text", ["AgECAwRqsTuAAAAAAwAAAAE", "AQECAwRqsTuAAAAA"])
def test_the_pattern_refuses_what_is_refused(text: str) -> None:
    assert not re.fullmatch(CURSOR_PATTERN, text)
    with pytest.raises(ValueError, match="not the cursor of a change"):
        Cursor.parse(text)
