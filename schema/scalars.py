"""The schema's custom scalars."""

import re
from typing import Any, NewType

import orjson
import strawberry
from strawberry.types.scalar import ScalarDefinition

from resolvers.unit_maps import SvgDocument

Timestamp = NewType("Timestamp", str)

ParsedMap = NewType("ParsedMap", bytes)

_DECLARED_ENCODING = re.compile(r"""\A(\ufeff?<\?xml[^>]*?)\s+encoding=("[^"]*"|'[^']*')""")


def _parse_svg_document(value: Any) -> bytes:
    """Return the bytes of an SVG document.

    REST passes bytes as they were sent. GraphQL passes text, which was decoded already, so the
    encoding that its XML declaration names is removed, and UTF-8 is used.

    >>> _parse_svg_document('<?xml version="1.0" encoding="latin-1"?><svg/>')
    b'<?xml version="1.0"?><svg/>'
    """
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise ValueError("must be the text of an SVG document")
    return _DECLARED_ENCODING.sub(r"\1", value).encode()


SCALAR_DEFINITIONS: dict[Any, ScalarDefinition] = {
    Timestamp: strawberry.scalar(
        name="Timestamp",
        description="ISO 8601 with an offset, such as `2026-01-31T12:00:00+00:00`.",
        specified_by_url="https://datatracker.ietf.org/doc/html/rfc3339",
        serialize=str,
        parse_value=str,
    ),
    SvgDocument: strawberry.scalar(
        name="SvgDocument",
        description="The text of a unit map in SVG.",
        serialize=str,
        parse_value=_parse_svg_document,
    ),
    ParsedMap: strawberry.scalar(
        name="ParsedMap",
        description="A parsed unit map: an object with version, type, width, height and elements.",
        # It is JSON already and is copied into the response as it is.
        serialize=orjson.Fragment,
        parse_value=str,
    ),
}
