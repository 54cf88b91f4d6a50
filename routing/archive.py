"""Binary archives of JSON values and numpy arrays that can be memory-mapped.

An archive is, in this order: the eight bytes `FLOORRTE`; the length of the header in bytes, an
unsigned 64-bit little-endian integer; the header, JSON in UTF-8 with `kind` (such as "network"),
`version`, `values`, `arrays`: name -> [numpy dtype, shape, offset], and `checksum`; padding; the
arrays, row-major and little-endian, of which the checksum is the CRC-32. Offsets count from the
first multiple of 64 bytes after the header and are multiples of 64 themselves. Areas are Well-Known
Binary in arrays of bytes. `kind` and `version` come first, so that they can be read without JSON.

Networks and distance tables are written to archives and read back here.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, cast, get_type_hints

import numpy as np
from numpy.typing import NDArray

from routing.arrays import shrink
from routing.costing import Costing, RideCost, TravelMode
from routing.errors import ArchiveError
from routing.network.levels import LEVEL_COLUMNS, Levels
from routing.network.network import ConnectorInfo, LocationIds, Network, Stops
from routing.network.portals import Link, Portal, PortalPaths
from routing.plan import ConnectorKind
from routing.search.matrix import DistanceTable
from routing.search.router import Router

MAGIC = b"FLOORRTE"
FORMAT_VERSION = 5
ALIGNMENT_BYTES = 64
"""A cache line, and a multiple of every dtype's own alignment."""
PREFIX_BYTES = len(MAGIC) + 8

Arrays = Mapping[str, NDArray[Any]]


def pack_archive(kind: str, values: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Return one archive of JSON values and numpy arrays.

    >>> data = pack_archive("table", {"mode": "foot"}, {"feet": np.array([1.5, 2.0])})
    >>> unpack_archive("table", data)
    ({'mode': 'foot'}, {'feet': array([1.5, 2. ])})
    """
    descriptions: dict[str, tuple[str, tuple[int, ...], int]] = {}
    body, offsets = bytearray(), dict[bytes, int]()
    for name, array in arrays.items():
        array = shrink(array)
        # A dtype's name includes its byte order, so a big-endian machine reads the file correctly,
        # too.
        dtype = array.dtype.newbyteorder("<")
        content = np.ascontiguousarray(array, dtype=dtype).tobytes()
        # Arrays of the same bytes, such as those of two modes, are stored once.
        offset = offsets.setdefault(content, len(body))
        descriptions[name] = (dtype.str, array.shape, offset)
        if offset == len(body):
            body += content
            # -n % 64 is how many bytes are missing to the next multiple of 64.
            body += bytes(-len(body) % ALIGNMENT_BYTES)
    header = json.dumps(
        {
            "kind": kind,
            "version": FORMAT_VERSION,
            "values": values,
            "arrays": descriptions,
            "checksum": zlib.crc32(body),
        },
        separators=(",", ":"),
    ).encode()
    prefix = MAGIC + len(header).to_bytes(8, "little") + header
    return prefix + bytes(-len(prefix) % ALIGNMENT_BYTES) + bytes(body)


def unpack_archive(kind: str, buffer: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the values and arrays of an archive; the arrays are read-only views of `buffer`.

    `buffer` is any object with the buffer protocol, such as bytes or an mmap. Raises ArchiveError
    if it is not an archive of this kind and version, or is damaged.
    """
    view = memoryview(buffer).toreadonly()
    with raise_archive_errors():
        header, header_end = _read_header(view)
        stored_kind, stored_version = header["kind"], header["version"]
        if (stored_kind, stored_version) != (kind, FORMAT_VERSION):
            raise ArchiveError(
                f"This is a {stored_kind} of version {stored_version}, not a {kind} of version "
                f"{FORMAT_VERSION}; process the map again."
            )
        body = view[header_end + -header_end % ALIGNMENT_BYTES :]
        if zlib.crc32(body) != header["checksum"]:
            raise ValueError("the arrays are not those that were written")
        arrays = {
            name: view_array(body, *description) for name, description in header["arrays"].items()
        }
        return header["values"], arrays


def _read_header(view: memoryview) -> tuple[dict[str, Any], int]:
    """Return the header of an archive and where it ends."""
    if bytes(view[: len(MAGIC)]) != MAGIC:
        raise ArchiveError("This is not a routing archive; process the map again.")
    end = PREFIX_BYTES + int.from_bytes(view[len(MAGIC) : PREFIX_BYTES], "little")
    header: dict[str, Any] = json.loads(bytes(view[PREFIX_BYTES:end]))
    return header, end


def view_array(body: memoryview, dtype_name: str, shape: Any, offset: int) -> NDArray[Any]:
    """Return one array of an archive's `body`. Raises ValueError if it is not in there."""
    dtype = np.dtype(dtype_name)
    # numpy would follow the bytes of an array of objects as pointers, and those before the body.
    if dtype.kind not in "iuf" or offset < 0:
        raise ValueError(f"no array of numbers is described by {dtype_name!r} at {offset}")
    # No copy: an array of a memory-mapped file is read from disk only where it is used.
    return np.ndarray(shape, dtype, buffer=body, offset=offset)


@contextmanager
def raise_archive_errors() -> Iterator[None]:
    """Raise ArchiveError instead of what reading damaged contents raises; also a decorator."""
    try:
        yield
    except (ArchiveError, MemoryError):
        raise
    # The contents reach json, numpy, shapely and igraph, which raise errors of many kinds.
    except Exception as error:
        raise ArchiveError("This routing archive is damaged; process the map again.") from error


# Write networks and distance tables to archives, and read them back.
#
# Names inside the archives are part of the stored format: changing one needs a new FORMAT_VERSION.


T = TypeVar("T")


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
    connectors = tuple(
        ConnectorInfo(key, ConnectorKind(kind), name) for key, kind, name in values["connectors"]
    )
    common = levels, connectors, LocationIds(values["locations"])
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
        tuple(Link(start, end, RideCost(*ride)) for start, end, ride in values["links"]),
        connectors,
        location_ids,
        stops,
        read_part(PortalPaths, arrays, f"{prefix}portal_paths/"),
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


list_field_types = cache(get_type_hints)


def read_part(kind: type[T], arrays: Arrays, prefix: str, **values: Any) -> T:
    """Return a dataclass with the arrays that `list_arrays` returned, and other `values`."""
    for name, field_type in list_field_types(cast(Any, kind)).items():
        if isinstance(field_type, type) and is_dataclass(field_type):
            values[name] = read_part(field_type, arrays, f"{prefix}{name}/")
        elif prefix + name in arrays:
            values[name] = arrays[prefix + name]
    return kind(**values)
