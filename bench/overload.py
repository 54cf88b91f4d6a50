"""What is left of the throughput when far too much is asked.

For each gateway, without and with the response cache: the peak of requests answered per second;
then four or eight times as many fall due, whether or not earlier ones were answered, over more
connections than the gateway works on. Measured are goodput (answers other than rejections), how
fast rejections are, the memory of the worker, and how soon after the overload it answers as many
again. Each overload is compared with the peak just before it, and the medians of several rounds are
shown: the same load on the same machine may be answered 1.5 times as fast a minute later.

Clients that ask again at once after a rejection wait for the gateway to read from them, and measure
that. So rejections are timed by other clients, each of which sends a request a second, as
`Retry-After` says.
"""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from bench.comparison import find_workloads
from bench.data.workloads import UNIT, Workload
from bench.harness import Results, Row, Run, experiment, median_rows
from bench.load import machine
from bench.load.generator import LoadGenerator, start_load_generator
from bench.load.servers import PeerServer, start_peer
from bench.peers.peer import CACHED, UNCACHED
from bench.report import ReportTable, tabulate

FACTORS = (4, 8)
CONNECTIONS = 400
PEAK_CONNECTIONS = 32
PATIENT_CLIENTS = 100
RECOVERY_SLICE_SECONDS = 0.5
RECOVERY_SECONDS = 10.0
MIN_RECOVERED = 0.9
"""Share of the peak from which a gateway counts as recovered."""
GOODPUT_TARGET, REFUSED_P99_TARGET_MS, RECOVERY_TARGET_SECONDS = 0.8, 10.0, 5.0


def measure_gateway(
    server: PeerServer,
    workload: Workload,
    load: LoadGenerator,
    patient: LoadGenerator,
    seconds: float,
) -> Iterator[Row]:
    """Measure each factor, after the peak that it multiplies. Raises LoadError."""
    for factor in FACTORS:
        peak, peak_per_cpu_second = _saturate(server, workload, load, seconds)
        before = machine.sum_memory_mb(server.pid)["rss"]
        order = server.build_order(workload, seconds, CONNECTIONS, factor * peak, may_refuse=True)
        patient_order = server.build_order(
            workload, seconds, PATIENT_CLIENTS, PATIENT_CLIENTS, may_refuse=True
        )
        cpu = server.cpu_seconds()
        with ThreadPoolExecutor(1) as pool:
            timing = pool.submit(patient.run, patient_order)
            outcome = load.run(order)
            timed = timing.result()
        per_cpu_second = outcome.answered.requests / (server.cpu_seconds() - cpu)
        goodput = outcome.answered.requests / outcome.seconds
        yield {
            "gateway": server.peer.title,
            "times peak": factor,
            "peak/s": peak,
            "goodput/s": goodput,
            "of peak": goodput / peak,
            # Requests answered per CPU second of the gateway, as a share of those at the peak:
            # unlike goodput, it hardly depends on what else the machine does.
            "per CPU s": per_cpu_second / peak_per_cpu_second,
            "p99 ms": outcome.answered.p99_ms,
            "refused/s": outcome.refused.requests / outcome.seconds,
            "refused p99 ms": timed.refused.p99_ms,
            "MB before": before,
            "MB after": machine.sum_memory_mb(server.pid)["rss"],
            "recovered s": _wait_for_recovery(server, workload, load, peak),
        }


def _saturate(
    server: PeerServer,
    workload: Workload,
    load: LoadGenerator,
    seconds: float,
) -> tuple[float, float]:
    """Return the requests answered per second, and per CPU second of the gateway."""
    cpu = server.cpu_seconds()
    outcome = load.run(server.build_order(workload, seconds, PEAK_CONNECTIONS, may_refuse=True))
    answered = outcome.answered.requests
    return answered / outcome.seconds, answered / max(server.cpu_seconds() - cpu, 0.01)


def _wait_for_recovery(
    server: PeerServer, workload: Workload, load: LoadGenerator, peak: float
) -> float:
    """Return the seconds from the end of the overload, `RECOVERY_SECONDS` if it takes longer."""
    start = time.perf_counter()
    while (begun := time.perf_counter() - start) < RECOVERY_SECONDS:
        rate, _ = _saturate(server, workload, load, RECOVERY_SLICE_SECONDS)
        if rate >= MIN_RECOVERED * peak:
            return begun
    return RECOVERY_SECONDS


def summarize_rounds(samples: Sequence[Row]) -> list[Row]:
    """Return the medians of each gateway and factor, and whether they met the targets."""
    medians = median_rows(samples, "gateway", "times peak")
    return [row | {"targets met": meets_targets(row)} for row in medians]


def meets_targets(row: Row) -> bool:
    """Return whether a gateway reached the targets in docs/performance.md."""
    return bool(
        row["of peak"] >= GOODPUT_TARGET
        and (not row["refused/s"] or row["refused p99 ms"] < REFUSED_P99_TARGET_MS)
        and row["recovered s"] <= RECOVERY_TARGET_SECONDS
    )


def build_tables(results: Results) -> list[ReportTable]:
    """Return the figures, a row for each gateway and factor."""
    return [tabulate("Overload", summarize_rounds(results["overload"].rows))]


@experiment(report=build_tables)
def overload(
    run: Run, units: int = 5_000, rounds: int = 5, seconds: float = 5.0, workload: str = UNIT
) -> Iterator[Row]:
    """Measure goodput and rejections at 4 and 8 times the peak, cache off and on."""
    [sent] = find_workloads([workload])
    directory = run.load_directory(units)
    with start_load_generator() as load, start_load_generator() as patient:
        load.yield_to_others()
        for peer in (UNCACHED, CACHED):
            with start_peer(peer, directory) as server:
                for _ in range(rounds):
                    yield from measure_gateway(server, sent, load, patient, seconds)
