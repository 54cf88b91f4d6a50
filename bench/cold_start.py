"""The first minute after a restart, under load from its first moment on."""

import http.client
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
from pymongo import MongoClient

from bench.data.directory import Directory, get_asset_id
from bench.data.workloads import JSON, LoadRequest, build_workload
from bench.harness import Row, Run, experiment
from bench.load import machine
from bench.load.generator import LatencySummary, LoadGenerator
from bench.load.servers import start_peer
from bench.peers.peer import HOST, with_settings

ASSETS, UNITS_PER_ASSET = 1_000, 20
KEYS = {"all": ASSETS, "most": 900, "half": 500, "few": 50}
"""How many of the assets each API key sees."""
ZIPF_EXPONENT = 1.1
DISTINCT_REQUESTS = 20_000
"""The different requests of the sequence that is sent; the most popular ones occur many times in
it."""
CONNECTIONS = 64
PROBE_SECONDS = 0.005
STALL_MS = 20.0
SEED = 20260801
RESTARTED = with_settings("restarted", "Floorgate", FLOORGATE_MAX_CONNECTIONS_PER_ADDRESS="0")
QUERY = """query ($asset: ID!) { asset(id: $asset) { id name
  floors { data { id name units { data { id name } } } } } }"""


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
        paths = (
            *(f"/v1/assets/{asset_id}", f"/v1/assets/{asset_id}/floors"),
            *(f"/v1/units?asset={asset_id}", "/v1/units?per-page=1000", "/graphql"),
        )
        path = chance.choice(paths)
        if path == "/graphql":
            body = orjson.dumps({"query": QUERY, "variables": {"asset": asset_id}})
            requests.append(LoadRequest(path, "POST", body, headers | JSON))
        else:
            requests.append(LoadRequest(path, headers=headers))
    return requests


@contextmanager
def probe(port: int) -> Iterator[list[float]]:
    """Ask the gateway again and again whether it lives; yield the seconds each answer took."""
    waited: list[float] = []
    stopping = threading.Event()

    def run() -> None:
        connection = http.client.HTTPConnection(HOST, port, timeout=60)
        while not stopping.wait(PROBE_SECONDS):
            begun = time.perf_counter()
            connection.request("GET", "/health/live", headers={"X-Forwarded-Proto": "https"})
            connection.getresponse().read()
            waited.append(time.perf_counter() - begun)
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
    directory: Directory,
    requests: list[LoadRequest],
    load: LoadGenerator,
    rate: float,
    seconds: float,
) -> Row:
    """Measure the first `seconds` after a start."""
    with (
        MongoClient[dict[str, Any]](directory.mongo_url) as client,
        start_peer(RESTARTED, directory) as server,
    ):
        ready_cpu_seconds = server.cpu_seconds()
        before = count_reads(client)
        first = build_workload("first", requests)
        with probe(server.port) as waited:
            sample = server.measure(load, first, seconds, CONNECTIONS, rate=rate)
        answered = sample.outcome.answered
        sent = requests[: answered.requests]
        distinct = {(each.path, each.body, each.headers["API-Key"]) for each in sent}
        probed = LatencySummary.from_seconds(waited)
        return {
            "ready after, s": server.ready_seconds,
            "CPU until then, s": ready_cpu_seconds,
            "requests/s": sample.per_second,
            "p50 / p99 / max, ms": (answered.p50_ms, answered.p99_ms, answered.max_ms),
            "probe, p50 / p99 / max, ms": (probed.p50_ms, probed.p99_ms, probed.max_ms),
            f"probes over {STALL_MS:.0f} ms": sum(1000 * wait > STALL_MS for wait in waited),
            "different requests": len(distinct),
            "reads of MongoDB for each": (count_reads(client) - before) / len(distinct),
            "load average": machine.load_average(),
        }


@experiment("The first minute after a start")
def cold_start(
    run: Run, rate: float = 300.0, seconds: float = 60.0, starts: int = 2
) -> Iterator[Row]:
    """Measure the first minute after a restart.

    A gateway starts on a directory of a thousand properties, and from its first moment on gets
    requests at a constant rate, of several API keys, for properties of which a few are asked for
    most (Zipf). A probe on a connection of its own asks every few milliseconds whether the gateway
    lives: what it waits is how long the event loop was held, and how long the machine did something
    else.
    """
    directory = run.load_directory(ASSETS * UNITS_PER_ASSET, UNITS_PER_ASSET, name="restarted")
    assets = [get_asset_id(asset) for asset in range(ASSETS)]
    scopes = [None if count == ASSETS else assets[:count] for count in KEYS.values()]
    keys = dict(zip(KEYS, directory.create_keys(scopes), strict=True))
    requests = build_requests(keys)
    for _ in range(starts):
        yield measure(directory, requests, run.load, rate, seconds)
