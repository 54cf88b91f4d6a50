"""The walkable areas of levels and the graphs over their vertices, in arrays over all levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any

import numpy as np
import shapely
from shapely import Point, STRtree

from routing.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    PackedLists,
    find_span,
    join_lists,
    join_starts,
    join_tables,
    pack_rows,
    pack_shapes,
    shift,
    shift_and_join,
    unpack_rows,
    unpack_shapes,
)
from routing.network.mesh import (
    BEYOND_WALL_FEET,
    PUBLIC,
    SIGHT_TOLERANCE_FEET,
    Mesh,
    coarsen,
    find_corners,
    find_thresholds,
    grow,
    join_meshes,
    move_inside,
    triangulate,
)
from routing.network.views import (
    Views,
    all_round,
    join_views,
    spread_views,
    tangent_sectors,
)
from routing.network.walk_graph import (
    SAME_FEET,
    SEARCH_WORK,
    Edges,
    Labels,
    VertexWalks,
    WalkGraph,
    WorkBudget,
    WorkExceededError,
    build_edges,
    build_labels,
    join_labels,
)
from routing.plan import Level, Polygonal, Space, SpaceKind
from routing.space.doors import Opening
from routing.space.plan_repair import extract_polygons, to_polygonal

NO_PORTAL = -1
MANY = -2
"""It stands for the number of a region of lines that lead through more than two."""
TOUCH_FEET = 2 * SIGHT_TOLERANCE_FEET
"""Lines enter private space if they lead deeper into it; who is on a threshold is outside."""
BESIDE_FEET = SIGHT_TOLERANCE_FEET / 10
"""Walks around a corner of private space stay so far off it."""
MAX_SIGHT_AREAS = 256
"""So many are kept of all maps; each takes some 100 kB."""
MAX_EXACT_CORNERS = 4_000
"""A level with more is simplified: memory grows with the square of their number."""
MAX_EXACT_WORK = 3_500_000_000
"""Building the labels of all levels in a travel mode takes at most so much: some ten seconds."""
MAX_COARSE_WORK = 1_500_000_000
"""If all levels have to be simplified, each may take its share of this."""
MIN_COARSE_WORK = 100_000_000
FEW_CORNERS = 200
"""A level with so few is never simplified."""


LEVEL_COLUMNS = ("ids", "ordinals", "tolerances_feet")
"""These columns of `Levels` are tuples, with a value for each level."""
PACKED_COLUMNS = ("walkable_areas", "spaces", "space_rows", "doors", "door_rows", "private")
"""These columns are packed lists, one for each level."""


@dataclass(frozen=True)
class Levels:
    """Levels by number, and their vertices, triangles and cells, numbered over all levels.

    `tolerances_feet` are how far the walls of a level may be from where they were drawn, because it
    has too many corners; 0 if distances are exact. `spaces` and `doors` are the shapes of each
    level's spaces and passable openings, `space_rows` (id, name, kind, place) and `door_rows` (id)
    the rest of them. `private` is the floor of the guarded regions on each level, by their numbers.

    The vertices of a level are the corners of its walkable area, followed by its portals.
    `level_starts` (l + 1) are the first of each level, and the number of all. `views` are what
    vertices see, `edges` (e, 2) and `labels` the graph over them, and `regions` (n,) where they
    are: in a guarded region, or PUBLIC. `portals` (l, s) are the indexes
    of a level's portals in its networks, NO_PORTAL where it has fewer, and `portal_feet` (s, n) the
    walks from them to the vertices of their level.
    """

    ids: tuple[str, ...]
    ordinals: tuple[float, ...]
    tolerances_feet: tuple[float, ...]
    walkable_areas: PackedLists
    spaces: PackedLists
    space_rows: PackedLists
    doors: PackedLists
    door_rows: PackedLists
    private: PackedLists
    mesh: Mesh
    views: Views
    edges: IntArray
    labels: Labels
    regions: IntArray
    level_starts: IntArray
    portals: IntArray
    portal_feet: FloatArray

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def xy(self) -> FloatArray:
        """The positions of the vertices (n, 2)."""
        return self.views.xy

    @cached_property
    def have_outdoors(self) -> bool:
        """True if any space is outdoors."""
        # The end of a row of `space_rows`; in a name, the quotation marks would be escaped.
        return b'"outdoors"]' in self.space_rows.content.tobytes()

    def take(self, level: int) -> Levels:
        """Return one level, as the only one."""
        vertices = slice(*self.level_starts[level : level + 2].tolist())
        cells = find_span(self.mesh.cells[slice(*self.mesh.level_starts[level : level + 2])])
        columns: dict[str, Any] = {name: (getattr(self, name)[level],) for name in LEVEL_COLUMNS}
        columns |= {name: getattr(self, name).take(level) for name in PACKED_COLUMNS}
        return replace(
            self,
            **columns,
            mesh=self.mesh.take(level),
            views=self.views.take(vertices, cells),
            edges=shift(self.edges_of(level), -vertices.start),
            labels=self.labels.take(vertices),
            regions=self.regions[vertices],
            level_starts=np.array([0, vertices.stop - vertices.start]),
            portals=self.portals[[level]],
            portal_feet=self.portal_feet[:, vertices],
        )

    def vertices(self, level: int) -> IntArray:
        """Return the vertices of a level."""
        return np.arange(self.level_starts[level], self.level_starts[level + 1])

    def portal_vertices(self, level: int) -> IntArray:
        """Return the vertices of a level that are portals, in their order."""
        count = np.count_nonzero(self.portals[level] != NO_PORTAL)
        end = self.level_starts[level + 1]
        return np.arange(end - count, end)

    def edges_of(self, level: int) -> IntArray:
        """Return the edges (e, 2) between vertices of a level."""
        first, end = self.level_starts[level], self.level_starts[level + 1]
        return np.asarray(self.edges[(self.edges[:, 0] >= first) & (self.edges[:, 0] < end)])

    def graph_of(self, vertices: IntArray) -> WalkGraph:
        """Return the graph over some vertices, in ascending order."""
        number = np.full(len(self.xy), -1)
        number[vertices] = np.arange(len(vertices))
        edges = self.edges[(number[self.edges] >= 0).all(axis=1)]
        lines = self.xy[edges[:, 1]] - self.xy[edges[:, 0]]
        first, second = number[edges].T
        return WalkGraph(len(vertices), Edges(first, second, np.hypot(lines[:, 0], lines[:, 1])))

    def walkable_area(self, level: int) -> Polygonal:
        """Return the area in which people can stand and walk."""
        [area] = self.walkable_areas.shapes(level)
        return area

    def rooms(self, level: int) -> list[Polygonal]:
        """Return the rooms of a level as drawn."""
        return unpack_rooms(self.spaces.packed(level), self.space_rows.packed(level))

    def are_clear(self, level: int, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Return whether each segment, from (n, 2) to (n, 2), stays in sight."""
        lines = shapely.linestrings(np.stack((starts, ends), axis=1))
        sight_area = prepare_sight_area(self.walkable_areas.packed(level))
        return np.asarray(shapely.covers(sight_area, lines))

    @cached_property
    def are_guarded(self) -> bool:
        """True if any private space leads from one place to another."""
        return bool((self.mesh.regions != PUBLIC).any())

    @cached_property
    def portal_regions(self) -> IntArray:
        """The regions of portals (l, s), PUBLIC where a level has fewer."""
        regions = np.full(self.portals.shape, PUBLIC)
        for level in range(len(self)):
            own = self.regions[self.portal_vertices(level)]
            regions[level, : len(own)] = own
        return regions

    def open_area(self, level: int, regions: Sequence[int] = ()) -> Polygonal:
        """Return the walkable area without the guarded regions that are not among `regions`."""
        shapes = enumerate(self.private.shapes(level))
        others = [shape for region, shape in shapes if region not in regions]
        area = self.walkable_area(level)
        if not self.are_guarded:
            return area
        return to_polygonal(extract_polygons(area.difference(shapely.union_all(others))))

    def find_regions(self, level: int, lines: FloatArray) -> IntArray:
        """Return the guarded regions (n, 2) through which segments (n, 2, 2) lead, or PUBLIC."""
        if not self.are_guarded:
            return np.broadcast_to(PUBLIC, (len(lines), 2))
        return find_regions(self.private.packed(level), lines)


def unpack_rooms(spaces: bytes, space_rows: bytes) -> list[Polygonal]:
    """Return the rooms among the spaces of a level, as they are packed."""
    rows = zip(unpack_rows(space_rows), unpack_shapes(spaces), strict=True)
    return [shape for (_, _, kind, _), shape in rows if kind == SpaceKind.ROOM]


@lru_cache(maxsize=MAX_SIGHT_AREAS)
def prepare_sight_area(content: bytes) -> Polygonal:
    """Return the area in which lines of sight stay, in a walkable area as it is packed."""
    [walkable_area] = unpack_shapes(content)
    area = grow(walkable_area)
    shapely.prepare(area)
    # The first use builds the index, which several threads must not do at once.
    shapely.covers(area, shapely.LineString([(0, 0), (1, 1)]))
    return area


@lru_cache(maxsize=MAX_SIGHT_AREAS)
def index_private_space(content: bytes) -> STRtree:
    """Return a tree of the regions of a level, as they are packed; to touch one is not to enter."""
    shapes = np.array(unpack_shapes(content), dtype=object)
    tree = STRtree(shapely.buffer(shapes, -TOUCH_FEET, join_style="mitre"))
    # The first use builds the index, which several threads must not do at once.
    tree.query(Point())
    return tree


def find_regions(private: bytes, lines: FloatArray) -> IntArray:
    """Return the regions, as they are packed, through which segments lead."""
    line, region = index_private_space(private).query(
        shapely.linestrings(lines), predicate="intersects"
    )
    regions = np.full((len(lines), 2), PUBLIC)
    np.maximum.at(regions[:, 0], line, region)
    regions[line[region != regions[line, 0]], 1] = region[region != regions[line, 0]]
    regions[np.bincount(line, minlength=len(lines)) > 2] = MANY
    return regions


def is_foreign(regions: IntArray, start: IntArray | int, end: IntArray | int) -> BoolArray:
    """Return which regions are neither public nor that of the start or the end of a walk."""
    return np.asarray((regions != PUBLIC) & (regions != start) & (regions != end))


def are_open(regions: IntArray, start: IntArray | int, end: IntArray | int) -> BoolArray:
    """Return which lines lead through no foreign one of their `regions` (n, 2)."""
    start, end = np.asarray(start)[..., None], np.asarray(end)[..., None]
    return np.asarray(~is_foreign(regions, start, end).any(axis=1))


def draft_level(
    level: Level,
    walkable_area: Polygonal,
    spaces: Sequence[Space],
    openings: Sequence[Opening],
    portals: IntArray,
    portal_xy: FloatArray,
    max_corners: int = MAX_EXACT_CORNERS,
    private: Sequence[Polygonal] = (),
) -> Levels:
    """Return a single level without labels, with `portals` (p,) at `portal_xy` (p, 2).

    It is simplified if it has more than `max_corners`.
    """
    rows = [(space.id, space.name, space.kind, space.place) for space in spaces]
    packed = {
        "spaces": pack_shapes([[space.polygon for space in spaces]]),
        "space_rows": pack_rows([rows]),
        "doors": pack_shapes([[opening.shape for opening in openings]]),
        "door_rows": pack_rows([[(opening.door_id,) for opening in openings]]),
        "private": pack_shapes([private]),
    }
    own = level.id, level.ordinal
    return _draft_level(*own, walkable_area, packed, portals, portal_xy, max_corners)


def rebuild_level(levels: Levels, level: int, walkable_area: Polygonal) -> Levels:
    """Return a level with a smaller walkable area, as the only one.

    Portals outside it are left out.
    """
    vertices = levels.portal_vertices(level)
    portals, xy = levels.portals[level, : len(vertices)], levels.xy[vertices]
    kept = shapely.intersects_xy(grow(walkable_area), *xy.T)
    draft = _redraft_level(levels, level, walkable_area, portals[kept], xy[kept])
    return build_levels([draft])[0]


def build_levels(drafts: Sequence[Levels]) -> list[Levels]:
    """Return single levels with labels.

    Those with the most edges are simplified if all together take more than MAX_EXACT_WORK.
    """
    budget, built = WorkBudget(MAX_EXACT_WORK), [*drafts]
    coarse_work = max(MAX_COARSE_WORK // max(1, len(drafts)), MIN_COARSE_WORK)
    for index in sorted(range(len(drafts)), key=lambda index: len(drafts[index].edges)):
        built[index] = _add_labels(drafts[index], budget, coarse_work)
    return built


def _add_labels(level: Levels, budget: WorkBudget, coarse_work: int) -> Levels:
    """Return a level with labels, simplified if it is exact and the budget does not suffice."""
    graph, portals = level.graph_of(level.vertices(0)), level.portal_vertices(0)
    corner_count = len(level.xy) - len(portals)
    if corner_count <= FEW_CORNERS:
        budget = WorkBudget()
    elif level.tolerances_feet[0]:
        budget = WorkBudget(coarse_work)
    try:
        labels = build_labels(guard_graph(level, graph, budget), budget)
    except WorkExceededError:
        area, numbers, xy = level.walkable_area(0), level.portals[0], level.xy[portals]
        coarse = _redraft_level(level, 0, area, numbers, xy, corner_count // 2)
        return _add_labels(coarse, budget, coarse_work)
    if level.are_guarded and len(portals):
        walks = VertexWalks(labels, level.vertices(0))
        feet = np.stack([walks.measure(portals[[row]], np.zeros(1)) for row in range(len(portals))])
    else:
        feet = graph.distances(portals)
    return replace(level, labels=labels, portal_feet=feet)


def find_busy(private: Sequence[Polygonal], doors: Sequence[Polygonal]) -> IntArray:
    """Return the regions with three exits or more, which walks may leave and enter again."""
    thresholds = shapely.line_merge(find_thresholds(private, doors, 0))
    return np.flatnonzero(shapely.get_num_geometries(thresholds) > 2)


def guard_graph(level: Levels, graph: WalkGraph, budget: WorkBudget) -> WalkGraph:
    """Return the graph of a single level, out of which walks lead to no private space and back.

    In place of those there are edges within each region of three exits or more, for walks that
    leave it and return.
    """
    if not level.are_guarded:
        return graph
    edges, (one, other) = graph.edges, level.regions[level.edges].T
    through = level.find_regions(0, level.xy[level.edges])
    is_joint = (one == other) | (one == PUBLIC) | (other == PUBLIC)
    parts = [edges.take(are_open(through, one, other) & is_joint)]
    for region in find_busy(level.private.shapes(0), level.doors.shapes(0)).tolist():
        own = np.flatnonzero(level.regions == region)
        if len(own):
            budget.spend(SEARCH_WORK * len(own) * (len(level.xy) + len(edges)))
            usable = edges.take(are_open(through, region, PUBLIC))
            around = WalkGraph(len(level.xy), usable).distances(own)[:, own]
            inside = graph.restrict(own).distances(np.arange(len(own)))
            first, second = np.nonzero(np.triu(around < inside - SAME_FEET))
            parts.append(Edges(own[first], own[second], around[first, second]))
    return WalkGraph(len(level.xy), join_tables(parts), level.regions)


def _redraft_level(
    levels: Levels,
    level: int,
    walkable_area: Polygonal,
    portals: IntArray,
    portal_xy: FloatArray,
    max_corners: int = MAX_EXACT_CORNERS,
) -> Levels:
    """Return a level with another walkable area, as the only one."""
    packed = {name: getattr(levels, name).take(level) for name in PACKED_COLUMNS[1:]}
    own = levels.ids[level], levels.ordinals[level]
    draft = _draft_level(*own, walkable_area, packed, portals, portal_xy, max_corners)
    tolerance_feet = levels.tolerances_feet[level] + draft.tolerances_feet[0]
    return replace(draft, tolerances_feet=(tolerance_feet,))


def _draft_level(
    level_id: str,
    ordinal: float,
    walkable_area: Polygonal,
    packed: Mapping[str, PackedLists],
    portals: IntArray,
    portal_xy: FloatArray,
    max_corners: int,
) -> Levels:
    """Return a level, as the only one; `packed` has all packed columns but the walkable area."""
    whole_area, private, doors = walkable_area, packed["private"], packed["doors"]
    walkable_area, tolerance_feet = coarsen(whole_area, max_corners)
    if tolerance_feet:
        portal_xy = move_inside(portal_xy, whole_area, walkable_area)
    regions = private.shapes(0)
    beyond_feet = BEYOND_WALL_FEET + 2 * tolerance_feet
    thresholds = find_thresholds(regions, doors.shapes(0), beyond_feet)
    thresholds = thresholds[~shapely.is_empty(thresholds)]
    mesh = triangulate(walkable_area, regions, thresholds)
    corners = find_corners(walkable_area)
    # Walks bend around private space where two doors meet at its corner.
    around = shapely.buffer(np.array(regions, dtype=object), BESIDE_FEET, join_style="mitre")
    bends = shapely.get_coordinates(around)
    between_xy = bends = bends[shapely.intersects_xy(walkable_area, *bends.T)]
    for _ in range(2):
        xy = np.concatenate((corners.xy, between_xy, portal_xy))
        looking = np.arange(len(xy) - len(portal_xy), len(xy))
        sectors = join_tables([tangent_sectors(corners), all_round(looking)])
        views, of_vertex = spread_views(mesh, xy, sectors), mesh.regions[mesh.locate(xy)]
        edges = build_edges(mesh, views, corners)
        ends = np.stack((edges.first, edges.second), axis=1)
        if not len(thresholds):
            break
        # A line between two regions leads over public floor, and others through a region in which
        # they do not end. With a vertex there, each edge begins or ends where it leads through.
        one, other = of_vertex[ends].T[..., None]
        through = find_regions(private.packed(0), xy[ends])
        is_long = is_foreign(through, one, other) & np.isin(
            through, find_busy(regions, doors.shapes(0))
        )
        is_long |= (one != other) & (one != PUBLIC) & (other != PUBLIC)
        lines = shapely.linestrings(xy[ends[is_long.any(axis=1)]])
        floor = shapely.union_all(regions)
        parts = [shapely.difference(lines, floor), shapely.intersection(lines, floor)]
        lines = shapely.get_parts(np.concatenate(parts))
        middles = shapely.line_interpolate_point(lines, 0.5, normalized=True)
        if not len(middles):
            break
        between_xy = np.concatenate((bends, shapely.get_coordinates(middles)))
    return Levels(
        (level_id,),
        (ordinal,),
        (tolerance_feet,),
        pack_shapes([[walkable_area]]),
        packed["spaces"],
        packed["space_rows"],
        doors,
        packed["door_rows"],
        private,
        mesh,
        views,
        ends,
        Labels(np.zeros(len(xy) + 1, np.int64), np.empty(0, np.int64), np.empty(0)),
        of_vertex,
        np.array([0, len(xy)]),
        portals[None],
        np.full((len(portals), len(xy)), np.inf),
    )


def join_levels(parts: Sequence[Levels]) -> Levels:
    """Return all levels of some parts, which are numbered in their order."""
    if len(parts) == 1:
        return parts[0]
    vertices = np.cumsum([0, *(len(part.xy) for part in parts)])
    slots = max((part.portals.shape[1] for part in parts), default=0)
    free = [slots - part.portals.shape[1] for part in parts]
    portals = [
        np.pad(part.portals, ((0, 0), (0, count)), constant_values=NO_PORTAL)
        for part, count in zip(parts, free, strict=True)
    ]
    portal_feet = [
        np.pad(part.portal_feet, ((0, count), (0, 0)), constant_values=np.inf)
        for part, count in zip(parts, free, strict=True)
    ]
    columns: dict[str, Any] = {
        name: tuple(chain.from_iterable(getattr(part, name) for part in parts))
        for name in LEVEL_COLUMNS
    }
    for name in PACKED_COLUMNS:
        columns[name] = join_lists([getattr(part, name) for part in parts])
    return replace(
        parts[0],
        **columns,
        mesh=join_meshes([part.mesh for part in parts]),
        views=join_views([part.views for part in parts]),
        edges=shift_and_join([part.edges for part in parts], vertices),
        labels=join_labels([part.labels for part in parts]),
        regions=np.concatenate([part.regions for part in parts]),
        level_starts=join_starts([part.level_starts for part in parts]),
        portals=np.concatenate(portals),
        portal_feet=np.concatenate(portal_feet, axis=1),
    )
