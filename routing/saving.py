"""What an archive holds of a network and of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import GeometryCollection

from routing.archive import Arrays, pack, unpack
from routing.costing import Costing, Mode, Ride
from routing.gates import Closure, Gate, Link
from routing.graph import WalkGraph
from routing.network import Anchor, Ends, LevelNetwork, Network
from routing.plan import Area, ConnectorKind
from routing.region import Region
from routing.router import Router
from routing.screen import Screen
from routing.table import Table
from routing.visibility import Edges, find_corners


def save_router(router: Router) -> bytes:
    """All networks and tables of a map in one archive, each whole within it."""
    parts = {f"network/{mode}": save_network(kept) for mode, kept in router.networks.items()}
    parts |= {f"table/{mode}": save_table(kept) for mode, kept in router.tables.items()}
    return pack("router", {}, {name: np.frombuffer(part, np.uint8) for name, part in parts.items()})


def load_router(buffer: Any) -> Router:
    """A map's router, whose tables stay in `buffer`. Raises FormatError."""
    _, parts = unpack("router", buffer)
    networks = [load_network(part) for name, part in parts.items() if name.startswith("network/")]
    tables = [load_table(part) for name, part in parts.items() if name.startswith("table/")]
    return Router(
        {network.mode: network for network in networks}, {table.mode: table for table in tables}
    )


def save_table(table: Table) -> bytes:
    values = {"mode": table.mode, "ids": table.ids}
    return pack("table", values, {"feet": table.feet, "seconds": table.seconds})


def load_table(buffer: Any) -> Table:
    """A table whose cells stay in `buffer`. Raises FormatError."""
    values, arrays = unpack("table", buffer)
    ids = tuple(values["ids"])
    return Table(Mode(values["mode"]), ids, arrays["feet"], arrays["seconds"])


def save_network(network: Network) -> bytes:
    closure = network.closure
    arrays: dict[str, NDArray[Any]] = {
        "closure/seconds": closure.seconds,
        "closure/feet": closure.feet,
        "closure/next": closure.next_gate.astype(np.int32),
    }
    for index, level in enumerate(network.levels):
        arrays |= {f"{index}/{name}": array for name, array in level_arrays(level).items()}
    values = {
        "mode": network.mode,
        "costing": asdict(network.costing),
        "levels": [(level.id, level.ordinal) for level in network.levels],
        "gates": network.gates,
        "links": network.links,
        "connectors": network.connectors,
        "anchors": network.anchors,
    }
    return pack("network", values, arrays)


def level_arrays(level: LevelNetwork) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "free": area_bytes([level.free]),
        "rooms": area_bytes(level.rooms),
        "regions": area_bytes([region.area for region in level.regions]),
        "xy": level.xy,
        "first": level.graph.edges.first.astype(np.int32),
        "second": level.graph.edges.second.astype(np.int32),
        "feet": level.graph.edges.feet,
        "gates": level.gates,
        "gate_ids": level.gate_ids,
        "gate_feet": level.gate_feet,
    }
    if level.hub_feet is not None:
        arrays["hub_feet"] = level.hub_feet
    for index, region in enumerate(level.regions):
        arrays[f"corners/{index}"] = region.corner_ids
        arrays[f"points/{index}"] = region.point_ids
        if region.screen is not None:
            arrays[f"pieces/{index}"] = area_bytes(region.screen.pieces)
            arrays[f"doors/{index}"] = region.screen.doors
    return arrays


def area_bytes(areas: Sequence[Area]) -> NDArray[Any]:
    return np.frombuffer(shapely.to_wkb(GeometryCollection(list(areas))), dtype=np.uint8)


def areas_of(array: NDArray[Any]) -> list[Any]:
    collection = shapely.from_wkb(array.tobytes())
    return list(shapely.get_parts(collection))


def load_network(buffer: Any) -> Network:
    """A network as it was saved; distances from it are the same to the last bit.

    Raises FormatError.
    """
    values, arrays = unpack("network", buffer)
    closure = Closure(
        arrays["closure/seconds"], arrays["closure/feet"], arrays["closure/next"].astype(np.int64)
    )
    return Network(
        Mode(values["mode"]),
        Costing(**values["costing"]),
        tuple(
            load_level(level_id, ordinal, index, arrays)
            for index, (level_id, ordinal) in enumerate(values["levels"])
        ),
        tuple(Gate(*gate) for gate in values["gates"]),
        tuple(Link(start, end, Ride(*ride)) for start, end, ride in values["links"]),
        tuple(Ends(i, ConnectorKind(kind), name) for i, kind, name in values["connectors"]),
        tuple(Anchor(*anchor) for anchor in values["anchors"]),
        closure,
    )


def load_region(area: Area, index: int, own: Arrays) -> Region:
    screen = None
    if f"doors/{index}" in own:
        screen = Screen(tuple(areas_of(own[f"pieces/{index}"])), own[f"doors/{index}"])
    ids = own[f"corners/{index}"], own[f"points/{index}"]
    return Region(area, find_corners(area), *ids, screen)


def load_level(level_id: str, ordinal: float, index: int, arrays: Arrays) -> LevelNetwork:
    own = {
        name.removeprefix(f"{index}/"): array
        for name, array in arrays.items()
        if name.startswith(f"{index}/")
    }
    regions = tuple(load_region(area, at, own) for at, area in enumerate(areas_of(own["regions"])))
    edges = Edges(own["first"].astype(np.int64), own["second"].astype(np.int64), own["feet"])
    return LevelNetwork(
        level_id,
        ordinal,
        areas_of(own["free"])[0],
        tuple(areas_of(own["rooms"])),
        regions,
        own["xy"],
        WalkGraph(len(own["xy"]), [edges]),
        own["gates"],
        own["gate_ids"],
        own["gate_feet"],
        own.get("hub_feet"),
    )
