"""The schema's custom scalars."""

import re
from datetime import datetime
from typing import Any, NewType

import orjson
import strawberry
from strawberry.types.scalar import ScalarDefinition

from resolvers.request.times import DateTime
from resolvers.unit_maps import SvgDocument

ParsedMap = NewType("ParsedMap", bytes)
GeoJson = NewType("GeoJson", bytes)

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


def _serialize_time(value: Any) -> str:
    """Return a time as text; that of records is text already."""
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _parse_time_text(value: Any) -> str:
    """Return the text of a time, which the rules of its argument check and resolvers parse."""
    if not isinstance(value, str):
        raise ValueError("must be the text of a time in ISO 8601")
    return value


SCALAR_DEFINITIONS: dict[Any, ScalarDefinition] = {
    DateTime: strawberry.scalar(
        name="DateTime",
        description="A time in ISO 8601, such as `2026-01-31T12:00:00+00:00`. Results have an "
        "offset; an argument without one is in UTC, and one without a time is its first moment.",
        specified_by_url="https://datatracker.ietf.org/doc/html/rfc3339",
        serialize=_serialize_time,
        parse_value=_parse_time_text,
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
    GeoJson: strawberry.scalar(
        name="GeoJson",
        description="A GeoJSON FeatureCollection: an object with type and features.",
        specified_by_url="https://datatracker.ietf.org/doc/html/rfc7946",
        serialize=orjson.Fragment,
        parse_value=str,
    ),
}
