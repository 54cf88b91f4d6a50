"""JSON values read one after another from a stream, in bounded memory and with their place.

The parser is the standard library's, whose `raw_decode` takes one value off a text and says where
it ended. Around it stands a window: the part of the text that is read and not yet taken.
"""

import codecs
import json
import re
from collections import Counter
from typing import Any, BinaryIO

CHUNK_BYTES = 1 << 18
MAX_VALUE_LENGTH = 64 << 20
"""The longest member, in characters: an inlined drawing of the greatest size, and to spare."""

WHITESPACE = re.compile(r"[ \t\r\n]*")
CUT_OFF_CHARACTERS = 16
"""A fault so near to the end of the window may be no more than a token cut in two."""


class MalformedJsonError(Exception):
    """The text is not JSON, from a line and column on."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class JsonDecoder:
    """Decodes values and notes their other faults: repeated names, NaN, endless numbers."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self._json = json.JSONDecoder(
            object_pairs_hook=self._on_object,
            parse_constant=self._on_constant,
            parse_int=self._on_integer,
        )

    def decode(self, text: str, position: int) -> tuple[Any, int]:
        """The value at `position` and where it ends; `faults` are the value's.

        Raises json.JSONDecodeError and RecursionError.
        """
        self.errors = []
        return self._json.raw_decode(text, position)

    def _on_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            times = Counter(name for name, _ in pairs)
            twice = next(name for name in times if times[name] > 1)
            self.errors.append(f"{json.dumps(twice)} is given more than once")
        return value

    def _on_constant(self, name: str) -> None:
        self.errors.append(f"{name} is no JSON number; give a finite one, or null")

    def _on_integer(self, digits: str) -> int:
        if len(digits) > 20:
            self.errors.append(f"a number of {len(digits)} digits is too great")
            return 0
        return int(digits)


class JsonStream:
    """A text of which only the part not yet taken is kept."""

    def __init__(self, stream: BinaryIO) -> None:
        self.decoder = JsonDecoder()
        self.value_length = 0
        self._stream = stream
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._position = 0
        self._ended = False
        self._lines_before = 0
        self._columns_before = 0

    def peek(self) -> str:
        """The next character that is no space, or nothing at the end. Raises Malformed."""
        while True:
            self._position = _skip_whitespace(self._text, self._position)
            if self._position < len(self._text):
                return self._text[self._position]
            if not self._read_more():
                return ""

    def expect(self, wanted: str, otherwise: str) -> str:
        """The next character, which must be one of `wanted`. Raises Malformed."""
        found = self.peek()
        if not found or found not in wanted:
            seen = "the text ends here" if not found else f"not {found!r}"
            raise self.error_at(f"{otherwise}, {seen}")
        self._position += 1
        return found

    def accept(self, wanted: str) -> bool:
        """Takes the next character if it is the wanted one. Raises Malformed."""
        found = self.peek() == wanted
        self._position += found
        return found

    def read_value(self) -> Any:
        """The next value; `size` is then the length of its text. Raises Malformed."""
        self.peek()
        while True:
            try:
                value, end = self.decoder.decode(self._text, self._position)
            except json.JSONDecodeError as error:
                if self._is_cut_off(error) and self._read_more():
                    continue
                raise self.error_at(error.msg, error.pos) from error
            except RecursionError as error:
                raise self.error_at("values are nested too deeply here") from error
            # A number at the very end of the window may go on behind it.
            if end == len(self._text) and self._text[end - 1] not in '}]"' and self._read_more():
                continue
            self.value_length, self._position = end - self._position, end
            return value

    def error_at(self, message: str, position: int | None = None) -> MalformedJsonError:
        """A fault at a position of the window, by default where reading stands."""
        at = self._position if position is None else position
        line, column = self._line_and_column(at)
        return MalformedJsonError(message, line, column)

    def _line_and_column(self, position: int) -> tuple[int, int]:
        lines = self._text.count("\n", 0, position)
        line_start = self._text.rfind("\n", 0, position) + 1
        columns = position - line_start + (0 if lines else self._columns_before)
        return self._lines_before + lines + 1, columns + 1

    def _is_cut_off(self, error: json.JSONDecodeError) -> bool:
        near_end = error.pos >= len(self._text) - CUT_OFF_CHARACTERS
        return not self._ended and (near_end or error.msg.startswith("Unterminated string"))

    def _read_more(self) -> bool:
        """Reads on, at least doubling what is kept, so that a long value is not parsed too often.

        False at the end of the stream.
        """
        if self._ended:
            return False
        line, column = self._line_and_column(self._position)
        self._lines_before, self._columns_before = line - 1, column - 1
        self._text, self._position = self._text[self._position :], 0
        if len(self._text) > MAX_VALUE_LENGTH:
            raise self.error_at(f"a value longer than {MAX_VALUE_LENGTH:,} characters begins here")
        chunk = self._stream.read(max(CHUNK_BYTES, len(self._text)))
        self._ended = not chunk
        try:
            self._text += self._utf8.decode(chunk, final=self._ended)
        except UnicodeDecodeError as error:
            self._text += error.object[: error.start].decode("utf-8", "replace")
            raise self.error_at(describe_invalid_utf8(error), len(self._text)) from error
        return True


def describe_invalid_utf8(error: UnicodeDecodeError) -> str:
    """What to say of bytes that are no text."""
    return f"byte 0x{error.object[error.start]:02x} is not UTF-8 ({error.reason})"


def _skip_whitespace(text: str, position: int) -> int:
    found = WHITESPACE.match(text, position)
    return found.end() if found else position
