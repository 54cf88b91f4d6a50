"""Restart gateways under a constant rate of requests, and record what clients notice."""

import asyncio
import itertools
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from storage.embedded.embedded_mongo import run_embedded_mongo
from storage.embedded.replica_set import HOST
from tests.faults.catalog import ASSET, ATTRIBUTES, ONE, SINGLE_UNITS, build_catalog
from tests.faults.gateways import GatewayProcess, running
from tests.faults.http_client import HttpConnection, NoResponseError, NotSentError
from tests.fixtures import World, create_world
from tests.gateway.floorgate_process import CHECKOUT
from tests.storage.mongo.replica_set_of_three import find_free_ports
from tests.waiting import wait_until

_GROUP_PATH = f"/v1/units/attribute-groups/{ONE}/assignments"
FRESH_EVERY, WRITE_EVERY = 4, 10
"""One request of so many is on a connection of its own, or a write."""


@dataclass
class Answers:
    """What clients have been answered so far."""

    count: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """By status, or what happened instead."""
    longest: float = 0.0
    """In seconds, from when the request was due."""


class ConstantLoad:
    """Sends a request whenever one is due, on a connection that is free or a new one."""

    def __init__(self, port: int, key: str, rate: float) -> None:
        self.answers = Answers()
        self._port, self._key, self._rate = port, key, rate
        self._free: list[HttpConnection] = []
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        """Send until stopped, and wait for all answers."""
        began = time.monotonic()
        async with asyncio.TaskGroup() as requests:
            for number in itertools.count():
                due = began + number / self._rate
                await asyncio.sleep(due - time.monotonic())
                if self._stopped.is_set():
                    break
                requests.create_task(self._request(number, due))
        for connection in self._free:
            connection.close()

    def stop(self) -> None:
        """Send no more."""
        self._stopped.set()

    async def _request(self, number: int, due: float) -> None:
        is_fresh = number % FRESH_EVERY == 0
        connection = (
            self._free.pop()
            if self._free and not is_fresh
            else HttpConnection(self._port, self._key)
        )
        result = await self._send(connection, number)
        self.answers.count += 1
        if result not in ("200", "204"):
            self.answers.failures[result] += 1
        self.answers.longest = max(self.answers.longest, time.monotonic() - due)
        if is_fresh:
            connection.close()
        else:
            self._free.append(connection)

    async def _send(self, connection: HttpConnection, number: int) -> str:
        try:
            if number % WRITE_EVERY:
                path = f"{_GROUP_PATH}?asset={ASSET}&per-page={1 + number % 50}"
                response = await connection.request("GET", path)
            else:
                attribute = ATTRIBUTES[number // WRITE_EVERY % len(ATTRIBUTES)]
                unit = {"asset_id": ASSET, "unit_id": SINGLE_UNITS[0]}
                data = [{"group_id": ONE, "attribute_id": attribute, **unit}]
                response = await connection.request(
                    "PUT", _GROUP_PATH, orjson.dumps({"data": data})
                )
        except NotSentError as error:
            return f"refused: {error}"
        except NoResponseError as error:
            return f"no response: {error}"
        return str(response.status)


@contextmanager
def constant_load(port: int, key: str, rate: float) -> Iterator[Answers]:
    """Send requests in a thread of their own; the answers are complete after the block."""
    loop = asyncio.new_event_loop()
    load = ConstantLoad(port, key, rate)
    thread = threading.Thread(target=loop.run_until_complete, args=(load.run(),), daemon=True)
    thread.start()
    try:
        yield load.answers
    finally:
        loop.call_soon_threadsafe(load.stop)
        thread.join()
        loop.close()


GUIDE = CHECKOUT / "docs" / "operation.md"
NOTICE_SECONDS = 10
"""As the guide says for HAProxy."""
SETTLE_SECONDS = 1.0
"""Before, between and after restarts."""


@dataclass
class Outcome:
    """What clients saw of a kind of restart."""

    title: str
    restarts: int
    seconds: float
    answers: Answers


def measure_all(folder: Path, rate: float, restarts: int) -> Iterator[Outcome]:
    """Measure each kind of restart in an empty folder; the balancer only if HAProxy is there."""
    with run_embedded_mongo(folder / "data") as mongo_url:
        bundle = folder / "bundle.json"
        world = asyncio.run(create_world(mongo_url, "restarts", bundle, build_catalog()))
        for workers in (1, 2):
            yield measure_reloads(folder, world, workers=workers, rate=rate, restarts=restarts)
        if has_haproxy():
            yield measure_rolling_restarts(folder, world, rate=rate, restarts=restarts)


def measure_reloads(
    folder: Path, world: World, *, workers: int, rate: float, restarts: int
) -> Outcome:
    """Have a gateway replace itself again and again (SIGHUP)."""
    gateway = _build_gateway(folder, world, 0, workers)
    with running(gateway), constant_load(gateway.port, gateway.key, rate) as answers:
        began = time.monotonic()
        for _ in range(restarts):
            time.sleep(SETTLE_SECONDS)
            _reload(gateway)
        time.sleep(SETTLE_SECONDS)
        seconds = time.monotonic() - began
    title = f"SIGHUP, {workers} worker{'s' if workers > 1 else ''}"
    return Outcome(title, restarts, seconds, answers)


def measure_rolling_restarts(folder: Path, world: World, *, rate: float, restarts: int) -> Outcome:
    """Restart two gateways in turn, behind HAProxy with the configuration of the guide."""
    gateways = [_build_gateway(folder, world, number, 1) for number in range(2)]
    for each in gateways:
        each.options = ("--drain-notice-seconds", str(NOTICE_SECONDS))
    with (
        running(*gateways),
        run_haproxy(folder, [each.port for each in gateways]) as port,
        constant_load(port, world.keys.full, rate) as answers,
    ):
        began = time.monotonic()
        for number in range(restarts):
            gateway = gateways[number % 2]
            time.sleep(SETTLE_SECONDS)
            if status := gateway.terminate():
                raise AssertionError(f"the gateway ended with status {status}")
            gateway.start()
            gateway.wait_until_ready()
            time.sleep(NOTICE_SECONDS / 2)  # until HAProxy has asked it
        seconds = time.monotonic() - began
    return Outcome("two gateways behind HAProxy, SIGTERM and start", restarts, seconds, answers)


def _build_gateway(folder: Path, world: World, number: int, workers: int) -> GatewayProcess:
    place = folder / f"workers-{workers}"
    place.mkdir(exist_ok=True)
    (port,) = find_free_ports(1)
    url, database, key = world.mongo_url, world.database, world.keys.full
    return GatewayProcess(number, port, place, url, database, key, workers=workers)


def _reload(gateway: GatewayProcess) -> None:
    assert gateway.process is not None
    count = gateway.log.read_text().count('"Reloaded')
    gateway.process.send_signal(signal.SIGHUP)
    wait_until(
        lambda: (
            gateway.log.read_text().count('"Reloaded') > count
            or "The reload failed" in gateway.log.read_text()
        ),
        "the gateway has reloaded",
    )
    if "The reload failed" in gateway.log.read_text():
        raise AssertionError(f"the reload failed: {gateway.log.read_text()[-2000:]}")


def has_haproxy() -> bool:
    """Return whether HAProxy is installed."""
    return shutil.which("haproxy") is not None


def read_haproxy_configuration(port: int, gateways: list[int]) -> str:
    """Return the configuration of the guide, without TLS and with these ports."""
    match = re.search(r"```\n(defaults\n.*?)```", GUIDE.read_text(), re.S)
    assert match
    text = re.sub(r"bind :443 ssl crt \S+", f"bind {HOST}:{port}", match[1])
    text = re.sub(r" ssl verify required ca-file \S+", "", text)
    addresses = iter(gateways)
    return re.sub(r"10\.0\.0\.\d:8443", lambda _: f"{HOST}:{next(addresses)}", text)


@contextmanager
def run_haproxy(folder: Path, gateways: list[int]) -> Iterator[int]:
    """Run HAProxy before the gateways at these ports; yield its port."""
    (port,) = find_free_ports(1)
    configuration = folder / "haproxy.cfg"
    configuration.write_text(read_haproxy_configuration(port, gateways))
    with (folder / "haproxy.log").open("wb") as log:
        process = subprocess.Popen(
            ["haproxy", "-db", "-f", str(configuration)], stdout=log, stderr=log
        )
    try:
        wait_until(lambda: process.poll() is not None or _accepts(port), "HAProxy accepts")
        if process.poll() is not None:
            raise AssertionError((folder / "haproxy.log").read_text())
        yield port
    finally:
        process.kill()
        process.wait()


def _accepts(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex((HOST, port)) == 0
