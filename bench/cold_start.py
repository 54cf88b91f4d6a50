"""Measure the first minute after a restart: `python -m bench.cold_start`.

A gateway starts on a directory of a thousand properties, and from its first moment on gets requests
at a constant rate, of several API keys, for properties of which a few are asked for most (Zipf). A
probe on a connection of its own asks every few milliseconds whether the gateway lives: what it
waits is how long the event loop was held, and how long the machine did something else.
"""

import asyncio
import http.client
import os
import random
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import orjson
from pymongo import MongoClient
from rich.console import Console

from bench.data.bundle import get_asset_id, iter_small_members
from bench.data.requests import LoadRequest
from bench.load import machine
from bench.load.generator import LoadGenerator, LoadOrder, percentile, start_load_generator
from bench.load.servers import CHECKOUT, FLAGS, PeerError, stop_at_exit
from bench.load.start_time import scratch_directory
from bench.peers.floorgate import COMMAND
from bench.peers.peer import BASE_URL, HOST
from bench.report import pages
from bench.report.cold_start_table import ColdStart, build_table
from resolvers.administration import catalog
from storage.administration import api_keys
from storage.embedded import embedded_mongo
from storage.mongo import driver
from storage.setup import preparation

DATABASE = "floorgate"
IMPORT_SECONDS = 600.0
ASSETS = 1_000
KEYS = {"all": ASSETS, "most": 900, "half": 500, "few": 50}
"""How many of the assets each API key sees."""
ZIPF_EXPONENT = 1.1
DISTINCT_REQUESTS = 20_000
"""In the sequence that is sent; the most popular ones occur many times in it."""
CONNECTIONS = 64
PROBE_SECONDS = 0.005
STALL_MS = 20.0
SEED = 20260801
QUERY = """query ($asset: ID!) { asset(id: $asset) { id name
  floors { data { id name units { data { id name } } } } } }"""


def load_assets(mongo_url: str, scratch: Path) -> dict[str, str]:
    """Load the directory, and return the API keys by name."""
    return asyncio.run(_load_assets(mongo_url, scratch / "bundle.ndjson"))


async def _load_assets(mongo_url: str, bundle: Path) -> dict[str, str]:
    with bundle.open("wb") as file:
        file.writelines(
            orjson.dumps({"type": kind, **member}) + b"\n"
            for kind, member in iter_small_members(ASSETS)
        )
    client = driver.connect(mongo_url, timeout_seconds=IMPORT_SECONDS)
    try:
        await preparation.prepare_database(client[DATABASE])
        await catalog.import_catalog(client[DATABASE], [bundle])
        keys = {}
        for name, count in KEYS.items():
            assets = None if count == ASSETS else [get_asset_id(n) for n in range(count)]
            _, keys[name] = await api_keys.create_api_key(
                client[DATABASE], name=name, permissions=[], asset_ids=assets, expires_at=None
            )
        return keys
    finally:
        await driver.close(client)


def build_requests(keys: dict[str, str]) -> list[LoadRequest]:
    """Return the requests in the order in which they are sent."""
    chance = random.Random(SEED)
    names = [*keys]
    weights = [1 / (rank + 1) ** ZIPF_EXPONENT for rank in range(ASSETS)]
    requests = []
    for asset in chance.choices(range(ASSETS), weights, k=DISTINCT_REQUESTS):
        name = chance.choice(names)
        headers = {"API-Key": keys[name]}
        asset_id = get_asset_id(asset % KEYS[name])
        path = chance.choice(
            (
                f"/v1/assets/{asset_id}",
                f"/v1/assets/{asset_id}/floors",
                f"/v1/units?asset={asset_id}",
                "/v1/units?per-page=1000",
                "/graphql",
            )
        )
        if path == "/graphql":
            body = orjson.dumps({"query": QUERY, "variables": {"asset": asset_id}})
            headers["Content-Type"] = "application/json"
            requests.append(LoadRequest(path, "POST", body, headers))
        else:
            requests.append(LoadRequest(path, headers=headers))
    return requests


@contextmanager
def start_gateway(mongo_url: str) -> Iterator[tuple[int, int, float]]:
    """Start a gateway; yield its process, its port, and the seconds until it was ready."""
    begun = time.perf_counter()
    with machine.pin_to_cores(machine.SERVER_CORE):
        process = subprocess.Popen(
            [*COMMAND, "serve", "--host", HOST, "--port", "0", "--behind-proxy"],
            cwd=CHECKOUT,
            env={
                **os.environ,
                "FLOORGATE_MONGO_URL": mongo_url,
                "FLOORGATE_DATABASE": DATABASE,
                "FLOORGATE_BASE_URL": BASE_URL,
                "FLOORGATE_RATE_LIMIT": "0",
                "FLOORGATE_MAX_CONNECTIONS_PER_ADDRESS": "0",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    assert process.stdout is not None
    with process.stdout, stop_at_exit(process):
        line = process.stdout.readline().decode()
        if not line.startswith("ready "):
            raise PeerError(f"floorgate serve printed {line!r} instead of its ready line")
        yield process.pid, int(line.rpartition(":")[2]), time.perf_counter() - begun


@contextmanager
def probe(port: int) -> Iterator[list[float]]:
    """Ask the gateway again and again whether it lives; yield how long each answer took."""
    waited: list[float] = []
    stopping = threading.Event()

    def run() -> None:
        connection = http.client.HTTPConnection(HOST, port, timeout=60)
        while not stopping.wait(PROBE_SECONDS):
            begun = time.perf_counter()
            connection.request("GET", "/health/live", headers={"X-Forwarded-Proto": "https"})
            connection.getresponse().read()
            waited.append(1000 * (time.perf_counter() - begun))
        connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield waited
    finally:
        stopping.set()
        thread.join()


def count_reads(client: "MongoClient[dict[str, Any]]") -> int:
    """Return how many commands have read data from MongoDB."""
    commands = client.admin.command("serverStatus")["metrics"]["commands"]
    return sum(int(commands[name]["total"]) for name in ("find", "aggregate"))


def measure(
    mongo_url: str, requests: list[LoadRequest], load: LoadGenerator, rate: float, seconds: float
) -> ColdStart:
    """Measure the first `seconds` after a start."""
    with (
        MongoClient[dict[str, Any]](mongo_url) as client,
        start_gateway(mongo_url) as (pid, port, ready_seconds),
    ):
        ready_cpu_seconds = machine.sum_cpu_seconds(pid)
        before = count_reads(client)
        order = LoadOrder(
            host=HOST,
            port=port,
            headers={"X-Forwarded-Proto": "https", "Experimental-Flags": FLAGS},
            requests=requests,
            seconds=seconds,
            connections=CONNECTIONS,
            rate=rate,
        )
        with probe(port) as waited:
            outcome = load.run(order)
        answered = outcome.answered
        sent = requests[: answered.requests]
        distinct = {(each.path, each.body, each.headers["API-Key"]) for each in sent}
        ordered = sorted(waited)
        return ColdStart(
            ready_seconds=ready_seconds,
            ready_cpu_seconds=ready_cpu_seconds,
            rate=answered.requests / outcome.seconds,
            p50_ms=answered.p50_ms,
            p99_ms=answered.p99_ms,
            max_ms=answered.max_ms,
            probe_p50_ms=percentile(ordered, 0.5),
            probe_p99_ms=percentile(ordered, 0.99),
            probe_max_ms=ordered[-1],
            stalls=sum(wait > STALL_MS for wait in ordered),
            reads=count_reads(client) - before,
            distinct=len(distinct),
            load=machine.load_average(),
        )


@click.command()
@click.option("--rate", type=click.FloatRange(1), default=300.0, show_default=True)
@click.option("--seconds", type=click.FloatRange(1), default=60.0, show_default=True)
@click.option("--starts", type=click.IntRange(1), default=2, show_default=True)
@click.option("--write-docs", is_flag=True, help="Write the table into docs/performance.md.")
def main(rate: float, seconds: float, starts: int, write_docs: bool) -> None:
    """Measure the first minute after a restart."""
    with (
        scratch_directory() as scratch,
        machine.pin_to_cores(machine.LOAD_CORE),
        embedded_mongo.run_embedded_mongo(scratch / "data") as mongo_url,
    ):
        requests = build_requests(load_assets(mongo_url, scratch))
        with start_load_generator() as load:
            try:
                measured = [
                    measure(mongo_url, requests, load, rate, seconds) for _ in range(starts)
                ]
            except PeerError as error:
                raise click.ClickException(str(error)) from error
    table = build_table(measured)
    Console().print(table.to_rich_table())
    if write_docs:
        pages.rewrite_section(pages.PERFORMANCE_PAGE, "cold-start", table.to_markdown())


if __name__ == "__main__":
    main()
