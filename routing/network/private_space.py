"""Private space: rooms in which routes begin and end, but through which none leads.

Private rooms that doors join are one region, such as an apartment. One with a single way out is
never on the way to anything else. The others are guarded: a route enters only those in which it
begins or ends. See docs/decisions/routing/private-space.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import shapely

from routing.arrays import BoolArray, FloatArray, IntArray
from routing.costing import Costing
from routing.network.mesh import PUBLIC
from routing.network.network import find_portals
from routing.network.walk_graph import label_components
from routing.plan import Plan, Polygonal
from routing.space.doors import Opening
from routing.space.floor import WALL_FEET
from routing.space.plan_repair import extract_polygons, to_polygonal
from routing.space.walkable import WalkableLevel

THRESHOLD_FEET = WALL_FEET / 4
"""How far into its walls private floor reaches, so that no corner is on its edge."""


def guard_private_space(
    plan: Plan, walkable: Sequence[WalkableLevel], costing: Costing
) -> list[WalkableLevel]:
    """Return levels with their guarded regions, and without private doors between public floor."""
    rooms = {(space.level_id, space.id) for space in plan.spaces if space.is_private}
    doors = {door.id for door in plan.doors if door.is_private}
    if not rooms and not doors:
        return [*walkable]
    pieces = [(each.level.id, piece) for each in walkable for piece in each.floor.pieces]
    starts = np.cumsum([0, *(len(each.floor.pieces) for each in walkable)]).tolist()
    openings = [
        (start, opening)
        for start, each in zip(starts, walkable, strict=False)
        for opening in each.openings
    ]
    ways = [(start + o.piece_indexes[0], start + o.piece_indexes[1]) for start, o in openings]
    numbers, landings = [*range(len(ways))], defaultdict(list)
    floors = [to_polygonal(each.floor.polygons) for each in walkable]
    for portal in find_portals(plan, walkable, floors, costing):
        nearest = walkable[portal.level].floor.piece_tree.nearest(shapely.Point(portal.x, portal.y))
        landings[len(openings) + portal.connector].append(starts[portal.level] + int(nearest))
    for number, own in landings.items():
        rides = [*combinations(own, 2)]
        ways, numbers = ways + rides, numbers + [number] * len(rides)
    pairs, of_way = np.array(ways, dtype=np.int64).reshape(-1, 2), np.array(numbers, dtype=np.int64)
    is_closed = np.zeros(len(ways), dtype=bool)
    is_closed[: len(openings)] = [opening.door_id in doors for _, opening in openings]
    is_private = np.array([(level, piece.room_id) in rooms for level, piece in pieces], dtype=bool)
    is_private |= find_hidden(is_private, pairs, is_closed, weigh_pieces(plan, walkable))
    is_kept = ~is_closed | is_private[pairs].any(axis=1)
    regions = number_regions(is_private, pairs[is_kept], of_way[is_kept])
    guarded, first = [], 0
    for each, (start, end) in zip(walkable, pairwise(starts), strict=True):
        kept = is_kept[first : (first := first + len(each.openings))]
        left = tuple(o for o, keep in zip(each.openings, kept.tolist(), strict=True) if keep)
        private = draw_regions(
            each.floor.polygons, regions[start:end], left, regions.max(initial=PUBLIC) + 1
        )
        guarded.append(replace(each, openings=left, private=private))
    return guarded


def weigh_pieces(plan: Plan, walkable: Sequence[WalkableLevel]) -> FloatArray:
    """Return whether each piece is open floor, how many locations it has, and its area (n, 3)."""
    weights = []
    for each in walkable:
        xy = [(p.x, p.y) for p in plan.locations if p.level_id == each.level.id]
        at = (
            each.floor.piece_tree.query(shapely.points(xy), predicate="intersects")[1] if xy else []
        )
        pieces = each.floor.pieces
        counts = np.bincount(np.array(at, dtype=np.int64), minlength=len(pieces)).tolist()
        weights += [
            (piece.room_id is None, count, piece.polygon.area)
            for piece, count in zip(pieces, counts, strict=True)
        ]
    return np.array(weights, dtype=np.float64).reshape(-1, 3)


def find_hidden(
    is_private: BoolArray, ways: IntArray, is_closed: BoolArray, weights: FloatArray
) -> BoolArray:
    """Return which other pieces are private: rooms behind private ones, and all behind such doors.

    Of all parts of the floor that ways join somehow, the one with the most `weights` is public.
    """
    are_public = ~is_private[ways]
    one, other = ways.T
    wholes = label_components(len(is_private), ways)
    parts = label_components(len(is_private), ways[~is_closed & are_public.all(axis=1)])
    totals = np.zeros_like(weights)
    np.add.at(totals, parts, weights)
    totals[:, 0] = totals[:, 0] > 0
    is_open, locations, area = totals[parts].T
    order = np.lexsort((area, locations, is_open, ~is_private))
    main = np.zeros_like(parts)
    main[wholes[order]] = parts[order]  # The last of each stays.
    is_reached = np.zeros(len(parts), dtype=bool)
    between = is_closed & are_public.all(axis=1) & (parts[one] != parts[other])
    is_reached[parts[ways[between]]] = True
    beside = parts[ways[are_public[:, 0] != are_public[:, 1]]]
    is_reached[beside[totals[beside, 0] == 0]] = True
    return np.asarray(is_reached[parts] & ~is_private & (parts != main[wholes]))


def number_regions(is_private: BoolArray, ways: IntArray, numbers: IntArray) -> IntArray:
    """Return the number of the guarded region of each piece, or PUBLIC.

    Ways with equal `numbers` are rides of one connector, which joins rooms only if it is inside.
    """
    one, other = ways.T
    is_outside = ~is_private[ways].all(axis=1)
    labels = label_components(len(is_private), ways[~np.isin(numbers, numbers[is_outside])])
    leads_out = labels[one] != labels[other]
    exits = {
        (label, number)
        for ends in (one, other)
        for label, number in zip(labels[ends[leads_out]], numbers[leads_out], strict=True)
    }
    counts = np.bincount([label for label, _ in exits], minlength=len(labels))
    regions = np.full(len(labels), PUBLIC)
    is_guarded = is_private & (counts[labels] > 1)
    regions[is_guarded] = np.unique(labels[is_guarded], return_inverse=True)[1]
    return regions


def draw_regions(
    polygons: Sequence[Polygonal], regions: IntArray, openings: Sequence[Opening], count: int
) -> tuple[Polygonal, ...]:
    """Return the floor of regions on a level: their pieces, and the openings between these."""
    shapes: list[list[Polygonal]] = [[] for _ in range(count)]
    for polygon, region in zip(polygons, regions.tolist(), strict=True):
        if region != PUBLIC:
            shapes[region].append(polygon)
    for opening in openings:
        one, other = regions[[*opening.piece_indexes]].tolist()
        if one == other != PUBLIC and opening.one_way is None:
            shapes[one].append(opening.shape)
    unions = (shapely.union_all(own).buffer(THRESHOLD_FEET, join_style="mitre") for own in shapes)
    return tuple(to_polygonal(extract_polygons(union)) for union in unions)
