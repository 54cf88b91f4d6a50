"""Draw CPU per request as SVG: a group of bars per workload, on one logarithmic scale."""

import math
from collections.abc import Callable, Iterator
from xml.sax.saxutils import escape

from bench.report import COST_TITLE, NO_VALUE, ReportTable, format_figure

WIDTH, LABELS, NUMBERS = 860, 210, 70
BAR, GAP, TITLE, MARGIN = 18, 4, 30, 20
LEAST_MS = 0.001
"""A bar needs some length, also below a tick of the clock."""
COLOURS = {"Floorgate": "#0b6e4f", "raw ready bytes": "#9aa5b1", "by hand": "#9aa5b1"}
OTHER_COLOUR = "#d98032"
INK, PAPER = "#1f2933", "#ffffff"
CHART_WORKLOADS = (
    "one unit", "1,000 units", "1,000 units in 3 levels, GraphQL", "304 for 1,000 units"
)  # fmt: skip


def draw_chart(costs: ReportTable) -> str:
    """Return a chart of the main workloads as SVG, the peer that takes least first."""
    cells = {title: zip(costs.header[1:], row, strict=True) for title, *row in costs.rows}
    groups = {
        title: sorted(
            (max(float(cell.replace(",", "")), LEAST_MS), peer)
            for peer, cell in cells[title]
            if cell != NO_VALUE
        )
        for title in CHART_WORKLOADS
        if title in cells
    }
    powers = [math.log10(cpu_ms) for bars in groups.values() for cpu_ms, _ in bars]
    least, most = math.floor(min(powers)), math.ceil(max(powers))

    def scale(cpu_ms: float) -> float:
        return (math.log10(cpu_ms) - least) / max(most - least, 1) * (WIDTH - LABELS - NUMBERS)

    parts, top = [], MARGIN
    for title, bars in groups.items():
        # An outline in the background colour keeps grid lines off the text.
        parts.append(
            f'<text x="8" y="{top + 19}" font-weight="600" paint-order="stroke" '
            f'stroke="{PAPER}" stroke-width="4">{escape(f"{title}: {COST_TITLE}")}</text>'
        )
        for at, (cpu_ms, peer) in enumerate(bars):
            parts += _draw_bar(peer, cpu_ms, scale, top + TITLE + at * (BAR + GAP))
        top += TITLE + len(bars) * (BAR + GAP) + GAP
    height = top + MARGIN
    for power in range(least, most + 1):
        x = LABELS + scale(10.0**power)
        parts[:0] = [
            f'<path d="M{x:.1f} {MARGIN}V{height - MARGIN}" stroke="#e4e7eb"/>',
            _draw_text(x, height - 5, f"{10.0**power:g} ms", "middle"),
        ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="{INK}">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _draw_bar(peer: str, cpu_ms: float, scale: Callable[[float], float], y: int) -> Iterator[str]:
    length = max(scale(cpu_ms), 1)
    colour = COLOURS.get(peer.partition(",")[0], OTHER_COLOUR)
    yield _draw_text(LABELS - 8, y + 13, peer, "end")
    yield (
        f'<rect x="{LABELS}" y="{y}" width="{length:.1f}" height="{BAR}" rx="2" fill="{colour}"/>'
    )
    yield _draw_text(LABELS + length + 6, y + 13, format_figure(cpu_ms), "start")


def _draw_text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
