"""The chart: bars to one logarithmic scale, each with its title and figure."""

import math
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.report import chart
from bench.report.chart import Bar, BarGroup

SVG = "{http://www.w3.org/2000/svg}"


def draw(*cpu_ms: float, title: str = "peer") -> ElementTree.Element:
    """The chart of one group."""
    bars = [Bar(f"{title} {at}", value, "#123456") for at, value in enumerate(cpu_ms)]
    return ElementTree.fromstring(chart.draw_chart([BarGroup(f"{title}s", bars)]))


def bars_of(drawn: ElementTree.Element) -> list[dict[str, float]]:
    """Place and size of each bar, from the top."""
    return [
        {name: float(rectangle.get(name, "")) for name in ("x", "y", "width", "height")}
        for rectangle in drawn.iter(f"{SVG}rect")
        if rectangle.get("fill") == "#123456"
    ]


def texts_of(drawn: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in drawn.iter(f"{SVG}text")]


def test_each_bar_has_its_title_and_figure() -> None:
    texts = texts_of(draw(0.5, 20.0))
    assert {"peers", "peer 0", "0.50", "peer 1", "20.0"} <= {*texts}


@given(st.lists(st.floats(0.001, 1000.0), min_size=1, max_size=9))
def test_bars_end_where_their_figure_lies_between_the_marks(values: list[float]) -> None:
    drawn = draw(*values)
    marks = {
        float((text.text or "").removesuffix(" ms")): float(text.get("x", ""))
        for text in drawn.iter(f"{SVG}text")
        if (text.text or "").endswith(" ms")
    }
    for value, bar in zip(values, bars_of(drawn), strict=True):
        below = max(mark for mark in marks if mark <= value * (1 + 1e-9))
        above = marks.get(below * 10, marks[below])
        expected = marks[below] + math.log10(value / below) * (above - marks[below])
        assert bar["x"] + bar["width"] == pytest.approx(expected, abs=1.1)  # or 1 long at least


@given(st.lists(st.floats(0.001, 1000.0), min_size=1, max_size=9))
def test_bars_lie_apart_within_the_picture(values: list[float]) -> None:
    drawn = draw(*values)
    _, _, width, height = map(float, drawn.get("viewBox", "").split())
    bars = bars_of(drawn)
    for bar in bars:
        assert bar["x"] >= 0 and bar["x"] + bar["width"] <= width
        assert bar["width"] >= 1
        assert bar["y"] + bar["height"] <= height
    for text in drawn.iter(f"{SVG}text"):
        if text.get("text-anchor") == "start":
            assert float(text.get("x", "")) + 7 * len(text.text or "") <= width  # 7 a character
    for upper, lower in pairwise(bars):
        assert upper["y"] + upper["height"] < lower["y"]


def test_groups_share_one_scale_and_follow_each_other() -> None:
    groups = [
        BarGroup("first", [Bar("a", 1.0, "#123456")] * 3),
        BarGroup("second", [Bar("a", 1.0, "#123456"), Bar("b", 100.0, "#123456")]),
    ]
    drawn = ElementTree.fromstring(chart.draw_chart(groups))
    *equal, longest = bars_of(drawn)
    assert {bar["width"] for bar in equal} == {equal[0]["width"]}
    assert equal[0]["width"] < longest["width"]
    tops = [bar["y"] for bar in (*equal, longest)]
    assert tops == sorted(tops) and len({*tops}) == 5


def test_the_scale_is_marked_at_the_powers_of_ten_around_the_figures() -> None:
    marks = [text for text in texts_of(draw(0.02, 30.0)) if text.endswith(" ms")]
    assert marks == ["0.01 ms", "0.1 ms", "1 ms", "10 ms", "100 ms"]


def test_a_single_power_of_ten_can_be_drawn() -> None:
    [bar] = bars_of(draw(10.0))
    assert bar["width"] == 1


def test_titles_may_hold_any_character() -> None:
    assert "<a> & b 0" in texts_of(draw(1.0, title="<a> & b"))
