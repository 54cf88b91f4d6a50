"""Mark problems in the picture of a level, by the number of their group in the report."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple, TypeAlias

import numpy as np

from routing.costing import TravelMode
from routing.groups import ProblemGroup
from routing.issues import PlanIssue

COLOURS = (
    *("#c92a2a", "#9c36b5", "#364fc7", "#0b7285", "#2b8a3e", "#e67700"),
    *("#a61e4d", "#495057", "#1864ab", "#087f5b", "#5c940d", "#d9480f"),
)
RADIUS_FEET = 2.6
CELL_FEET = 2 * RADIUS_FEET
"""Problems of one cause in a square of this size share a marker, which says how many they are."""
MAX_MARKERS = 500
MAX_TITLES = 5
"""Problems that one marker names if it is pointed at."""
CHARACTER_FEET, LINE_FEET = 1.55, 4.4
"""Mean width of a character of the legend, and the height of its lines."""
INDENT_FEET = 8.0

LegendLines: TypeAlias = list[tuple[str, str]]
"""A badge or nothing, and a text, for each line."""


class LevelProblems(NamedTuple):
    """The problems of one group on one level."""

    group: ProblemGroup
    problems: list[PlanIssue]

    @property
    def colour(self) -> str:
        return COLOURS[(self.group.number - 1) % len(COLOURS)]


class Marker(NamedTuple):
    """A marker of one or more problems of a group that are near to each other."""

    x: float
    y: float
    own: LevelProblems
    problems: list[PlanIssue]


def find_level_problems(
    groups: Iterable[ProblemGroup], level_id: str, mode: TravelMode
) -> list[LevelProblems]:
    """Return the problems on a level that keep people from moving in `mode`, by group.

    What stops people on foot stops wheelchairs, too.
    """
    shown = (TravelMode.FOOT, mode)
    found = (
        LevelProblems(group, [each for each in group.problems if each.level_id == level_id])
        for group in groups
        if group.mode in shown
    )
    return [each for each in found if each.problems]


def place_markers(
    found: Sequence[LevelProblems], bounds: tuple[float, float, float, float], scale: float
) -> list[Marker]:
    """Return the markers of a level, within bounds, the costliest last and so on top.

    Those of several groups at one place stand side by side.
    """
    inset = RADIUS_FEET * scale
    left, top, right, bottom = np.array(bounds) + np.array((1, 1, -1, -1)) * inset
    cell_feet = CELL_FEET * scale
    cells: dict[tuple[int, int], dict[int, list[tuple[float, float, PlanIssue]]]]
    cells = defaultdict(dict)
    for index, own in enumerate(found):
        for problem in own.problems:
            if problem.at is not None:
                x, y = np.clip(problem.at, (left, top), (right, bottom)).tolist()
                cell = cells[int(x // cell_feet), int(y // cell_feet)]
                cell.setdefault(index, []).append((x, y, problem))
    markers: list[tuple[int, Marker]] = []
    for cell in cells.values():
        for rank, (index, placed) in enumerate(cell.items()):
            x, y, _ = placed[0]
            problems = [problem for *_, problem in placed]
            marker = Marker(min(x + 2 * rank * inset, right), y, found[index], problems)
            markers.append((index, marker))
    markers.sort(key=lambda each: (each[0], -len(each[1].problems)))
    return [marker for _, marker in markers[:MAX_MARKERS]][::-1]


def draw_markers(markers: Iterable[Marker], scale: float) -> Iterator[str]:
    """Yield the markers as SVG. Pointing at one shows what is wrong there."""
    for marker in markers:
        titles = [describe(problem) for problem in marker.problems[:MAX_TITLES]]
        more = len(marker.problems) - len(titles)
        titles += [f"and {more} more"] if more else []
        transform = f"translate({marker.x:.2f} {marker.y:.2f}) scale({scale:.2f})"
        badge = draw_badge(marker.own)
        if len(marker.problems) > 1:
            badge += f'<text class="times" x="{RADIUS_FEET}">×{len(marker.problems)}</text>'
        title = escape("\n".join(titles))
        yield f'<g class="marker" transform="{transform}"><title>{title}</title>{badge}</g>'


def describe(problem: PlanIssue) -> str:
    """Return a problem with the name and the place in the file that its message does not have."""
    more = [text for text in (problem.name, problem.place) if text and text not in problem.message]
    return f"{problem.message} ({'; '.join(more)})" if more else problem.message


def draw_badge(own: LevelProblems) -> str:
    """Return a circle with the number of a group."""
    return (
        f'<circle r="{RADIUS_FEET}" fill="{own.colour}" stroke="#fff" stroke-width=".5"/>'
        f'<text class="number" y="1.1">{own.group.number}</text>'
    )


def write_legend(found: Sequence[LevelProblems], width_feet: float) -> LegendLines:
    """Return the lines of the legend: a badge or nothing, and a text that fits the width."""
    characters = int((width_feet - INDENT_FEET) / CHARACTER_FEET)
    lines: LegendLines = []
    for own in found:
        here, count = len(own.problems), own.group.count
        where = "" if here == count else f" ({here} of {count} here)"
        first, *others = textwrap.wrap(own.group.statement + where, max(characters, 20))
        lines += [(draw_badge(own), first), *(("", line) for line in others)]
    return lines


def draw_legend_lines(lines: LegendLines, top: float) -> str:
    """Return the lines as SVG, in feet before they are scaled."""
    return "".join(
        f'<g transform="translate(0 {top + index * LINE_FEET:.2f})">'
        f'<g transform="translate(2.6 0) scale(.75)">{badge}</g>'
        f'<text x="{INDENT_FEET}" y="1">{escape(text)}</text></g>'
        for index, (badge, text) in enumerate(lines)
    )
