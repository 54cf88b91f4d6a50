"""The tables, the chart and the page show what was measured."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from bench.data.workloads import LIST, UNIT, WORKLOADS
from bench.peers.fastapi_peers import WITH_BYTES, WITH_MODELS
from bench.peers.floorgate import CACHED, UNCACHED
from bench.peers.raw import RAW
from bench.report import pages, summary
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
