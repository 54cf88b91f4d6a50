"""Survey a network: the component of each piece of floor, and what each level should join."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import shapely
from shapely import Point, Polygon, STRtree
from shapely.geometry.base import BaseGeometry

from routing.arrays import IntArray
from routing.costing import TravelMode
from routing.network.components import ComponentLabels
from routing.network.network import Network
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
        """How far each component is from the home."""
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
    """What the components of a network consist of; `main` is NONE if no location is on floor."""

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
