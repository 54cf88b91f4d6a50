"""Texts that differ in literals only have the responses that they would have without templates."""

from dataclasses import replace

import pytest

from schema.costs.query_limits import QueryLimits
from tests.fixtures import World, open_client, post_graphql, run_gateway

pytestmark = pytest.mark.anyio

DRAWINGS = """units(perPage: 5) { data { asset { units(perPage: 20) { data {
    maps(perPage: 2) { data { parsed } } } } } } }"""
DENIED = "x: units(perPage: 1) { data { attributes { data { attributeId } } } }"
INTERPRETED = '__type(name: "Unit") { name }'


@pytest.mark.parametrize("other", [DENIED, INTERPRETED])
async def test_drawings_are_refused_before_they_take_memory(world: World, other: str) -> None:
    """Where a text turns out to need another run, that one counts on the budget of the response."""
    messages = []
    async with run_gateway(world.settings()) as gateway:
        gateway.service.executor.limits = replace(QueryLimits(), response_bytes=10_000)
        async with open_client(gateway, world.keys.restricted) as client:
            for number in range(4):
                body = await post_graphql(client, f"query Q{number} {{ {other} {DRAWINGS} }}")
                messages.append(body["errors"][-1]["message"])
    assert "at least" in messages[0]
    assert len({*messages}) == 1
