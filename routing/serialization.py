"""Write networks and distance tables to archives, and read them back.

Names inside the archives are part of the stored format: changing one needs a new FORMAT_VERSION.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import GeometryCollection

from routing.archive import Arrays, pack_archive, raise_archive_errors, unpack_archive
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
    """Return one archive of all networks and tables of a map, each nested as an archive of its own.

    Nested archives are aligned like any array, so their arrays can be mapped too.
    """
    parts = {f"network/{mode}": serialize_network(net) for mode, net in router.networks.items()}
    parts |= {f"table/{mode}": serialize_table(table) for mode, table in router.tables.items()}
    return pack_archive(
        "router", {}, {name: np.frombuffer(part, np.uint8) for name, part in parts.items()}
    )


def deserialize_router(buffer: Any) -> Router:
    """Return the router of a map; its tables are views of `buffer`. Raises ArchiveError."""
    _, parts = unpack_archive("router", buffer)
    networks = [
        deserialize_network(part) for name, part in parts.items() if name.startswith("network/")
    ]
    tables = [deserialize_table(part) for name, part in parts.items() if name.startswith("table/")]
    return Router(
        {network.mode: network for network in networks}, {table.mode: table for table in tables}
    )


def serialize_table(table: DistanceTable) -> bytes:
    """Return an archive of a distance table."""
    values = {"mode": table.mode, "ids": table.location_ids}
    return pack_archive("table", values, {"feet": table.feet, "seconds": table.seconds})


@raise_archive_errors()
def deserialize_table(buffer: Any) -> DistanceTable:
    """Return a distance table; its cells are views of `buffer`. Raises ArchiveError."""
    values, arrays = unpack_archive("table", buffer)
    ids = tuple(values["ids"])
    return DistanceTable(TravelMode(values["mode"]), ids, arrays["feet"], arrays["seconds"])


def serialize_network(network: Network) -> bytes:
    """Return an archive of a network."""
    portal_paths = network.portal_paths
    arrays: dict[str, NDArray[Any]] = {
        "closure/seconds": portal_paths.seconds,
        "closure/feet": portal_paths.feet,
        # Half the bytes; numpy indexes with 64 bits, so reading converts it back.
        "closure/next": portal_paths.next_portal.astype(np.int32),
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
    """Return the arrays to store for one level, by name."""
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
    """Return polygons as Well-Known Binary in an array of bytes."""
    # One collection keeps empty areas and MultiPolygons in their places; shapely.get_parts of it
    # returns them again.
    return np.frombuffer(shapely.to_wkb(GeometryCollection(list(areas))), dtype=np.uint8)


def areas_from_array(array: NDArray[Any]) -> list[Any]:
    """Return the polygons written by `areas_to_array`."""
    collection = shapely.from_wkb(array.tobytes())
    return list(shapely.get_parts(collection))


@raise_archive_errors()
def deserialize_network(buffer: Any) -> Network:
    """Return a network; it measures bit for bit the same distances as the one that was stored.

    Raises ArchiveError.
    """
    values, arrays = unpack_archive("network", buffer)
    portal_paths = PortalPaths(
        arrays["closure/seconds"], arrays["closure/feet"], arrays["closure/next"].astype(np.int64)
    )
    return Network(
        TravelMode(values["mode"]),
        Costing(**values["costing"]),
        tuple(
            deserialize_level(level_id, ordinal, index, arrays)
            for index, (level_id, ordinal) in enumerate(values["levels"])
        ),
        tuple(Portal(*portal) for portal in values["gates"]),
        tuple(Link(start, end, RideCost(*ride)) for start, end, ride in values["links"]),
        tuple(
            ConnectorInfo(i, ConnectorKind(kind), name) for i, kind, name in values["connectors"]
        ),
        tuple(NetworkLocation(*location) for location in values["anchors"]),
        portal_paths,
    )


def deserialize_region(area: Polygonal, index: int, arrays: Arrays) -> Region:
    door_filter = None
    if f"doors/{index}" in arrays:
        pieces = tuple(areas_from_array(arrays[f"pieces/{index}"]))
        door_filter = DoorFilter(pieces, arrays[f"doors/{index}"])
    ids = arrays[f"corners/{index}"], arrays[f"points/{index}"]
    # Corners are not stored: WKB keeps coordinates bit for bit, so they are found again as they
    # were.
    return Region(area, find_corners(area), *ids, door_filter)


def deserialize_level(level_id: str, ordinal: float, index: int, arrays: Arrays) -> LevelNetwork:
    prefix = f"{index}/"
    own = {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
    regions = tuple(
        deserialize_region(area, region_index, own)
        for region_index, area in enumerate(areas_from_array(own["regions"]))
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
