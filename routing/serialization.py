"""What an archive holds of a network and of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import GeometryCollection

from routing.archive import Arrays, pack_archive, unpack_archive
from routing.costing import Costing, RideCost, TravelMode
from routing.network.door_filter import DoorFilter
from routing.network.network import ConnectorInfo, LevelNetwork, Network, NetworkLocation
from routing.network.portals import Link, Portal, PortalPaths
from routing.network.regions import Region
from routing.network.visibility import Edges, find_corners
from routing.network.walk_graph import WalkGraph
from routing.plan import ConnectorKind, Polygonal
from routing.search.distance_table import DistanceTable
from routing.search.router import Router


def serialize_router(router: Router) -> bytes:
    """All networks and tables of a map in one archive, each whole within it."""
    parts = {f"network/{mode}": serialize_network(kept) for mode, kept in router.networks.items()}
    parts |= {f"table/{mode}": serialize_table(kept) for mode, kept in router.tables.items()}
    return pack_archive(
        "router", {}, {name: np.frombuffer(part, np.uint8) for name, part in parts.items()}
    )


def deserialize_router(buffer: Any) -> Router:
    """A map's router, whose tables stay in `buffer`. Raises FormatError."""
    _, parts = unpack_archive("router", buffer)
    networks = [
        deserialize_network(part) for name, part in parts.items() if name.startswith("network/")
    ]
    tables = [deserialize_table(part) for name, part in parts.items() if name.startswith("table/")]
    return Router(
        {network.mode: network for network in networks}, {table.mode: table for table in tables}
    )


def serialize_table(table: DistanceTable) -> bytes:
    values = {"mode": table.mode, "ids": table.location_ids}
    return pack_archive("table", values, {"feet": table.feet, "seconds": table.seconds})


def deserialize_table(buffer: Any) -> DistanceTable:
    """A table whose cells stay in `buffer`. Raises FormatError."""
    values, arrays = unpack_archive("table", buffer)
    ids = tuple(values["ids"])
    return DistanceTable(TravelMode(values["mode"]), ids, arrays["feet"], arrays["seconds"])


def serialize_network(network: Network) -> bytes:
    closure = network.portal_paths
    arrays: dict[str, NDArray[Any]] = {
        "closure/seconds": closure.seconds,
        "closure/feet": closure.feet,
        "closure/next": closure.next_portal.astype(np.int32),
    }
    for index, level in enumerate(network.levels):
        arrays |= {f"{index}/{name}": array for name, array in level_arrays(level).items()}
    values = {
        "mode": network.mode,
        "costing": asdict(network.costing),
        "levels": [(level.id, level.ordinal) for level in network.levels],
        "gates": network.portals,
        "links": network.links,
        "connectors": network.connectors,
        "anchors": network.locations,
    }
    return pack_archive("network", values, arrays)


def level_arrays(level: LevelNetwork) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "free": areas_to_array([level.walkable_area]),
        "rooms": areas_to_array(level.rooms),
        "regions": areas_to_array([region.area for region in level.regions]),
        "xy": level.xy,
        "first": level.graph.edges.first.astype(np.int32),
        "second": level.graph.edges.second.astype(np.int32),
        "feet": level.graph.edges.feet,
        "gates": level.portal_indexes,
        "gate_ids": level.portal_vertices,
        "gate_feet": level.portal_feet,
    }
    if level.hub_feet is not None:
        arrays["hub_feet"] = level.hub_feet
    for index, region in enumerate(level.regions):
        arrays[f"corners/{index}"] = region.corner_ids
        arrays[f"points/{index}"] = region.point_ids
        if region.door_filter is not None:
            arrays[f"pieces/{index}"] = areas_to_array(region.door_filter.pieces)
            arrays[f"doors/{index}"] = region.door_filter.doors
    return arrays


def areas_to_array(areas: Sequence[Polygonal]) -> NDArray[Any]:
    return np.frombuffer(shapely.to_wkb(GeometryCollection(list(areas))), dtype=np.uint8)


def areas_from_array(array: NDArray[Any]) -> list[Any]:
    collection = shapely.from_wkb(array.tobytes())
    return list(shapely.get_parts(collection))


def deserialize_network(buffer: Any) -> Network:
    """A network as it was saved; distances from it are the same to the last bit.

    Raises FormatError.
    """
    values, arrays = unpack_archive("network", buffer)
    closure = PortalPaths(
        arrays["closure/seconds"], arrays["closure/feet"], arrays["closure/next"].astype(np.int64)
    )
    return Network(
        TravelMode(values["mode"]),
        Costing(**values["costing"]),
        tuple(
            deserialize_level(level_id, ordinal, index, arrays)
            for index, (level_id, ordinal) in enumerate(values["levels"])
        ),
        tuple(Portal(*gate) for gate in values["gates"]),
        tuple(Link(start, end, RideCost(*ride)) for start, end, ride in values["links"]),
        tuple(
            ConnectorInfo(i, ConnectorKind(kind), name) for i, kind, name in values["connectors"]
        ),
        tuple(NetworkLocation(*anchor) for anchor in values["anchors"]),
        closure,
    )


def deserialize_region(area: Polygonal, index: int, own: Arrays) -> Region:
    screen = None
    if f"doors/{index}" in own:
        screen = DoorFilter(tuple(areas_from_array(own[f"pieces/{index}"])), own[f"doors/{index}"])
    ids = own[f"corners/{index}"], own[f"points/{index}"]
    return Region(area, find_corners(area), *ids, screen)


def deserialize_level(level_id: str, ordinal: float, index: int, arrays: Arrays) -> LevelNetwork:
    own = {
        name.removeprefix(f"{index}/"): array
        for name, array in arrays.items()
        if name.startswith(f"{index}/")
    }
    regions = tuple(
        deserialize_region(area, at, own)
        for at, area in enumerate(areas_from_array(own["regions"]))
    )
    edges = Edges(own["first"].astype(np.int64), own["second"].astype(np.int64), own["feet"])
    return LevelNetwork(
        level_id,
        ordinal,
        areas_from_array(own["free"])[0],
        tuple(areas_from_array(own["rooms"])),
        regions,
        own["xy"],
        WalkGraph(len(own["xy"]), [edges]),
        own["gates"],
        own["gate_ids"],
        own["gate_feet"],
        own.get("hub_feet"),
    )
