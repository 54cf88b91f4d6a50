"""Compare distance-matrix requests with ones that return a constant.

`python -m bench.matrix_requests`. Both take the same body and return as many bytes through the same
server, middleware and key check; the constant reads no database and computes nothing. One server,
on a core of its own, answers both in turn.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from statistics import median
from typing import Any

import click
from rich.console import Console
from rich.table import Table as Sheet

from bench import constant
from bench.load.machine import LOAD_CORE, SERVER_CORE, load_average, pin_to_cores, sum_cpu_seconds
from bench.load.servers import CHECKOUT, stop_at_exit
from resolvers.administration import catalog
from resolvers.processing import pipeline
from resolvers.request.caller import CALCULATE_DISTANCES_PERMISSION
from storage.administration import api_keys
from storage.catalog import LOCATIONS
from storage.embedded import embedded_mongo
from storage.mongo import driver
from storage.setup import preparation
from storage.store import Store

DEMO = CHECKOUT / "samples" / "demo" / "bundle.json"
MAP_ID = "alder-court-floor-plates"
MATRIX_PATH = f"/v1/maps/{MAP_ID}/distance-matrix"
DATABASE, SEED, WARM_UP_REQUESTS = "floorgate", 7, 50
MATRIX_SIZES = ((1, 1), (7, 7), (1, 50), (50, 1))
Waypoint = dict[str, Any]


@dataclass(frozen=True)
class MeasuredClient:
    """A connection to the server."""

    connection: http.client.HTTPConnection
    headers: dict[str, str]
    pid: int

    def post(self, path: str, body: bytes, size: int = 0) -> bytes:
        """Return the content of an answer, which must be 200; `size` is that of the constant."""
        self.connection.request(
            "POST", path, body, self.headers | {constant.SIZE_HEADER: str(size)}
        )
        response = self.connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise click.ClickException(f"{path}: {response.status} {content.decode()}")
        return content

    def cpu_ms(self, path: str, bodies: Sequence[bytes], size: int) -> float:
        """Return server CPU per request, in milliseconds."""
        before = sum_cpu_seconds(self.pid)
        for body in bodies:
            self.post(path, body, size)
        return (sum_cpu_seconds(self.pid) - before) * 1000 / len(bodies)


async def load_demo(mongo_url: str) -> tuple[str, list[Waypoint]]:
    """Load the demo property with a routable map; return a key and its locations as waypoints."""
    client = driver.connect(mongo_url)
    try:
        database = client[DATABASE]
        await preparation.prepare_database(database)
        await catalog.import_catalog(database, [DEMO])
        await pipeline.process_and_publish(
            Store(client, DATABASE), pipeline.ProcessingRequest(MAP_ID, {})
        )
        _, key = await api_keys.create_api_key(
            database,
            name="bench",
            permissions=[CALCULATE_DISTANCES_PERMISSION],
            asset_ids=None,
            expires_at=None,
        )
        locations = await database[LOCATIONS.name].find({"unit_map_id": MAP_ID}).to_list(None)
    finally:
        await driver.close(client)
    return key, [to_waypoint(location) for location in locations]


def to_waypoint(location: dict[str, Any]) -> Waypoint:
    floor_id = location["floors"][0]["id"]
    return {"id": location["_id"], "floor_id": floor_id} | {
        name: location[name] for name in ("name", "x", "y")
    }


@contextmanager
def start_server(mongo_url: str, key: str) -> Iterator[MeasuredClient]:
    """Start a server on a core of its own, and yield a client."""
    settings = {
        "FLOORGATE_MONGO_URL": mongo_url,
        "FLOORGATE_DATABASE": DATABASE,
        "FLOORGATE_RATE_LIMIT": "0",
    }
    with pin_to_cores(SERVER_CORE):
        process = subprocess.Popen(
            [sys.executable, "-m", constant.__name__],
            cwd=CHECKOUT,
            env=os.environ | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    assert process.stdout is not None
    with process.stdout, stop_at_exit(process):
        _, _, port = process.stdout.readline().decode().strip().rpartition(":")
        if not port:
            raise click.ClickException("the server does not start: python -m bench.constant")
        headers = {
            "API-Key": key,
            "Experimental-Flags": "distances",
            "Content-Type": "application/json",
        }
        yield MeasuredClient(
            http.client.HTTPConnection("127.0.0.1", int(port)), headers, process.pid
        )


def iter_bodies(waypoints: Sequence[Waypoint], rows: int, columns: int) -> Iterator[bytes]:
    """Yield bodies for matrices of `rows` by `columns` random waypoints.

    No two are equal, so that no response comes from the response cache.
    """
    generator = random.Random(SEED)
    for number in count():
        first, *others = generator.sample(waypoints, rows)
        sources = [{**first, "name": f"start {number:06}"}, *others]
        targets = generator.sample(waypoints, columns)
        yield json.dumps({"data": {"sources": sources, "targets": targets}}).encode()


def compare_requests(
    client: MeasuredClient, bodies: Iterator[bytes], rounds: int, requests: int
) -> tuple[int, float, float]:
    """Return the bytes of an answer, and the median CPU milliseconds of both requests."""
    sizes = [len(client.post(MATRIX_PATH, body)) for body in islice(bodies, WARM_UP_REQUESTS)]
    size = round(sum(sizes) / len(sizes))
    taken = [
        [
            client.cpu_ms(path, list(islice(bodies, requests)), size)
            for path in (MATRIX_PATH, constant.CONSTANT_PATH)
        ]
        for _ in range(rounds)
    ]
    matrix_ms, constant_ms = (median(times) for times in zip(*taken, strict=True))
    return size, matrix_ms, constant_ms


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True)
# At least 100: the kernel counts CPU in ticks of 10 ms.
@click.option("--requests", type=click.IntRange(100), default=500, show_default=True)
def main(rounds: int, requests: int) -> None:
    """Measure both requests with waypoints by id, and with waypoints as E17 lists them."""
    sheet = Sheet("waypoints", "pairs", "bytes", "E18", "constant", "E18 : constant")
    with (
        tempfile.TemporaryDirectory(prefix="floorgate-bench-") as scratch,
        pin_to_cores(LOAD_CORE),
        embedded_mongo.run_embedded_mongo(Path(scratch)) as mongo_url,
    ):
        key, listed = asyncio.run(load_demo(mongo_url))
        forms = {"by id": [{"id": waypoint["id"]} for waypoint in listed], "as listed": listed}
        with start_server(mongo_url, key) as client:
            for form, waypoints in forms.items():
                for rows, columns in MATRIX_SIZES:
                    bodies = iter_bodies(waypoints, rows, columns)
                    size, matrix_ms, constant_ms = compare_requests(
                        client, bodies, rounds, requests
                    )
                    figures = (f"{matrix_ms:.2f}", f"{constant_ms:.2f}")
                    ratio = f"{matrix_ms / constant_ms:.1f}"
                    sheet.add_row(form, f"{rows} x {columns}", f"{size:,}", *figures, ratio)
    console = Console()
    console.print("Server CPU, ms a request; load average", f"{load_average():.1f}", sheet)


if __name__ == "__main__":
    main()
