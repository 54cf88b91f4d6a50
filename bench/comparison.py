"""`make bench`: Floorgate beside its peers, on the same MongoDB and the same data.

The server has one core to itself; the load generator and mongod share another. Every workload is
warmed up on every peer. Then rounds go over all workloads and peers, every second one backwards, so
that ratios compare loads close in time. CPU is the time that the kernel accounts to the server's
process, all threads included, divided by the number of responses.
"""

import importlib.util
import random
import resource
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import click

from bench.data.directory import Directory
from bench.data.workloads import (
    MIX,
    SEED,
    WORKLOADS,
    LoadRequest,
    Workload,
    build_workload,
    list_reads,
    list_writes,
)
from bench.harness import Row, Run, experiment, median_rows
from bench.load import machine
from bench.load.generator import LoadGenerator
from bench.load.servers import (
    PeerServer,
    await_no_mongod,
    check_same_answers,
    find_free_port,
    record_answers,
    start_peer,
    start_peers,
)
from bench.peers import node
from bench.peers.by_hand import BY_HAND, WITH_BYTES, WITH_MODELS
from bench.peers.node import SOFA_JIT, SOFA_JS
from bench.peers.peer import CACHED, COMMAND, UNCACHED, Peer
from bench.peers.raw import RAW
from bench.peers.strawberry_stock import STRAWBERRY
from bench.report import COST_TITLE, NO_VALUE, ReportTable, format_figure, tabulate
from bench.response_cache import (
    STALENESS_NOTE,
    STALENESS_TITLE,
    count_since,
    read_counters,
    staleness,
    with_counters,
)
from bench.targets import PEER_TITLES, build_rival_table, build_target_table

PACED_CONNECTIONS = 32
"""More than are ever busy at half of saturation, so that requests do not queue for one."""
MIN_PACED_REQUESTS = 5
"""Minimum number of requests in a paced load, however slow the peer."""
SATURATION_SHARE = 0.9
"""If a server used less than this share of its core, something else limited its rate."""
COLD_UNITS, COLD_PAGES, PAGE_UNITS = 1_000, 100, 100
MAX_SECONDS = 300.0
"""Longer than any peer takes for the requests of a load without an end of its own."""


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


def build_peer_tables(rows: Sequence[Row]) -> list[ReportTable]:
    """Return all tables of a comparison, the ratios first."""
    samples = [row for row in rows if "workload" in row]
    medians = {(x["workload"], x["peer"]): x for x in median_rows(samples, "workload", "peer")}
    tables = [
        build_target_table(rows),
        build_rival_table(rows),
        _table_by_workload(medians, COST_TITLE, lambda x: format_figure(x["cpu_ms"])),
        _table_by_workload(
            medians,
            "Requests per second at saturation",
            lambda x: (
                format_figure(x["requests_per_second"])
                + ("*" if x["busy"] < SATURATION_SHARE else "")
            ),
            note="* the server used less than 90 % of its core: MongoDB, the load or another "
            "program was the limit.",
        ),
        _table_by_workload(
            medians,
            "p50 / p99 in ms at half of the peer's own saturation",
            lambda x: f"{format_figure(x['p50_ms'])} / {format_figure(x['p99_ms'])}",
        ),
        _table_by_workload(
            medians, "CPU of mongod, ms per request", lambda x: format_figure(x["mongod_cpu_ms"])
        ),
        _build_alone_table([row for row in rows if "load" in row]),
        tabulate(
            "Resident memory in MB, idle and after the runs",
            [
                {"": PEER_TITLES.get(row["process"], row["process"])}
                | {
                    f"{kind.upper()} {when}": round(row[when][kind])
                    for when in ("idle", "after")
                    for kind in ("rss", "pss")
                }
                for row in rows
                if "process" in row
            ],
        ),
        build_start_table([row for row in rows if "command" in row]),
        tabulate(STALENESS_TITLE, [row for row in rows if "read through" in row], STALENESS_NOTE),
        tabulate("Left out", [{"": row["left_out"]} for row in rows if "left_out" in row]),
    ]
    return [table for table in tables if table.rows]


def _table_by_workload(
    medians: Mapping[tuple[str, str], Row],
    title: str,
    cell: Callable[[Row], str],
    note: str = "",
) -> ReportTable:
    peers = [peer for peer in PEER_TITLES if any(peer == name for _, name in medians)]
    rows = [
        [
            workload.title,
            *(
                cell(medians[workload.name, peer]) if (workload.name, peer) in medians else NO_VALUE
                for peer in peers
            ),
        ]
        for workload in WORKLOADS
        if any(workload.name == name for name, _ in medians)
    ]
    return ReportTable(title, ("", *(PEER_TITLES[peer] for peer in peers)), rows, note=note)


@experiment(report=build_peer_tables)
def peers(
    run: Run,
    units: int = 20_000,
    rounds: int = 3,
    seconds: float = 1.0,
    alone: int = 3,
    starts: int = 3,
    writes: int = 200,
    peer: tuple[str, ...] = (),
    workload: tuple[str, ...] = (),
) -> Iterator[Row]:
    """Measure all workloads on all peers under the same load in turn, and their memory.

    There are two loads of these seconds per round, workload and peer. Before, every peer's response
    to every workload must have the same content as Floorgate's. `--alone` is the number of rounds
    in which each peer is started anew, for cold caches and writes, `--starts` that of starts,
    `--writes` that of writes that are awaited; `--peer` names those beside Floorgate.
    """
    found, left_out = find_peers(peer)
    workloads = find_workloads(workload)
    directory = run.load_directory(units)
    yield from ({"left_out": reason} for reason in left_out)
    with start_peer(UNCACHED, directory) as server:
        record_answers(server, WORKLOADS)  # for the peers that replay them
    with start_peers(found, directory) as servers:
        idle = _measure_memory(servers)
        for each in workloads:
            serving = [server for server in servers if server.peer.serves(each.name)]
            check_same_answers(serving, each)
        yield from measure_rounds(servers, workloads, run.load, rounds, seconds)
        after = _measure_memory(servers)
    yield from ({"process": name, "idle": idle[name], "after": after[name]} for name in idle)
    yield from measure_alone(run, directory, [x for x in found if x is not RAW], alone, seconds)
    if writes:
        yield from staleness(run, units, writes)
    yield from measure_starts(run, directory, starts)


def _measure_memory(servers: Sequence[PeerServer]) -> dict[str, Row]:
    """Return megabytes of memory by process and kind."""
    mongod = machine.sum_memory_mb(servers[0].directory.mongod_pid)
    own = {server.peer.name: server.memory_mb() for server in servers}
    return {name: {**memory} for name, memory in (own | {"mongod": mongod}).items()}


def measure_rounds(
    servers: Sequence[PeerServer],
    workloads: Sequence[Workload],
    load: LoadGenerator,
    rounds: int,
    seconds: float,
) -> Iterator[Row]:
    """Yield a sample of every workload and peer per round, in alternating order.

    Before, each load warms up lazy imports, JIT compilers, MongoDB's cache and connection pools.
    """
    pairs = [
        (workload, server)
        for workload in workloads
        for server in servers
        if server.peer.serves(workload.name)
    ]
    for workload, server in pairs:
        server.measure(load, workload, seconds)
    for number in range(rounds):
        for workload, server in pairs if number % 2 == 0 else pairs[::-1]:
            yield {"round": number, **_measure_sample(server, workload, load, seconds)}


def _measure_sample(
    server: PeerServer, workload: Workload, load: LoadGenerator, seconds: float
) -> Row:
    full = server.measure(load, workload, seconds)
    rate = full.per_second / 2
    paced_seconds = max(seconds, MIN_PACED_REQUESTS / rate)
    paced = server.measure(load, workload, paced_seconds, PACED_CONNECTIONS, rate=rate)
    half = paced.outcome.answered
    return {
        "workload": workload.name,
        "peer": server.peer.name,
        **full.figures,
        # Of its core; threads can take it above 1.
        "busy": full.cpu_seconds / full.outcome.seconds,
        "p50_ms": half.p50_ms,
        "p99_ms": half.p99_ms,
    }


# Each peer alone, right after its start


def _build_alone_table(rows: Sequence[Row]) -> ReportTable:
    """Return a row for each peer, with medians of the rounds."""
    loads = {(x["peer"], x["load"]): x for x in median_rows(rows, "peer", "load")}
    lines = []
    for peer, title in PEER_TITLES.items():
        if cold := loads.get((peer, COLD.name)):
            mix = loads.get((peer, MIX.name), {})
            hits = mix.get("hit_rate")
            lines.append(
                {
                    "": title,
                    "each address once, CPU ms": cold["cpu_ms"],
                    "p50 / p99 ms": (cold["p50_ms"], cold["p99_ms"]),
                    "6 % assignments, CPU ms": mix.get("cpu_ms"),
                    "per second": mix.get("requests_per_second"),
                    "p50 / p99 ms ": (mix.get("p50_ms"), mix.get("p99_ms")),
                    "hits of reads": None if hits is None else f"{100 * hits:.1f} %",
                }
            )
    title = "Right after the start, and with writes between the reads"
    return tabulate(title, lines, "Load average {load}.")


def measure_alone(
    run: Run, directory: Directory, served: Sequence[Peer], rounds: int, seconds: float
) -> Iterator[Row]:
    """Measure each peer alone, just started, and with assignments between the reads.

    Each round starts every peer anew: writes of one are work for the caches of another. First it
    gets many addresses, each once, so that no cache has a response. Then it gets the mix of reads
    and writes, once to fill its caches and then for the seconds.
    """
    if rounds:
        _check_mix([each for each in served if each.serves(MIX.name)], directory)
    for number in range(rounds):
        for each in served if number % 2 == 0 else served[::-1]:
            port = find_free_port()
            with start_peer(with_counters(each, port), directory) as server:
                for workload in (COLD, MIX):
                    if not each.serves(workload.name) and workload is MIX:
                        continue
                    count, hit_rate = len(workload.requests(directory)), None
                    sample = server.measure(run.load, workload, MAX_SECONDS, max_requests=count)
                    if workload is MIX:
                        before = read_counters(port) if each is CACHED else None
                        sample = server.measure(run.load, workload, seconds)
                        if before is not None:
                            hits, misses = count_since(port, before)
                            hit_rate = hits / (hits + misses)
                    row = {"round": number, "peer": each.name, "load": workload.name}
                    yield row | sample.figures | {"hit_rate": hit_rate}


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
    compared = build_workload(MIX.name, [list_writes(directory)[0], *list_reads(directory)[:4]])
    with start_peers(served, directory) as servers:
        check_same_answers(servers, compared)
        check_same_answers(servers, COLD)


# Starts


def build_start_table(rows: Sequence[Row]) -> ReportTable:
    """Return the medians of each command's starts."""
    return tabulate("From the start of a command to its first answer", median_rows(rows, "command"))


@experiment(report=lambda rows: [build_start_table(rows)])
def starts(run: Run, units: int = 20_000, times: int = 3) -> Iterator[Row]:
    """Measure how soon a gateway answers, and what `floorgate --help` takes.

    CPU time is that of the command alone, without mongod; unlike seconds, a busy machine hardly
    affects it.
    """
    yield from measure_starts(run, run.load_directory(units), times)


def measure_starts(run: Run, directory: Directory, times: int) -> Iterator[Row]:
    """Start commands so many times; no mongod runs afterwards."""
    for _ in range(times):
        used, begun = _read_children_cpu_seconds(), time.perf_counter()
        subprocess.run([*COMMAND, "--help"], stdout=subprocess.DEVNULL, check=True)
        seconds, cpu_seconds = time.perf_counter() - begun, _read_children_cpu_seconds() - used
        yield {"command": "floorgate --help", "seconds": seconds, "CPU seconds": cpu_seconds}
    own = replace(UNCACHED, arguments=("--data-dir", str(run.data_dir)))
    for title, peer, served in (
        ("floorgate serve, on a running mongod", UNCACHED, directory),
        ("floorgate serve, mongod included", own, replace(directory, mongo_url="")),
    ):
        if peer is own:
            run.stop_mongod()
        for _ in range(times):
            if peer is own:
                await_no_mongod(run.data_dir)
            with machine.pin_to_cores(*machine.CORES), start_peer(peer, served) as server:
                used = server.cpu_seconds()
                yield {"command": title, "seconds": server.ready_seconds, "CPU seconds": used}


def _read_children_cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
