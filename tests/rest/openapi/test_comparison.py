"""Which changes of a schema break callers, of a request and of a response."""

from typing import Any

import pytest

from rest.openapi.comparison import find_operation_changes

TEXT, NUMBER, WHOLE = {"type": "string"}, {"type": "number"}, {"type": "integer"}
NULLABLE = {"type": ["string", "null"]}
LIST = {"type": "array", "items": TEXT}


def members(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": [*required], "properties": properties}


def breaks(before: Any, after: Any) -> list[str]:
    return [change.text for change in find_operation_changes(before, after) if change.is_breaking]


def changes(before: Any, after: Any) -> tuple[list[str], list[str]]:
    """What breaks callers if requests have these schemas, and if responses have."""
    bodies = [{"content": {"application/json": {"schema": schema}}} for schema in (before, after)]
    requests: list[Any] = [{"requestBody": body} for body in bodies]
    responses: list[Any] = [{"responses": {"200": body}} for body in bodies]
    return breaks(*requests), breaks(*responses)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        (NULLABLE, TEXT),
        ({"anyOf": [TEXT, {"type": "null"}]}, TEXT),
        (NUMBER, WHOLE),
        ({}, TEXT),
        ({"type": ["string", "integer"]}, TEXT),
        ({"enum": ["a", "b"], **TEXT}, {"enum": ["a"], **TEXT}),
        (TEXT, {"enum": ["a"], **TEXT}),
        ({**LIST, "items": NULLABLE}, LIST),
        (members(a=TEXT), members(("a",), a=TEXT)),
        (members(a=NULLABLE), members(a=TEXT)),
    ],
)  # fmt: skip
def test_a_narrower_request_and_a_wider_response_break_callers(wide: Any, narrow: Any) -> None:
    assert [len(each) for each in changes(wide, narrow)] == [1, 0]
    assert [len(each) for each in changes(narrow, wide)] == [0, 1]


@pytest.mark.parametrize(
    ("before", "after", "in_request", "in_response"),
    [
        # Members come, and go.
        (members(), members(a=TEXT), False, False),
        (members(), members(("a",), a=TEXT), True, False),
        (members(a=TEXT), members(), True, True),
        (members(), {**members(), "additionalProperties": False}, True, False),
        # Another type, or another form.
        (TEXT, WHOLE, True, True),
        (LIST, TEXT, True, True),
        ({**TEXT, "format": "date"}, {**TEXT, "format": "date-time"}, True, True),
        ({**TEXT, "format": "date"}, TEXT, False, True),
        (TEXT, {**TEXT, "format": "date"}, True, False),
        ({"anyOf": [TEXT, WHOLE]}, {"anyOf": [TEXT, NUMBER]}, False, True),
        ({"anyOf": [TEXT, WHOLE]}, {"anyOf": [TEXT, WHOLE, LIST]}, False, True),
        ({**TEXT, "not": {"minLength": 3}}, {**TEXT, "not": {"minLength": 4}}, True, False),
        # Limits and defaults are of requests.
        ({**WHOLE, "maximum": 9}, {**WHOLE, "maximum": 5}, True, False),
        ({**WHOLE, "maximum": 5}, {**WHOLE, "maximum": 9}, False, False),
        ({**WHOLE, "minimum": 1}, {**WHOLE, "minimum": 2}, True, False),
        (TEXT, {**TEXT, "maxLength": 5}, True, False),
        ({**TEXT, "maxLength": 5}, TEXT, False, False),
        ({**TEXT, "pattern": "a"}, {**TEXT, "pattern": "b"}, True, False),
        ({**TEXT, "default": "a"}, {**TEXT, "default": "b"}, True, False),
        # Words that were always said to become more.
        ({**TEXT, "x-extensible-enum": ["a"]}, {**TEXT, "x-extensible-enum": ["b"]}, False, False),
        (TEXT, {**TEXT, "description": "A text.", "examples": ["a"], "title": "A"}, False, False),
    ],
)
def test_each_change_of_a_schema_breaks_callers_or_not(
    before: Any, after: Any, in_request: bool, in_response: bool
) -> None:
    assert [len(each) for each in changes(before, after)] == [in_request, in_response]


def test_sentences_name_what_has_changed_and_where() -> None:
    before = members(data={"type": "array", "items": members(("x",), x=NUMBER, of=TEXT)})
    after = members(data={"type": "array", "items": members(x={"type": ["number", "null"]})})
    assert changes(before, after) == (
        ["the body's data[].of is gone"],
        ["the response's data[].x may be missing or null now", "the response's data[].of is gone"],
    )
    assert changes({**TEXT, "enum": ["a", "b"]}, {**TEXT, "format": "date"}) == (
        ['the body may not be "a" or "b" any more'],
        ["the response may be a text (date) now"],
    )


def test_schemas_that_all_endpoints_share_are_compared_by_name() -> None:
    shared = {"$ref": "#/components/schemas/MapElement"}
    assert changes(shared, shared) == ([], [])
    assert changes(shared, TEXT)[1] == ["the response may be a text now"]


def test_parameters_conditions_and_permissions() -> None:
    def parameter(place: str, *, required: bool = False) -> dict[str, Any]:
        return {"in": place, "name": "tag", "required": required, "schema": TEXT}

    old = {"parameters": [parameter("query")], "x-permission": "a, b"}
    conditional = {"$ref": "#/components/parameters/IfMatch"}
    new = {"parameters": [parameter("header", required=True), conditional], "x-permission": "b, c"}
    assert breaks(old, new) == [
        "the key needs the permission c now",
        "the header tag is new and required",
        "the parameter tag is gone",
    ]


def test_forms_of_responses() -> None:
    json, geojson = "application/json", "application/geo+json"
    old: Any = {"responses": {"200": {"content": {json: {}}}, "404": {"$ref": "NotFound"}}}
    new: Any = {"responses": {"200": {"content": {geojson: {}}, "headers": {"Link": {}}}}}
    assert breaks(old, new) == [
        "the response is one page of the list now",
        "the response is gone",
    ]
    body: Any = {"requestBody": {"content": {json: {}}}}
    assert breaks(old, {"responses": {"204": {}}, **body}) == [
        "the body is new and required",
        "the status 200 is gone",
        "the response is gone",
    ]
