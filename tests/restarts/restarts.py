"""Restarts of gateways under load: one in place, and two behind a balancer."""

import asyncio
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from storage.embedded.embedded_mongo import run_embedded_mongo
from storage.embedded.replica_set import HOST
from tests.faults.catalog import build_catalog
from tests.faults.gateways import GatewayProcess, running
from tests.fixtures import World, create_world
from tests.gateway.floorgate_process import CHECKOUT
from tests.restarts.load import Answers, constant_load
from tests.storage.mongo.replica_set_of_three import find_free_ports
from tests.waiting import wait_until

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
