"""Names of SVG: with and without a namespace, and references to ids."""

import pytest

from parsing.svg.names import CONTAINER_TAGS, SHAPE_TAGS, SVG_NAMESPACE, referenced_id

XLINK_HREF = "{http://www.w3.org/1999/xlink}href"


def test_tags_are_known_with_and_without_the_namespace() -> None:
    assert SHAPE_TAGS["rect"] == SHAPE_TAGS[f"{SVG_NAMESPACE}rect"] == "Rect"
    assert CONTAINER_TAGS["g"] == CONTAINER_TAGS[f"{SVG_NAMESPACE}g"] == "g"
    assert "{http://www.w3.org/1999/xhtml}rect" not in SHAPE_TAGS


@pytest.mark.parametrize(
    ("attributes", "id"),
    [
        ({}, ""),
        ({"href": " #a "}, "a"),
        ({XLINK_HREF: "#b"}, "b"),
        ({XLINK_HREF: "#b", "href": "#a"}, "a"),
        ({XLINK_HREF: "#b", "href": "other.svg#a"}, ""),
        ({"href": "#"}, ""),
    ],
)
def test_a_reference_is_an_id_of_the_same_document(attributes: dict[str, str], id: str) -> None:
    assert referenced_id(attributes) == id
