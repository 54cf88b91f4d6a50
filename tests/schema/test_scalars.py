"""Custom scalars: how their values are parsed."""

import pytest
from graphql import GraphQLScalarType

from schema.root import GRAPHQL_SCHEMA


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<svg/>", b"<svg/>"),
        ("<svg>\u00e9</svg>", "<svg>\u00e9</svg>".encode()),
        ("<?xml version='1.0' encoding='latin-1' standalone='no'?><svg/>",
         b"<?xml version='1.0' standalone='no'?><svg/>"),
        ('\ufeff<?xml version="1.0" encoding="utf-16"?>',
         '\ufeff<?xml version="1.0"?>'.encode()),
        ('<svg encoding="x"/>', b'<svg encoding="x"/>'),
        (b'<?xml version="1.0" encoding="latin-1"?>', b'<?xml version="1.0" encoding="latin-1"?>'),
    ],
)  # fmt: skip
def test_text_is_encoded_as_utf8_and_bytes_stay_as_they_were_sent(
    text: str | bytes, expected: bytes
) -> None:
    assert _svg_document().coerce_input_value(text) == expected


def test_a_drawing_must_be_text() -> None:
    with pytest.raises(ValueError, match="must be the text of an SVG document"):
        _svg_document().coerce_input_value(1)


def _svg_document() -> GraphQLScalarType:
    scalar = GRAPHQL_SCHEMA.type_map["SvgDocument"]
    assert isinstance(scalar, GraphQLScalarType)
    return scalar
