"""Networks and tables as bytes that can be mapped into memory, and back.

An archive is, in this order: the eight bytes `FLOORRTE`; the length of the header in bytes, an
unsigned 64-bit little-endian integer; the header, JSON in UTF-8 with `kind` ("network" or "table"),
`version`, `values`, and `arrays`: name -> [numpy dtype, shape, offset]; padding; the arrays,
row-major and little-endian. Offsets count from the first multiple of 64 bytes after the header and
are multiples of 64 themselves. Areas are Well-Known Binary in arrays of bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from routing.errors import ArchiveError

MAGIC = b"FLOORRTE"
FORMAT_VERSION = 3
ALIGNMENT = 64
PREFIX_BYTES = len(MAGIC) + 8

Arrays = Mapping[str, NDArray[Any]]
Buffer = bytes | bytearray | memoryview


def pack_archive(kind: str, values: Mapping[str, Any], arrays: Arrays) -> bytes:
    """One archive of JSON values and numpy arrays."""
    described: dict[str, tuple[str, tuple[int, ...], int]] = {}
    body = bytearray()
    for name, array in arrays.items():
        dtype = array.dtype.newbyteorder("<")
        described[name] = (dtype.str, array.shape, len(body))
        body += np.ascontiguousarray(array, dtype=dtype).tobytes()
        body += bytes(-len(body) % ALIGNMENT)
    header = json.dumps(
        {"kind": kind, "version": FORMAT_VERSION, "values": values, "arrays": described},
        separators=(",", ":"),
    ).encode()
    prefix = MAGIC + len(header).to_bytes(8, "little") + header
    return prefix + bytes(-len(prefix) % ALIGNMENT) + bytes(body)


def unpack_archive(kind: str, buffer: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The values and arrays of an archive; the arrays are read-only views of `buffer`.

    `buffer` is anything with bytes in it, an mmap too. Raises FormatError if it is no archive of
    this kind and version, or is cut short.
    """
    view = memoryview(buffer).toreadonly()
    if bytes(view[: len(MAGIC)]) != MAGIC:
        raise ArchiveError("These bytes are no routing archive; process the map again.")
    length = int.from_bytes(view[len(MAGIC) : PREFIX_BYTES], "little")
    start = PREFIX_BYTES + length
    try:
        header = json.loads(bytes(view[PREFIX_BYTES:start]))
        found = header["kind"], header["version"]
        if found != (kind, FORMAT_VERSION):
            raise ArchiveError(
                f"This is a {found[0]} of version {found[1]}, not a {kind} of version {FORMAT_VERSION}; "
                "process the map again."
            )
        body = view[start + -start % ALIGNMENT :]
        arrays = {
            name: np.ndarray(shape, dtype, buffer=body, offset=offset)
            for name, (dtype, shape, offset) in header["arrays"].items()
        }
    except (ValueError, KeyError, TypeError) as error:
        raise ArchiveError("This routing archive is damaged; process the map again.") from error
    return header["values"], arrays
