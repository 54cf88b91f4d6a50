"""Read the archives of the release before, so that its maps stay routable after an upgrade.

They have what networks are built from, and it is built again when a map is first used: about a
second for a building of 500 rooms. Processing the map writes an archive that needs no building.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

from routing.archive import Arrays, raise_archive_errors, unpack_archive
from routing.costing import Costing, TravelMode
from routing.network.levels import Levels, build_levels, draft_level, join_levels
from routing.network.network import LocationIds, Network, attach_locations, compute_portal_paths
from routing.network.portals import Portal
from routing.plan import Level, PlanLocation, Space
from routing.search.router import Router
from routing.serialization import read_connectors, read_links

PREVIOUS_VERSION = 3


@raise_archive_errors()
def read_previous_router(buffer: Any) -> Router:
    """Return the router in an archive of PREVIOUS_VERSION, without tables. Raises ArchiveError."""
    _, parts = unpack_archive("router", buffer, PREVIOUS_VERSION)
    stored = {
        TravelMode(name.removeprefix("network/")): unpack_archive("network", part, PREVIOUS_VERSION)
        for name, part in parts.items()
        if name.startswith("network/")
    }
    built = build_levels(
        [
            _draft_level(values, arrays, index)
            for values, arrays in stored.values()
            for index in range(len(values["levels"]))
        ]
    )
    levels, numbers, first = join_levels(built), {}, 0
    for mode, (values, _) in stored.items():
        numbers[mode] = np.arange(first, first + len(values["levels"]))
        first += len(values["levels"])
    return Router(
        {
            mode: _build_network(mode, values, levels, numbers[mode])
            for mode, (values, _) in stored.items()
        }
    )


def _draft_level(values: dict[str, Any], arrays: Arrays, index: int) -> Levels:
    level_id, ordinal = values["levels"][index]
    [area] = _unpack_areas(arrays[f"{index}/free"])
    rooms = _unpack_areas(arrays[f"{index}/rooms"])
    # Neither the ids of spaces nor doors were stored, so neither can be closed.
    spaces = [Space("", level_id, room) for room in rooms]
    portals = arrays[f"{index}/gates"].astype(np.int64)
    xy = np.array([values["gates"][portal][2:4] for portal in portals.tolist()]).reshape(-1, 2)
    return draft_level(Level(level_id, ordinal), area, spaces, [], portals, xy)


def _build_network(
    mode: TravelMode, values: dict[str, Any], levels: Levels, numbers: np.ndarray
) -> Network:
    costing = Costing(**values["costing"])
    portals = tuple(Portal(*portal) for portal in values["gates"])
    links = read_links(values)
    ids = [level_id for level_id, _ in values["levels"]]
    places = [PlanLocation(key, ids[level], x, y) for key, level, x, y, *_ in values["anchors"]]
    return Network(
        mode,
        costing,
        levels,
        numbers,
        portals,
        links,
        read_connectors(values),
        LocationIds(place.id for place in places),
        attach_locations(levels, numbers, places, costing.attach_feet),
        compute_portal_paths(levels, numbers, portals, links, costing.feet_per_second(mode)),
    )


def _unpack_areas(content: np.ndarray) -> list[Any]:
    return list(shapely.get_parts(shapely.from_wkb(content.tobytes())))
