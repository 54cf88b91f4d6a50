"""Tables read the same on a terminal and in Markdown."""

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bench.report.tables import ReportTable, format_figure

SHEET = ReportTable("Title", ("", "a"), [("one", "1"), ("two", "2")], note="Why.")


def test_a_table_in_markdown_has_a_row_for_each_row() -> None:
    assert SHEET.to_markdown() == "|  | a |\n| --- | --: |\n| one | 1 |\n| two | 2 |\n\nWhy."


def test_a_table_without_a_note_ends_with_its_last_row() -> None:
    assert ReportTable("Title", ("a",), [("one",)]).to_markdown() == "| a |\n| --- |\n| one |"


def test_only_the_first_columns_are_text() -> None:
    sheet = ReportTable("", ("a", "b", "c"), [], text_columns=2)
    assert sheet.to_markdown() == "| a | b | c |\n| --- | --- | --: |"
    columns = sheet.to_rich_table().columns
    assert [column.justify for column in columns] == ["left", "left", "right"]


def test_a_terminal_shows_title_rows_and_note() -> None:
    console = Console(width=40, record=True, file=StringIO())
    console.print(SHEET.to_rich_table())
    shown = [line.strip() for line in console.export_text().splitlines()]
    assert shown[0] == "Title" and shown[-1] == "Why."
    assert [line.strip("│ ").split() for line in shown if "│" in line] == [
        ["one", "│", "1"],
        ["two", "│", "2"],
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (12345.6, "12,346"),
        (123.4, "123"),
        (100, "100"),
        (12.345, "12.3"),
        (1.234, "1.23"),
        (0.1234, "0.12"),
        (0.0123, "0.012"),
        (0, "0.000"),
    ],
)
def test_figures_have_three_digits_or_more(value: float, expected: str) -> None:
    assert format_figure(value) == expected


@given(st.floats(0.1, 1e9))
def test_a_figure_is_shown_within_five_percent_of_what_it_is(value: float) -> None:
    assert float(format_figure(value).replace(",", "")) == pytest.approx(value, rel=0.05)
