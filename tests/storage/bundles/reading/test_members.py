"""A member of a bundle becomes the document of its record."""

from typing import Any

import pytest

from storage.bundles.reading.members import MemberError, parse_member
from storage.catalog import RECORD_TYPES_BY_NAME
from tests.storage.catalogs import SMALL


def parse(kind: str, **changes: Any) -> dict[str, Any]:
    return parse_member(RECORD_TYPES_BY_NAME[kind], SMALL[kind][0] | changes)


def test_a_document_has_the_key_and_all_defaults() -> None:
    document = parse("maps")
    assert document["_id"] == "am"
    assert (document["style"], document["routing_tier"]) == ("a", "no_routing")


def test_a_key_of_several_fields_is_joined() -> None:
    assert parse("unit_references")["_id"] == "u1\0keyring"


def test_timestamps_are_converted_to_utc_at_any_depth() -> None:
    tag = {"key": "k", "value": "v", "created_at": "2026-01-31T13:00:00+01:00"}
    document = parse("locations", updated_at="2026-01-01T00:30:00+01:00", tags=[tag])
    assert document["updated_at"] == "2025-12-31T23:30:00+00:00"
    assert document["tags"][0]["created_at"] == "2026-01-31T12:00:00+00:00"


@pytest.mark.parametrize(
    ("kind", "changes", "path", "message"),
    [
        ("units", {"name": 1}, ".name", "Expected `str`, got `int`"),
        ("units", {"name": "\ud800"}, ".name", "without NUL and lone surrogates"),
        ("units", {"nam": ""}, "", "unknown field `nam`; known fields: created_at"),
        ("units", {"created_at": "today"}, ".created_at", "Expected an ISO 8601 time"),
        ("units", {"created_at": "2026-02-30T00:00:00Z"}, ".created_at", "not a valid time: day"),
        ("units", {"created_at": "0001-01-01T00:00:00+01:00"}, ".created_at", "outside the years"),
        ("maps", {"tags": ["a,b"]}, ".tags[0]", "Expected text without commas"),
        ("maps", {"geojson_url": "javascript:alert(1)"}, ".geojson_url", "an http or https URL"),
        ("maps", {"url": "data:text/html,x"}, ".url", "Expected an http or https URL"),
        ("maps", {"id": "parse"}, ".id", "must not be 'parse': REST has an endpoint of this name"),
        ("units", {"id": "attribute-groups"}, ".id", "choose another id"),
        ("asset_references", {"key": "KEY"}, ".key", "Expected a lowercase letter, then"),
        ("locations", {"tags": [{"key": "k", "val": ""}]}, ".tags[0]", "known fields: key, value"),
    ],
)
def test_an_invalid_value_is_named_by_its_path(
    kind: str, changes: dict[str, Any], path: str, message: str
) -> None:
    with pytest.raises(MemberError) as caught:
        parse(kind, **changes)
    assert caught.value.path == path
    assert message in caught.value.message
