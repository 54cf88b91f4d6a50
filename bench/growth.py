"""Measure what grows with the directory: the same requests in directories with more units."""

from collections.abc import Iterator

from bench.comparison import find_workloads, measure_rounds
from bench.data.workloads import LIST, LOCATIONS, NESTED, UNIT
from bench.harness import Row, Run, experiment
from bench.load.servers import start_peers
from bench.peers.peer import CACHED, UNCACHED

GROWN_WORKLOADS = (UNIT, "units-100", LIST, LOCATIONS, NESTED)


@experiment(
    "By size: server CPU ms per request / requests per second at saturation",
    "Load average {load}, so ratios count.",
)
def growth(
    run: Run,
    units: tuple[int, ...] = (10_000, 100_000, 1_000_000),
    seconds: float = 2.0,
) -> Iterator[Row]:
    """Measure the same requests in larger and larger directories, with the cache off and on."""
    workloads = find_workloads(GROWN_WORKLOADS)
    for size in units:
        directory = run.load_directory(size, name=f"grown-{size}")
        with start_peers((UNCACHED, CACHED), directory) as servers:
            measured = {
                (row["peer"], row["workload"]): (row["cpu_ms"], row["requests_per_second"])
                for row in measure_rounds(servers, workloads, run.load, 1, seconds)
            }
        for peer, cache in ((UNCACHED, "off"), (CACHED, "on")):
            cells = {each.title: measured[peer.name, each.name] for each in workloads}
            yield {"units": f"{size:,}", "cache": cache, **cells}
