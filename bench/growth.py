"""What grows with the directory: the same requests in directories with more units."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from bench.comparison import BenchmarkSetup, find_workloads, measure_rounds, warm_up
from bench.data.workloads import LIST, LOCATIONS, NESTED, UNIT, WORKLOADS
from bench.harness import Results, Row, Run, describe_record, experiment
from bench.load.servers import start_peer
from bench.peers.peer import CACHED, UNCACHED
from bench.report import ReportTable, format_figure

GROWN_WORKLOADS = (UNIT, "units-100", LIST, LOCATIONS, NESTED)


def build_tables(results: Results) -> list[ReportTable]:
    """Return the costs: a row for each directory and gateway, a column for each workload."""
    record = results["growth"]
    cells = {(row["units"], row["peer"], row["workload"]): row for row in record.rows}
    rows = []
    for units, peer in dict.fromkeys(key[:2] for key in cells):
        own = [cells[units, peer, name] for name in GROWN_WORKLOADS]
        costs = [
            f"{format_figure(row['cpu_ms'])}; {format_figure(row['requests_per_second'])}"
            for row in own
        ]
        rows.append([f"{units:,}", "on" if peer == CACHED.name else "off", *costs])
    titles = {workload.name: workload.title for workload in WORKLOADS}
    return [
        ReportTable(
            "By size: server CPU ms per request; requests per second at saturation",
            ("units", "cache", *(titles[name] for name in GROWN_WORKLOADS)),
            rows,
            text_columns=2,
            note="Load average {load}, so ratios count.".format_map(describe_record(record)),
        )
    ]


@experiment(report=build_tables)
def growth(
    run: Run,
    units: tuple[int, ...] = (10_000, 100_000, 1_000_000),
    seconds: float = 2.0,
    data: Path | None = None,
) -> Iterator[Row]:
    """Measure the same requests in larger and larger directories, with the cache off and on.

    `--data` keeps the directories for the next run: a million units take five minutes.
    """
    for size in units:
        directory = run.load_directory(size, name=f"grown-{size}")
        with ExitStack() as stack:
            servers = [
                stack.enter_context(start_peer(peer, directory)) for peer in (UNCACHED, CACHED)
            ]
            setup = BenchmarkSetup(servers, find_workloads(GROWN_WORKLOADS), run.load)
            warm_up(setup, seconds / 2)
            yield from ({"units": size, **row} for row in measure_rounds(setup, 1, seconds))
