"""Reading JSON values one after another from a stream, in bounded memory and with positions.

Parses with `json.JSONDecoder.raw_decode`, which decodes one value at a position of a text and
returns where it ended. The text is a window: the part of the stream that is read and not consumed.
"""

import codecs
import json
import re
from collections import Counter
from typing import Any, BinaryIO

CHUNK_BYTES = 1 << 18
MAX_VALUE_LENGTH = 64 << 20
"""Limit of one value, in characters: more than the largest drawing as a data URL."""

WHITESPACE = re.compile(r"[ \t\r\n]*")
MAX_SPACE_BEFORE = 1000
CUT_OFF_CHARACTERS = 16
"""A syntax error this close to the end of the window may be a token that is cut in two."""


class MalformedJsonError(Exception):
    """The text is not JSON at this line and column."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class JsonDecoder:
    """Decodes values and collects what the standard library accepts: repeated names, NaN, numbers
    of any length."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self._json = json.JSONDecoder(
            object_pairs_hook=self._on_object,
            parse_constant=self._on_constant,
            parse_int=self._on_integer,
        )

    def decode(self, text: str, position: int) -> tuple[Any, int]:
        """Return the value at `position` and where it ends; `errors` are those of this value.

        Raises json.JSONDecodeError and RecursionError.

        >>> decoder = JsonDecoder()
        >>> decoder.decode('{"x": NaN} ', 0)
        ({'x': None}, 10)
        >>> decoder.errors
        ['NaN is no JSON number; use a finite one, or null']
        """
        self.errors = []
        return self._json.raw_decode(text, position)

    def _on_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            repeated = next(name for name in counts if counts[name] > 1)
            self.errors.append(f"{json.dumps(repeated)} is given more than once")
        return value

    def _on_constant(self, name: str) -> None:
        self.errors.append(f"{name} is no JSON number; use a finite one, or null")

    def _on_integer(self, digits: str) -> int:
        if len(digits) > 20:  # converting thousands of digits takes quadratic time
            self.errors.append(f"a number of {len(digits)} digits is too large")
            return 0
        return int(digits)


class JsonStream:
    """A stream of JSON values, of which only the part not yet consumed is in memory."""

    def __init__(self, stream: BinaryIO) -> None:
        self.decoder = JsonDecoder()
        self._stream = stream
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._position = 0
        self._ended = False
        self._lines_before = 0
        self._columns_before = 0

    def peek(self) -> str:
        """Return the next character after whitespace, "" at the end. Raises MalformedJsonError."""
        while True:
            self._position = _skip_whitespace(self._text, self._position)
            if self._position < len(self._text):
                return self._text[self._position]
            if not self._read_more():
                return ""

    def expect(self, characters: str, message: str) -> str:
        """Consume the next character, one of `characters`, or raise MalformedJsonError."""
        character = self.peek()
        if not character or character not in characters:
            actual = "but the text ends here" if not character else f"not {character!r}"
            raise self.error_at(f"{message}, {actual}")
        self._position += 1
        return character

    def expect_comma(self, end: str, message: str) -> bool:
        """Consume a comma, or the end after the last item. Return whether another item follows.

        Raises MalformedJsonError.
        """
        if self.expect(f",{end}", f"expected ',' or '{end}' {message}") == end:
            return False
        if self.peek() == end:
            raise self.error_at(f"remove the comma before '{end}'")
        return True

    def accept(self, character: str) -> bool:
        """Consume the next character if it is this one. Raises MalformedJsonError."""
        is_next = self.peek() == character
        self._position += is_next
        return is_next

    def read_value(self) -> tuple[Any, int]:
        """Consume the next value; return it and the length of its text.

        Raises MalformedJsonError.
        """
        self.peek()
        while True:
            try:
                value, end = self.decoder.decode(self._text, self._position)
            except json.JSONDecodeError as error:
                if self._is_cut_off(error) and self._read_more():
                    continue
                raise self.error_at(describe_syntax_error(error), error.pos) from error
            except RecursionError as error:
                raise self.error_at("values are nested too deeply here") from error
            # A number near the end may continue in the next chunk: `1`, but also `1.` and `1e+`.
            near_end = len(self._text) - end < len("e+1")
            if near_end and self._text[end - 1] not in '}]"' and self._read_more():
                continue
            length, self._position = end - self._position, end
            return value, length

    def error_at(self, message: str, position: int | None = None) -> MalformedJsonError:
        """Return an error for a position in the window, by default the current one."""
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
        """Extend the window; False at the end of the stream.

        It at least doubles, so that parsing a long value again and again takes linear time.
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
    """Return the message for bytes that are not UTF-8."""
    byte = error.object[error.start]
    return f"byte 0x{byte:02x} is not UTF-8 ({error.reason}); save the file as UTF-8"


def describe_syntax_error(error: json.JSONDecodeError) -> str:
    """Return the message for a text that is not JSON, with a remedy for frequent mistakes.

    >>> try:
    ...     json.loads('{"a": 1,}')
    ... except json.JSONDecodeError as error:
    ...     describe_syntax_error(error)
    "remove the comma before '}'"
    """
    at = _skip_whitespace(error.doc, error.pos)
    found = error.doc[at : at + 1]
    before = error.doc[max(0, at - MAX_SPACE_BEFORE) : at].rstrip()[-1:]
    if found and found in "}]" and before == ",":
        return f"remove the comma before {found!r}"
    if found and found in "'`\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}":
        return f'{error.msg}: texts and names stand in "straight double quotes"'
    if found and found in "/#":
        return f"{error.msg}: JSON has no comments"
    return error.msg


def _skip_whitespace(text: str, position: int) -> int:
    match = WHITESPACE.match(text, position)
    return match.end() if match else position
