"""Values are read one after another from a stream of JSON, whatever the size of its chunks."""

import io
import json
from typing import Any

import pytest

from storage.bundles.reading.json_stream import JsonStream, MalformedJsonError


class OneByteStream(io.BytesIO):
    """A stream that returns one byte per read."""

    def read(self, _: int | None = -1) -> bytes:
        return super().read(1)


def read_all(text: str) -> list[Any]:
    stream = JsonStream(OneByteStream(text.encode()))
    values = []
    while stream.peek():
        values.append(stream.read_value()[0])
    return values


def test_a_value_split_into_single_bytes_is_read_completely() -> None:
    for value in (
        "12",
        "-1.5e-3",
        "null",
        '"a\\u00e9\\"b"',
        '"\N{GRINNING FACE}"',
        '{"a": [2E+1, {}]}',
    ):
        assert read_all(f"{value}\n  {value} ") == [json.loads(value)] * 2


def test_a_byte_order_mark_is_skipped() -> None:
    assert JsonStream(io.BytesIO(b"\xef\xbb\xbf[]")).read_value() == ([], 2)


def test_punctuation_is_expected_or_accepted() -> None:
    stream = JsonStream(io.BytesIO(b"[ ,]"))
    assert stream.expect("[", "expected an array") == "["
    assert stream.accept(",")
    assert not stream.accept(",")
    with pytest.raises(MalformedJsonError, match="expected an object, not ']'"):
        stream.expect("{", "expected an object")
    assert stream.accept("]")
    with pytest.raises(MalformedJsonError, match="expected an object, but the text ends here"):
        stream.expect("{", "expected an object")


@pytest.mark.parametrize(
    ("content", "line", "column", "message"),
    [
        (b"{}\n\n  nul", 3, 3, "Expecting value"),
        (b'{}\n {"a" 1}', 2, 7, "Expecting ':' delimiter"),
        (b'{}\n"caf\xe9"', 2, 5, "byte 0xe9 is not UTF-8"),
        (b"{} " + b"[" * 100_000, 1, 4, "nested too deeply"),
    ],
)
def test_errors_have_line_and_column(content: bytes, line: int, column: int, message: str) -> None:
    stream = JsonStream(OneByteStream(content) if len(content) < 100 else io.BytesIO(content))
    stream.read_value()
    with pytest.raises(MalformedJsonError) as caught:
        stream.read_value()
    assert (caught.value.line, caught.value.column) == (line, column)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"a": 1, "b": 2, "a": 3}', '"a" is given more than once'),
        ("-Infinity", "-Infinity is no JSON number; use a finite one, or null"),
        ("9" * 21, "a number of 21 digits is too large"),
    ],
)
def test_errors_of_a_value_do_not_stop_the_stream(text: str, error: str) -> None:
    stream = JsonStream(io.BytesIO(f"{text} 1".encode()))
    stream.read_value()
    assert stream.decoder.errors == [error]
    assert stream.read_value() == (1, 1)
    assert stream.decoder.errors == []
