"""Draw a level as SVG: walkable area, doors, connectors, graph, what is cut off, and problems."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np
import shapely
from shapely import Point
from shapely.geometry.base import BaseGeometry

from routing.arrays import FloatArray
from routing.costing import TravelMode
from routing.issues import PlanIssue, ProblemGroup
from routing.network.components import ComponentLabels, find_cut_off_areas
from routing.network.network import Network
from routing.network.portals import NO_CONNECTOR
from routing.plan import ConnectorKind, Polygonal
from routing.processing import ProcessedPlan
from routing.search.router import ComputedRoute, WalkLeg
from routing.space.doors import DoorOrigin, Opening
from routing.space.walkable import WalkableLevel

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


class ProblemMarker(NamedTuple):
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
) -> list[ProblemMarker]:
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
    markers: list[tuple[int, ProblemMarker]] = []
    for cell in cells.values():
        for rank, (index, placed) in enumerate(cell.items()):
            x, y, _ = placed[0]
            problems = [problem for *_, problem in placed]
            marker = ProblemMarker(min(x + 2 * rank * inset, right), y, found[index], problems)
            markers.append((index, marker))
    markers.sort(key=lambda each: (each[0], -len(each[1].problems)))
    return [marker for _, marker in markers[:MAX_MARKERS]][::-1]


def draw_markers(markers: Iterable[ProblemMarker], scale: float) -> Iterator[str]:
    """Yield the markers as SVG. Pointing at one shows what is wrong there."""
    for marker in markers:
        titles = [title_problem(problem) for problem in marker.problems[:MAX_TITLES]]
        more = len(marker.problems) - len(titles)
        titles += [f"and {more} more"] if more else []
        transform = f"translate({marker.x:.2f} {marker.y:.2f}) scale({scale:.2f})"
        badge = draw_badge(marker.own)
        if len(marker.problems) > 1:
            badge += f'<text class="times" x="{RADIUS_FEET}">×{len(marker.problems)}</text>'
        title = escape("\n".join(titles))
        yield f'<g class="marker" transform="{transform}"><title>{title}</title>{badge}</g>'


def title_problem(problem: PlanIssue) -> str:
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


MARGIN_FEET = 6.0
DOOR_FILLS = {
    DoorOrigin.AS_DRAWN: "#1a9641",
    DoorOrigin.REPAIRED: "#f08c00",
    DoorOrigin.INFERRED: "#1c7ed6",
}
CONNECTOR_SYMBOLS = {
    ConnectorKind.ELEVATOR: "↕",
    ConnectorKind.STEPS: "≡",
    ConnectorKind.ESCALATOR: "⇗",
    ConnectorKind.RAMP: "∠",
}
CUT_OFF_FILL = "#ff00c8"
MIN_WIDTH_FEET = 150.0
"""Width that the legend needs."""
HEADING_FEET = 14.0
"""Height of the name and the colours, above the problems."""
PIXELS_PER_FOOT, MAX_PIXELS = 4.0, 1600.0
MAX_UNSCALED_FEET = 300.0
"""Symbols keep their size on levels up to this long, and grow in proportion on longer ones."""
STYLE = (
    ".floor{{fill:#eef1ea;stroke:#343a40;stroke-width:{0:.2f}}}"
    ".edge{{stroke:#4263eb;stroke-width:{1:.2f};stroke-opacity:.15;fill:none}}"
    ".vertex{{fill:#4263eb}}"
    ".location{{fill:#212529}}"
    ".cut-off{{fill:{cut_off};fill-opacity:.3;stroke:{cut_off};stroke-width:{2:.2f}}}"
    ".lost{{fill:{cut_off};stroke:#000;stroke-width:.3}}"
    ".portal{{fill:#7048e8}}.symbol{{fill:#fff;font:bold 3px sans-serif;text-anchor:middle}}"
    ".door{{stroke-width:{3:.2f}}}"
    ".route{{stroke:#e03131;stroke-width:{4:.2f};fill:none;stroke-linejoin:round}}"
    "text{{font:3px sans-serif}}"
    ".number{{fill:#fff;font:bold 3px sans-serif;text-anchor:middle}}"
    ".times{{font:bold 2.6px sans-serif;paint-order:stroke;stroke:#fff;stroke-width:.8}}"
)
LINE_WIDTHS_FEET = (0.25, 0.08, 1.0, 0.6, 0.8)
"""Line widths of floor, edges, cut-off floor, doors and routes, in the order of STYLE."""


class PictureExtent(NamedTuple):
    """The part of the plan that a picture shows, in feet. The legend is above the plan."""

    left: float
    top: float
    width: float
    height: float
    legend_height: float = 0.0

    @property
    def symbol_scale(self) -> float:
        """The factor by which symbols are drawn larger than usual."""
        height = self.height - self.legend_height
        return max(1.0, self.width / MAX_UNSCALED_FEET, height / MAX_UNSCALED_FEET)

    @property
    def plan_bounds(self) -> tuple[float, float, float, float]:
        """West, north, east and south of the plan, below the legend."""
        bottom = self.top + self.height
        return self.left, self.top + self.legend_height, self.left + self.width, bottom

    @property
    def pixels_per_foot(self) -> float:
        """Resolution that keeps the picture within MAX_PIXELS."""
        return min(PIXELS_PER_FOOT, MAX_PIXELS / max(self.width, self.height))


def draw_level(
    processed: ProcessedPlan,
    level_id: str,
    mode: TravelMode = TravelMode.FOOT,
    route: ComputedRoute | None = None,
) -> str:
    """Return an SVG of one level at one unit per foot, at most 1,600 pixels wide and high.

    Doors are green if used as drawn, orange if extended, blue if inferred; floor and locations
    outside the main component are magenta. Problems have the numbers of their groups in the
    report. `route` adds its walks on this level. Raises KeyError for an unknown level.
    """
    network, components = processed.networks[mode], processed.components[mode]
    index = network.level_index[level_id]
    [level] = [each for each in processed.walkable_levels if each.level.id == level_id]
    names = {location.id: location.name for location in processed.plan.locations}
    found = find_level_problems(processed.report.groups, level_id, mode)
    extent, lines = lay_out(network, index, found)
    markers = place_markers(found, extent.plan_bounds, extent.symbol_scale)
    parts = chain(
        draw_floor(network, components, index),
        draw_doors(level, level.passable_openings(mode, network.costing)),
        draw_graph(network, index, extent.symbol_scale),
        draw_portals(network, index, extent.symbol_scale),
        draw_locations(network, components, index, names, extent.symbol_scale),
        draw_route(route, level_id),
        draw_markers(markers, extent.symbol_scale),
    )
    return wrap_svg(level.level.name or level_id, extent, lines, parts)


def lay_out(
    network: Network, index: int, found: Sequence[LevelProblems]
) -> tuple[PictureExtent, LegendLines]:
    """Return an extent with room for the level's floor, rooms, locations, and the legend above."""
    points = [Point(at) for at in network.locations.xy[network.locations.levels == index]]
    shapes: list[BaseGeometry] = [
        network.levels.walkable_area(index),
        *network.levels.rooms(index),
        *points,
    ]
    if all(shape.is_empty for shape in shapes):
        shapes += [Point(problem.at) for own in found for problem in own.problems if problem.at]
    # The bounds of nothing are NaN.
    bounds = np.nan_to_num(shapely.total_bounds(shapes))
    west, north, east, south = bounds.tolist()
    width = max(east - west, MIN_WIDTH_FEET) + 2 * MARGIN_FEET
    height = south - north + 2 * MARGIN_FEET
    scale = PictureExtent(0, 0, width, height).symbol_scale
    lines = write_legend(found, width / scale)
    legend = (HEADING_FEET + LINE_FEET * len(lines)) * scale
    left, top = west - MARGIN_FEET, north - MARGIN_FEET - legend
    return PictureExtent(left, top, width, height + legend, legend), lines


def wrap_svg(name: str, extent: PictureExtent, lines: LegendLines, parts: Iterable[str]) -> str:
    """Return a complete SVG document with a legend above `parts`."""
    left, top, width, height, _ = extent
    scale, symbol_scale, title = extent.pixels_per_foot, extent.symbol_scale, escape(name)
    line_widths = (feet * symbol_scale for feet in LINE_WIDTHS_FEET)
    style = STYLE.format(*line_widths, cut_off=CUT_OFF_FILL)
    legend_left, legend_top = left + 2 * symbol_scale, top + 5 * symbol_scale
    transform = f"translate({legend_left:.2f} {legend_top:.2f}) scale({symbol_scale:.2f})"
    box = f'x="{left:.2f}" y="{top:.2f}" width="{width:.2f}" height="{height:.2f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{scale * width:.0f}"'
        f' height="{scale * height:.0f}" viewBox="{left:.2f} {top:.2f} {width:.2f} {height:.2f}">'
        f"<title>{title}</title><style>{style}</style>"
        f'<rect {box} fill="#fff"/><g transform="{transform}">{draw_legend(title, lines)}</g>'
        f"{''.join(parts)}</svg>\n"
    )


def draw_legend(title: str, lines: LegendLines) -> str:
    """Return the level's name, under it the colours, and under these the problems."""
    fills = {f"door {origin.value}": fill for origin, fill in DOOR_FILLS.items()}
    fills["cut off"] = CUT_OFF_FILL
    keys = [
        f'<rect x="{24 * column}" y="3" width="3" height="3" fill="{fill}"/>'
        f'<text x="{24 * column + 4}" y="5.6">{name}</text>'
        for column, (name, fill) in enumerate(fills.items())
    ]
    problems = draw_legend_lines(lines, HEADING_FEET - LINE_FEET / 2)
    return f'<text font-weight="bold">{title}</text>{"".join(keys)}{problems}'


def path_data(area: Polygonal) -> str:
    """Return the `d` attribute of a path with all rings of an area."""
    rings = shapely.get_rings(shapely.get_parts(area))
    return "".join(f"M{format_points(shapely.get_coordinates(ring)[:-1])}Z" for ring in rings)


def format_points(xy: FloatArray) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in xy.tolist())


def draw_floor(network: Network, components: ComponentLabels, index: int) -> Iterator[str]:
    floor = path_data(network.levels.walkable_area(index))
    yield f'<path class="floor" fill-rule="evenodd" d="{floor}"/>'
    for area in find_cut_off_areas(network, components, index):
        yield f'<path class="cut-off" fill-rule="evenodd" d="{path_data(area)}"/>'


def draw_doors(level: WalkableLevel, passable: Collection[Opening]) -> Iterator[str]:
    for opening in level.openings:
        fill = DOOR_FILLS[opening.origin] if opening in passable else CUT_OFF_FILL
        shape = path_data(opening.shape)
        title = escape(f"{opening.door_id} ({opening.origin}), {opening.width_feet:.1f} ft")
        style = f'fill="{fill}" stroke="{fill}"'
        yield f'<path class="door" {style} d="{shape}"><title>{title}</title></path>'


def draw_graph(network: Network, index: int, scale: float) -> Iterator[str]:
    levels = network.levels
    lines = levels.xy[levels.edges_of(index)]
    yield f'<path class="edge" d="{"".join(f"M{format_points(line)}" for line in lines)}"/>'
    for x, y in levels.xy[levels.vertices(index)].tolist():
        yield f'<circle class="vertex" cx="{x:.2f}" cy="{y:.2f}" r="{0.3 * scale:.2f}"/>'


def draw_portals(network: Network, index: int, scale: float) -> Iterator[str]:
    for portal in network.portals:
        if portal.connector != NO_CONNECTOR and network.level_numbers[portal.level] == index:
            connector = network.connectors[portal.connector]
            symbol = CONNECTOR_SYMBOLS[connector.kind]
            title = escape(connector.name or connector.id)
            yield (
                f'<g transform="translate({portal.x:.2f} {portal.y:.2f}) scale({scale:.2f})">'
                f'<title>{title}</title><circle class="portal" r="2"/>'
                f'<text class="symbol" y="1.1">{symbol}</text></g>'
            )


def draw_locations(
    network: Network,
    components: ComponentLabels,
    index: int,
    names: Mapping[str, str],
    scale: float,
) -> Iterator[str]:
    stops, in_main = network.locations, components.locations_in_main
    for location in np.flatnonzero(stops.levels == index).tolist():
        style, radius = ("location", 0.7 * scale) if in_main[location] else ("lost", 2 * scale)
        location_id = network.location_ids[location]
        name = names[location_id] or location_id
        x, y = stops.xy[location]
        yield (
            f'<circle class="{style}" cx="{x:.2f}" cy="{y:.2f}" r="{radius:.2f}">'
            f"<title>{escape(name)} ({escape(location_id)})</title></circle>"
        )


def draw_route(route: ComputedRoute | None, level_id: str) -> Iterator[str]:
    for leg in route.legs if route else ():
        if isinstance(leg, WalkLeg) and leg.level_id == level_id:
            yield f'<polyline class="route" points="{format_points(np.array(leg.points))}"/>'
