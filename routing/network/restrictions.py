"""Networks without some connectors, doors or floor: what is closed, or what a client avoids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import shapely
from shapely import STRtree
from shapely.geometry.base import BaseGeometry

from routing.arrays import BoolArray, shrink_all
from routing.costing import TravelMode
from routing.network.levels import Levels, join_levels, rebuild_level
from routing.network.network import Network, compute_portal_paths
from routing.plan import Polygonal, SpaceKind
from routing.space.plan_repair import extract_polygons, to_polygonal
from routing.space.walkable import remove_hairlines
from routing.values import Restrictions as Restrictions

INSIDE_SHARE = 0.99
"""A space lies inside another that has this share of its area: drawings are inexact."""


def omit_ineffective(
    networks: Mapping[TravelMode, Network], restrictions: Restrictions
) -> Restrictions:
    """Return restrictions without the kinds of connectors, and outdoors, that a map has not."""
    foot = networks[TravelMode.FOOT]
    return replace(
        restrictions,
        connector_kinds=restrictions.connector_kinds & {each.kind for each in foot.connectors},
        outdoors=restrictions.outdoors and foot.levels.have_outdoors,
    )


def close_floor(
    networks: Mapping[TravelMode, Network], restrictions: Restrictions
) -> dict[TravelMode, Network]:
    """Return the networks of a map without closed doors, spaces and what is outdoors."""
    if not restrictions.of_floor:
        return {**networks}
    levels = networks[TravelMode.FOOT].levels
    rebuilt: dict[int, Levels] = {}
    closed_areas: dict[int, Polygonal] = {}
    used = np.unique(np.concatenate([each.level_numbers for each in networks.values()]))
    for number in used.tolist():
        closed = find_closed_area(levels, number, restrictions)
        if not closed.is_empty:
            left = remove_hairlines(levels.walkable_area(number).difference(closed))
            rebuilt[number], closed_areas[number] = rebuild_level(levels, number, left), closed
    if not rebuilt:
        return {**networks}
    parts = [
        rebuilt[number] if number in rebuilt else levels.take(number)
        for number in range(len(levels))
    ]
    joined = shrink_all(join_levels(parts))
    return {
        mode: replace_levels(network, joined, closed_areas) for mode, network in networks.items()
    }


def close_connectors(
    networks: Mapping[TravelMode, Network], restrictions: Restrictions
) -> dict[TravelMode, Network]:
    """Return the networks of a map without closed connectors, over the same levels."""
    return {mode: remove_links(network, restrictions) for mode, network in networks.items()}


def find_closed_area(levels: Levels, level: int, restrictions: Restrictions) -> Polygonal:
    """Return the closed floor of a level."""
    doors = [*levels.doors.shapes(level)]
    door_rows, rows = levels.door_rows.rows(level), levels.space_rows.rows(level)
    is_closed = np.array(
        [
            space_id in restrictions.space_ids or (restrictions.outdoors and place == "outdoors")
            for space_id, *_, place in rows
        ],
        dtype=bool,
    )
    shapes: list[BaseGeometry] = [
        shape
        for (door_id,), shape in zip(door_rows, doors, strict=True)
        if door_id in restrictions.door_ids
    ]
    if is_closed.any():
        is_room = np.array([kind == SpaceKind.ROOM for *_, kind, _ in rows])
        shapes += list_own_floor([*levels.spaces.shapes(level)], is_room, is_closed, doors)
    return to_polygonal(extract_polygons(shapely.union_all(shapes)))


def list_own_floor(
    shapes: Sequence[Polygonal],
    is_room: BoolArray,
    is_closed: BoolArray,
    doors: Sequence[Polygonal],
) -> list[BaseGeometry]:
    """Return the floor of each closed space that is of no open one.

    Rooms are cut out of larger rooms, and of corridors and areas. Floor that several corridors and
    areas draw is open while one of them is, but one that lies inside another is closed as a whole.
    A door between two open spaces leads through the walls between them.
    """
    spaces, passages, areas = STRtree(shapes), STRtree(doors), shapely.area(shapes)
    own = []
    for index in np.flatnonzero(is_closed).tolist():
        shape = shapes[index]
        near = spaces.query(shape, predicate="intersects")
        if is_room[index]:
            open_ones = near[is_room[near] & (areas[near] < areas[index])]
        else:
            shared = shapely.area(shapely.intersection(spaces.geometries[near], shape))
            open_ones = near[is_room[near] | (shared < INSIDE_SHARE * areas[index])]
        kept = spaces.geometries[open_ones[~is_closed[open_ones]]]
        if len(kept):
            beside, _ = passages.query(kept, predicate="intersects")[::-1]
            led_to = np.bincount(beside, minlength=len(doors))
            kept = [*kept, *passages.geometries[led_to > 1]]
        own.append(shape.difference(shapely.union_all(kept)))
    return own


def replace_levels(
    network: Network, levels: Levels, closed_areas: Mapping[int, Polygonal]
) -> Network:
    """Return a network over what is left of its levels, which keep their numbers."""
    numbers = network.level_numbers
    replaced = replace(
        network,
        levels=levels,
        whole=network,
        closed_areas=closed_areas,
        portal_paths=compute_portal_paths(
            levels, numbers, network.portals, network.links, network.feet_per_second
        ),
    )
    return replace(replaced, locations=replaced.keep_attached(network.locations))


def remove_links(network: Network, restrictions: Restrictions) -> Network:
    """Return a network without the links of closed connectors."""
    closed = {
        index
        for index, connector in enumerate(network.connectors)
        if connector.id in restrictions.connector_ids
        or connector.kind in restrictions.connector_kinds
    }
    starts = [network.portals[link.start] for link in network.links]
    links = tuple(
        link
        for link, start in zip(network.links, starts, strict=True)
        if start.connector not in closed and start.door_id not in restrictions.door_ids
    )
    if links == network.links:
        return network
    paths = compute_portal_paths(
        network.levels, network.level_numbers, network.portals, links, network.feet_per_second
    )
    return replace(network, links=links, portal_paths=paths)
