"""Attacks on GraphQL services: each is refused by a bound, and nothing of it runs."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from pymongo import monitoring

from gateway.documents.graphql_request import MAX_BODY_BYTES
from schema.execution import Executor
from schema.query_limits import QueryLimits
from schema.validation import MAX_VALIDATION_ERRORS
from tests.fixtures import ALL_FLAGS, CATALOG, World, gateway_client
from tests.resolvers.directory import Commands
from tests.schema.test_query_size import flat_fragments, nested_fragments

pytestmark = pytest.mark.anyio

LIMITS = QueryLimits()
CREATE = 'mutation { createApiKey(input: { name: "attack", allAssets: true }) { key } }'
BY_ID = "query ($id: ID!) { unit(id: $id) { id } }"
VALIDATE, LIMIT = "GRAPHQL_VALIDATION_FAILED", "LIMIT_EXCEEDED"
BAD, INVALID = "BAD_REQUEST", "INVALID_INPUT"


def repeat(text: str, times: int, between: str = " ") -> str:
    """`#` in the text becomes the number of the repetition."""
    return between.join(text.replace("#", str(number)) for number in range(times))


def body(query: str, **variables: Any) -> bytes:
    return json.dumps({"query": query, "variables": variables}).encode()


def over(limit: str) -> str:
    return f"over the limit of {getattr(LIMITS, limit)}"


Attack = tuple[Callable[[], bytes], str, str]
"""A body; the code of its errors; a part of the message: the bound that stops it."""

ATTACKS: dict[str, Attack] = {
    "aliases-in-fragments": (
        lambda: body(f"{{ {'...F ' * 40} }} fragment F on Query {{ a: __typename }}"),
        LIMIT,
        over("aliases"),
    ),
    "repeated-fields-in-fragments": (
        lambda: body(
            f"{{ {repeat('...F#', 100)} }} "
            + repeat("fragment F# on Query { a: __typename __typename __typename }", 100)
        ),
        LIMIT,
        over("aliases"),
    ),
    "overlapping-fields": (
        lambda: body(
            f"{{ {repeat('...F#', 25)} }} "
            + repeat('fragment F# on Query { same: unit(id: "#") { id } }', 25)
        ),
        VALIDATE,
        "conflict because they have differing arguments",
    ),
    "nested-fragments": (lambda: body(nested_fragments(60)), LIMIT, "over the limit of"),
    "flat-fragments": (lambda: body(flat_fragments(60)), LIMIT, over("breadth")),
    "circular-fragments": (
        lambda: body("{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }"),
        VALIDATE,
        "Cannot spread fragment",
    ),
    "long-text": (lambda: body(BY_ID, id="x" * 900_000), INVALID, "255 characters"),
    "many-operations": (
        lambda: body(repeat("query Q# { __typename }", 200)),
        "OPERATION_RESOLUTION_FAILURE",
        "Name one",
    ),
    "operator-as-id": (lambda: body(BY_ID, id={"$ne": None}), INVALID, "ID cannot represent"),
    "batch": (
        lambda: json.dumps([{"query": "{ __typename }"}] * 1_000).encode(),
        BAD,
        "Batches are not supported",
    ),
    "large-body": (
        lambda: body("{ __typename }", text="x" * MAX_BODY_BYTES),
        "BODY_TOO_LARGE",
        f"{MAX_BODY_BYTES}",
    ),
}


class Target:
    """A gateway of its own, and what runs in it."""

    def __init__(self, client: httpx.AsyncClient, commands: Commands) -> None:
        self.client = client
        self.commands = commands
        self.runs = 0

    @property
    def reads(self) -> list[str]:
        """The collections of the catalog that were read."""
        return [collection for collection in self.commands.sent if collection in CATALOG]

    async def attack(self, content: bytes, **headers: str) -> httpx.Response:
        headers = {"Content-Type": "application/json", **ALL_FLAGS, **headers}
        self.runs = 0
        self.commands.clear()
        return await self.client.post("/graphql", content=content, headers=headers)


@pytest.fixture(scope="module")
async def attacked(world: World, anyio_backend: str) -> AsyncIterator[Target]:
    commands = Commands(world.database)
    monitoring.register(commands)  # for the clients that are made from here on
    async with gateway_client(world.settings(rate_limit=0, cache_mb=0), world.keys.full) as client:
        yield Target(client, commands)


@pytest.fixture
def target(attacked: Target, monkeypatch: pytest.MonkeyPatch) -> Target:
    original = Executor.run

    async def run(*arguments: Any) -> Any:
        attacked.runs += 1
        return await original(*arguments)

    monkeypatch.setattr(Executor, "run", run)
    return attacked


async def test_an_ordinary_operation_is_seen_to_run(target: Target) -> None:
    response = await target.attack(body(BY_ID, id="unit-1"))
    assert response.json() == {"data": {"unit": {"id": "unit-1"}}}
    assert target.runs == 1
    assert target.reads == ["units"]


@pytest.mark.parametrize("name", ATTACKS)
async def test_an_attack_is_refused_and_nothing_runs(target: Target, name: str) -> None:
    make, code, bound = ATTACKS[name]
    response = await target.attack(make())
    errors = response.json()["errors"]
    assert {error["extensions"]["code"] for error in errors} == {code}
    assert bound in errors[0]["message"]
    assert target.reads == []
    assert target.runs == (code == INVALID)  # values are checked by the fields that take them
    assert response.json().get("data") in (None, {"unit": None})
    # What is sent back is small, and helps nobody to guess.
    assert len(errors) <= MAX_VALIDATION_ERRORS + 1
    assert len(response.content) < 5_000
    assert "did you mean" not in response.text.lower()


@pytest.mark.parametrize(
    "media_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
        "",
    ],
)
async def test_no_site_can_make_a_browser_write(target: Target, media_type: str) -> None:
    """Browsers send these types to other sites without asking them first."""
    response = await target.attack(body(CREATE), **{"Content-Type": media_type})
    assert response.status_code == 415
    assert target.runs == 0
