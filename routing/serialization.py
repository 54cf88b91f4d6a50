"""Write networks and distance tables to archives, and read them back.

Names inside the archives are part of the stored format: changing one needs a new FORMAT_VERSION.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, cast, get_type_hints

import numpy as np
from numpy.typing import NDArray

from routing.archive import Arrays, pack_archive, raise_archive_errors, unpack_archive
from routing.costing import Costing, RideCost, TravelMode
from routing.network.levels import Levels
from routing.network.network import ConnectorInfo, LocationIds, Network
from routing.network.portals import Link, Portal, PortalPaths
from routing.network.stops import Stops
from routing.plan import ConnectorKind
from routing.search.distance_table import DistanceTable
from routing.search.router import Router

T = TypeVar("T")
LEVEL_COLUMNS = ("ids", "ordinals", "tolerances_feet")
"""What is stored of levels besides arrays."""


def serialize_router(router: Router) -> bytes:
    """Return an archive of the networks and tables of a map.

    Levels that several networks share are stored once.
    """
    foot = router.networks[TravelMode.FOOT]
    levels = foot.levels
    values: dict[str, Any] = {
        "levels": [getattr(levels, name) for name in LEVEL_COLUMNS],
        "connectors": foot.connectors,
        "locations": foot.location_ids,
    }
    arrays = list_arrays(levels, "levels/")
    for mode, network in router.networks.items():
        values[mode] = {
            "costing": asdict(network.costing),
            "portals": network.portals,
            "links": network.links,
        }
        arrays[f"{mode}/level_numbers"] = network.level_numbers
        parts: dict[str, Any] = {
            "portal_paths": network.portal_paths,
            "locations": network.locations,
        }
        if table := router.tables.get(mode):
            speed, step = table.feet_per_second, table.step_feet
            values[mode]["table"] = {"feet_per_second": speed, "step_feet": step}
            parts["table"] = table
        for name, part in parts.items():
            arrays |= list_arrays(part, f"{mode}/{name}/")
    return pack_archive("router", values, arrays)


@raise_archive_errors()
def deserialize_router(buffer: Any) -> Router:
    """Return the router of a map, which measures bit for bit the same distances as the stored one.

    Its arrays are views of `buffer`. Raises ArchiveError.
    """
    values, arrays = unpack_archive("router", buffer)
    columns = dict(zip(LEVEL_COLUMNS, map(tuple, values["levels"]), strict=True))
    levels = read_part(Levels, arrays, "levels/", **columns)
    common = levels, read_connectors(values), LocationIds(values["locations"])
    modes = [mode for mode in TravelMode if mode in values]
    networks = {mode: deserialize_network(mode, values[mode], arrays, *common) for mode in modes}
    tables = {
        mode: read_part(
            DistanceTable,
            arrays,
            f"{mode}/table/",
            mode=mode,
            location_ids=networks[mode].location_ids,
            **values[mode]["table"],
        )
        for mode in modes
        if "table" in values[mode]
    }
    return Router(networks, tables)


def deserialize_network(
    mode: TravelMode,
    values: dict[str, Any],
    arrays: Arrays,
    levels: Levels,
    connectors: tuple[ConnectorInfo, ...],
    location_ids: LocationIds,
) -> Network:
    prefix = f"{mode}/"
    stops = read_part(Stops, arrays, f"{prefix}locations/")
    if len(location_ids) != len(stops):
        raise ValueError("the locations are not as many as their stops")
    return Network(
        mode,
        Costing(**values["costing"]),
        levels,
        arrays[f"{prefix}level_numbers"],
        tuple(Portal(*portal) for portal in values["portals"]),
        read_links(values),
        connectors,
        location_ids,
        stops,
        read_part(PortalPaths, arrays, f"{prefix}portal_paths/"),
    )


def read_links(values: dict[str, Any]) -> tuple[Link, ...]:
    return tuple(Link(start, end, RideCost(*ride)) for start, end, ride in values["links"])


def read_connectors(values: dict[str, Any]) -> tuple[ConnectorInfo, ...]:
    return tuple(
        ConnectorInfo(key, ConnectorKind(kind), name) for key, kind, name in values["connectors"]
    )


def list_arrays(part: Any, prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a dataclass and of the dataclasses in it, by the names of the fields."""
    arrays: dict[str, NDArray[Any]] = {}
    for field in fields(part):
        value = getattr(part, field.name)
        if isinstance(value, np.ndarray):
            arrays[prefix + field.name] = value
        elif is_dataclass(value):
            arrays |= list_arrays(value, f"{prefix}{field.name}/")
    return arrays


def weigh_networks(networks: Iterable[Network], others: Iterable[Network] = ()) -> int:
    """Return the bytes of all arrays that some networks hold and `others` do not, each once."""
    own, shared = (
        {id(array): array for each in some for array in list_arrays(each, "").values()}
        for some in (networks, others)
    )
    return sum(own[key].nbytes for key in own.keys() - shared.keys())


@cache
def list_field_types(kind: Any) -> dict[str, Any]:
    """Return the types of a dataclass's fields by name."""
    return get_type_hints(kind)


def read_part(kind: type[T], arrays: Arrays, prefix: str, **values: Any) -> T:
    """Return a dataclass with the arrays that `list_arrays` returned, and other `values`."""
    for name, field_type in list_field_types(cast(Any, kind)).items():
        if isinstance(field_type, type) and is_dataclass(field_type):
            values[name] = read_part(field_type, arrays, f"{prefix}{name}/")
        elif prefix + name in arrays:
            values[name] = arrays[prefix + name]
    return kind(**values)
