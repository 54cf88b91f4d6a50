"""Figures get into pages between their markers, and nowhere else."""

from pathlib import Path

import pytest

from bench.report import pages


def test_figures_replace_what_stands_between_their_markers() -> None:
    text = "a\n<!-- measured: x -->\nold\n<!-- /measured: x -->\nb <!-- measured: y -->"
    expected = "a\n<!-- measured: x -->\nnew \\1\n<!-- /measured: x -->\nb <!-- measured: y -->"
    assert pages.replace_section(text, "x", "new \\1") == expected


def test_writing_the_same_figures_again_changes_nothing() -> None:
    text = "<!-- measured: x -->\n<!-- /measured: x -->"
    once = pages.replace_section(text, "x", "| 1 |\n| 2 |")
    assert pages.replace_section(once, "x", "| 1 |\n| 2 |") == once != text


@pytest.mark.parametrize(
    "text",
    [
        "nothing",
        "<!-- measured: x -->",
        "<!-- /measured: x --> <!-- measured: x -->",
        "<!-- measured: xy --> <!-- /measured: xy -->",
        "<!-- measured: x --><!-- /measured: x -->" * 2,
    ],
)
def test_a_page_must_have_the_markers_once_in_their_order(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(pages.MissingMarkersError, match=r"page\.md must have <!-- measured: x -->"):
        pages.rewrite_section(page, "x", "new")
    assert page.read_text() == text


def test_a_page_is_written_in_place(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a <!-- measured: x --><!-- /measured: x --> b")
    pages.rewrite_section(page, "x", "new")
    assert page.read_text() == "a <!-- measured: x -->\nnew\n<!-- /measured: x --> b"


@pytest.mark.parametrize("name", ["ratios", "details", "staleness", "invalidation", "growth"])
def test_the_page_has_room_for_all_figures(name: str) -> None:
    pages.replace_section(pages.PERFORMANCE_PAGE.read_text(), name, "", pages.PERFORMANCE_PAGE.name)


def test_the_page_shows_the_chart() -> None:
    assert pages.CHART_PATH.exists()
    assert f"](pictures/{pages.CHART_PATH.name})" in pages.PERFORMANCE_PAGE.read_text()
