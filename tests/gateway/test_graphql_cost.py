"""What one request to `/graphql` may cost: refused before the work is done, with the limit."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import orjson
import pytest

import resolvers.unit_maps
from gateway.graphql import write_result
from resolvers.request import context as budget
from resolvers.request.caller import Caller
from resolvers.request.context import Context
from rest.errors import JSON_MEDIA_TYPE
from schema.execution import OperationResult
from schema.query_limits import QueryLimits
from storage.records.visibility import ALL_ASSETS
from tests.fixtures import MAP, World, open_client, post_graphql, run_gateway

pytestmark = pytest.mark.anyio

MATRIX = f"""query ($s: [WaypointInput!]!, $t: [WaypointInput!]!) {{
    map(id: "{MAP}") {{ distanceMatrix(sources: $s, targets: $t) {{ distanceMethod }} }}
}}"""
PARSE_OFTEN = (
    "query ($svg: SvgDocument!) { "
    + " ".join(f"a{number}: parsedUnitMap(svg: $svg) {{ map }}" for number in range(4))
    + " }"
)
SIBLINGS = "{ units(perPage: $n) { data { asset { units(perPage: $n) { data { id } } } } } }"
DRAWINGS = SIBLINGS.replace("$n", "100").replace("id }", "maps(perPage: 2) { data { parsed } } }")
NEAREST = " ".join(f'n{n}: nearest(from: {{id: "loc-1"}}) {{ time }}' for n in range(30))

REFUSED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "characters": ("{ __typename }" + " " * 50_000, {}, {"max": 50_000, "requested": 50_014}),
    "digits": ("{ units(page: 1" + "0" * 1_000 + ") { data { id } } }", {}, {"max": 1_000}),
    "tokens": ("{" + "__typename " * 2_000 + "}", {}, {"max": 2_000}),
    "nesting": (
        "query ($v: Int = " + "[" * 990 + "1" + "]" * 990 + ") { units(page: $v) { data { id } } }",
        {},
        {},
    ),
    "depth": (
        "{ units { data "
        + "{ floor { asset { units { data " * 4
        + "{ id }"
        + "} } } }" * 4
        + "} }",
        {},
        {"max": 16, "requested": 19},
    ),
    "aliases": (
        "{" + " ".join(f"a{n}: __typename" for n in range(31)) + "}",
        {},
        {"max": 30, "requested": 31},
    ),
    "breadth": ("{" + "__typename " * 201 + "}", {}, {"max": 200, "requested": 201}),
    "cost": (SIBLINGS.replace("$n", "10000"), {}, {"max": 50_000, "requested": 100_020_000}),
    "cost of a default": (
        "query ($n: Int = 10000) " + SIBLINGS,
        {},
        {"limit": "cost", "max": 50_000, "requested": 100_020_000},
    ),
    "cost of a float": (
        "query ($n: Int) " + SIBLINGS,
        {"n": 10000.0},
        {"limit": "cost", "max": 50_000, "requested": 100_020_000},
    ),
    "cost of searches": (
        f'{{ map(id: "{MAP}") {{ {NEAREST} }} }}',
        {},
        {"limit": "cost", "max": 50_000, "requested": 1 + 30 * 2_010},
    ),
    "items": (
        "mutation ($ids: [ID!]) { createApiKey(input: { name: $ids, assetIds: $ids }) { key } }",
        {"ids": ["a"] * 6_000},
        {"max": 10_000, "requested": 12_000},
    ),
    "text": (PARSE_OFTEN, {"svg": " " * 375_000}, {"max": 1_000_000, "requested": 1_500_000}),
    "list_length": (
        MATRIX,
        {"s": [{}] * 40_000, "t": [{}]},
        {"max": 50, "requested": 40_000},
    ),
    "variables": (MATRIX, {"s": [{}] * 240_000, "t": [{}]}, {"max": 100_000}),
    "variables unused": (
        "{ __typename }",
        {"x": [[]] * 100_000},
        {"limit": "variables", "max": 100_000},
    ),
}


@pytest.mark.parametrize("limit", REFUSED)
async def test_an_operation_over_a_limit_is_refused_with_the_limit_and_its_size(
    restricted: httpx.AsyncClient, limit: str
) -> None:
    query, variables, extensions = REFUSED[limit]
    bodies = [await post_graphql(restricted, query, variables) for _ in range(3)]
    [error] = bodies[0]["errors"]
    assert error["extensions"] == {"code": "LIMIT_EXCEEDED", "limit": limit} | extensions
    assert "data" not in bodies[0]
    assert bodies[1] == bodies[2] == bodies[0]


async def test_a_response_says_what_its_operation_cost(client: httpx.AsyncClient) -> None:
    query = "query ($n: Int) { units(perPage: $n) { data { id floor { id } } } }"
    for _ in range(2):  # the second is served from the cache
        for number in (3, 5):
            body = {"query": query, "variables": {"n": number}}
            response = await client.post("/graphql", json=body)
            assert response.headers["Floorgate-Cost"] == str(2 * number)


@pytest.fixture
async def client_with_small_responses(world: World) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a gateway that sends at most 20,000 bytes."""
    async with run_gateway(world.settings()) as gateway:
        limits = replace(QueryLimits(), response_bytes=20_000)
        gateway.service.executor.limits = limits
        async with open_client(gateway, world.keys.full) as client:
            yield client


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (DRAWINGS, "at least"),
        ("{ units(perPage: 25) { data { " + "a%d: createdAt " * 30 + "} } }", "bytes, over"),
        (SIBLINGS.replace("$n", "100").replace("{ id }", "{ id name updatedAt createdAt }"),
         "bytes, over"),
    ],
)  # fmt: skip
async def test_a_response_over_the_limit_is_refused_with_the_same_error_each_time(
    client_with_small_responses: httpx.AsyncClient, query: str, message: str
) -> None:
    if "%d" in query:
        query %= tuple(range(30))
    bodies = [await post_graphql(client_with_small_responses, query) for _ in range(3)]
    [error] = bodies[0]["errors"]
    assert message in error["message"]
    assert "20000" in error["message"]
    assert "perPage" in error["message"]
    assert error["extensions"]["limit"] == "response_bytes"
    assert error["extensions"]["max"] == 20_000
    assert "data" not in bodies[0]
    assert bodies[1] == bodies[2] == bodies[0]


@pytest.mark.parametrize(("limit", "refused"), [(6_000_000, False), (2_000_000, True)])
@pytest.mark.parametrize("long", [0, 1, 2])
async def test_a_response_is_refused_for_its_size_and_not_for_an_estimate(
    long: int, limit: int, refused: bool
) -> None:
    tags = ["x" * 255 if place == long else "yes" for place in range(10)]
    data = {"maps": [{"locations": [{"tags": tags}] * 50}] * 340}
    context = Context(Caller("any", ALL_ASSETS), None)  # type: ignore[arg-type]
    context.budget.max_bytes = limit
    body = (await write_result(OperationResult(data, []), JSON_MEDIA_TYPE, context, "id")).body
    assert (body == orjson.dumps({"data": data})) is not refused
    if refused:
        assert b"The response would have at least " in bytes(body)
        assert b"over the limit of 2000000" in bytes(body)


async def test_records_that_siblings_repeat_count_each_time(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The units around them are read once; estimated, a list without a page size has ten."""
    monkeypatch.setattr(budget, "MAX_RECORDS_PER_REQUEST", 300)
    query = "{ units { data { asset { units { data { id } } } } } }"
    bodies = [await post_graphql(client, query) for _ in range(3)]
    [error] = bodies[0]["errors"]
    assert error["extensions"] == {"code": "LIMIT_EXCEEDED", "limit": "records", "max": 300}
    assert bodies[1] == bodies[2] == bodies[0]


async def test_an_operation_may_parse_only_a_few_drawings(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        resolvers.unit_maps, "run_on_drawing", lambda *_: pytest.fail("parses a drawing")
    )
    query = PARSE_OFTEN[:-1] + "more: parsedUnitMap(svg: $svg) { map } }"
    body = await post_graphql(client, query, {"svg": "<svg/>"})
    assert body["errors"][0]["extensions"]["limit"] == "cost"
