"""Restart gateways under a constant rate of requests, and record what clients notice."""

import asyncio
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
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
_QUERY = orjson.dumps({"query": f'{{ asset(id: "{ASSET}") {{ name }} }}'})
FRESH_EVERY, WRITE_EVERY, POST_EVERY = 4, 10, 3
"""One request of so many is on a connection of its own, a write, or a POST, which proxies do not
repeat."""


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
            if number % POST_EVERY == 0:
                response = await connection.request("POST", "/graphql", _QUERY)
            elif number % WRITE_EVERY:
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
EXAMPLES = CHECKOUT / "samples" / "deployment"
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
    """Measure each kind of restart in an empty folder, behind the balancers that are installed."""
    with run_embedded_mongo(folder / "data") as mongo_url:
        bundle = folder / "bundle.json"
        world = asyncio.run(create_world(mongo_url, "restarts", bundle, build_catalog()))
        for workers in (1, 2):
            yield measure_reloads(folder, world, workers=workers, rate=rate, restarts=restarts)
        for balancer in find_balancers():
            yield measure_rolling_restarts(folder, world, balancer, rate=rate, restarts=restarts)


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


def measure_rolling_restarts(
    folder: Path, world: World, balancer: "Balancer", *, rate: float, restarts: int
) -> Outcome:
    """Restart two gateways in turn, behind a balancer with the configuration of the guide."""
    gateways = [_build_gateway(folder, world, number, 1) for number in range(2)]
    for each in gateways:
        each.options = ("--drain-notice-seconds", str(balancer.notice_seconds))
    with (
        running(*gateways),
        run_balancer(balancer, folder, [each.port for each in gateways]) as port,
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
            time.sleep(balancer.return_seconds)
        seconds = time.monotonic() - began
    title = f"two gateways behind {balancer.title}, SIGTERM and start"
    return Outcome(title, restarts, seconds, answers)


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


@dataclass(frozen=True)
class Balancer:
    """What stands in front of two gateways."""

    program: str
    title: str
    notice_seconds: int
    """The `--drain-notice-seconds` that it needs."""
    return_seconds: float
    """The time after which it surely uses a gateway that is ready again."""
    command: tuple[str, ...]
    read_configuration: Callable[..., str]
    """Called with its port, those of the gateways, and options."""


def read_haproxy_configuration(port: int, gateways: list[int]) -> str:
    """Return the configuration of the guide, without TLS and with these ports."""
    match = re.search(r"```\n(defaults\n.*?)```", GUIDE.read_text(), re.S)
    assert match
    text = re.sub(r"bind :443 ssl crt \S+", f"bind {HOST}:{port}", match[1])
    text = re.sub(r" ssl verify required ca-file \S+", "", text)
    return _insert_ports(text, gateways)


def read_nginx_configuration(port: int, gateways: list[int], *, tls: str = "") -> str:
    """Return that of the example with these ports; `tls` names certificate and key, if any."""
    text = re.sub(r" +(listen|ssl_\w+) .*\n", "", (EXAMPLES / "nginx.conf").read_text())
    listen = f"listen {HOST}:{port} ssl http2; {tls}" if tls else f"listen {HOST}:{port};"
    text = text.replace("server {", f"server {{ {listen}")
    if not tls:
        text = text.replace("X-Forwarded-Proto $scheme", "X-Forwarded-Proto https")
    return (
        "worker_processes 2; events {} daemon off; pid nginx.pid; error_log stderr warn;"
        f" http {{ access_log off; {_insert_ports(text, gateways)} }}"
    )


def read_caddy_configuration(port: int, gateways: list[int], *, tls: str = "") -> str:
    """Return that of the example with these ports; `tls` names certificate and key, if any."""
    scheme = "https" if tls else "http"
    text = (EXAMPLES / "Caddyfile").read_text()
    text = text.replace("maps.example.com {", f"{scheme}://{HOST}:{port} {{\n{tls}")
    if not tls:
        text = text.replace("\t\tlb_policy", "\t\theader_up X-Forwarded-Proto https\n\t\tlb_policy")
    version = subprocess.run(["caddy", "version"], capture_output=True, text=True).stdout
    if version.removeprefix("v").startswith("2.6."):
        text = text.replace("request_buffers 4MiB", "buffer_requests")
    return "{\nadmin off\nauto_https disable_redirects\n}\n" + _insert_ports(text, gateways)


def _insert_ports(text: str, gateways: list[int]) -> str:
    addresses = iter(gateways)
    return re.sub(r"10\.0\.0\.\d:\d+", lambda _: f"{HOST}:{next(addresses)}", text)


BALANCERS = (
    Balancer(
        "haproxy", "HAProxy", 10, 5.0, ("haproxy", "-db", "-f"), read_haproxy_configuration
    ),
    Balancer(
        "nginx", "nginx with passive checks", 0, 3.0,
        ("nginx", "-e", "stderr", "-p", ".", "-c"), read_nginx_configuration,
    ),
    Balancer(
        "caddy", "Caddy with passive checks", 0, 3.0,
        ("caddy", "run", "--adapter", "caddyfile", "--config"), read_caddy_configuration,
    ),
)  # fmt: skip


def find_balancers() -> list[Balancer]:
    """Return those that are installed."""
    return [each for each in BALANCERS if shutil.which(each.program)]


@contextmanager
def run_balancer(
    balancer: Balancer, folder: Path, gateways: list[int], **options: str
) -> Iterator[int]:
    """Run a balancer before the gateways at these ports; yield its port."""
    (port,) = find_free_ports(1)
    configuration, log = folder / f"{balancer.program}.conf", folder / f"{balancer.program}.log"
    configuration.write_text(balancer.read_configuration(port, gateways, **options))
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*balancer.command, str(configuration)],
            stdout=output,
            stderr=output,
            cwd=folder,
            env={**os.environ, "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)},
        )
    try:
        wait_until(
            lambda: process.poll() is not None or _accepts(port), f"{balancer.program} accepts"
        )
        if process.poll() is not None:
            raise AssertionError(log.read_text())
        yield port
    finally:
        process.terminate()
        process.wait()


def _accepts(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex((HOST, port)) == 0
