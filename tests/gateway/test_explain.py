"""With `Floorgate-Explain: true`, a request is explained; without it, nothing changes."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import httpx
import orjson
import pytest

from gateway.app import Gateway
from gateway.read_descriptions import MAX_CHARACTERS, MAX_VALUES, shorten
from resolvers.request.caller import EXPLAIN_PERMISSION, PERMISSIONS
from tests.endpoints import ENDPOINTS
from tests.fixtures import (
    ALL_FLAGS,
    HIDDEN_MAP,
    MAP,
    OTHER_MAP,
    SEEN,
    UNIT,
    World,
    make_key,
    open_client,
    open_database,
    run_following_gateway,
    run_gateway,
)

GRAPHQL_RESPONSE = "application/graphql-response+json"
STREAM = {"Accept": "text/event-stream"}
EXPLAIN = {"Floorgate-Explain": "true"}
GROUP = "/v1/units/attribute-groups/view/assignments"


@pytest.fixture
async def limited(own_world: World) -> AsyncIterator[httpx.AsyncClient]:
    """Sees `SEEN` alone and may have explanations."""
    async with open_database(own_world) as database:
        _, key = await make_key(database, "limited", permissions=PERMISSIONS[:-1], asset_ids=[SEEN])
    async with run_gateway(own_world.settings()) as gateway, open_client(gateway, key) as client:
        yield client


async def explain(
    client: httpx.AsyncClient, path: str, headers: dict[str, str] | None = None
) -> dict[str, Any]:
    response = await client.get(path, headers=EXPLAIN | (headers or {}))
    assert response.status_code == 200, response.text
    explanation: dict[str, Any] = response.json()
    return explanation


async def explain_query(
    client: httpx.AsyncClient,
    query: str,
    variables: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> dict[str, Any]:
    body = {"query": query, "variables": variables or {}}
    response = await client.post("/graphql", json=body, headers=EXPLAIN | (headers or {}))
    assert response.status_code == 200, response.text
    explanation: dict[str, Any] = response.json()
    return explanation


async def test_a_list_shows_its_operation_command_and_index(client: httpx.AsyncClient) -> None:
    response = await client.get(f"/v1/units?asset={SEEN}&per-page=2", headers=EXPLAIN)
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"
    explanation = response.json()
    assert explanation["request"] == {"method": "GET", "path": "/v1/units"}
    operation = explanation["operation"]
    assert (operation["kind"], operation["name"], operation["was_run"]) == (
        "query",
        "ListUnits",
        True,
    )
    assert operation["variables"] == {"asset": SEEN, "perPage": 2}
    assert operation["document"].startswith("query ListUnits(")
    assert explanation["cost"]["estimated"] >= 2
    assert explanation["cost"]["actual"] == explanation["cost"]["records_read"] == 2
    [command] = explanation["commands"]
    assert (command["command"], command["collection"]) == ("find", "units")
    assert command["filter"] == {"asset_id": SEEN}
    assert command["sort"] == {"_id": 1}
    assert command["plan"] == [
        {
            "stage": "IXSCAN",
            "index_name": "asset_id_1__id_1",
            "index_keys": {"asset_id": 1, "_id": 1},
        }
    ]
    assert command["returned"] == command["documents_examined"] == 3  # one tells of the next page
    assert command["milliseconds"] > 0
    assert command["milliseconds"] == round(command["milliseconds"], 3)
    assert type(command["milliseconds_in_mongodb"]) is int
    assert explanation["response"]["status"] == 200
    plain = await client.get(f"/v1/units?asset={SEEN}&per-page=2")
    assert explanation["response"]["bytes"] == len(plain.content)


async def test_no_list_of_rest_scans_a_collection(client: httpx.AsyncClient) -> None:
    lists = [row.path for row in ENDPOINTS if row.method == "GET" and "{" not in row.path]
    for path in lists:
        explanation = await explain(client, path, ALL_FLAGS)
        assert explanation["response"]["status"] == 200, path
        for command in explanation["commands"]:
            scans = [scan["stage"] for scan in command["plan"]]
            assert scans, command
            assert "COLLSCAN" not in scans, command


async def test_without_the_permission_nothing_is_run(
    restricted: httpx.AsyncClient, anonymous: httpx.AsyncClient
) -> None:
    assert (await anonymous.get("/v1/units", headers=EXPLAIN)).status_code == 401
    for headers in (EXPLAIN, {"Floorgate-Explain": " TRUE "}, {"Floorgate-Explain": "1"}):
        response = await restricted.get("/v1/units", headers=headers)
        assert response.status_code == 403
        body = response.json()
        assert body["code"] == "PERMISSION_REQUIRED"
        assert EXPLAIN_PERMISSION in body["message"]
    response = await restricted.post("/graphql", json={"query": "{ nope }"}, headers=EXPLAIN)
    [error] = response.json()["errors"]
    assert response.status_code == 403
    assert error["extensions"]["code"] == "PERMISSION_REQUIRED"


async def test_the_header_can_ask_for_nothing(client: httpx.AsyncClient) -> None:
    plain = await client.get("/v1/units")
    for value in ("false", "False", ""):
        response = await client.get("/v1/units", headers={"Floorgate-Explain": value})
        assert response.content == plain.content


async def test_errors_are_explained(client: httpx.AsyncClient) -> None:
    missing = await explain(client, "/v1/units/nope")
    assert missing["response"]["status"] == 404
    assert missing["response"]["error"]["code"] == "NOT_FOUND"
    assert [command["collection"] for command in missing["commands"]] == ["units"]
    invalid = await explain(client, "/v1/units?per-page=x")
    assert invalid["response"]["error"]["fields"].keys() == {"per-page"}
    assert invalid["operation"]["name"] == "ListUnits"
    assert invalid["operation"]["variables"] is None
    assert invalid["commands"] == []


async def test_unmet_requirements_are_shown(client: httpx.AsyncClient) -> None:
    explanation = await explain(client, "/v1/units/attribute-groups")
    assert explanation["response"]["status"] == 400
    assert explanation["requirements"] == [
        {
            "where": "Query.attributeGroups",
            "flag": "unit-attributes-resource",
            "permission": "service.unit-attributes.read",
            "is_met": False,
        }
    ]
    met = await explain(client, "/v1/units/attribute-groups", ALL_FLAGS)
    assert [requirement["is_met"] for requirement in met["requirements"]] == [True]


async def test_requirements_of_given_arguments_are_shown(client: httpx.AsyncClient) -> None:
    query = "query ($by: ReferenceFilter) { units(reference: $by) { data { id } } }"
    by = {"by": {"key": "crm", "value": "3"}}
    given = await explain_query(client, query, by, ALL_FLAGS)
    assert [item["where"] for item in given["requirements"]] == ["Query.units(reference:)"]
    assert (await explain_query(client, query))["requirements"] == []


async def test_a_query_shows_the_commands_of_nested_lists(client: httpx.AsyncClient) -> None:
    query = "{ assets { data { id floors { data { id } } units(perPage: 1) { totalCount } } } }"
    explanation = await explain_query(client, query)
    assert explanation["operation"] == {
        "kind": "query",
        "name": None,
        "document": query,
        "variables": {},
        "was_run": True,
    }
    assert explanation["cost"]["limit"] == 50_000
    used = [(item["command"], item["collection"]) for item in explanation["commands"]]
    assert ("find", "floors") in used
    assert ("aggregate", "units") in used
    for command in explanation["commands"]:
        assert all(scan["stage"] != "COLLSCAN" for scan in command["plan"])


async def test_a_costly_query_is_refused_by_the_same_limits(client: httpx.AsyncClient) -> None:
    query = "{ units(perPage: 1000) { data { floor { units(perPage: 1000) { data { id } } } } } }"
    explanation = await explain_query(client, query, headers={"Accept": GRAPHQL_RESPONSE})
    assert explanation["response"]["status"] == 400
    [error] = explanation["response"]["error"]["errors"]
    assert error["extensions"]["code"] == "LIMIT_EXCEEDED"
    assert explanation["operation"] is None
    assert explanation["cost"]["estimated"] == error["extensions"]["requested"] > 1_000_000
    assert explanation["cost"]["limit"] == 50_000
    assert explanation["commands"] == []
    nested = "{ units { data " + "{ floor { units { data " * 20 + "{ id }" + "}}}" * 20 + "}}"
    assert (await explain_query(client, nested))["cost"]["estimated"] is None


async def test_mutations_are_explained_and_not_run(own_world: World) -> None:
    full = own_world.keys.full
    async with run_gateway(own_world.settings()) as gateway, open_client(gateway, full) as client:
        before = (await client.get(GROUP, headers=ALL_FLAGS)).json()
        item = {"group_id": "view", "attribute_id": "yard", "asset_id": SEEN, "unit_id": UNIT}
        body = {"data": [item]}
        response = await client.put(GROUP, json=body, headers=ALL_FLAGS | EXPLAIN)
        explanation = response.json()
        assert explanation["operation"]["kind"] == "mutation"
        assert not explanation["operation"]["was_run"]
        assert explanation["requirements"][0]["permission"] == "service.unit-attributes.write"
        assert explanation["response"] is None
        assert explanation["commands"] == []
        mutation = 'mutation { closeNothing: revokeApiKey(input: {id: "x"}) { __typename } }'
        revoked = await explain_query(client, mutation)
        assert (revoked["operation"]["was_run"], revoked["response"]) == (False, None)
        invalid = await client.put(GROUP, json={}, headers=ALL_FLAGS | EXPLAIN)
        assert invalid.json()["response"]["status"] == 422
        assert not invalid.json()["operation"]["was_run"]
        assert (await client.get(GROUP, headers=ALL_FLAGS)).json() == before


async def test_subscriptions_are_explained_and_not_opened(client: httpx.AsyncClient) -> None:
    query = "subscription { changes { __typename } }"
    explanation = await explain_query(client, query, headers=ALL_FLAGS | STREAM)
    assert explanation["operation"]["kind"] == "subscription"
    assert not explanation["operation"]["was_run"]
    assert explanation["requirements"][0]["is_met"]
    streamed = await explain_query(client, "{ units { data { id } } }", headers=STREAM)
    assert streamed["response"]["status"] == 200


async def test_caches_are_asked_and_left_alone(never_expire: None, own_world: World) -> None:
    path, full = f"/v1/units/{UNIT}", own_world.keys.full
    headers = [(b"api-key", full.encode()), (b"host", b"directory.test"), (b"accept", b"*/*")]
    async with (
        run_following_gateway(own_world.settings()) as gateway,
        open_client(gateway, full) as client,
    ):
        assert gateway.state is not None
        for _ in range(2):
            explanation = await explain(client, path)
            assert explanation["caches"] == {
                "response": "miss",
                "fast_path": False,
                "records": {"hits": 0, "misses": 1},
            }
        assert gateway.state.response_cache.counters.entries == 0
        plain = await client.get(path)
        counters = gateway.state.response_cache.counters
        explanation = await explain(client, path)
        assert explanation["caches"] == {
            "response": "hit",
            "fast_path": True,
            "records": {"hits": 1, "misses": 0},
        }
        assert len(explanation["commands"]) == 1
        assert gateway.state.response_cache.counters == counters
        assert gateway.state.fast_path.find(path.encode(), headers) is not None
        explained = [*headers, (b"floorgate-explain", b"true")]
        assert gateway.state.fast_path.find(path.encode(), explained) is None
        assert (await client.get(path)).content == plain.content


async def test_it_says_whether_a_repeated_query_takes_the_fast_path(
    never_expire: None, own_world: World
) -> None:
    async with (
        run_following_gateway(own_world.settings()) as gateway,
        open_client(gateway, own_world.keys.full) as client,
    ):
        query = "{ units { data { id } } }"
        before = await explain_query(client, query)
        await client.post("/graphql", json={"query": query, "variables": {}})
        caches = [(await explain_query(client, each))["caches"] for each in (query, query + " ")]
        assert before["caches"]["fast_path"] is False
        assert [each["fast_path"] for each in caches] == [True, False]


async def test_concurrent_requests_do_not_mix_their_commands(client: httpx.AsyncClient) -> None:
    paths = {f"/v1/units/{UNIT}": "units", "/v1/maps": "maps", f"/v1/assets/{SEEN}": "assets"}
    explained = await asyncio.gather(
        *(explain(client, path) for path in paths for _ in range(5)),
        *(client.get("/v1/assets/north/floors") for _ in range(10)),
    )
    for explanation in explained[:15]:
        assert isinstance(explanation, dict)
        collection = paths[explanation["request"]["path"]]
        assert {item["collection"] for item in explanation["commands"]} == {collection}


async def test_a_limited_key_learns_nothing_of_other_records(limited: httpx.AsyncClient) -> None:
    hidden, absent = [
        await explain(limited, f"/v1/units/{unit}") for unit in ("unit-s", "unit-of-none")
    ]
    [command] = hidden["commands"]
    assert command["filter"] == {"_id": "…"}
    assert command["plan"] is None
    assert {scan["index_name"] for scan in command["considered"]} == {"_id_"}
    for explanation in (hidden, absent):
        for command in explanation["commands"]:
            for name in [name for name in command if name.startswith("milliseconds")]:
                del command[name]
    assert hidden["commands"] == absent["commands"]
    query = "{ maps { data { id units(perPage: 1) { totalCount } } } assets { totalCount } }"
    text = json.dumps((await explain_query(limited, query))["commands"])
    assert all(secret not in text for secret in (HIDDEN_MAP, "south", MAP, OTHER_MAP))


async def test_without_caches_a_record_and_its_list_are_read_with_one_command(
    own_world: World,
) -> None:
    async with open_database(own_world) as database:
        _, key = await make_key(database, "limited", permissions=PERMISSIONS[:-1], asset_ids=[SEEN])
    settings = own_world.settings(cache_mb=0)
    async with (
        run_gateway(settings) as gateway,
        open_client(gateway, key) as limited,
        open_client(gateway, own_world.keys.full) as full,
    ):
        assert (await explain(full, "/v1/units"))["caches"] == {
            "response": "off",
            "fast_path": False,
            "records": None,
        }
        for client in (limited, full):
            for path, collection in (
                (f"/v1/maps/{quote(MAP, safe='')}/levels/tags", "maps"),
                (f"/v1/maps/{quote(MAP, safe='')}/backgrounds", "maps"),
                (f"/v1/assets/{SEEN}/floors?per-page=1&order-by=sort", "assets"),
            ):
                explanation = await explain(client, path, ALL_FLAGS)
                used = [(each["command"], each["collection"]) for each in explanation["commands"]]
                assert used == [("aggregate", collection)], path
                assert explanation["response"]["status"] == 200


async def test_the_key_is_nowhere_in_the_explanation(gateway: Gateway, world: World) -> None:
    key = world.keys.full
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(open_client(gateway, None))
        response = await client.get(f"/v1/units?api-key={key}", headers=EXPLAIN)
        assert response.json()["response"]["status"] == 200
        assert key not in response.text


async def test_an_explanation_counts_for_the_rate_limit(world: World) -> None:
    settings = world.settings(rate_limit=0.001, rate_burst=2)
    async with run_gateway(settings) as gateway, open_client(gateway, world.keys.full) as client:
        statuses = [(await client.get("/v1/units", headers=EXPLAIN)).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]


async def test_an_explanation_shows_the_text_that_was_sent_though_its_shape_is_known(
    client: httpx.AsyncClient,
) -> None:
    text = 'query Q%d { unit(id: "unit-%d") { id } }'
    for number in range(4):
        await client.post("/graphql", json={"query": text % (number, number)})
    for number in (3, 4):
        operation = (await explain_query(client, text % (number, number)))["operation"]
        assert (operation["name"], operation["document"], operation["variables"]) == (
            f"Q{number}",
            text % (number, number),
            {},
        )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        (True, True),
        (1.5, 1.5),
        (2**53 - 1, 2**53 - 1),
        (-(2**53), str(-(2**53))),  # no number of JavaScript is exact from here on
        (b"drawing", "7 bytes"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        ("x" * 300, "x" * MAX_CHARACTERS + "…"),
        ("\ud800", "?"),  # a lone surrogate
        ([*range(10)], [*range(10)]),
        ([*range(11)], [*range(10), "… 1 more"]),
        ({"a": {"$in": ("b",)}}, {"a": {"$in": ["b"]}}),
    ],
)
def test_values_become_short_json(value: Any, shown: Any) -> None:
    assert shorten(value) == shown
    orjson.dumps(shorten(value))


def test_a_deep_and_wide_value_is_cut() -> None:
    value: Any = "leaf"
    for _ in range(6):
        value = [value] * 10
    assert orjson.dumps(shorten(value)).count(b"leaf") < MAX_VALUES


def test_only_some_values_are_shown() -> None:
    condition = {"$and": [{"_id": {"$in": ["a", "b"]}}, {"asset_id": "own", "n": 3}]}
    hidden = {"$and": [{"_id": {"$in": ["…"]}}, {"asset_id": "own", "n": "…"}]}
    assert shorten(condition, shown={"own"}) == hidden
