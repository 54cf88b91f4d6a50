"""The tables, the chart and the page show what was measured."""

from io import StringIO
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from bench.data.workloads import LIST, UNIT, WORKLOADS
from bench.load.generator import LatencySummary
from bench.peers.fastapi_peers import WITH_BYTES, WITH_MODELS
from bench.peers.floorgate import CACHED, UNCACHED
from bench.peers.raw import RAW
from bench.report import pages, summary
from bench.report.invalidation_table import CommitSample, Invalidation, KindSample, RoundSample
from bench.report.invalidation_table import build_tables as build_invalidation_tables
from bench.report.tables import ReportTable, format_figure
from bench.report.targets import TARGETS
from tests.bench.canned import PEERS, build_results, build_sample


def test_a_table_is_the_same_in_markdown_and_on_a_terminal() -> None:
    table = ReportTable("Title", ("", "a"), [("one", "1"), ("two", "2")], note="Why.")
    assert table.to_markdown() == "|  | a |\n| --- | --: |\n| one | 1 |\n| two | 2 |\n\nWhy."
    console = Console(width=40, record=True, file=StringIO())
    console.print(table.to_rich_table())
    shown = [line.strip("│ ").split() for line in console.export_text().splitlines()]
    assert ["one", "│", "1"] in shown and ["two", "│", "2"] in shown


@pytest.mark.parametrize(
    ("value", "expected"),
    [(12345.6, "12,346"), (100, "100"), (12.345, "12.3"), (0.1234, "0.12"), (0.0123, "0.012")],
)
def test_figures_have_three_digits_or_more(value: float, expected: str) -> None:
    assert format_figure(value) == expected


def test_figures_have_a_row_for_each_workload_and_a_cell_for_each_peer() -> None:
    results = build_results(
        build_sample(UNCACHED.name, 1.0, LIST, requests_per_second=500.0),
        build_sample(UNCACHED.name, 2.0, UNIT),
        build_sample(CACHED.name, 4.0, UNIT, round=0),
        build_sample(CACHED.name, 6.0, UNIT, round=1),
        build_sample(RAW.name, 1.0, LIST, requests_per_second=900.0, busy=0.5),
    )
    tables = {table.title: table for table in summary.build_tables(results)}
    cpu = tables["Server CPU, ms per request"]
    assert [row[:3] for row in cpu.rows] == [
        ["one unit", "2.00", "5.00"],
        ["1,000 units", "1.00", "–"],
    ]
    rates = next(table for title, table in tables.items() if "saturation" in title)
    assert rates.rows[1][1:4] == ["500", "–", "900*"]  # not bounded by the server


def test_targets_name_peers_and_workloads_that_exist() -> None:
    known = {peer.name for peer in (*PEERS, WITH_BYTES, WITH_MODELS)}
    for target in TARGETS:
        assert target.peer in (UNCACHED.name, CACHED.name)
        assert target.workloads and target.reference_peers and target.max_ratio > 0
        assert {*target.workloads} <= {workload.name for workload in WORKLOADS}
        assert {*target.reference_peers} <= known


# The chart


def test_the_chart_shows_the_quickest_peer_first() -> None:
    results = build_results(build_sample(UNCACHED.name, 2.0), build_sample(RAW.name, 0.0))
    [group] = summary.build_bar_groups(results)
    assert [bar.title for bar in group.bars] == [RAW.title, UNCACHED.title]
    assert group.bars[0].cpu_ms > 0  # also below a tick of the clock


# The page


def test_figures_replace_what_stands_between_their_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "a\n<!-- measured: x -->\n{}\n<!-- /measured: x -->\nb <!-- measured: y -->"
    page.write_text(text.format("old"))
    pages.rewrite_section(page, "x", "new \\1")
    pages.rewrite_section(page, "x", "new \\1")
    assert page.read_text() == text.format("new \\1")


@pytest.mark.parametrize(
    "text",
    [
        "<!-- measured: x -->",
        "<!-- /measured: x --> <!-- measured: x -->",
        "<!-- measured: x --><!-- /measured: x -->" * 2,
    ],
)
def test_a_page_must_have_the_markers_once_in_their_order(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(pages.MissingMarkersError, match=r"page\.md must have <!-- measured: x -->"):
        pages.rewrite_section(page, "x", "new")
    assert page.read_text() == text


@pytest.mark.parametrize("name", ["ratios", "details", "staleness", "invalidation", "growth"])
def test_the_page_has_room_for_all_figures(name: str) -> None:
    pages.replace_section(pages.PERFORMANCE_PAGE.read_text(), name, "", pages.PERFORMANCE_PAGE.name)


# The targets of invalidation


def _build_round(title: str, reads: int, misses: int, stale: int = 0) -> RoundSample:
    kinds = [
        KindSample(title="a unit", reader="all", share=75, reads=reads - 100, misses=0),
        KindSample(title="assignments", reader="one", share=25, reads=100, misses=misses),
    ]
    return RoundSample(
        title=title,
        kinds=kinds,
        unconfirmed=0,
        made=[],
        seconds=2.0,
        checked=reads,
        stale=stale,
        limit_ms=0.0 if title == "same" else 10.0,
        latest_ms=4.26,
        ordered_per_second=100.0,
        writes=LatencySummary(requests=200, p50_ms=8.0, p99_ms=9.0),
        waits=LatencySummary(requests=200, p50_ms=2.0, p99_ms=3.0),
    )


MET = Invalidation(
    assets=1000,
    cached=10_102,
    commits=CommitSample(writes=300, p50_ms=0.0, p99_ms=9.9, max_ms=22.0),
    other=_build_round("other", 1000, 1),
    same=_build_round("same", 1000, 0),
    spread=_build_round("spread", 1000, 50),
    load=1.5,
)


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({}, []),
        ({"other": _build_round("other", 1000, 2)}, [0]),
        ({"spread": _build_round("spread", 1000, 51)}, [2]),
        ({"same": _build_round("same", 1000, 0, stale=1)}, [4]),
        ({"commits": msgspec.structs.replace(MET.commits, p99_ms=10.0)}, [6]),
    ],
)
def test_a_target_of_invalidation_is_met_at_its_bound(
    changes: dict[str, object], missed: list[int]
) -> None:
    rows = build_invalidation_tables(msgspec.structs.replace(MET, **changes))[0].rows
    assert [at for at, row in enumerate(rows) if row[-1] != "met"] == missed


def test_each_round_of_invalidation_has_a_row_with_its_own_figures() -> None:
    rounds = build_invalidation_tables(MET)[1]
    assert rounds.rows[0] == (
        *("other", "500", "1,000", "1", "99.90 %", "1,000", "0", "4.3"),
        *("100", "8.0", "9.0", "2.0", "3.0"),
    )
    assert {len(row) for row in rounds.rows} == {len(rounds.header)}
