"""The header fields of a request by name: clients send many, and many layers look for a few."""

from collections.abc import Sequence
from typing import Final

from starlette.types import Scope

_SCOPE_FIELDS: Final = "floorgate.header_fields"


class HeaderFields(dict[bytes, bytes]):
    """The value of each field by name; lines of one field are one list (RFC 9110, 5.3).

    >>> fields = HeaderFields([(b"accept", b"text/html"), (b"host", b"a"), (b"accept", b"*/*")])
    >>> fields[b"accept"], fields.list_lines(b"accept"), fields.list_lines(b"via")
    (b'text/html, */*', [b'text/html', b'*/*'], [])
    """

    __slots__ = ("_lines", "headers")

    def __init__(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        super().__init__(headers)
        self.headers = headers
        self._lines: dict[bytes, list[bytes]] = {}
        """Of each field, if one has several."""
        if len(self) < len(headers):
            for name, value in headers:
                self._lines.setdefault(name, []).append(value)
            self.update((name, b", ".join(lines)) for name, lines in self._lines.items())

    def list_lines(self, name: bytes) -> list[bytes]:
        """Return the value of each line of a field."""
        if self._lines:
            return self._lines.get(name, [])
        return [self[name]] if name in self else []


def fields_of(scope: Scope) -> HeaderFields:
    """Return the header fields of a request, found once however many layers look at them."""
    fields: HeaderFields | None = scope.get(_SCOPE_FIELDS)
    # A copy of a scope may have other headers.
    if fields is None or fields.headers is not scope["headers"]:
        fields = scope[_SCOPE_FIELDS] = HeaderFields(scope["headers"])
    return fields
