"""A member of a bundle becomes the document of its record."""

from typing import Any

import pytest

from storage.bundles.members import MemberError, parse_member
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
        ("units", {"id": "a\0b"}, ".id", "without NUL and lone surrogates"),
        ("units", {"id": ""}, ".id", "Expected `str` of length >= 1"),
        ("units", {"id": "x" * 256}, ".id", "Expected `str` of length <= 255"),
        ("units", {"nam": ""}, "", 'there is no field "nam"; known fields: created_at'),
        # no offset: which hour was meant?
        ("units", {"created_at": "2026-01-31T12:00:00"}, ".created_at", "Expected an ISO 8601"),
        ("units", {"created_at": "2026-02-30T00:00:00Z"}, ".created_at", "not a valid time: day"),
        ("units", {"created_at": "0001-01-01T00:00:00+01:00"}, ".created_at", "outside the years"),
        ("maps", {"tags": ["a,b"]}, ".tags[0]", "Expected text without commas"),
        ("maps", {"geojson_url": "javascript:alert(1)"}, ".geojson_url", "an http or https URL"),
        ("maps", {"url": "data:text/html,x"}, ".url", "Expected an http or https URL"),
        ("maps", {"id": "parse"}, ".id", "must not be 'parse': REST has an endpoint of this name"),
        ("units", {"id": "attribute-groups"}, ".id", "choose another id"),
        ("asset_references", {"key": "9a"}, ".key", "Expected a lowercase letter, then"),
        ("asset_references", {"key": "a"}, ".key", "Expected `str` of length >= 2"),
        ("asset_references", {"key": "a" * 256}, ".key", "of length <= 255"),
        ("locations", {"tags": [{"key": "k", "val": ""}]}, ".tags[0]", "did you mean value?"),
        ("locations", {"x": float("inf")}, ".x", "Expected `float` <= 1000000000.0"),
    ],
)
def test_an_invalid_value_is_named_by_its_path(
    kind: str, changes: dict[str, Any], path: str, message: str
) -> None:
    with pytest.raises(MemberError) as caught:
        parse(kind, **changes)
    (fault,) = caught.value.find_faults()
    assert fault.path == path
    assert message in fault.message


def faults(kind: str, member: Any) -> list[tuple[str, str]]:
    with pytest.raises(MemberError) as caught:
        parse_member(RECORD_TYPES_BY_NAME[kind], member)
    return [*caught.value.find_faults()]


def test_all_that_is_wrong_with_a_member_is_found_at_once() -> None:
    location = {
        "nmae": "Pool",
        "id": "",
        "asset_id": 7,
        "x": "1",
        "created_at": "2026-02-30T12:00:00Z",
        "floors": [{"id": "a1"}, {}, 3],
        "tags": [{"key": "k", "value": None, "colour": "red"}],
    }
    assert faults("locations", location) == [
        ("", 'there is no field "nmae"; did you mean name?'),
        ("", "required but missing: unit_map_id, y"),
        (".created_at", "is not a valid time: day is out of range for month"),
        (".id", "Expected `str` of length >= 1"),
        (".asset_id", "Expected `str`, got `int`"),
        (".x", "Expected `float`, got `str`"),
        (".floors[1]", "required but missing: id"),
        (".floors[2]", "Expected `object`, got `int`"),
        (
            ".tags[0]",
            'there is no field "colour"; known fields: key, value, created_at, updated_at',
        ),
        (".tags[0].value", "Expected `str`, got `null`"),
    ]


@pytest.mark.parametrize("member", [None, [], 3, "unit"])
def test_a_member_is_an_object(member: Any) -> None:
    ((path, message),) = faults("units", member)
    assert path == ""
    assert message.startswith("Expected `object`, got")


def test_an_attribute_can_be_only_once_in_its_group() -> None:
    attribute = {"attribute_id": "s", "attribute_name": "Studio", "attribute_key": "s"}
    group = {"group_id": "g", "group_name": "Plan", "attributes": [attribute, attribute]}
    for is_partial in (False, True):
        with pytest.raises(MemberError) as caught:
            parse_member(RECORD_TYPES_BY_NAME["attribute_groups"], group, is_partial=is_partial)
        assert [*caught.value.find_faults()] == [
            (".attributes[1].attribute_id", '"s" is already that of attributes[0]')
        ]
