"""Survey a network, and describe what no connector joins with the rest of it.

The survey has the component of each piece of floor, and what each level should join. From it follow
the levels that nothing joins, and the connectors that cannot be used: each is one problem, whatever
is wrong with it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import shapely
from shapely import Point, Polygon, STRtree
from shapely.geometry.base import BaseGeometry

from routing.arrays import IntArray
from routing.costing import TravelMode
from routing.diagnosis.names import CONNECTOR_NAMES, PlanNames, join_names
from routing.issues import IssueKind, PlanIssue, point_in
from routing.network.components import ComponentLabels
from routing.network.network import Network
from routing.plan import Connector, ConnectorKind, Level, Plan
from routing.space.walkable import WalkableLevel

NONE = -1
"""The component of what stands on no floor."""


@dataclass(frozen=True)
class LevelSurvey:
    """A level, the component of each of its floor pieces, and its home component.

    The home is the main component of the map if it has floor here, else the one with the most
    locations here: other floor of the level should be joined to it.
    """

    built: WalkableLevel
    piece_components: IntArray
    home: int

    @property
    def id(self) -> str:
        return self.built.level.id

    @cached_property
    def pieces_of(self) -> Mapping[int, list[int]]:
        """The indexes of the pieces of each component that has floor here."""
        pieces: dict[int, list[int]] = {}
        for index, component in enumerate(self.piece_components.tolist()):
            pieces.setdefault(component, []).append(index)
        return pieces

    @cached_property
    def room_components(self) -> Mapping[str | None, set[int]]:
        """The components that have floor of each room."""
        components: dict[str | None, set[int]] = {}
        for component, indexes in self.pieces_of.items():
            for index in indexes:
                room_id = self.built.floor.pieces[index].room_id
                components.setdefault(room_id, set()).add(component)
        return components

    @cached_property
    def hull(self) -> BaseGeometry:
        """The convex hull of all floor here."""
        return shapely.convex_hull(shapely.MultiPolygon(self.built.floor.polygons))

    @cached_property
    def home_tree(self) -> STRtree:
        """The polygons of the home component."""
        return STRtree(self.polygons_of(self.home))

    @cached_property
    def home_feet(self) -> Mapping[int, float]:
        """The distance of each component from the home."""
        polygons = np.array(self.built.floor.polygons, dtype=object)
        _, feet = self.home_tree.query_nearest(polygons, return_distance=True, all_matches=False)
        return {
            component: float(feet[indexes].min()) for component, indexes in self.pieces_of.items()
        }

    def polygons_of(self, component: int) -> list[Polygon]:
        """Return the floor of a component here, the largest piece first."""
        pieces = (self.built.floor.pieces[index] for index in self.pieces_of.get(component, ()))
        return sorted((piece.polygon for piece in pieces), key=lambda shape: -shape.area)

    def rooms_of(self, component: int) -> set[str | None]:
        """Return the ids of the rooms that a component has floor of; None for open floor."""
        return {self.built.floor.pieces[i].room_id for i in self.pieces_of.get(component, ())}


@dataclass(frozen=True)
class Survey:
    """The parts of the components of a network; `main` is NONE if no location is on floor."""

    mode: TravelMode
    main: int
    levels: tuple[LevelSurvey, ...]
    location_levels: IntArray
    location_components: IntArray
    private_ways: Mapping[int, tuple[str, Point]]
    """The private room, and a place in it, that alone leads to a component."""

    @cached_property
    def locations_of(self) -> Mapping[int, int]:
        """The number of locations by component."""
        return Counter(self.location_components.tolist())

    @cached_property
    def levels_of(self) -> Mapping[int, list[int]]:
        """The indexes of the levels where a component has floor."""
        levels: dict[int, list[int]] = {}
        for index, level in enumerate(self.levels):
            for component in level.pieces_of:
                levels.setdefault(component, []).append(index)
        return levels

    @cached_property
    def stranded(self) -> Mapping[int, list[int]]:
        """The components that no connector leads out of, with the levels that they are home of."""
        homes: dict[int, list[int]] = {}
        for index, level in enumerate(self.levels):
            if level.home not in (NONE, self.main):
                homes.setdefault(level.home, []).append(index)
        return {
            home: levels
            for home, levels in homes.items()
            if all(self.levels[index].home != self.main for index in self.levels_of[home])
        }

    @property
    def apart(self) -> list[int]:
        """The other components that have locations, those with the most first."""
        others = [each for each in self.locations_of if each not in (NONE, self.main)]
        return sorted(others, key=lambda component: -self.locations_of[component])

    def count_on(self, levels: Collection[int]) -> int:
        """Return the number of locations on levels, given by their indexes."""
        return int(np.isin(self.location_levels, list(levels)).sum())


def survey_network(
    walkable: Sequence[WalkableLevel], network: Network, components: ComponentLabels, main: int
) -> Survey:
    """Return the survey of a network in its mode; `main` is the component to be reached."""
    stops = network.locations
    levels: list[LevelSurvey] = []
    # OUTSIDE is the index of the last.
    labels = np.append(components.triangle_components, NONE)
    plan_levels = np.zeros(len(network.levels), dtype=np.int64)
    plan_levels[network.level_numbers] = np.arange(len(network.level_numbers))
    for number, built in zip(network.level_numbers.tolist(), walkable, strict=True):
        polygons = np.array(built.floor.polygons, dtype=object)
        inside = shapely.get_coordinates(shapely.point_on_surface(polygons)).reshape(-1, 2)
        of_pieces = labels[network.levels.mesh.locate(inside, number)]
        of_locations = components.location_components[stops.levels == number]
        home = _find_home(of_pieces, shapely.area(polygons), of_locations, main)
        levels.append(LevelSurvey(built, of_pieces, home))
    location_levels = plan_levels[stops.levels]
    mesh, private_ways = network.levels.mesh, {}
    for component, triangle in components.private_ways.items():
        level = levels[plan_levels[mesh.level_starts.searchsorted(triangle, "right") - 1]]
        at = Point(mesh.xy[mesh.triangles[triangle]].mean(axis=0))
        room = level.built.floor.pieces[level.built.floor.piece_tree.nearest(at)].room_id
        private_ways[component] = room or level.id, at
    return Survey(
        network.mode, main, tuple(levels), location_levels, components.location_components,
        private_ways,
    )  # fmt: skip


def _find_home(of_pieces: IntArray, areas: np.ndarray, of_locations: IntArray, main: int) -> int:
    present = np.unique(of_pieces[of_pieces != NONE]).tolist()
    if main in present:
        return main
    locations = Counter(of_locations.tolist())
    area = {component: float(areas[of_pieces == component].sum()) for component in present}
    return max(present, key=lambda each: (locations[each], area[each]), default=NONE)


STEP_FREE = (ConnectorKind.ELEVATOR, ConnectorKind.RAMP)
MEANS = {TravelMode.FOOT: "stairs, lift or ramp", TravelMode.WHEELCHAIR: "lift or ramp"}
KINDS = {
    TravelMode.FOOT: IssueKind.LEVELS_NOT_JOINED,
    TravelMode.WHEELCHAIR: IssueKind.NOT_STEP_FREE,
}
MAX_DETAILED_GROUPS = 200
"""Groups of levels, those with the most locations first, that are described in detail."""
MAX_EXPLAINED_CONNECTORS = 3
MIN_STREET_FEET = 20.0
"""Levels that are this far from the rest, seen from above, are another building."""


def describe_stranded(
    plan: Plan,
    network: Network,
    survey: Survey,
    home: int,
    locations: int,
    names: PlanNames,
    *,
    is_detailed: bool,
) -> tuple[PlanIssue, list[Connector]]:
    """Return the problem of the levels that a component is the home of.

    With it come the connectors there that should join them, and do not. `is_detailed` says whether
    to look for these.
    """
    own = [plan.levels[index] for index in survey.stranded[home]]
    own_ids = {level.id for level in own}
    if not is_detailed:
        message = f"No {MEANS[survey.mode]} joins {names.level(own[0].id)} with the rest"
        issue = PlanIssue(KINDS[survey.mode], own[0].id, message, own[0].id, None, locations)
        return issue, []
    drawn = [
        connector
        for connector in list_connectors(plan, survey.mode)
        if own_ids & connector.entrances.keys()
    ]
    crossing = [each for each in drawn if each.entrances.keys() - own_ids]
    single = [each for each in drawn if len(each.entrances) == 1]
    message = state_missing_join(plan, survey, [own_ids], names)
    kind = KINDS[survey.mode]
    feet = measure_distance(survey, survey.stranded[home])
    if survey.mode is TravelMode.FOOT and feet > MIN_STREET_FEET:
        kind = IssueKind.BUILDINGS_NOT_JOINED
        message = f"Nothing joins {names.level_list(own_ids)} with the rest, {feet:,.0f} ft away"
    loose = crossing or single
    near, rest = find_nearest_levels(plan, survey, own_ids)
    if crossing:
        # Those that should join the levels of the message are the first to ask about.
        crossing.sort(key=lambda each: not {near.id, rest.id} <= each.entrances.keys())
        message += ": " + explain_connectors(plan, network, crossing, own_ids, names)
    elif single:
        verb = "serve" if len(single) > 1 else "serves"
        message += f": {join_names([label(each, names) for each in single])} {verb} no other"
    for connector in loose:
        level_id = next(level_id for level_id in connector.entrances if level_id in own_ids)
        at = point_in(connector.entrances[level_id])
        break
    else:
        level_id = near.id
        floor = survey.levels[plan.levels.index(near)].polygons_of(home)
        at = point_in(floor[0]) if floor else None
    return PlanIssue(kind, level_id, message, level_id, at, locations), loose


def measure_distance(survey: Survey, indexes: Collection[int]) -> float:
    """Return how far the floor of levels is from that of the others, seen from above."""
    hulls = [
        shapely.GeometryCollection(
            [level.hull for i, level in enumerate(survey.levels) if (i in indexes) is is_own]
        )
        for is_own in (True, False)
    ]
    return float(shapely.distance(*hulls))


def list_connectors(plan: Plan, mode: TravelMode) -> list[Connector]:
    """Return the connectors of a kind that serves `mode`."""
    return [c for c in plan.connectors if mode is TravelMode.FOOT or c.kind in STEP_FREE]


def state_missing_join(
    plan: Plan, survey: Survey, groups: Sequence[Collection[str]], names: PlanNames
) -> str:
    """Return the sentence that nothing joins groups of levels with the rest."""
    own_ids = set[str]().union(*groups)
    others = {level.id for level in plan.levels} - own_ids
    is_drawn = any(
        others & connector.entrances.keys() and own_ids & connector.entrances.keys()
        for connector in list_connectors(plan, survey.mode)
    )
    rest = "the rest"
    if len(groups) == 1 and others:
        rest = names.level(find_nearest_levels(plan, survey, own_ids)[1].id)
    usable = "that can be used " if is_drawn else ""
    return f"No {MEANS[survey.mode]} {usable}joins {names.level_list(own_ids)} with {rest}"


def find_nearest_levels(
    plan: Plan, survey: Survey, own_ids: Collection[str]
) -> tuple[Level, Level]:
    """Return the level of a group, and one with floor outside it, that are nearest in height."""
    own = [level for level in plan.levels if level.id in own_ids]
    with_floor = [
        level
        for level, here in zip(plan.levels, survey.levels, strict=True)
        if here.built.floor.pieces and level.id not in own_ids
    ]
    others = with_floor or own
    pairs = [(one, other) for one in own for other in others]
    rises = {pair: abs(pair[0].ordinal - pair[1].ordinal) for pair in pairs}
    # Levels of one height are in buildings beside each other.
    return min(pairs, key=lambda pair: rises[pair] or math.inf)


def explain_connectors(
    plan: Plan,
    network: Network,
    connectors: Sequence[Connector],
    own_ids: Collection[str],
    names: PlanNames,
) -> str:
    """Return why connectors that lead out of a group of levels do not help."""
    reached = {(portal.connector, network.level_ids[portal.level]) for portal in network.portals}
    numbers = {connector.id: index for index, connector in enumerate(plan.connectors)}
    reasons: list[str] = []
    for connector in connectors[:MAX_EXPLAINED_CONNECTORS]:
        number = numbers[connector.id]
        own = connector.entrances.keys() & own_ids
        ends = (own, connector.entrances.keys() - own)
        without_floor = [
            level_id
            for levels in ends
            if not any((number, level_id) in reached for level_id in levels)
            for level_id in levels
        ]
        if not connector.is_in_service:
            reason = "is out of service"
        elif not network.costing.allows(network.mode, connector):
            reason = f"is not for a {network.mode.value}"
        elif without_floor:
            reason = f"has no floor near it on {names.level_list(without_floor)}"
        else:
            reason = "ends on floor that is cut off from the rest of its level"
        reasons.append(f"{label(connector, names)} {reason}")
    more = len(connectors) - len(reasons)
    return "; ".join([*reasons, f"and {more} more"] if more else reasons)


def label(connector: Connector, names: PlanNames) -> str:
    return f"{CONNECTOR_NAMES[connector.kind]} {names.place(connector.id)}"


SURE_CONFIDENCE = 0.9
"""Connectors of less are reported."""


def find_loose_connectors(
    plan: Plan,
    network: Network,
    empty_levels: Collection[str],
    explained: Collection[str],
    names: PlanNames,
) -> Iterator[PlanIssue]:
    """Yield the problem of each connector that is out of service, or has ends that are not used.

    Ends on levels without any floor are a consequence of that, and left out, as are connectors
    that are `explained` by another problem.
    """
    attached = {(portal.connector, network.level_ids[portal.level]) for portal in network.portals}
    for index, connector in enumerate(plan.connectors):
        if connector.id in explained:
            continue
        levels = list(connector.entrances)
        loose = [
            level_id
            for level_id in levels
            if (index, level_id) not in attached and level_id not in empty_levels
        ]
        what = label(connector, names)
        if not connector.is_in_service:
            message = f"{what} is out of service and left out"
            yield _issue(IssueKind.CONNECTOR_OUT_OF_SERVICE, connector, message, levels[:1])
        elif loose:
            feet = network.costing.attach_feet
            message = f"{what} has no floor within {feet:g} ft on {names.level_list(loose)}"
            yield _issue(IssueKind.CONNECTOR_OUT_OF_REACH, connector, message, loose)
        elif len(levels) < 2:
            message = f"{what} is drawn on {names.level_list(levels)} only"
            if connector.has_steps and not connector.wheelchair:
                message += ", and stops wheelchairs there"
            yield _issue(IssueKind.CONNECTOR_ONE_END, connector, message, levels)


def list_uncertain_connectors(plan: Plan, names: PlanNames) -> Iterator[PlanIssue]:
    """Yield the problem of each connector that was joined by little evidence."""
    for connector in plan.connectors:
        if connector.confidence < SURE_CONFIDENCE:
            message = (
                f"{label(connector, names)}: taken to join {names.level_list(connector.entrances)} "
                f"with confidence {connector.confidence:g}; list its levels, or give its drawings "
                "one ref"
            )
            yield _issue(IssueKind.CONNECTOR_JOINED, connector, message, [*connector.entrances])


def _issue(kind: IssueKind, connector: Connector, message: str, levels: list[str]) -> PlanIssue:
    level_id = next(iter(levels), None)
    at = point_in(connector.entrances[level_id]) if level_id is not None else None
    return PlanIssue(kind, connector.id, message, level_id, at)
