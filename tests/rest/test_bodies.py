"""Request bodies: read up to a limit, then variables, or errors that name the member."""

import asyncio
from collections.abc import Iterable
from typing import Any

import orjson
import pytest
from graphql import GraphQLInputType, build_schema, parse_type, type_from_ast
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive

from rest import bodies
from rest.bodies import (
    MAX_TOKENS,
    BodyShapeError,
    RequestBody,
    build_body_reader,
    has_more_tokens,
    receive_body,
)
from rest.errors import HttpError, invalid_input_error
from rest.parameters import EndpointInputs
from rest.scope_members import ClientDisconnectedError
from schema.execution import Executor
from schema.operation_inputs import MAX_REPORTED_ERRORS
from schema.root import GRAPHQL_SCHEMA
from tests.endpoints import ENDPOINTS, body_of

EXECUTOR = Executor(GRAPHQL_SCHEMA)
ASSIGNMENTS_BODY = body_of("AssignUnitAttributes")
DISTANCES_BODY = body_of("CalculateDistances")
UNIT_MAP_BODY = body_of("ParseMap")


def parse(request_body: RequestBody, content: bytes) -> dict[str, Any]:
    endpoint = next(row for row in ENDPOINTS if row.body is request_body)
    operation = EXECUTOR.prepare(endpoint.document)
    inputs = EndpointInputs.read(GRAPHQL_SCHEMA, endpoint, operation)
    try:
        return request_body.build_parser(inputs.body)(content)
    except BodyShapeError as error:
        raise invalid_input_error(error.errors) from error


def test_a_body_of_another_media_type_is_one_variable() -> None:
    assert [*parse(UNIT_MAP_BODY, b"<svg/>").values()] == [b"<svg/>"]
    assert (UNIT_MAP_BODY.to_path("svg"), UNIT_MAP_BODY.max_bytes) == ("svg", 20 << 20)


def test_errors_have_the_path_in_the_body() -> None:
    assert DISTANCES_BODY.to_path("sources[0].floorId") == "data.sources[0].floor_id"
    assert ASSIGNMENTS_BODY.to_path("data[1].unitId") == "data[1].unit_id"


@pytest.mark.parametrize(
    ("request_body", "content", "status", "message"),
    [
        (DISTANCES_BODY, b"[]", 422, "body: must be an object, not an array"),
        (DISTANCES_BODY, b"{}", 422, "data: must be given"),
        (DISTANCES_BODY, b'{"data": {"targets": []}}', 422, "data.sources: must be given"),
        (
            DISTANCES_BODY,
            b'{"data": {"sources": [], "targets": [], "more": 1}}',
            422,
            "data.more: unknown field",
        ),
        (DISTANCES_BODY, b'\n{"data": 1e400}', 422, "number that is too large in line 2"),
        (ASSIGNMENTS_BODY, b'{"data": 1e400}', 400, "The body is not JSON"),
        (
            ASSIGNMENTS_BODY,
            b'{"data": [{"unit_id": 1}], "more": 1}',
            422,
            "data[0].group_id: must be given; data[0].attribute_id: must be given;"
            " data[0].asset_id: must be given; data[0].unit_id: must be a string, not a number",
        ),
    ],
)
def test_an_invalid_body_is_an_error(
    request_body: RequestBody, content: bytes, status: int, message: str
) -> None:
    with pytest.raises(HttpError) as caught:
        parse(request_body, content)
    assert caught.value.status == status
    assert message in str(caught.value)


ASSIGNMENT = {"group_id": "g", "attribute_id": "a", "asset_id": "s", "unit_id": "u"}


@pytest.mark.parametrize("item", [b"[]", b"{}", b'"a"', orjson.dumps(ASSIGNMENT)])
def test_no_value_is_made_of_hundreds_of_thousands_of_commas_or_brackets(
    item: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "parse_json", lambda *_, **__: pytest.fail("a value"))
    count = (ASSIGNMENTS_BODY.max_bytes - 20) // (len(item) + 1)
    with pytest.raises(HttpError) as caught:
        parse(ASSIGNMENTS_BODY, b'{"data": [' + b",".join([item] * count) + b"]}")
    assert caught.value.status == 422
    assert str(caught.value).startswith(f"body: must have at most {MAX_TOKENS} commas")


def test_too_many_assignments_are_one_error() -> None:
    with pytest.raises(HttpError) as caught:
        parse(ASSIGNMENTS_BODY, orjson.dumps({"data": [ASSIGNMENT | {"unit_id": ""}] * 10_001}))
    assert caught.value.fields == {"data": ["must hold 1 to 10000 assignments, not 10001"]}


def test_what_is_not_read_after_many_errors_breaks_no_rule() -> None:
    sources = orjson.dumps([None] * MAX_REPORTED_ERRORS)
    with pytest.raises(HttpError) as caught:
        parse(
            DISTANCES_BODY, b'{"data": {"sources": ' + sources + b', "targets": [{"id": "gym"}]}}'
        )
    fields = caught.value.fields or {}
    assert [*fields] == [f"data.sources[{n}]" for n in range(MAX_REPORTED_ERRORS)]


def test_10_000_assignments_have_all_their_errors() -> None:
    wrong = ASSIGNMENT | {"unit_id": 7, "asset_id": 7, "note": "n" * 70}
    body = orjson.dumps({"data": [wrong] * 10_000})
    assert len(body) > 1_400_000
    with pytest.raises(HttpError) as caught:
        parse(ASSIGNMENTS_BODY, body)
    fields = [f"data[{n}].{name}" for n in range(50) for name in ("asset_id", "unit_id")]
    assert len(fields) == MAX_REPORTED_ERRORS
    assert caught.value.fields == {name: ["must be a string, not a number"] for name in fields}


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        ({"a": [1, 2]}, 4),
        ({"a, b": "[[[[", "c": '\\", {"'}, 4),
        (["\\", ",,,,", '"', "::::", '\\"\\', "[[[["], 6),
        ([","] * 100, 100),
    ],
)
def test_tokens_are_counted_outside_strings(value: Any, tokens: int) -> None:
    text = orjson.dumps(value)
    assert not has_more_tokens(text, tokens)
    assert has_more_tokens(text, tokens - 1)


# Readers of bodies

SCHEMA = build_schema("""
    type Query { door: String }
    input WaypointInput { id: ID, floorId: ID }
    input AssignmentInput { unitId: ID! }
    input Options { walkingMode: String }
""")


def type_of(text: str) -> GraphQLInputType:
    found: Any = type_from_ast(SCHEMA, parse_type(text))
    assert found is not None
    return found  # type: ignore[no-any-return]


def read(types: dict[str, str], body: Any) -> dict[str, Any]:
    return build_body_reader({name: type_of(text) for name, text in types.items()})(body)


MEMBERS = {"sources": "[WaypointInput!]!", "costingOptions": "Options"}


@pytest.mark.parametrize(
    ("types", "data", "variables"),
    [
        # a variable named data is all of it
        ({"data": "[AssignmentInput!]!"}, [{"unit_id": "u"}], {"data": [{"unitId": "u"}]}),
        # other variables are members, and null is as good as absent
        (MEMBERS, {"sources": [], "costing_options": None}, {"sources": []}),
        (
            MEMBERS,
            {"sources": [], "costing_options": {"walking_mode": "foot"}},
            {"sources": [], "costingOptions": {"walkingMode": "foot"}},
        ),
        # floorId as well as floor_id, which wins
        (
            MEMBERS,
            {"sources": [{"id": "a", "floorId": "f"}, {"floor_id": "g", "floorId": "f"}]},
            {"sources": [{"id": "a", "floorId": "f"}, {"id": None, "floorId": "g"}]},
        ),
        # which the rules see if it is no id
        (
            MEMBERS,
            {"sources": [{"floor_id": "g", "floorId": ""}]},
            {"sources": [{"id": None, "floorId": ""}]},
        ),
        # clients send whole locations back
        (
            MEMBERS,
            {"sources": [{"id": "a", "tags": []}]},
            {"sources": [{"id": "a", "floorId": None}]},
        ),
    ],
)
def test_a_body_becomes_variables(
    types: dict[str, str], data: Any, variables: dict[str, Any]
) -> None:
    assert read(types, {"data": data}) == variables


@pytest.mark.parametrize(
    ("types", "data", "errors", "rest"),
    [
        (
            {"data": "[AssignmentInput!]!"},
            [{"unit_id": 7}, {"unit_id": "a"}, {}, 7],
            {
                "data[0].unit_id": "must be a string, not a number",
                "data[2].unit_id": "must be given",
                "data[3]": "must be an object, not a number",
            },
            {"data": [{}, {"unitId": "a"}, {}, None]},
        ),
        # null is allowed where the type is nullable, members that nobody knows are not
        (
            MEMBERS,
            {"costing_options": True, "sources": None, "mode": 1},
            {
                "data.sources": "must be an array, not null",
                "data.costing_options": "must be an object or null, not true or false",
                "data.mode": "unknown field",
            },
            {},
        ),
        (
            MEMBERS,
            {"sources": [{"id": 1, "floorId": "f"}]},
            {"data.sources[0].id": "must be a string or null, not a number"},
            {"sources": [{"floorId": "f"}]},
        ),
    ],
)
def test_all_errors_of_a_shape_are_named_and_the_rest_is_kept(
    types: dict[str, str], data: Any, errors: dict[str, str], rest: dict[str, Any]
) -> None:
    with pytest.raises(BodyShapeError) as caught:
        read(types, {"data": data})
    assert caught.value.errors == {path: [message] for path, message in errors.items()}
    assert caught.value.inputs == rest


# Limits


def receiving(messages: Iterable[Message]) -> Receive:
    pending = iter(messages)

    async def receive() -> Message:
        return next(pending)

    return receive


def body(*chunks: bytes) -> list[Message]:
    last = len(chunks) - 1
    return [
        {"type": "http.request", "body": chunk, "more_body": position < last}
        for position, chunk in enumerate(chunks)
    ]


@given(st.lists(st.binary(max_size=20), min_size=1))
def test_a_body_is_received_up_to_its_limit(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    assert asyncio.run(receive_body(receiving(body(*chunks)), len(whole))) == whole
    with pytest.raises(HttpError, match=f"over {len(whole)} bytes"):
        asyncio.run(receive_body(receiving(body(*chunks, b"+")), len(whole)))


@pytest.mark.parametrize("content_length", [b"11", b" 0011 ", b"9" * 5000])
def test_a_content_length_over_the_limit_is_rejected_before_reading(content_length: bytes) -> None:
    with pytest.raises(HttpError, match="over 10 bytes"):
        asyncio.run(receive_body(receiving([]), 10, content_length))


@pytest.mark.parametrize("content_length", [b"10", b"0", b"", b"ten", b"-1"])
def test_other_promises_are_left_to_the_counting(content_length: bytes) -> None:
    assert asyncio.run(receive_body(receiving(body(b"ten bytes.")), 10, content_length)) == (
        b"ten bytes."
    )


def test_reading_stops_at_the_first_byte_over_the_limit() -> None:
    messages = iter(body(b"12345", b"67890", b"1", b"never read"))
    with pytest.raises(HttpError, match="over 10 bytes"):
        asyncio.run(receive_body(receiving(messages), 10))
    assert next(messages)["body"] == b"never read"


def test_a_client_that_disconnects_early_is_an_error_of_its_own() -> None:
    messages = [*body(b"half", b"other half")[:1], {"type": "http.disconnect"}]
    with pytest.raises(ClientDisconnectedError):
        asyncio.run(receive_body(receiving(messages), 100))
