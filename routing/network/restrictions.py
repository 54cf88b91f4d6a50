"""Networks without some connectors, doors or floor: what is closed, or what a client avoids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import shapely

from routing.arrays import IntArray
from routing.costing import TravelMode
from routing.network.levels import Levels, join_levels, rebuild_level
from routing.network.network import Network, compute_portal_paths
from routing.plan import ConnectorKind, Polygonal
from routing.space.plan_repair import extract_polygons, to_polygonal
from routing.space.walkable import remove_hairlines


@dataclass(frozen=True)
class Restrictions:
    """What routes do not use, by the ids of the plan, by kind, or all that is outdoors.

    Floor in a closed space is no floor: nothing leads to what stands there.
    """

    connector_ids: frozenset[str] = frozenset()
    door_ids: frozenset[str] = frozenset()
    space_ids: frozenset[str] = frozenset()
    connector_kinds: frozenset[ConnectorKind] = frozenset()
    outdoors: bool = False

    def __bool__(self) -> bool:
        return self.outdoors or bool(
            self.connector_ids or self.connector_kinds or self.door_ids or self.space_ids
        )

    def __or__(self, other: Restrictions) -> Restrictions:
        """Return what either restricts."""
        return Restrictions(
            self.connector_ids | other.connector_ids,
            self.door_ids | other.door_ids,
            self.space_ids | other.space_ids,
            self.connector_kinds | other.connector_kinds,
            self.outdoors or other.outdoors,
        )

    @property
    def of_floor(self) -> Restrictions:
        """The part that takes floor away, which is what takes long."""
        return replace(self, connector_ids=frozenset(), connector_kinds=frozenset())


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


def restrict_networks(
    networks: Mapping[TravelMode, Network], restrictions: Restrictions
) -> dict[TravelMode, Network]:
    """Return the networks of a map without what is restricted.

    Only levels where floor is closed are built again. A network that loses nothing is the same
    object.
    """
    return close_connectors(close_floor(networks, restrictions), restrictions)


def close_floor(
    networks: Mapping[TravelMode, Network], restrictions: Restrictions
) -> dict[TravelMode, Network]:
    """Return the networks of a map without closed doors, spaces and what is outdoors."""
    if not restrictions.of_floor:
        return {**networks}
    levels = networks[TravelMode.FOOT].levels
    parts, instead = [levels], np.arange(len(levels))
    closed_areas: dict[int, Polygonal] = {}
    used = np.unique(np.concatenate([each.level_numbers for each in networks.values()]))
    for number in used.tolist():
        closed = find_closed_area(levels, number, restrictions)
        if not closed.is_empty:
            left = remove_hairlines(levels.walkable_area(number).difference(closed))
            instead[number] = len(levels) + len(closed_areas)
            closed_areas[int(instead[number])] = closed
            parts.append(rebuild_level(levels, number, left))
    if not closed_areas:
        return {**networks}
    joined = join_levels(parts)
    return {
        mode: replace_levels(network, joined, instead, closed_areas)
        for mode, network in networks.items()
    }


def close_connectors(
    networks: Mapping[TravelMode, Network], restrictions: Restrictions
) -> dict[TravelMode, Network]:
    """Return the networks of a map without closed connectors, over the same levels."""
    return {mode: remove_links(network, restrictions) for mode, network in networks.items()}


def find_closed_area(levels: Levels, level: int, restrictions: Restrictions) -> Polygonal:
    """Return the closed floor of a level."""
    doors = zip(levels.door_rows.rows(level), levels.doors.shapes(level), strict=True)
    spaces = [*zip(levels.space_rows.rows(level), levels.spaces.shapes(level), strict=True)]
    closed = [shape for (door_id,), shape in doors if door_id in restrictions.door_ids]
    closed += [shape for (space_id, *_), shape in spaces if space_id in restrictions.space_ids]
    if restrictions.outdoors:
        # A building may be drawn on its site's grounds.
        indoors, outdoors = (
            shapely.union_all([shape for (*_, where), shape in spaces if where == place])
            for place in ("indoors", "outdoors")
        )
        closed.append(to_polygonal(extract_polygons(outdoors.difference(indoors))))
    return to_polygonal(extract_polygons(shapely.union_all(closed)))


def replace_levels(
    network: Network, levels: Levels, instead: IntArray, closed_areas: Mapping[int, Polygonal]
) -> Network:
    """Return a network over other levels: number n is now `instead[n]`."""
    numbers = instead[network.level_numbers]
    replaced = replace(
        network,
        levels=levels,
        level_numbers=numbers,
        closed_areas=closed_areas,
        portal_paths=compute_portal_paths(
            levels, numbers, network.portals, network.links, network.feet_per_second
        ),
    )
    stops = network.locations
    return replace(replaced, locations=replaced.attach(instead[stops.levels], stops.xy))


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
