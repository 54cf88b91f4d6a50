"""The results of `bench.alone`, and their table."""

from collections.abc import Mapping, Sequence
from statistics import median

import msgspec

from bench.report.tables import NO_VALUE, ReportTable, format_figure


class AloneSample(msgspec.Struct, frozen=True, kw_only=True):
    """One peer under one load in one round."""

    round: int
    peer: str
    load: str
    """`cold` or `mix`."""
    requests: int
    cpu_ms: float
    """Server CPU per request."""
    requests_per_second: float
    p50_ms: float
    p99_ms: float
    hit_rate: float | None = None
    """Share of the reads that came from the response cache; None without one."""
    load_average: float


def build_table(samples: Sequence[AloneSample], titles: Mapping[str, str]) -> ReportTable:
    """Return a row for each peer, with medians of the rounds."""
    return ReportTable(
        "Right after the start, and with writes between the reads",
        (
            *("", "each address once, CPU ms", "p50 / p99 ms"),
            *("6 % assignments, CPU ms", "per second", "p50 / p99 ms", "hits of reads"),
        ),
        [
            (title, *_cold_cells(_select(samples, peer, "cold")), *_mix_cells(mix))
            for peer, title in titles.items()
            if _select(samples, peer, "cold")
            for mix in [_select(samples, peer, "mix")]
        ],
        note=_describe_load(samples),
    )


def _describe_load(samples: Sequence[AloneSample]) -> str:
    loads = [sample.load_average for sample in samples]
    return f"Load average {min(loads):.1f} to {max(loads):.1f}." if loads else ""


def _select(samples: Sequence[AloneSample], peer: str, load: str) -> list[AloneSample]:
    return [sample for sample in samples if (sample.peer, sample.load) == (peer, load)]


def _cold_cells(samples: Sequence[AloneSample]) -> tuple[str, ...]:
    return _cpu(samples), _latencies(samples)


def _mix_cells(samples: Sequence[AloneSample]) -> tuple[str, ...]:
    if not samples:
        return (NO_VALUE,) * 4
    rates = [sample.hit_rate for sample in samples if sample.hit_rate is not None]
    return (
        _cpu(samples),
        format_figure(median(sample.requests_per_second for sample in samples)),
        _latencies(samples),
        f"{100 * median(rates):.1f} %" if rates else NO_VALUE,
    )


def _cpu(samples: Sequence[AloneSample]) -> str:
    return format_figure(median(sample.cpu_ms for sample in samples))


def _latencies(samples: Sequence[AloneSample]) -> str:
    p50, p99 = (median(x) for x in zip(*((s.p50_ms, s.p99_ms) for s in samples), strict=True))
    return f"{format_figure(p50)} / {format_figure(p99)}"
