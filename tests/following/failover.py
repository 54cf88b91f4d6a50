"""Followers of changes while the primary fails over: none misses a change."""

import asyncio
import os
import signal
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import orjson
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from bench.load.machine import list_process_tree
from resolvers.request.caller import FLAGS
from storage.changes.events import ChangeCursor
from storage.errors import UnavailableCause
from tests.faults.catalog import ASSET, ATTRIBUTES, BLOCK_UNITS, MANY, build_catalog
from tests.faults.gateways import GatewayProcess, running
from tests.fixtures import create_world
from tests.gateway.subscriptions.service import PROTOCOL, read_events
from tests.storage.mongo.replica_set_of_three import ReplicaSet, find_free_ports, run_replica_set

KIND = "attribute_assignments"
SILENCE_SECONDS = 20.0
"""Longer than between two signs of life of any stream."""
RETRY_SECONDS = 0.1


class Write(NamedTuple):
    """A change of an assignment, as the service tells of it."""

    operation: str
    record_id: str


class LostError(Exception):
    """The server ended a stream, or refused to begin one."""


class Follower(ABC):
    """Keeps what it receives, and goes on after its last cursor whenever it is cut off."""

    def __init__(
        self, url: str, key: str, cursor: str, kinds: Sequence[str] | None = (KIND,)
    ) -> None:
        self.url = url
        self.kinds = kinds
        self.headers = {
            "API-Key": key,
            "X-Forwarded-Proto": "https",
            "Experimental-Flags": ", ".join(FLAGS),
        }
        self.cursor = cursor
        self.received: list[Write] = []
        self.cursors: list[str] = []
        self.connections = 0
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            try:
                async with aclosing(self.follow()) as changes:
                    async for change in changes:
                        self._keep(change)
            except (httpx.HTTPError, WebSocketException, OSError, LostError):
                await asyncio.sleep(RETRY_SECONDS)

    def build_request(self) -> dict[str, Any]:
        """Return the subscription to what comes after the cursor."""
        query = """subscription($after: String, $kinds: [RecordKind!]) {
          changes(after: $after, kinds: $kinds) { cursor operation kind recordId }
        }"""
        return {"query": query, "variables": {"after": self.cursor, "kinds": self.kinds}}

    @abstractmethod
    def follow(self) -> AsyncGenerator[dict[str, Any]]:
        """Yield changes after the cursor, over one connection."""

    async def wait_for(self, write: Write) -> None:
        """Wait until the follower has received a write."""
        while write not in self.received:
            self._news.clear()
            await self._news.wait()

    def find_problems(self, acknowledged: list[Write]) -> list[str]:
        """Return how what was received differs from what was acknowledged, in this order.

        A write that was not acknowledged may be received: it was perhaps made.
        """
        firsts = [*dict.fromkeys(self.received)]
        places = {write: place for place, write in enumerate(firsts)}
        problems = [f"{write} is lost" for write in acknowledged if write not in places]
        found = [places[write] for write in acknowledged if write in places]
        if found != sorted(found):
            problems.append("changes came in another order than they were made")
        positions = [ChangeCursor.parse(cursor).position for cursor in self.cursors]
        if any(later < earlier for earlier, later in pairwise(positions)):
            problems.append("a cursor leads back")
        if len(self.received) > len(firsts):
            problems.append(f"{len(self.received) - len(firsts)} changes came twice")
        return problems

    def _keep(self, change: dict[str, Any]) -> None:
        self.cursor = change["cursor"]
        self.cursors.append(self.cursor)
        record_id = change.get("recordId") or change.get("record_id")
        self.received.append(Write(change["operation"], str(record_id)))
        self._news.set()


class EventStreamFollower(Follower):
    """Server-sent events of GraphQL."""

    async def follow(self) -> AsyncGenerator[dict[str, Any]]:
        """Yield changes after the cursor, over one connection."""
        headers = self.headers | {"Accept": "text/event-stream"}
        body = self.build_request()
        async with (
            httpx.AsyncClient(timeout=SILENCE_SECONDS) as client,
            client.stream("POST", f"{self.url}/graphql", json=body, headers=headers) as response,
        ):
            _check_status(response)
            self.connections += 1
            async for name, result in read_events(response):
                if name == "next":
                    yield _read_result(result)
        raise LostError


class WebSocketFollower(Follower):
    """A WebSocket with graphql-transport-ws."""

    async def follow(self) -> AsyncGenerator[dict[str, Any]]:
        """Yield changes after the cursor, over one connection."""
        address = f"{self.url.replace('http', 'ws', 1)}/graphql"
        async with connect(
            address,
            subprotocols=[PROTOCOL],  # type: ignore[list-item]
            additional_headers=self.headers,
            ping_interval=SILENCE_SECONDS / 4,
            ping_timeout=SILENCE_SECONDS,
        ) as socket:
            payload = self.build_request()
            await socket.send(_dump({"type": "connection_init"}))
            await socket.send(_dump({"type": "subscribe", "id": "1", "payload": payload}))
            self.connections += 1
            while (message := orjson.loads(await socket.recv()))["type"] in (
                "connection_ack",
                "next",
            ):
                if message["type"] == "next":
                    yield _read_result(message["payload"])
        raise LostError


class Poller(Follower):
    """Requests of `GET /v1/changes`, one after the other."""

    async def follow(self) -> AsyncGenerator[dict[str, Any]]:
        """Yield changes after the cursor, over one connection."""
        async with httpx.AsyncClient(timeout=SILENCE_SECONDS, headers=self.headers) as client:
            self.connections += 1
            while True:
                parameters = {"after": self.cursor, "kinds": ",".join(self.kinds or ())}
                response = await client.get(f"{self.url}/v1/changes", params=parameters)
                _check_status(response)
                body = response.json()
                for change in body["data"]:
                    yield change
                self.cursor = body["cursor"]
                if not body["has_more"]:
                    await asyncio.sleep(RETRY_SECONDS)


def _check_status(response: httpx.Response) -> None:
    if response.status_code >= 500:
        raise LostError
    assert response.status_code == 200, response.status_code


def _read_result(result: dict[str, Any]) -> dict[str, Any]:
    """Return the change of an event; an event without data ends its stream."""
    if not result.get("data"):
        codes = {error["extensions"]["code"] for error in result["errors"]}
        assert codes <= {*UnavailableCause}, result
        raise LostError
    change: dict[str, Any] = result["data"]["changes"]
    return change


def _dump(message: object) -> str:
    return orjson.dumps(message).decode()


ELECTION_MS = 3_000
ANSWER_SECONDS = 60.0
"""Much longer than the service takes to answer anything, 503 included."""
WRITES_BETWEEN = 10
"""Acknowledged writes before, between and after kills."""
_ASSIGNMENTS = f"/v1/units/attribute-groups/{MANY}/assignments"


class Writer:
    """Assigns and unassigns attributes, none twice, and repeats each write until it is answered."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        self.acknowledged: list[Write] = []
        self._url = url
        self._headers = headers
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Write until cancelled."""
        # A client that gives up sooner than the service would send a write again while the first
        # one may still be made: after its removal, say, and so twice.
        async with httpx.AsyncClient(
            base_url=self._url, headers=self._headers, timeout=ANSWER_SECONDS
        ) as client:
            for attribute in ATTRIBUTES:
                unit = BLOCK_UNITS[0][0]
                row = {"asset_id": ASSET, "unit_id": unit, "attribute_id": attribute}
                record_id = f"{MANY}/{unit}/{attribute}"
                await _repeat(client, "PUT", _ASSIGNMENTS, row)
                self._count(Write("created", record_id))
                await _repeat(client, "POST", f"{_ASSIGNMENTS}/remove", row)
                self._count(Write("removed", record_id))

    async def wait_for_writes(self, count: int = WRITES_BETWEEN) -> None:
        """Wait until so many more writes are acknowledged."""
        wanted = len(self.acknowledged) + count
        while len(self.acknowledged) < wanted:
            self._news.clear()
            await self._news.wait()

    def _count(self, write: Write) -> None:
        self.acknowledged.append(write)
        self._news.set()


async def _repeat(client: httpx.AsyncClient, method: str, path: str, row: dict[str, str]) -> None:
    body = {"data": [{"group_id": MANY, **row}]}
    while True:
        try:
            response = await client.request(method, path, json=body)
        except httpx.HTTPError:
            await asyncio.sleep(RETRY_SECONDS)
            continue
        if response.status_code in (200, 204):
            return
        if response.status_code < 500:
            raise AssertionError(response.text)
        await asyncio.sleep(RETRY_SECONDS)


class Service:
    """A replica set of three and a gateway with two workers."""

    def __init__(self, replica_set: ReplicaSet, gateway: GatewayProcess) -> None:
        self.replica_set = replica_set
        self.gateway = gateway

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"http://127.0.0.1:{self.gateway.port}"

    def kill_primary(self) -> None:
        """Kill the primary, and restart it when another has been elected."""
        primary = self.replica_set.wait_for_primary()
        primary.kill()
        self.replica_set.wait_for_primary(primary)
        primary.restart()

    def kill_workers(self) -> None:
        """Kill all processes but the supervisor, so that all connections are lost."""
        assert self.gateway.process is not None
        _, *others = list_process_tree(self.gateway.process.pid)
        for pid in others:
            os.kill(pid, signal.SIGKILL)


@contextmanager
def run_service(folder: Path) -> Iterator[Service]:
    """Start it in an empty folder; kill it afterwards."""
    with run_replica_set(folder, election_timeout_ms=ELECTION_MS) as replica_set:
        world = asyncio.run(
            create_world(replica_set.url, "following", folder / "bundle.json", build_catalog())
        )
        (port,) = find_free_ports(1)
        gateway = GatewayProcess(0, port, folder, replica_set.url, "following", world.keys.full)
        with running(gateway):
            yield Service(replica_set, gateway)


async def follow_through(
    service: Service, kills: list[Callable[[], None]]
) -> tuple[list[Write], list[Follower]]:
    """Return the acknowledged writes, and followers that have received all that they will."""
    key, url = service.gateway.key, service.url
    start = Poller(url, key, "")
    async with httpx.AsyncClient(headers=start.headers) as client:
        response = await client.get(f"{url}/v1/changes")
        cursor = response.raise_for_status().json()["cursor"]
    followers = [
        kind(url, key, cursor) for kind in (EventStreamFollower, WebSocketFollower, Poller)
    ]
    writer = Writer(url, start.headers)
    async with asyncio.TaskGroup() as group:
        writing, *following = [group.create_task(each.run()) for each in (writer, *followers)]
        await writer.wait_for_writes()
        for kill in kills:
            await asyncio.to_thread(kill)
            await writer.wait_for_writes()
        writing.cancel()
        for follower in followers:
            await follower.wait_for(writer.acknowledged[-1])
        for task in following:
            task.cancel()
    return writer.acknowledged, [*followers]
