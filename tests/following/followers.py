"""Clients that follow changes by each transport, and connect again after their last cursor."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing
from itertools import pairwise
from typing import Any, NamedTuple

import httpx
import orjson
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from resolvers.request.caller import FLAGS
from storage.changes.events import ChangeCursor
from tests.gateway.subscriptions.service import PROTOCOL, read_events

KIND = "attribute_assignments"
SUBSCRIPTION = f"""subscription($after: String) {{
  changes(after: $after, kinds: [{KIND}]) {{ cursor operation kind recordId }}
}}"""
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

    def __init__(self, url: str, key: str, cursor: str) -> None:
        self.url = url
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
        body = {"query": SUBSCRIPTION, "variables": {"after": self.cursor}}
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
            payload = {"query": SUBSCRIPTION, "variables": {"after": self.cursor}}
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
                parameters = {"after": self.cursor, "kinds": KIND}
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
        assert codes == {"SERVICE_UNAVAILABLE"}, result
        raise LostError
    change: dict[str, Any] = result["data"]["changes"]
    return change


def _dump(message: object) -> str:
    return orjson.dumps(message).decode()
