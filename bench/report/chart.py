"""Draw CPU per request as SVG: a group of bars per workload, on one logarithmic scale."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from bench.report.tables import format_figure

WIDTH, LABELS, NUMBERS = 860, 210, 70
BAR, GAP, TITLE, MARGIN = 18, 4, 30, 20
OWN_COLOUR, LIMIT_COLOUR, OTHER_COLOUR = "#0b6e4f", "#9aa5b1", "#d98032"
INK, PAPER = "#1f2933", "#ffffff"


@dataclass(frozen=True, slots=True)
class Bar:
    """One peer's CPU time per request."""

    title: str
    cpu_ms: float
    colour: str


@dataclass(frozen=True, slots=True)
class BarGroup:
    """The bars of one workload."""

    title: str
    bars: Sequence[Bar]


def draw_chart(groups: Sequence[BarGroup]) -> str:
    """Return the chart as SVG; shorter bars are better."""
    figures = [bar.cpu_ms for group in groups for bar in group.bars]
    min_power = math.floor(math.log10(min(figures)))
    scale = _Scale(min_power, math.ceil(math.log10(max(figures))))
    height = MARGIN * 2 + sum(_height(group) for group in groups)
    parts = [*_grid(scale, height), *_groups(groups, scale)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="{INK}">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


@dataclass(frozen=True, slots=True)
class _Scale:
    min_power: int
    """The power of ten at the left end."""
    max_power: int

    def length(self, value: float) -> float:
        span = max(self.max_power - self.min_power, 1)
        return (math.log10(value) - self.min_power) / span * (WIDTH - LABELS - NUMBERS)


def _height(group: BarGroup) -> int:
    return TITLE + len(group.bars) * (BAR + GAP) + GAP


def _grid(scale: _Scale, height: int) -> Iterator[str]:
    for power in range(scale.min_power, scale.max_power + 1):
        x = LABELS + scale.length(10.0**power)
        yield f'<path d="M{x:.1f} {MARGIN}V{height - MARGIN}" stroke="#e4e7eb"/>'
        yield _text(x, height - 5, f"{10.0**power:g} ms", "middle")


def _groups(groups: Sequence[BarGroup], scale: _Scale) -> Iterator[str]:
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


def _bar(bar: Bar, scale: _Scale, y: int) -> Iterator[str]:
    length = max(scale.length(bar.cpu_ms), 1)
    yield _text(LABELS - 8, y + 13, bar.title, "end")
    yield (
        f'<rect x="{LABELS}" y="{y}" width="{length:.1f}" height="{BAR}" rx="2" '
        f'fill="{bar.colour}"/>'
    )
    yield _text(LABELS + length + 6, y + 13, format_figure(bar.cpu_ms), "start")


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
