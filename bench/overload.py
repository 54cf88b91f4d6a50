"""Measure what is left of the throughput when far too much is asked.

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
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from bench.comparison import find_workloads
from bench.data.workloads import UNIT, Workload
from bench.harness import Row, Run, experiment, median_rows
from bench.load.generator import LoadGenerator, start_load_generator
from bench.load.servers import PeerServer, Sample, start_peer
from bench.peers.peer import CACHED, UNCACHED

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
        at_peak = _saturate(server, workload, load, seconds)
        peak = at_peak.per_second
        before = server.memory_mb()["rss"]
        rate = factor * peak
        order = server.build_order(workload, seconds, CONNECTIONS, rate=rate, may_refuse=True)
        patient_order = server.build_order(
            workload, seconds, PATIENT_CLIENTS, rate=PATIENT_CLIENTS, may_refuse=True
        )
        with ThreadPoolExecutor(1) as pool:
            timing = pool.submit(patient.run, patient_order)
            overloaded = server.run(load, order)
            timed = timing.result()
        outcome, goodput = overloaded.outcome, overloaded.per_second
        yield {
            "gateway": server.peer.title,
            "times peak": factor,
            "peak/s": peak,
            "goodput/s": goodput,
            "of peak": goodput / peak,
            # Requests answered per CPU second of the gateway, as a share of those at the peak:
            # unlike goodput, it hardly depends on what else the machine does.
            "per CPU s": _count_per_cpu_second(overloaded) / _count_per_cpu_second(at_peak),
            "p99 ms": outcome.answered.p99_ms,
            "refused/s": outcome.refused.requests / outcome.seconds,
            "refused p99 ms": timed.refused.p99_ms,
            "MB before": before,
            "MB after": server.memory_mb()["rss"],
            "recovered s": _wait_for_recovery(server, workload, load, peak),
        }


def _saturate(
    server: PeerServer, workload: Workload, load: LoadGenerator, seconds: float
) -> Sample:
    return server.measure(load, workload, seconds, PEAK_CONNECTIONS, may_refuse=True)


def _count_per_cpu_second(sample: Sample) -> float:
    """Return the requests answered per CPU second of the gateway."""
    return sample.requests / max(sample.cpu_seconds, 0.01)


def _wait_for_recovery(
    server: PeerServer, workload: Workload, load: LoadGenerator, peak: float
) -> float:
    """Return the seconds from the end of the overload, `RECOVERY_SECONDS` if it takes longer."""
    start = time.perf_counter()
    while (begun := time.perf_counter() - start) < RECOVERY_SECONDS:
        sample = _saturate(server, workload, load, RECOVERY_SLICE_SECONDS)
        if sample.per_second >= MIN_RECOVERED * peak:
            return begun
    return RECOVERY_SECONDS


def meets_targets(row: Row) -> bool:
    """Return whether a gateway reached the targets in docs/performance.md."""
    return bool(
        row["of peak"] >= GOODPUT_TARGET
        and (not row["refused/s"] or row["refused p99 ms"] < REFUSED_P99_TARGET_MS)
        and row["recovered s"] <= RECOVERY_TARGET_SECONDS
    )


@experiment("Overload")
def overload(run: Run, units: int = 5_000, rounds: int = 5, seconds: float = 5.0) -> Iterator[Row]:
    """Measure goodput and rejections at 4 and 8 times the peak, cache off and on."""
    [sent] = find_workloads([UNIT])
    directory = run.load_directory(units)
    with start_load_generator() as load, start_load_generator() as patient:
        load.yield_to_others()
        for peer in (UNCACHED, CACHED):
            with start_peer(peer, directory) as server:
                samples = [
                    row
                    for _ in range(rounds)
                    for row in measure_gateway(server, sent, load, patient, seconds)
                ]
            for row in median_rows(samples, "gateway", "times peak"):
                yield row | {"targets met": meets_targets(row)}
