"""The tables, the chart, the data file and the page show what was measured."""

import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from bench import __main__ as program
from bench import harness, report
from bench.comparison import build_peer_tables
from bench.data.workloads import LIST, UNIT, WORKLOADS
from bench.harness import EXPERIMENTS, Row, Run, build_command, experiment
from bench.peers.peer import CACHED, UNCACHED
from bench.peers.raw import RAW
from bench.report import MissingMarkersError, Record, ReportTable, format_figure, replace_section
from bench.targets import PEER_TITLES, TARGETS
from tests.bench.canned import build_sample


def test_a_table_is_the_same_in_markdown_and_on_a_terminal() -> None:
    table = ReportTable("Title", ("", "a"), [("one", "1"), ("two", "2")], note="Why.")
    assert table.to_markdown() == "|  | a |\n| --- | --: |\n| one | 1 |\n| two | 2 |\n\nWhy."
    console = Console(width=40, record=True, file=StringIO())
    console.print(table.to_rich_table())
    shown = [line.strip("│ ").split() for line in console.export_text().splitlines()]
    assert ["one", "│", "1"] in shown and ["two", "│", "2"] in shown


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (12345.6, "12,346"),
        (100, "100"),
        (12.345, "12.3"),
        (0.1234, "0.12"),
        (0.0123, "0.012"),
        (0, "0.0"),
    ],
)
def test_figures_have_three_digits_or_more(value: float, expected: str) -> None:
    assert format_figure(value) == expected


def test_cells_are_formatted_by_their_type_and_what_is_not_there_is_a_dash() -> None:
    row: Row = {"of": "a", "ms": (1.0, 12.345), "ms ": (None, None), "n": 1234, "met": False}
    table = report.tabulate("", [row, dict.fromkeys(row)])
    assert table.header == ["of", "ms", "ms", "n", "met"]
    assert table.rows == [["a", "1.00 / 12.3", "–", "1,234", "no"], ["–"] * 5]


# An experiment


@pytest.fixture
def counting() -> Iterator[None]:
    @experiment("Counted", note="Up to {last}, at {load}.")
    def counted_numbers(run: Run, last: int = 3) -> Iterator[Row]:
        """Count."""
        yield from ({"number": number} for number in range(last))

    yield
    del EXPERIMENTS["counted-numbers"]


@pytest.mark.usefixtures("counting")
def test_an_experiment_is_a_command_that_prints_and_writes_its_table(tmp_path: Path) -> None:
    output = tmp_path / "results.json"
    other = Record(taken_at="", machine={}, options={}, tables=[])
    report.write_record(output, "other", other)
    command = build_command(EXPERIMENTS["counted-numbers"])
    done = CliRunner().invoke(command, ["--last", "2", "--output", str(output)])
    assert "Counted" in done.output and "Up to 2," in done.output
    records = report.read_records(output)
    [table] = records["counted-numbers"].tables
    assert (table.header, table.rows) == (["number"], [["0"], ["1"]])
    assert records["counted-numbers"].options == {"last": 2}
    assert records["other"] == other


def test_medians_are_of_rows_with_equal_keys() -> None:
    rows: list[Row] = [{"of": "a", "ms": 1.0}, {"of": "a", "ms": None}, {"of": "a", "ms": 3.0}]
    assert harness.median_rows(rows, "of") == [{"of": "a", "ms": 2.0}]


# The comparison


def test_figures_have_a_row_for_each_workload_and_a_cell_for_each_peer() -> None:
    rows = [
        build_sample(UNCACHED.name, 1.0, LIST, requests_per_second=500.0),
        build_sample(UNCACHED.name, 2.0, UNIT),
        build_sample(CACHED.name, 4.0, UNIT, round=0),
        build_sample(CACHED.name, 6.0, UNIT, round=1),
        build_sample(RAW.name, 1.0, LIST, requests_per_second=900.0, busy=0.5),
    ]
    tables = {table.title: table for table in build_peer_tables(rows)}
    assert [row[:3] for row in tables[report.COST_TITLE].rows] == [
        ["one unit", "2.00", "5.00"],
        ["1,000 units", "1.00", "–"],
    ]
    rates = next(table for title, table in tables.items() if "saturation" in title)
    assert rates.rows[1][1:4] == ["500", "–", "900*"]  # not bounded by the server


def test_targets_name_peers_and_workloads_that_exist() -> None:
    for target in TARGETS:
        assert target.peer in (UNCACHED.name, CACHED.name)
        assert target.workloads and target.reference_peers and target.max_ratio > 0
        assert {*target.workloads} <= {workload.name for workload in WORKLOADS}
        assert {*target.reference_peers} <= {*PEER_TITLES}


# The page


def test_figures_replace_what_stands_between_their_markers() -> None:
    text = "a\n<!-- measured: x -->\n{}\n<!-- /measured: x -->\nb <!-- measured: y -->"
    replaced = replace_section(text.format("old"), "x", "new \\1")
    assert replaced == replace_section(replaced, "x", "new \\1") == text.format("new \\1")


@pytest.mark.parametrize(
    "text",
    [
        "<!-- measured: x -->",
        "<!-- /measured: x --> <!-- measured: x -->",
        "<!-- measured: x --><!-- /measured: x -->" * 2,
    ],
)
def test_a_page_must_have_the_markers_once_in_their_order(text: str) -> None:
    with pytest.raises(MissingMarkersError, match=r"page\.md must have <!-- measured: x -->"):
        replace_section(text, "x", "new", "page.md")


def test_the_page_shows_the_tables_of_the_data_file() -> None:
    page, figures = report.PERFORMANCE_PAGE.read_text(), report.read_records(report.FIGURES)
    assert report.render_page(page, figures) == page
    assert {*figures} <= {*program.main.commands}
    assert len(re.findall("<!-- measured: ", page)) > 2
    with pytest.raises(MissingMarkersError, match="no experiment 'else'"):
        report.render_page("<!-- measured: else -->\n<!-- /measured: else -->", figures)
