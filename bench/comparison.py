"""`make bench`: Floorgate beside its peers, on the same MongoDB and the same data.

The server has one core to itself; the load generator and mongod share another. Every workload is
warmed up on every peer. Then rounds go over all workloads and peers, every second one backwards, so
that ratios compare loads close in time. CPU is the time that the kernel accounts to the server's
process, all threads included, divided by the number of responses.
"""

import importlib.util
import random
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import click
import msgspec
import orjson

from bench.chart import LIMIT_COLOUR, OTHER_COLOUR, OWN_COLOUR, Bar, BarGroup
from bench.data.directory import Directory
from bench.data.workloads import (
    LIST,
    MIX,
    NESTED,
    NOT_MODIFIED,
    SEED,
    UNIT,
    WORKLOADS,
    LoadRequest,
    Workload,
    list_reads,
    list_writes,
)
from bench.harness import EXPERIMENTS, Results, Row, Run, describe_record, experiment, median_rows
from bench.load import machine
from bench.load.generator import LoadGenerator
from bench.load.servers import (
    PeerError,
    PeerServer,
    await_no_mongod,
    check_same_answers,
    record_answers,
    serve,
    start_peer,
)
from bench.peers import node
from bench.peers.by_hand import BY_HAND, WITH_BYTES, WITH_MODELS
from bench.peers.node import SOFA_JIT, SOFA_JS
from bench.peers.peer import CACHED, UNCACHED, Peer
from bench.peers.raw import RAW
from bench.peers.strawberry_stock import STRAWBERRY
from bench.report import COST_TITLE, NO_VALUE, ReportTable, format_figure, tabulate
from bench.targets import PEER_TITLES, build_rival_table, build_target_table, select_samples

PACED_CONNECTIONS = 32
"""More than are ever busy at half of saturation, so that requests do not queue for one."""
MIN_PACED_REQUESTS = 5
"""Minimum number of requests in a paced load, however slow the peer."""
SATURATION_SHARE = 0.9
"""If a server used less than this share of its core, something else limited its rate."""
COLD_UNITS, COLD_PAGES, PAGE_UNITS = 1_000, 100, 100
MAX_SECONDS = 300.0
"""Longer than any peer takes for the requests of a load without an end of its own."""
COUNTERS_SECONDS = 30.0
POLL_SECONDS = 0.3
"""Several reports of the counters."""
REPORTING_SCRIPT = """
import sys
from gateway.server import supervisor as worker_process
worker_process.WORKER_PROGRAM = (
    "from gateway import response_cache; response_cache.REPORT_INTERVAL_SECONDS = 0.1\\n"
    + worker_process.WORKER_PROGRAM
)
from gateway.cli.main import main
main()
"""
"""Logs the counters of the response cache ten times a second."""


def find_peers(names: Collection[str] = ()) -> tuple[list[Peer], list[str]]:
    """Return the peers that can run on this machine, and a reason for each missing one.

    Installs the packages of the Node.js peers if they are among `names`; none means all.
    """
    peers = [UNCACHED, CACHED, RAW, BY_HAND]
    left_out = []
    if importlib.util.find_spec("fastapi"):
        peers += [WITH_BYTES, WITH_MODELS]
    else:
        left_out.append("fastapi is absent: its peers are left out; `make bench` installs it")
    peers.append(STRAWBERRY)
    if not names or {SOFA_JS.name, SOFA_JIT.name} & {*names}:
        if (reason := node.install_packages()) is None:
            peers += [SOFA_JS, SOFA_JIT]
        else:
            left_out.append(reason)
    for name in names:
        if name not in {peer.name for peer in peers}:
            raise click.UsageError(f"--peer {name}: there are {', '.join(x.name for x in peers)}")
    return [x for x in peers if not names or x.name in (*names, UNCACHED.name)], left_out


def find_workloads(names: Collection[str]) -> list[Workload]:
    """Return the workloads of these names, all for none."""
    known = [workload.name for workload in WORKLOADS]
    for name in names:
        if name not in known:
            raise click.UsageError(f"--workload {name}: there are {', '.join(known)}")
    return [workload for workload in WORKLOADS if not names or workload.name in names]


# Under the same load in turn


def build_peer_tables(results: Results) -> list[ReportTable]:
    """Return all tables of a comparison, the ratios first."""
    rows = results["peers"].rows
    ratios = build_target_table(results)
    tables = [
        msgspec.structs.replace(ratios, note=_describe_conditions(results)),
        build_rival_table(rows),
        _table_by_workload(rows, COST_TITLE, lambda x: format_figure(x["cpu_ms"])),
        _table_by_workload(
            rows,
            "Requests per second at saturation",
            lambda x: (
                format_figure(x["requests_per_second"])
                + ("*" if x["busy"] < SATURATION_SHARE else "")
            ),
            note="* the server used less than 90 % of its core: MongoDB, the load or another "
            "program was the limit.",
        ),
        _table_by_workload(
            rows,
            "p50 / p99 in ms at half of the peer's own saturation",
            lambda x: f"{format_figure(x['p50_ms'])} / {format_figure(x['p99_ms'])}",
        ),
        _table_by_workload(
            rows, "CPU of mongod, ms per request", lambda x: format_figure(x["mongod_cpu_ms"])
        ),
        *_tables_of("alone", results),
        tabulate(
            "Resident memory in MB, idle and after the runs",
            [
                {"": PEER_TITLES.get(row["process"], row["process"])}
                | {
                    f"{kind.upper()} {when}": f"{row[when][kind]:.0f}"
                    for when in ("idle", "after")
                    for kind in ("rss", "pss")
                }
                for row in rows
                if "process" in row
            ],
        ),
        *_tables_of("starts", results),
        *_tables_of("staleness", results),
    ]
    return tables


def _tables_of(name: str, results: Results) -> Sequence[ReportTable]:
    return EXPERIMENTS[name].report(results) if name in results else []


def _table_by_workload(
    rows: Sequence[Row], title: str, cell: Callable[[Row], str], note: str = ""
) -> ReportTable:
    samples = [row for row in rows if "workload" in row]
    medians = {(x["workload"], x["peer"]): x for x in median_rows(samples, "workload", "peer")}
    measured = {workload for workload, _ in medians}
    peers = [peer for peer in PEER_TITLES if any(peer == name for _, name in medians)]
    return ReportTable(
        title,
        ("", *(PEER_TITLES[peer] for peer in peers)),
        [
            [
                workload.title,
                *(
                    cell(medians[workload.name, peer])
                    if (workload.name, peer) in medians
                    else NO_VALUE
                    for peer in peers
                ),
            ]
            for workload in WORKLOADS
            if workload.name in measured
        ],
        note=note,
    )


def _describe_conditions(results: Results) -> str:
    record = results["peers"]
    packages = ", ".join(f"{name} {x}" for name, x in record.machine["packages"].items())
    return (
        "Taken {taken_at} on {machine}, load average {load}; {units:,} units; medians of {rounds} "
        "interleaved rounds of {seconds:g} s. Python {python}, {packages}."
    ).format(taken_at=record.taken_at, packages=packages, **describe_record(record))


@experiment(report=build_peer_tables)
def peers(
    run: Run,
    units: int = 20_000,
    rounds: int = 3,
    seconds: float = 1.0,
    peer: tuple[str, ...] = (),
    workload: tuple[str, ...] = (),
) -> Iterator[Row]:
    """Measure all workloads on all peers under the same load in turn, and their memory.

    Before, every peer's response to every workload must have the same content as Floorgate's.
    """
    found, left_out = find_peers(peer)
    workloads = find_workloads(workload)
    directory = run.load_directory(units)
    yield from ({"left_out": reason} for reason in left_out)
    with ExitStack() as stack:
        first = start_recorded(stack, directory)
        others = [each for each in found if each is not UNCACHED]
        servers = [first, *(stack.enter_context(start_peer(x, directory)) for x in others)]
        idle = _measure_memory(servers)
        for each in workloads:
            serving = [server for server in servers if server.peer.serves(each.name)]
            check_same_answers(serving, each)
        setup = BenchmarkSetup(servers, workloads, run.load)
        warm_up(setup, seconds)
        yield from measure_rounds(setup, rounds, seconds)
        after = _measure_memory(servers)
    yield from ({"process": name, "idle": idle[name], "after": after[name]} for name in idle)


def start_recorded(stack: ExitStack, directory: Directory) -> PeerServer:
    """Start Floorgate, and record its answers for the peers that replay them."""
    server = stack.enter_context(start_peer(UNCACHED, directory))
    record_answers(server, WORKLOADS)
    return server


def _measure_memory(servers: Sequence[PeerServer]) -> dict[str, Row]:
    """Return megabytes of memory by process and kind."""
    pids = {server.peer.name: server.pid for server in servers} | {
        "mongod": servers[0].directory.mongod_pid
    }
    return {name: {**machine.sum_memory_mb(pid)} for name, pid in pids.items()}


@dataclass(frozen=True, slots=True)
class BenchmarkSetup:
    """Servers, workloads and the load generator of a run."""

    servers: Sequence[PeerServer]
    workloads: Sequence[Workload]
    load: LoadGenerator

    def list_pairs(self) -> list[tuple[Workload, PeerServer]]:
        """Return each workload with every server that serves it."""
        return [
            (workload, server)
            for workload in self.workloads
            for server in self.servers
            if server.peer.serves(workload.name)
        ]


def warm_up(setup: BenchmarkSetup, seconds: float) -> None:
    """Warm up lazy imports, JIT compilers, MongoDB's cache and connection pools."""
    for workload, server in setup.list_pairs():
        setup.load.run(server.build_order(workload, seconds, workload.connections))


def measure_rounds(setup: BenchmarkSetup, rounds: int, seconds: float) -> Iterator[Row]:
    """Yield a sample of every workload and peer per round, in alternating order."""
    for number in range(rounds):
        pairs = setup.list_pairs()
        for workload, server in pairs if number % 2 == 0 else pairs[::-1]:
            yield {"round": number, **_measure_sample(setup, server, workload, seconds)}


def _measure_sample(
    setup: BenchmarkSetup, server: PeerServer, workload: Workload, seconds: float
) -> Row:
    saturating = server.build_order(workload, seconds, workload.connections)
    before = server.cpu_seconds(), machine.cpu_seconds(server.directory.mongod_pid)
    full = setup.load.run(saturating)
    after = server.cpu_seconds(), machine.cpu_seconds(server.directory.mongod_pid)
    used, mongod_used = (end - start for start, end in zip(before, after, strict=True))
    requests = full.answered.requests
    rate = requests / full.seconds
    paced_seconds = max(seconds, MIN_PACED_REQUESTS / (rate / 2))
    paced = server.build_order(workload, paced_seconds, PACED_CONNECTIONS, rate / 2)
    half = setup.load.run(paced).answered
    return {
        "workload": workload.name,
        "peer": server.peer.name,
        "requests": requests,
        "cpu_ms": used * 1000 / requests,
        "mongod_cpu_ms": mongod_used * 1000 / requests,
        "requests_per_second": rate,
        # Of its core; threads can take it above 1.
        "busy": used / full.seconds,
        "p50_ms": half.p50_ms,
        "p99_ms": half.p99_ms,
    }


CHART_WORKLOADS = (UNIT, LIST, NESTED, NOT_MODIFIED)


def build_bar_groups(rows: Sequence[Row]) -> list[BarGroup]:
    """Return bars of the main workloads, the fastest peer first."""
    titles = {workload.name: workload.title for workload in WORKLOADS}
    return [
        BarGroup(f"{titles[workload]}: server CPU ms per request", bars)
        for workload in CHART_WORKLOADS
        if (bars := _bars(rows, workload))
    ]


def _bars(rows: Sequence[Row], workload: str) -> Sequence[Bar]:
    colours = dict.fromkeys((UNCACHED.name, CACHED.name), OWN_COLOUR)
    colours |= dict.fromkeys((BY_HAND.name, RAW.name), LIMIT_COLOUR)
    bars = [
        # A bar needs some length.
        Bar(
            title,
            max(median(sample["cpu_ms"] for sample in samples), 0.001),
            colours.get(peer, OTHER_COLOUR),
        )
        for peer, title in PEER_TITLES.items()
        if (samples := select_samples(rows, workload, peer))
    ]
    return sorted(bars, key=lambda bar: bar.cpu_ms)


# Each peer alone, right after its start


def build_alone_tables(results: Results) -> list[ReportTable]:
    """Return a row for each peer, with medians of the rounds."""
    record = results["alone"]
    loads = {(x["peer"], x["load"]): x for x in median_rows(record.rows, "peer", "load")}
    nothing = dict.fromkeys(("cpu_ms", "requests_per_second", "p50_ms", "p99_ms", "hit_rate"))
    rows = []
    for peer, title in PEER_TITLES.items():
        if cold := loads.get((peer, COLD.name)):
            mix = loads.get((peer, MIX.name), nothing)
            hits = mix["hit_rate"]
            rows.append(
                {
                    "": title,
                    "each address once, CPU ms": cold["cpu_ms"],
                    "p50 / p99 ms": (cold["p50_ms"], cold["p99_ms"]),
                    "6 % assignments, CPU ms": mix["cpu_ms"],
                    "per second": mix["requests_per_second"],
                    "p50 / p99 ms ": (mix["p50_ms"], mix["p99_ms"]),
                    "hits of reads": None if hits is None else f"{100 * hits:.1f} %",
                }
            )
    title = "Right after the start, and with writes between the reads"
    note = "Load average {load}.".format_map(describe_record(record))
    return [tabulate(title, rows, note=note)]


@experiment(report=build_alone_tables)
def alone(
    run: Run,
    units: int = 20_000,
    rounds: int = 3,
    seconds: float = 1.0,
    peer: tuple[str, ...] = (),
) -> Iterator[Row]:
    """Measure each peer alone, just started, and with assignments between the reads.

    Each round starts every peer anew: writes of one are work for the caches of another. First it
    gets many addresses, each once, so that no cache has a response. Then it gets the mix of reads
    and writes.
    """
    directory = run.load_directory(units)
    served = [each for each in find_peers(peer)[0] if each is not RAW]
    with ExitStack() as stack:
        start_recorded(stack, directory)
    _check_mix([each for each in served if each.serves(MIX.name)], directory)
    for number in range(rounds):
        for each in served if number % 2 == 0 else served[::-1]:
            log = run.scratch / f"{each.name}-{number}.log"
            for row in _measure_alone(each, directory, run.load, seconds, log):
                yield {"round": number, "peer": each.name, **row}


def list_cold_requests(directory: Directory) -> list[LoadRequest]:
    """Return addresses of units and of pages of units, all different, in a random order."""
    # The first page is what shows that a peer is ready.
    pages = range(2, min(COLD_PAGES, len(directory.unit_ids) // PAGE_UNITS) + 1)
    paths = [
        *(f"/v1/units/{id}" for id in directory.unit_ids[:COLD_UNITS]),
        *(f"/v1/units?per-page={PAGE_UNITS}&page={page}" for page in pages),
    ]
    random.Random(SEED).shuffle(paths)
    return [LoadRequest(path) for path in paths]


COLD = Workload("cold", "each address once", list_cold_requests)


def _check_mix(served: Sequence[Peer], directory: Directory) -> None:
    compared = Workload(
        MIX.name, MIX.title, lambda _: [list_writes(directory)[0], *list_reads(directory)[:4]]
    )
    with ExitStack() as stack:
        servers = [stack.enter_context(start_peer(peer, directory)) for peer in served]
        check_same_answers(servers, compared)
        check_same_answers(servers, COLD)


def _measure_alone(
    peer: Peer, directory: Directory, load: LoadGenerator, seconds: float, log: Path
) -> Iterator[Row]:
    with start_peer(with_counters(peer, log), directory) as server:
        cold = len(list_cold_requests(directory))
        yield _measure_load(server, COLD, load, max_requests=cold)
        if not peer.serves(MIX.name):
            return
        # Once through the mix, so that caches have what they can have.
        count = len(MIX.requests(directory))
        _measure_load(server, MIX, load, max_requests=count)
        before = read_counters(log) if peer is CACHED else None
        row = _measure_load(server, MIX, load, seconds=seconds) | {"hit_rate": None}
        if before is not None:
            hits, misses = (x - y for x, y in zip(read_counters(log), before, strict=True))
            row["hit_rate"] = hits / (hits + misses)
        yield row


def _measure_load(
    server: PeerServer,
    workload: Workload,
    load: LoadGenerator,
    *,
    seconds: float = MAX_SECONDS,
    max_requests: int | None = None,
) -> Row:
    order = server.build_order(workload, seconds, workload.connections, max_requests=max_requests)
    before = server.cpu_seconds()
    outcome = load.run(order)
    answered = outcome.answered
    return {
        "load": workload.name,
        "requests": answered.requests,
        "cpu_ms": (server.cpu_seconds() - before) * 1000 / answered.requests,
        "requests_per_second": answered.requests / outcome.seconds,
        "p50_ms": answered.p50_ms,
        "p99_ms": answered.p99_ms,
    }


def with_counters(peer: Peer, log: Path) -> Peer:
    """Return a gateway that logs its counters to a file, and any other peer as it is."""
    if peer.command is not UNCACHED.command:
        return peer

    def command(port: int) -> list[str]:
        python, option, _, *arguments = peer.command(port)
        return [python, option, REPORTING_SCRIPT, *arguments]

    def environment(directory: Directory) -> dict[str, str]:
        return peer.environment(directory) | {"FLOORGATE_LOG_FILE": str(log)}

    return replace(peer, command=command, environment=environment)


def read_counters(log: Path) -> tuple[int, int]:
    """Return hits and misses when no more are reported. Raises PeerError if none are at all."""
    deadline = time.monotonic() + COUNTERS_SECONDS
    last: list[str] = []
    while time.monotonic() < deadline:
        lines = [line for line in log.read_text().splitlines() if '"floorgate.cache"' in line]
        if lines and lines == last:
            counters = orjson.loads(lines[-1])
            return counters["hits"], counters["misses"]
        last = lines
        time.sleep(POLL_SECONDS)
    raise PeerError(f"{log}: no counters of the response cache for {COUNTERS_SECONDS:.0f} s")


# Starts


def build_start_tables(results: Results) -> list[ReportTable]:
    """Return one row with the medians of all starts."""
    rows = results["starts"].rows
    [medians] = median_rows(rows)
    shown = {name: f"{figure:.2f}" for name, figure in medians.items()}
    return [tabulate("`floorgate serve` to its ready line", [{"starts": len(rows), **shown}])]


@experiment(report=build_start_tables)
def starts(run: Run, units: int = 20_000, times: int = 3) -> Iterator[Row]:
    """Measure how long `floorgate serve` takes to its ready line, with HTTPS and its own mongod.

    CPU time is that of the gateway alone, which unlike seconds a busy machine hardly affects.
    """
    run.load_directory(units)
    run.stop_mongod()
    with machine.pin_to_cores(*machine.CORES):
        for _ in range(times):
            await_no_mongod(run.data_dir)
            with serve(["--data-dir", str(run.data_dir)]) as (pid, _, seconds):
                cpu_seconds = machine.sum_cpu_seconds(pid)
                yield {
                    "seconds, mongod included": seconds,
                    "CPU seconds of the gateway": cpu_seconds,
                }
