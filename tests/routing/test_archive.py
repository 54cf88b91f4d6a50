"""Archives hold values and arrays; other bytes are an error."""

import json
import zlib
from typing import Any

import numpy as np
import pytest

from routing.archive import (
    FORMAT_VERSION,
    pack_archive,
    raise_archive_errors,
    unpack_archive,
)
from routing.errors import ArchiveError

ARRAYS: dict[str, np.ndarray[Any, Any]] = {
    "empty": np.empty((0, 3)),
    "table": np.arange(6, dtype=np.float32).reshape(2, 3),
    "big-endian": np.array([1, 2], dtype=">i4"),
    "transposed": np.arange(6).reshape(2, 3).T,
}
ARCHIVE = pack_archive("test", {"name": "caf\u00e9"}, ARRAYS)


def test_values_and_arrays_are_read_back() -> None:
    values, arrays = unpack_archive("test", ARCHIVE)
    assert values == {"name": "caf\u00e9"}
    assert [*arrays] == [*ARRAYS]
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, ARRAYS[name])


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.array([0, 127]), np.int8),
        (np.array([-129, 3]), np.int16),
        (np.array([0, 2**31]), np.int64),
        (np.array([], dtype=np.int64), np.int64),
        (np.array([255], dtype=np.uint8), np.uint8),
        (np.array([1.0]), np.float64),
        (np.array([1], dtype=np.float32), np.float32),
    ],
)
def test_integers_take_as_few_bytes_as_they_need(
    array: np.ndarray[Any, Any], dtype: type[np.generic]
) -> None:
    _, arrays = unpack_archive("test", pack_archive("test", {}, {"a": array}))
    np.testing.assert_array_equal(arrays["a"], array)
    assert arrays["a"].dtype == dtype


def test_arrays_are_read_only_views_of_the_buffer() -> None:
    buffer = bytearray(ARCHIVE)
    _, arrays = unpack_archive("test", buffer)
    assert np.shares_memory(arrays["table"], np.frombuffer(buffer, np.uint8))
    with pytest.raises(ValueError, match="read-only"):
        arrays["table"][0, 0] = 1


@pytest.mark.parametrize(
    ("kind", "archive", "message"),
    [
        ("test", b"", "not a routing archive"),
        ("test", b"<svg/>" * 20, "not a routing archive; process the map again"),
        ("router", ARCHIVE, f"is a test of version {FORMAT_VERSION}, not a router"),
        ("test", ARCHIVE[:-70], "damaged"),
        ("test", ARCHIVE[:30], "damaged"),
        ("test", ARCHIVE[:-1] + bytes([ARCHIVE[-1] ^ 1]), "damaged"),
    ],
)
def test_other_archives_are_an_error(kind: str, archive: bytes, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        unpack_archive(kind, archive)


def with_header(header: object) -> bytes:
    """An archive with this header and 64 bytes of arrays."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    start = b"FLOORRTE" + len(text).to_bytes(8, "little") + text
    return start + bytes(-len(start) % 64) + bytes(64)


def describing(arrays: object) -> bytes:
    header = {"kind": "test", "version": FORMAT_VERSION, "values": {}, "arrays": arrays}
    return with_header({**header, "checksum": zlib.crc32(bytes(64))})


@pytest.mark.parametrize(
    "archive",
    [
        with_header([]),
        with_header({}),
        with_header(b"{"),
        with_header(b"[" * 100_000),  # nested too deep for the parser
        describing(None),
        describing({"a": None}),
        describing({"a": ["<f8", [9], 0]}),
        describing({"a": ["<f8", [8], 8]}),
        describing({"a": ["<f8", [8], -8]}),
        describing({"a": ["<f8", [2**70], 0]}),
        describing({"a": ["(,", [1], 0]}),
        describing({"a": ["|O", [8], 0]}),  # reading an element would end the process
        describing({"a": [[["b", "|O"]], [8], 0]}),
    ],
)
def test_a_damaged_header_is_an_error(archive: bytes) -> None:
    with pytest.raises(ArchiveError, match="damaged"):
        unpack_archive("test", archive)


def test_a_lack_of_memory_is_no_damage() -> None:
    with pytest.raises(MemoryError), raise_archive_errors():
        raise MemoryError
