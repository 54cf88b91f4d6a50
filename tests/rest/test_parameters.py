"""Query parameters: named, read and checked as the arguments behind them say."""

from contextlib import suppress
from functools import partial
from typing import Any

import httpx
import pytest

from rest.errors import HttpError
from rest.parameters import (
    MAX_IGNORED_REPORTED,
    EndpointInputs,
    describe_ignored,
    parse_query,
)
from rest.scope_members import IGNORED_HEADER, MAX_URL_BYTES
from schema.execution import Executor
from schema.root import GRAPHQL_SCHEMA
from tests.cpu_cost import measure_cost
from tests.endpoints import ENDPOINTS

EXECUTOR = Executor(GRAPHQL_SCHEMA)


def inputs_of(path: str) -> EndpointInputs:
    (endpoint,) = (row for row in ENDPOINTS if row.path == path and row.method == "GET")
    return EndpointInputs.read(GRAPHQL_SCHEMA, endpoint, EXECUTOR.prepare(endpoint.document))


PARAMETERS = {
    parameter.name: parameter
    for row in ENDPOINTS
    for parameter in EndpointInputs.read(
        GRAPHQL_SCHEMA, row, EXECUTOR.prepare(row.document)
    ).all_query
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PARAMETERS)
def test_no_value_of_a_parameter_costs_much_to_read(name: str) -> None:
    """An address has 24,576 bytes, and they are read in the event loop."""

    def read(value: str) -> None:
        with suppress(ValueError):
            PARAMETERS[name].parse(value)

    for length in (2_000, MAX_URL_BYTES):  # short first: the cube of the long one is hours
        for piece in (":", " ", ",", "-", ".", "/", "0", "\\", "a:", "a,", "0:0 ", "1,1,"):
            value = (piece * length)[:length]
            assert measure_cost(partial(read, value)) < 10, (piece, length)


def test_variables_are_divided_among_path_and_query() -> None:
    inputs = inputs_of("/v1/units/attribute-groups/{group-id}/assignments")
    assert [*inputs.path] == ["group-id"]
    names = [(parameter.name, parameter.is_filter) for parameter in inputs.query]
    assert names[:4] == [(name, False) for name in ("page", "per-page", "after", "total-count")]
    assert names[4:] == [("asset", True)]


@pytest.mark.parametrize(
    ("pairs", "variables"),
    [
        ([], {}),
        ([("per-page", "007"), ("unknown", "x")], {"perPage": 7}),
        ([("tags", "ils"), ("asset", "a")], {"tags": "ils", "asset": "a"}),
    ],
)
def test_a_query_becomes_variables(pairs: list[tuple[str, str]], variables: dict[str, Any]) -> None:
    found, filters = parse_query(inputs_of("/v1/maps").query, pairs)
    assert found == variables
    assert filters == [pair for pair in pairs if pair[0] in ("tags", "asset")]


def test_every_error_of_a_query_is_reported() -> None:
    pairs = [("page", "x"), ("per-page", "0"), ("asset", "a"), ("asset", "b"), ("tags", ",")]
    with pytest.raises(HttpError) as caught:
        parse_query(inputs_of("/v1/maps").query, pairs)
    assert caught.value.fields == {
        "page": ["must be a whole number, not 'x'"],
        "per-page": ["must be from 1 to 2147483647, not 0"],
        "asset": ["must be given once, not 2 times"],
        "tags": ["must be tags separated by commas, such as ils,mls, not ','"],
    }


def test_a_waypoint_is_required_and_has_three_forms() -> None:
    query = inputs_of("/v1/maps/{map}/route").query
    variables, _ = parse_query(query, [("from", "l1"), ("to", "1,-2.5,a,b")])
    assert variables == {"from": {"id": "l1"}, "to": {"x": 1.0, "y": -2.5, "floorId": "a,b"}}
    variables, _ = parse_query(query, [("from", "unit:u:1"), ("to", "unit 2")])
    assert variables == {"from": {"unitId": "u:1"}, "to": {"id": "unit 2"}}
    with pytest.raises(HttpError, match="from: must be given; to: must be given"):
        parse_query(query, [])


def test_a_unit_needs_an_id() -> None:
    query = inputs_of("/v1/maps/{map}/route").query
    for text in ("unit:", f"unit:{'u' * 256}"):
        with pytest.raises(HttpError, match="must have 1 to 255 characters"):
            parse_query(query, [("from", text), ("to", "l1")])


def test_a_condition_is_true_or_false() -> None:
    query = inputs_of("/v1/maps/{map}/route").query
    ends = [("from", "l1"), ("to", "l2")]
    for text, value in (("true", True), ("false", False)):
        assert parse_query(query, [*ends, ("steps", text)])[0]["steps"] is value
    with pytest.raises(HttpError, match="steps: must be true or false, not '1'"):
        parse_query(query, [*ends, ("steps", "1")])


@pytest.mark.parametrize(
    ("text", "value"), [("2.5", 2.5), ("1e-9", 1e-9), ("1E+1", 10), (f"{0.1 + 0.2}", 0.1 + 0.2)]
)
def test_a_number_is_written_as_in_json(text: str, value: float) -> None:
    query = inputs_of("/v1/maps/{map}/reachable").query
    assert parse_query(query, [("from", "l1"), ("minutes", text)])[0]["minutes"] == value


@pytest.mark.parametrize("text", ["", ".5", "1.", "1e", "1_0", "nan", "1e999", "٣"])
def test_other_numbers_are_refused(text: str) -> None:
    query = inputs_of("/v1/maps/{map}/reachable").query
    with pytest.raises(HttpError) as caught:
        parse_query(query, [("from", "l1"), ("minutes", text)])
    assert caught.value.fields and caught.value.fields.keys() == {"minutes"}


def test_the_items_of_a_list_are_separated_by_commas() -> None:
    query = inputs_of("/v1/maps/{map}/route").query
    ends = [("from", "l1"), ("to", "l2")]
    variables, _ = parse_query(query, [*ends, ("avoid", "stairs,lifts")])
    assert variables["avoid"] == ["stairs", "lifts"]
    for text in ("", "stairs,", "rain"):
        with pytest.raises(HttpError) as caught:
            parse_query(query, [*ends, ("avoid", text)])
        assert caught.value.fields and caught.value.fields.keys() == {"avoid"}


def test_unknown_parameters_are_named_with_the_nearest_known_ones() -> None:
    names = ["page", "order_by", "tag", "api-key", "xyzzy", "order_by", "é"]
    assert describe_ignored(names, ["page", "order-by", "tags"]) == (
        '"order_by";did-you-mean="order-by", "tag";did-you-mean="tags", "xyzzy"'
    )
    assert describe_ignored(["page"], ["page"]) is None
    many = describe_ignored([f"x{number}" for number in range(100)], ["page"])
    assert many is not None and many.count(",") == MAX_IGNORED_REPORTED - 1
    known = [name for parameter in inputs_of("/v1/maps").query for name in parameter.names]
    assert describe_ignored(["perPage", "PerPage"], known) == '"PerPage";did-you-mean="per-page"'
    assert describe_ignored(["api_key", "foo"], ["floor"]) == (
        '"api_key";did-you-mean="api-key", "foo"'
    )


@pytest.mark.anyio
async def test_a_cached_response_names_the_parameters_of_its_own_request(
    client: httpx.AsyncClient,
) -> None:
    for query, named in (("?xyzzy=1", '"xyzzy"'), ("", None), ("?xyzzy=1", '"xyzzy"')):
        response = await client.get(f"/v1/units{query}")
        assert response.status_code == 200
        assert response.headers.get(IGNORED_HEADER) == named
