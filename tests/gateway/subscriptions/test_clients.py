"""The clients that front ends use, graphql-ws and graphql-sse: they follow, resume and give up."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures import World
from tests.gateway.server.served_application import on_server_loop
from tests.gateway.subscriptions.service import (
    TICKS,
    Service,
    open_sources,
    publish,
    serve,
    wait_for_other_subscription,
    wait_for_subscriptions,
)
from tests.rest.packages import Packages, install

TOOLS = Path(__file__).with_name("tools")

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("subscription-clients")]


@pytest.fixture(scope="module")
def packages() -> Packages:
    return install(TOOLS)


@asynccontextmanager
async def follow(
    packages: Packages, transport: str, service: Service, query: str = TICKS, key: str = ""
) -> AsyncIterator[asyncio.StreamReader]:
    """The output of a client: a line of JSON for each result."""
    process = await asyncio.create_subprocess_exec(
        packages.node_directory / "node",
        "follow.js",
        transport,
        service.address,
        key or service.world.keys.full,
        query,
        cwd=TOOLS,
        env={**os.environ},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def read(output: asyncio.StreamReader) -> Any:
    return json.loads(await output.readline())


@pytest.mark.parametrize("transport", ["ws", "sse"])
@on_server_loop
async def test_a_client_follows_over_a_restart(
    world: World, packages: Packages, transport: str
) -> None:
    async with serve(world) as service, follow(packages, transport, service) as output:
        await wait_for_subscriptions()
        publish(1)
        assert await read(output) == {"data": {"ticks": {"number": 1}}}

        earlier = open_sources()
        service.gateway.streams.end_all()
        service.gateway.streams.subscriptions.is_closed = False
        service.gateway.streams.sockets.is_closed = False

        await wait_for_other_subscription(earlier)
        publish(2)
        assert await read(output) == {"data": {"ticks": {"number": 2}}}
        publish(0)
        assert await read(output) == "complete"


@pytest.mark.parametrize(
    ("transport", "expected"),
    [
        ("ws", {"code": 4403, "reason": "Invalid authentication credentials"}),
        ("sse", {"message": "Server responded with 403: Forbidden"}),
    ],
)
@on_server_loop
async def test_a_client_gives_up_with_a_key_that_is_not_valid(
    world: World, packages: Packages, transport: str, expected: dict[str, Any]
) -> None:
    async with (
        serve(world) as service,
        follow(packages, transport, service, key="fgk_wrong") as output,
    ):
        answer = await read(output)
        assert expected.items() <= answer.items()
