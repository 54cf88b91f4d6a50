"""A gateway on a real socket of this process, with a subscription that tests feed."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx
import orjson
import strawberry
from graphql import GraphQLSchema
from strawberry.schema.config import StrawberryConfig
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from gateway.app import Gateway
from gateway.server.config import ConnectionLimits
from resolvers.request.caller import ADMINISTER
from resolvers.request.context import Info
from schema.definitions import guard_fields
from schema.fields import resolver_field
from schema.root import Mutation, Query, resolve_types_by_record
from schema.types import SCALAR_DEFINITIONS, Unit
from storage.catalog import UNITS
from storage.catalog import Unit as UnitRecord
from tests.fixtures import UNIT, World, run_gateway
from tests.gateway.server import served_application

TICKS = "subscription Ticks { ticks { number } }"
PROTOCOL = "graphql-transport-ws"

_queues: set[asyncio.Queue[int | Exception]] = set()


def publish(value: int | Exception) -> None:
    """Have all subscriptions see a tick, or an error of their source; 0 ends them."""
    for queue in _queues:
        queue.put_nowait(value)


def count_subscriptions() -> int:
    """How many sources are open."""
    return len(_queues)


async def watch_ticks(info: Info, unit: str | None = None) -> AsyncGenerator[int]:
    """What `publish` publishes."""
    queue: asyncio.Queue[int | Exception] = asyncio.Queue()
    _queues.add(queue)
    try:
        while value := await queue.get():
            if isinstance(value, Exception):
                raise value
            yield value
    finally:
        _queues.discard(queue)


async def tell_number(parent: strawberry.Parent[int], info: Info) -> int:
    """The number of the tick."""
    return parent


async def read_unit(parent: strawberry.Parent[int], info: Info) -> UnitRecord | None:
    """A unit of the north."""
    return await info.context.get_record(UNITS, UNIT)


async def read_southern_unit(parent: strawberry.Parent[int], info: Info) -> UnitRecord | None:
    """A unit that not every key may see."""
    return await info.context.get_record(UNITS, "unit-s")


@strawberry.type
class Tick:
    number = resolver_field(tell_number, int)
    unit = resolver_field(read_unit, Unit | None)
    southern_unit = resolver_field(read_southern_unit, Unit | None)
    secret = resolver_field(tell_number, int | None, ADMINISTER)


@strawberry.type
class Subscription:
    ticks = resolver_field(watch_ticks, Tick)


SCHEMA = strawberry.Schema(
    query=Query,
    mutation=Mutation,
    subscription=Subscription,
    config=StrawberryConfig(scalar_map=SCALAR_DEFINITIONS),
)._schema
guard_fields(SCHEMA)
resolve_types_by_record(SCHEMA)


@dataclass(frozen=True)
class Service:
    """The gateway, and clients of it."""

    gateway: Gateway
    port: int
    world: World

    @property
    def address(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.port}"

    def client(self, key: str | None = None) -> httpx.AsyncClient:
        """A client with a key, the full one unless another is given."""
        headers = {"API-Key": key or self.world.keys.full}
        return httpx.AsyncClient(base_url=self.address, headers=headers, timeout=600)

    def open_socket(self, **options: Any) -> connect:
        """A WebSocket before `connection_init`; headers are in `additional_headers`."""
        options = {"subprotocols": [PROTOCOL], "compression": None, **options}
        return connect(f"ws://127.0.0.1:{self.port}/graphql", **options)

    @asynccontextmanager
    async def socket(self, key: str | None = None, **payload: Any) -> AsyncIterator["Socket"]:
        """A WebSocket after `connection_ack`."""
        async with self.open_socket() as connection:
            socket = Socket(connection)
            await socket.send(
                "connection_init", payload={"apiKey": key or self.world.keys.full, **payload}
            )
            assert await socket.receive() == {"type": "connection_ack"}
            yield socket


@dataclass(frozen=True)
class Socket:
    """One WebSocket of a client."""

    connection: ClientConnection

    async def send(self, kind: str, **members: Any) -> None:
        """Send a message."""
        await self.connection.send(orjson.dumps({"type": kind, **members}).decode())

    async def subscribe(self, query: str = TICKS, id: str = "1", **members: Any) -> None:
        """Start an operation."""
        await self.send("subscribe", id=id, payload={"query": query, **members})

    async def receive(self) -> dict[str, Any]:
        """The next message."""
        message: dict[str, Any] = orjson.loads(await self.connection.recv())
        return message

    async def wait_for_close(self) -> tuple[int | None, str | None]:
        """The code and the reason with which the server closes it; what else it says is skipped."""
        with suppress(ConnectionClosed):
            while True:
                await self.connection.recv()
        return self.connection.close_code, self.connection.close_reason


@asynccontextmanager
async def serve(
    world: World, *, schema: GraphQLSchema = SCHEMA, **settings: Any
) -> AsyncIterator[Service]:
    """A gateway on a free port."""
    settings.setdefault("base_url", None)
    async with run_gateway(world.settings(**settings)) as gateway:
        gateway.executor.schema = schema
        async with served_application.listen(
            gateway.build_app(),
            ConnectionLimits(),
            admission=gateway.admission,
            websocket_paths=gateway.websocket_paths,
        ) as listener:
            try:
                yield Service(gateway, listener.port, world)
            finally:
                gateway.streams.end_all()


async def wait_for_subscriptions(count: int = 1) -> None:
    """Wait until so many sources are open."""
    await served_application.wait_until(lambda: count_subscriptions() == count)


async def wait_for_other_subscription(earlier: set[Any]) -> None:
    """Wait until a source is open that is none of the earlier ones, and these are closed."""
    await served_application.wait_until(
        lambda: bool(open_sources()) and not open_sources() & earlier
    )


def open_sources() -> set[Any]:
    """The open sources."""
    return {*_queues}


async def read_events(response: httpx.Response) -> AsyncIterator[tuple[str, Any]]:
    """The events of a stream: name and data. Comments are skipped."""
    name = ""
    async for line in response.aiter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data:"):
            data = line.removeprefix("data:").strip()
            yield name, orjson.loads(data) if data else None
