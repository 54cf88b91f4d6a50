"""Draw CPU per request as SVG: a group of bars per workload, on one logarithmic scale."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias
from xml.sax.saxutils import escape

from bench.report import format_figure

WIDTH, LABELS, NUMBERS = 860, 210, 70
BAR, GAP, TITLE, MARGIN = 18, 4, 30, 20
OWN_COLOUR, LIMIT_COLOUR, OTHER_COLOUR = "#0b6e4f", "#9aa5b1", "#d98032"
INK, PAPER = "#1f2933", "#ffffff"


class Bar(NamedTuple):
    """One peer's CPU time per request."""

    title: str
    cpu_ms: float
    colour: str = OTHER_COLOUR


class BarGroup(NamedTuple):
    """The bars of one workload."""

    title: str
    bars: Sequence[Bar]


Scale: TypeAlias = Callable[[float], float]
"""Returns the length of a bar."""


def draw_chart(groups: Sequence[BarGroup]) -> str:
    """Return the chart as SVG; shorter bars are better."""
    powers = [math.log10(bar.cpu_ms) for group in groups for bar in group.bars]
    least, most = math.floor(min(powers)), math.ceil(max(powers))

    def scale(cpu_ms: float) -> float:
        return (math.log10(cpu_ms) - least) / max(most - least, 1) * (WIDTH - LABELS - NUMBERS)

    height = MARGIN * 2 + sum(_height(group) for group in groups)
    parts = [*_grid(range(least, most + 1), scale, height), *_groups(groups, scale)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="{INK}">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _height(group: BarGroup) -> int:
    return TITLE + len(group.bars) * (BAR + GAP) + GAP


def _grid(powers: range, scale: Scale, height: int) -> Iterator[str]:
    for power in powers:
        x = LABELS + scale(10.0**power)
        yield f'<path d="M{x:.1f} {MARGIN}V{height - MARGIN}" stroke="#e4e7eb"/>'
        yield _text(x, height - 5, f"{10.0**power:g} ms", "middle")


def _groups(groups: Sequence[BarGroup], scale: Scale) -> Iterator[str]:
    top = MARGIN
    for group in groups:
        yield (
            # An outline in the background colour keeps grid lines off the text.
            f'<text x="8" y="{top + 19}" font-weight="600" paint-order="stroke" '
            f'stroke="{PAPER}" stroke-width="4">{escape(group.title)}</text>'
        )
        for at, bar in enumerate(group.bars):
            yield from _bar(bar, scale, top + TITLE + at * (BAR + GAP))
        top += _height(group)


def _bar(bar: Bar, scale: Scale, y: int) -> Iterator[str]:
    length = max(scale(bar.cpu_ms), 1)
    yield _text(LABELS - 8, y + 13, bar.title, "end")
    yield (
        f'<rect x="{LABELS}" y="{y}" width="{length:.1f}" height="{BAR}" rx="2" '
        f'fill="{bar.colour}"/>'
    )
    yield _text(LABELS + length + 6, y + 13, format_figure(bar.cpu_ms), "start")


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
