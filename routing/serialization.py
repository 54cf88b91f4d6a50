"""Write networks and distance tables to archives, and read them back.

Names inside the archives are part of the stored format: changing one needs a new FORMAT_VERSION.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import GeometryCollection

from routing.archive import Arrays, pack_archive, raise_archive_errors, unpack_archive
from routing.costing import Costing, RideCost, TravelMode
from routing.network.labels import Labels
from routing.network.mesh import Mesh
from routing.network.network import ConnectorInfo, LevelNetwork, Network
from routing.network.portals import Link, Portal, PortalPaths
from routing.network.stops import Stops
from routing.network.views import Views
from routing.network.walk_graph import Edges, WalkGraph
from routing.plan import ConnectorKind, Polygonal
from routing.search.distance_table import DistanceTable
from routing.search.router import Router


def serialize_router(router: Router) -> bytes:
    """Return an archive of the networks and tables of a map.

    Levels that several networks share are stored once.
    """
    levels: list[LevelNetwork] = []
    values: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}
    for mode, network in router.networks.items():
        for level in network.levels:
            if not any(level is known for known in levels):
                levels.append(level)
        numbers = [
            next(number for number, known in enumerate(levels) if known is level)
            for level in network.levels
        ]
        values[mode] = {
            "costing": asdict(network.costing),
            "levels": numbers,
            "portals": network.portals,
            "links": network.links,
            "connectors": network.connectors,
            "locations": network.location_ids,
        }
        parts: dict[str, Any] = {
            "portal_paths": network.portal_paths,
            "locations": network.locations,
        }
        if table := router.tables.get(mode):
            values[mode]["table"] = [table.feet_per_second, table.step_feet]
            parts["table"] = table
        for name, part in parts.items():
            arrays |= {f"{mode}/{name}/{key}": array for key, array in list_arrays(part)}
    values["levels"] = [(level.id, level.ordinal) for level in levels]
    for number, level in enumerate(levels):
        arrays |= {f"level/{number}/{key}": array for key, array in level_arrays(level).items()}
    return pack_archive("router", values, arrays)


@raise_archive_errors()
def deserialize_router(buffer: Any) -> Router:
    """Return the router of a map, which measures bit for bit the same distances as the stored one.

    Its arrays are views of `buffer`. Raises ArchiveError.
    """
    values, arrays = unpack_archive("router", buffer)
    levels = [
        deserialize_level(level_id, ordinal, select_arrays(arrays, f"level/{number}/"))
        for number, (level_id, ordinal) in enumerate(values["levels"])
    ]
    modes = [mode for mode in TravelMode if mode in values]
    networks = {
        mode: deserialize_network(mode, values[mode], select_arrays(arrays, f"{mode}/"), levels)
        for mode in modes
    }
    tables = {
        mode: DistanceTable(
            mode,
            networks[mode].location_ids,
            *values[mode]["table"],
            **select_arrays(arrays, f"{mode}/table/"),
        )
        for mode in modes
        if "table" in values[mode]
    }
    return Router(networks, tables)


def deserialize_network(
    mode: TravelMode, values: dict[str, Any], arrays: Arrays, levels: Sequence[LevelNetwork]
) -> Network:
    stops = Stops(**select_arrays(arrays, "locations/"))
    if len(values["locations"]) != len(stops):
        raise ValueError("the locations are not as many as their stops")
    return Network(
        mode,
        Costing(**values["costing"]),
        tuple(levels[number] for number in values["levels"]),
        tuple(Portal(*portal) for portal in values["portals"]),
        tuple(Link(start, end, RideCost(*ride)) for start, end, ride in values["links"]),
        tuple(
            ConnectorInfo(i, ConnectorKind(kind), name) for i, kind, name in values["connectors"]
        ),
        tuple(values["locations"]),
        stops,
        PortalPaths(**select_arrays(arrays, "portal_paths/")),
    )


def list_arrays(part: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the names and values of a dataclass's fields that are arrays."""
    for field in fields(part):
        if isinstance(value := getattr(part, field.name), np.ndarray):
            yield field.name, value


def select_arrays(arrays: Arrays, prefix: str) -> dict[str, Any]:
    """Return the arrays whose names begin with `prefix`, by the rest of their names."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def level_arrays(level: LevelNetwork) -> dict[str, NDArray[Any]]:
    """Return the arrays to store for one level, by name."""
    arrays: dict[str, NDArray[Any]] = {
        "walkable_area": areas_to_array([level.walkable_area]),
        "rooms": areas_to_array(level.rooms),
        "portal_indexes": level.portal_indexes,
        "portal_feet": level.portal_feet,
    }
    parts = {"mesh": level.mesh, "views": level.views, "edges": level.graph.edges}
    if level.labels is not None:
        parts["labels"] = level.labels
    for name, part in parts.items():
        arrays |= {f"{name}/{key}": array for key, array in list_arrays(part)}
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


def deserialize_level(level_id: str, ordinal: float, arrays: Arrays) -> LevelNetwork:
    views = Views(**select_arrays(arrays, "views/"))
    labels = Labels(**select_arrays(arrays, "labels/")) if "labels/starts" in arrays else None
    return LevelNetwork(
        level_id,
        ordinal,
        areas_from_array(arrays["walkable_area"])[0],
        tuple(areas_from_array(arrays["rooms"])),
        Mesh(**select_arrays(arrays, "mesh/")),
        views,
        WalkGraph(len(views.xy), Edges(**select_arrays(arrays, "edges/"))),
        arrays["portal_indexes"],
        arrays["portal_feet"],
        labels,
    )
