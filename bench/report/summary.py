"""Show the results of a run as tables and a chart, on a terminal and in the documentation."""

import sys
from collections.abc import Callable, Sequence
from statistics import median

from rich.console import Console

from bench.data.workloads import LIST, NESTED, NOT_MODIFIED, UNIT, WORKLOADS, Workload
from bench.load.rounds import Sample
from bench.peers.by_hand import BY_HAND
from bench.peers.floorgate import CACHED, UNCACHED
from bench.peers.raw import RAW
from bench.report import alone_table, chart, pages, staleness_table, targets
from bench.report.results import Results, Spread
from bench.report.tables import NO_VALUE, ReportTable, format_figure

PIPED_COLUMNS = 160
CHART_WORKLOADS = (UNIT, LIST, NESTED, NOT_MODIFIED)
COLOURS = {UNCACHED.name: chart.OWN_COLOUR, CACHED.name: chart.OWN_COLOUR} | dict.fromkeys(
    (BY_HAND.name, RAW.name), chart.LIMIT_COLOUR
)
CHART_MARKDOWN = (
    f"![Server CPU per request of every peer](pictures/{pages.CHART_PATH.name})\n\n"
    "Floorgate is green, what a user would pick instead orange, the limits are grey; the scale is "
    "logarithmic."
)
SATURATION_SHARE = 0.9
"""If a server used less than this share of its core, something else limited its rate."""


def print_report(results: Results) -> None:
    """Print every table."""
    console = Console(width=None if sys.stdout.isatty() else PIPED_COLUMNS)
    for sheet in build_tables(results):
        console.print(sheet.to_rich_table())
    for line in results.left_out:
        console.print(line)


def write_docs(results: Results) -> None:
    """Write every table and the chart into the documentation. Raises MissingMarkersError."""
    ratios, *others = build_tables(results)
    shown = f"{ratios.to_markdown()}\n\n{_describe_conditions(results)}"
    pages.rewrite_section(pages.PERFORMANCE_PAGE, "ratios", f"{shown}\n\n{CHART_MARKDOWN}")
    details = [f"### {sheet.title}\n\n{sheet.to_markdown()}" for sheet in others]
    pages.rewrite_section(
        pages.PERFORMANCE_PAGE, "details", "\n\n".join([*details, *results.left_out])
    )
    pages.CHART_PATH.write_text(chart.draw_chart(build_bar_groups(results)))


def build_tables(results: Results) -> list[ReportTable]:
    """Return all tables, the ratios first."""
    tables = [
        targets.build_table(results),
        targets.build_rival_table(results),
        _table_by_workload(results, "Server CPU, ms per request", lambda x: x.cpu_ms),
        _table_by_workload(results, "Requests per second at saturation", _rate, _UNSATURATED_NOTE),
        _latency_table(results),
        _table_by_workload(results, "CPU of mongod, ms per request", lambda x: x.mongod_cpu_ms),
        alone_table.build_table(results.alone, results.titles),
        _memory_table(results),
        _start_table(results),
    ]
    if results.staleness:
        tables.append(staleness_table.build_table(results.staleness))
    return tables


_UNSATURATED_NOTE = (
    "* the server used less than 90 % of its core: MongoDB, the load or another program was the "
    "limit."
)


def _rate(sample: Sample) -> float:
    return sample.requests_per_second


def _table_by_workload(
    results: Results, title: str, value: Callable[[Sample], float], mark: str = ""
) -> ReportTable:
    def cell(samples: list[Sample]) -> str:
        shown = format_figure(median(value(sample) for sample in samples))
        is_marked = mark and median(sample.busy for sample in samples) < SATURATION_SHARE
        return f"{shown}*" if is_marked else shown

    return _table_of_cells(results, title, cell, mark)


def _latency_table(results: Results) -> ReportTable:
    def cell(samples: list[Sample]) -> str:
        p50 = median(sample.p50_ms for sample in samples)
        p99 = median(sample.p99_ms for sample in samples)
        return f"{format_figure(p50)} / {format_figure(p99)}"

    return _table_of_cells(results, "p50 / p99 in ms at half of the peer's own saturation", cell)


def _table_of_cells(
    results: Results, title: str, cell: Callable[[list[Sample]], str], note: str = ""
) -> ReportTable:
    rows = [
        [
            workload.title,
            *(
                cell(samples) if (samples := results.samples_of(workload.name, peer)) else NO_VALUE
                for peer in results.titles
            ),
        ]
        for workload in list_measured_workloads(results)
    ]
    return ReportTable(title, ("", *results.titles.values()), rows, note=note)


def list_measured_workloads(results: Results) -> list[Workload]:
    """Return the workloads that took part."""
    names = {sample.workload for sample in results.samples}
    return [workload for workload in WORKLOADS if workload.name in names]


def _memory_table(results: Results) -> ReportTable:
    rows = [
        (
            results.titles.get(memory.process, memory.process),
            *(
                f"{figures[kind]:.0f}"
                for figures in (memory.idle, memory.after)
                for kind in ("rss", "pss")
            ),
        )
        for memory in results.memory
    ]
    return ReportTable(
        "Resident memory in MB, idle and after the runs",
        ("", "RSS idle", "PSS idle", "RSS after", "PSS after"),
        rows,
    )


def _start_table(results: Results) -> ReportTable:
    rows = []
    if results.starts:
        rows.append(
            (
                str(len(results.starts)),
                f"{median(start.seconds for start in results.starts):.2f}",
                f"{median(start.cpu_seconds for start in results.starts):.2f}",
            )
        )
    return ReportTable(
        "`floorgate serve` to its ready line",
        ("starts", "seconds, mongod included", "CPU seconds of the gateway"),
        rows,
    )


def build_bar_groups(results: Results) -> list[chart.BarGroup]:
    """Return bars of the main workloads, the fastest peer first."""
    titles = {workload.name: workload.title for workload in WORKLOADS}
    return [
        chart.BarGroup(f"{titles[workload]}: server CPU ms per request", bars)
        for workload in CHART_WORKLOADS
        if (bars := _bars(results, workload))
    ]


def _bars(results: Results, workload: str) -> Sequence[chart.Bar]:
    bars = [
        chart.Bar(
            title,
            # A bar needs some length.
            max(median(sample.cpu_ms for sample in samples), 0.001),
            COLOURS.get(peer, chart.OTHER_COLOUR),
        )
        for peer, title in results.titles.items()
        if (samples := results.samples_of(workload, peer))
    ]
    return sorted(bars, key=lambda bar: bar.cpu_ms)


def _describe_conditions(results: Results) -> str:
    busy = Spread.from_values(sample.load_average for sample in results.samples)
    machine = results.machine
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    return (
        f"Taken {results.taken_at} on {machine['processor']}, {machine['cores']} cores, load "
        f"average {busy.minimum:.1f} to {busy.maximum:.1f}; {results.units:,} units; medians of "
        f"{results.rounds} interleaved rounds of {results.seconds:g} s. Python "
        f"{machine['python']}, {packages}."
    )
