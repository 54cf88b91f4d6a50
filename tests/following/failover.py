"""Followers and a writer, while primaries and workers are killed."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from bench.load.machine import list_process_tree
from tests.faults.catalog import ASSET, ATTRIBUTES, BLOCK_UNITS, MANY, build_catalog
from tests.faults.gateways import GatewayProcess, running
from tests.fixtures import create_world
from tests.following.followers import (
    RETRY_SECONDS,
    EventStreamFollower,
    Follower,
    Poller,
    WebSocketFollower,
    Write,
)
from tests.storage.mongo.replica_set_of_three import ReplicaSet, find_free_ports, run_replica_set

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
