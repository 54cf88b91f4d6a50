"""`python -m bench.overload`: what is left of the throughput when far too much is asked.

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

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from statistics import median

import click
import msgspec
from rich.console import Console
from rich.progress import track

from bench.data.directory import Directory, load_directory
from bench.data.workloads import UNIT, WORKLOADS, Workload
from bench.load import machine
from bench.load.generator import LoadError, LoadGenerator, start_load_generator
from bench.load.servers import PeerError, PeerServer, start_peer
from bench.load.start_time import scratch_directory
from bench.peers.floorgate import CACHED, UNCACHED
from bench.report.tables import ReportTable, format_figure
from storage.embedded import embedded_mongo

FACTORS = (4, 8)
CONNECTIONS = 400
PEAK_CONNECTIONS = 32
PATIENT_CLIENTS = 100
RECOVERY_SLICE_SECONDS = 0.5
RECOVERY_SECONDS = 10.0
MIN_RECOVERED = 0.9
"""Share of the peak from which a gateway counts as recovered."""
GOODPUT_TARGET, REFUSED_P99_TARGET_MS, RECOVERY_TARGET_SECONDS = 0.8, 10.0, 5.0


class OverloadSample(msgspec.Struct, frozen=True, kw_only=True):
    """One gateway at one multiple of its peak, or the medians of several rounds."""

    peer: str
    factor: int
    peak: float
    """Requests per second, like goodput and refused."""
    goodput: float
    goodput_share: float
    """Of the peak just before."""
    efficiency: float
    """Requests answered per CPU second of the gateway, as a share of those at the peak. Unlike
    goodput, it hardly depends on what else the machine does."""
    p99_ms: float
    refused: float
    refused_p99_ms: float
    """Of the clients that send a request a second."""
    rss_mb: tuple[float, float]
    """Of the worker, before and after."""
    recovered_seconds: float
    """From the end of the overload; infinite if not within RECOVERY_SECONDS."""

    @property
    def meets_targets(self) -> bool:
        """Return whether the gateway reached the targets in docs/performance.md."""
        return (
            self.goodput_share >= GOODPUT_TARGET
            and (not self.refused or self.refused_p99_ms < REFUSED_P99_TARGET_MS)
            and self.recovered_seconds <= RECOVERY_TARGET_SECONDS
        )


def measure_gateway(
    server: PeerServer,
    workload: Workload,
    directory: Directory,
    load: LoadGenerator,
    patient: LoadGenerator,
    seconds: float,
) -> Iterator[OverloadSample]:
    """Measure each factor, after the peak that it multiplies. Raises LoadError."""
    for factor in FACTORS:
        peak, peak_per_cpu_second = _saturate(server, workload, directory, load, seconds)
        before = machine.sum_memory_mb(server.pid)["rss"]
        order = server.build_order(
            workload, directory, seconds, CONNECTIONS, factor * peak, may_refuse=True
        )
        patient_order = server.build_order(
            workload, directory, seconds, PATIENT_CLIENTS, PATIENT_CLIENTS, may_refuse=True
        )
        cpu = server.cpu_seconds()
        with ThreadPoolExecutor(1) as pool:
            timing = pool.submit(patient.run, patient_order)
            outcome = load.run(order)
            timed = timing.result()
        per_cpu_second = outcome.answered.requests / (server.cpu_seconds() - cpu)
        goodput = outcome.answered.requests / outcome.seconds
        yield OverloadSample(
            peer=server.peer.title,
            factor=factor,
            peak=peak,
            goodput=goodput,
            goodput_share=goodput / peak,
            efficiency=per_cpu_second / peak_per_cpu_second,
            p99_ms=outcome.answered.p99_ms,
            refused=outcome.refused.requests / outcome.seconds,
            refused_p99_ms=timed.refused.p99_ms,
            rss_mb=(before, machine.sum_memory_mb(server.pid)["rss"]),
            recovered_seconds=_wait_for_recovery(server, workload, directory, load, peak),
        )


def _saturate(
    server: PeerServer,
    workload: Workload,
    directory: Directory,
    load: LoadGenerator,
    seconds: float,
) -> tuple[float, float]:
    """Return the requests answered per second, and per CPU second of the gateway."""
    cpu = server.cpu_seconds()
    outcome = load.run(
        server.build_order(workload, directory, seconds, PEAK_CONNECTIONS, may_refuse=True)
    )
    answered = outcome.answered.requests
    return answered / outcome.seconds, answered / max(server.cpu_seconds() - cpu, 0.01)


def _wait_for_recovery(
    server: PeerServer, workload: Workload, directory: Directory, load: LoadGenerator, peak: float
) -> float:
    start = time.perf_counter()
    while (begun := time.perf_counter() - start) < RECOVERY_SECONDS:
        rate, _ = _saturate(server, workload, directory, load, RECOVERY_SLICE_SECONDS)
        if rate >= MIN_RECOVERED * peak:
            return begun
    return math.inf


def summarize_rounds(samples: Sequence[OverloadSample]) -> OverloadSample:
    """Return the median of each figure of one gateway and factor, and its first and last memory."""
    first = samples[0]
    medians = {
        name: median(getattr(sample, name) for sample in samples)
        for name in first.__struct_fields__
        if name not in ("peer", "factor", "rss_mb")
    }
    return OverloadSample(
        peer=first.peer,
        factor=first.factor,
        rss_mb=(first.rss_mb[0], samples[-1].rss_mb[1]),
        **medians,
    )


def build_table(samples: list[OverloadSample]) -> ReportTable:
    """Return the figures, a row for each gateway and factor."""
    return ReportTable(
        "Overload",
        (
            "gateway", "times peak", "peak/s", "goodput/s", "of peak", "per CPU s", "p99 ms",
            "refused/s", "refused p99 ms", "MB before", "MB after", "recovered s", "targets met",
        ),
        [
            (
                sample.peer,
                str(sample.factor),
                format_figure(sample.peak),
                format_figure(sample.goodput),
                f"{sample.goodput_share:.0%}",
                f"{sample.efficiency:.0%}",
                format_figure(sample.p99_ms),
                format_figure(sample.refused),
                format_figure(sample.refused_p99_ms),
                *(format_figure(megabytes) for megabytes in sample.rss_mb),
                "no" if sample.recovered_seconds == math.inf else f"{sample.recovered_seconds:.1f}",
                "yes" if sample.meets_targets else "no",
            )
            for sample in samples
        ],
    )  # fmt: skip


@click.command()
@click.option("--units", type=click.IntRange(250), default=5_000, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True)
@click.option("--seconds", type=click.FloatRange(1.0), default=5.0, show_default=True)
@click.option("--workload", "name", type=click.Choice([w.name for w in WORKLOADS]), default=UNIT)
def main(units: int, rounds: int, seconds: float, name: str) -> None:
    """Measure goodput and rejections at 4 and 8 times the peak, cache off and on."""
    [workload] = [workload for workload in WORKLOADS if workload.name == name]
    medians: list[OverloadSample] = []
    with ExitStack() as stack:
        scratch = stack.enter_context(scratch_directory())
        stack.enter_context(machine.pin_to_cores(machine.LOAD_CORE))
        mongo_url = stack.enter_context(embedded_mongo.run_embedded_mongo(scratch / "data"))
        load, patient = (stack.enter_context(start_load_generator()) for _ in range(2))
        load.yield_to_others()
        directory = load_directory(mongo_url, "floorgate", units, scratch)
        try:
            for peer in (UNCACHED, CACHED):
                with start_peer(peer, directory) as server:
                    samples = [
                        sample
                        for _ in track(range(rounds), f"Overloading {peer.title}")
                        for sample in measure_gateway(
                            server, workload, directory, load, patient, seconds
                        )
                    ]
                medians += [
                    summarize_rounds(samples[position :: len(FACTORS)])
                    for position in range(len(FACTORS))
                ]
        except (LoadError, PeerError) as error:
            raise click.ClickException(str(error)) from error
    Console(width=160).print(build_table(medians).to_rich_table())


if __name__ == "__main__":
    main()
