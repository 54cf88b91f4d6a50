"""Which changes of a schema break callers, of a request and of a response."""

from typing import Any

import pytest

from rest.openapi.comparison import Change, find_operation_changes

TEXT, NUMBER, WHOLE = {"type": "string"}, {"type": "number"}, {"type": "integer"}
NULLABLE = {"type": ["string", "null"]}
REFERENCE = {"$ref": "#/components/schemas/Tree"}
LIST = {"type": "array", "items": TEXT}


def members(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": [*required], "properties": properties}


def changes(before: Any, after: Any, *, tree: Any = None) -> tuple[list[Change], list[Change]]:
    """What differs if requests have these schemas, and if responses have."""
    documents = [{"components": {"schemas": {"Tree": each}}} for each in (before, tree or after)]
    schemas = (before, after) if tree is None else (REFERENCE, REFERENCE)
    bodies = [{"content": {"application/json": {"schema": schema}}} for schema in schemas]
    requests = [{"requestBody": body} for body in bodies]
    responses = [{"responses": {"200": body}} for body in bodies]
    return (
        find_operation_changes(requests[0], requests[1], *documents),
        find_operation_changes(responses[0], responses[1], *documents),
    )


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
        (TEXT, {"const": "a", **TEXT}),
        ({**LIST, "items": NULLABLE}, LIST),
        (members(a=TEXT), members(("a",), a=TEXT)),
        (members(a=NULLABLE), members(a=TEXT)),
        ({**members(), "additionalProperties": NULLABLE},
         {**members(), "additionalProperties": TEXT}),
    ],
)  # fmt: skip
def test_a_narrower_request_and_a_wider_response_break_callers(wide: Any, narrow: Any) -> None:
    [request], [response] = changes(wide, narrow)
    assert (request.is_breaking, response.is_breaking) == (True, False)
    [request], [response] = changes(narrow, wide)
    assert (request.is_breaking, response.is_breaking) == (False, True)


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
        ({"anyOf": [TEXT, WHOLE]}, {"anyOf": [TEXT, WHOLE, LIST]}, True, True),
        ({**TEXT, "not": {"minLength": 3}}, TEXT, True, True),
        # Limits and defaults are of requests.
        ({**WHOLE, "maximum": 9}, {**WHOLE, "maximum": 5}, True, False),
        ({**WHOLE, "maximum": 5}, {**WHOLE, "maximum": 9}, False, False),
        ({**WHOLE, "minimum": 1}, {**WHOLE, "minimum": 2}, True, False),
        (TEXT, {**TEXT, "maxLength": 5}, True, False),
        ({**TEXT, "maxLength": 5}, TEXT, False, False),
        ({**TEXT, "pattern": "a"}, {**TEXT, "pattern": "b"}, True, False),
        ({**TEXT, "default": "a"}, {**TEXT, "default": "b"}, True, False),
        # Words that were always said to become more.
        ({**TEXT, "x-extensible-enum": ["a"]}, {**TEXT, "x-extensible-enum": ["b"]}, None, None),
        (TEXT, {**TEXT, "description": "A text.", "examples": ["a"], "title": "A"}, None, None),
    ],
)
def test_each_change_of_a_schema_breaks_callers_or_not(
    before: Any, after: Any, in_request: bool | None, in_response: bool | None
) -> None:
    found = [[change.is_breaking for change in each] for each in changes(before, after)]
    assert found == [[] if each is None else [each] for each in (in_request, in_response)]


def test_sentences_name_what_has_changed_and_where() -> None:
    before = members(data={"type": "array", "items": members(("x",), x=NUMBER, of=REFERENCE)})
    _, found = changes(before, members(data={"type": "array", "items": members(x=NUMBER)}))
    assert [change.text for change in found] == [
        "the response's data[].x may be missing now",
        "the response's data[].of is gone",
    ]
    _, [change] = changes(NUMBER, {"type": ["number", "null"]})
    assert change.text == "the response was a number and may be null now"


def test_a_recursive_schema_is_followed_once() -> None:
    old, new = (members(inner=REFERENCE, id=each) for each in (TEXT, NULLABLE))
    _, [change] = changes(old, None, tree=new)
    assert change == (True, "the response's id was a text and may be null now")


def test_schemas_that_are_not_known_are_compared_by_name() -> None:
    unknown = {"$ref": "#/components/schemas/MapElement"}
    assert changes(unknown, unknown) == ([], [])
    assert [change.is_breaking for change in changes(unknown, TEXT)[1]] == [True]


def test_parameters_conditions_and_permissions() -> None:
    def parameter(place: str, *, required: bool = False) -> dict[str, Any]:
        return {"in": place, "name": "tag", "required": required, "schema": TEXT}

    old = {"parameters": [parameter("query")], "x-permission": "a, b"}
    conditional = {"$ref": "#/components/parameters/IfMatch"}
    new = {"parameters": [parameter("header", required=True), conditional], "x-permission": "b, c"}
    assert find_operation_changes(old, new, {}, {}) == [
        (True, "the key needs the permission c now"),
        (False, "the key does not need the permission a any more"),
        (True, "the header tag is new and required"),
        (False, "the parameter IfMatch is new"),
        (True, "the parameter tag is gone"),
    ]


def test_forms_of_responses() -> None:
    json, geojson = "application/json", "application/geo+json"
    old: Any = {"responses": {"200": {"content": {json: {}}}, "404": {}}}
    new: Any = {"responses": {"200": {"content": {geojson: {}}, "headers": {"Link": {}}}}}
    assert find_operation_changes(old, new, {}, {}) == [
        (True, "the response is one page of the list now"),
        (False, "the response as application/geo+json is new"),
        (True, "the response is gone"),
    ]
    body: Any = {"requestBody": {"content": {json: {}}}}
    assert find_operation_changes(old, {"responses": {"204": {}}, **body}, {}, {}) == [
        (False, "the body is new"),
        (False, "the status 204 is new"),
        (True, "the status 200 is gone"),
        (True, "the response is gone"),
    ]
