"""Measure what a cached megabyte costs: `python -m bench.memory`.

A gateway gets distinct requests until its response cache is full, then the same gateway without the
cache gets as many. The resident memory that the first has grown by, less what the second has grown
by, is the cost of the cache.
"""

import http.client
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import click
from rich.console import Console

from bench.data.directory import Directory, load_directory
from bench.load import machine
from bench.load.servers import PeerServer, start_peer
from bench.load.start_time import scratch_directory
from bench.peers.floorgate import CACHE_OFF, with_settings
from bench.peers.peer import HOST
from bench.report import pages
from bench.report.memory_table import MemorySample, build_table
from storage.embedded import embedded_mongo

UNIT_COUNT = 20_000
CONNECTIONS = 4
WARM_UP_REQUESTS = 50
SETTLE_SECONDS = 1.0
BYTES_OF_ENTRY = 1_500
"""The least that the cache counts for a response, apart from its body."""
SHAPES = {
    "one unit": 250,
    "20 units": 3_700,
    "100 units": 18_000,
    "1,000 units": 180_000,
}
"""Responses, and about how many bytes they have."""
ENCODINGS = {"as it is": ("identity",), "as it is and gzip": ("identity", "gzip")}


def list_paths(shape: str, directory: Directory) -> Iterator[str]:
    """Yield distinct addresses of responses of one size, thousands of them."""
    if shape == "one unit":
        for unit_id in directory.unit_ids:
            yield f"/v1/units/{unit_id}"
        return
    size = int(shape.partition(" ")[0].replace(",", ""))
    # Pages that are a little larger or smaller: no two of them are equal.
    for extra in range(size):
        per_page = size + (extra + 1) // 2 * (1 if extra % 2 else -1)
        for page in range(1, min(UNIT_COUNT // per_page, 10_000 // per_page + 1)):
            yield f"/v1/units?per-page={per_page}&page={page}"


def send_all(server: PeerServer, paths: list[str], encodings: tuple[str, ...]) -> int:
    """Request all paths in each encoding, and return the bytes of all bodies."""
    local = threading.local()
    opened: list[http.client.HTTPConnection] = []

    def send(path: str) -> int:
        if not hasattr(local, "connection"):
            local.connection = http.client.HTTPConnection(HOST, server.port, timeout=60)
            opened.append(local.connection)
        size = 0
        for encoding in encodings:
            headers = server.headers | {"Accept-Encoding": encoding}
            local.connection.request("GET", path, headers=headers)
            response = local.connection.getresponse()
            size += len(response.read())
            if response.status != 200:
                raise click.ClickException(f"{path} is answered {response.status}")
        return size

    try:
        with ThreadPoolExecutor(CONNECTIONS) as threads:
            return sum(threads.map(send, paths))
    finally:
        for connection in opened:
            connection.close()


def measure_growth(
    directory: Directory, shape: str, encodings: tuple[str, ...], cache_mb: int, count_mb: int
) -> tuple[int, float, float]:
    """Return how many requests were sent, the megabytes of their bodies, and of growth."""
    settings = CACHE_OFF if cache_mb == 0 else {"FLOORGATE_CACHE_MB": str(cache_mb)}
    size = SHAPES[shape] + BYTES_OF_ENTRY
    with start_peer(with_settings("memory", "Floorgate", **settings), directory) as server:
        all_paths = list_paths(shape, directory)
        send_all(server, [*islice(all_paths, WARM_UP_REQUESTS)], encodings)
        paths = [*islice(all_paths, count_mb * 1_000_000 // size)]
        time.sleep(SETTLE_SECONDS)
        before = machine.sum_memory_mb(server.pid)["rss"]
        sent = send_all(server, paths, encodings)
        time.sleep(SETTLE_SECONDS)
        return len(paths), sent / 1e6, machine.sum_memory_mb(server.pid)["rss"] - before


def measure(directory: Directory, shape: str, encoding: str, cache_mb: int) -> MemorySample:
    """Measure the cost of a full cache of one shape."""
    arguments = directory, shape, ENCODINGS[encoding]
    requests, body_mb, grown_mb = measure_growth(*arguments, cache_mb, cache_mb)
    _, _, uncached_mb = measure_growth(*arguments, 0, cache_mb)
    return MemorySample(
        shape=shape,
        encodings=encoding,
        requests=requests,
        body_mb=body_mb,
        cache_mb=cache_mb,
        grown_mb=grown_mb,
        uncached_mb=uncached_mb,
    )


def measure_all(shapes: tuple[str, ...], cache_mb: int) -> list[MemorySample]:
    """Measure every shape in every set of encodings."""
    with (
        scratch_directory() as scratch,
        machine.pin_to_cores(machine.LOAD_CORE),
        embedded_mongo.run_embedded_mongo(scratch / "data") as mongo_url,
    ):
        directory = load_directory(mongo_url, "floorgate", UNIT_COUNT, scratch)
        return [
            measure(directory, shape, encoding, cache_mb)
            for shape in shapes
            for encoding in ENCODINGS
        ]


@click.command()
@click.option("--cache-mb", type=click.IntRange(1), default=64, show_default=True)
@click.option("--shape", "shapes", multiple=True, type=click.Choice([*SHAPES]))
@click.option("--write-docs", is_flag=True, help="Write the table into docs/performance.md.")
def main(cache_mb: int, shapes: tuple[str, ...], write_docs: bool) -> None:
    """Measure how much memory a full response cache takes."""
    table = build_table(measure_all(shapes or (*SHAPES,), cache_mb))
    Console().print(table.to_rich_table())
    if write_docs:
        pages.rewrite_section(pages.PERFORMANCE_PAGE, "memory", table.to_markdown())


if __name__ == "__main__":
    main()
