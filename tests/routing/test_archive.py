"""Archives hold what was packed, and networks come back from them as they were."""

import json
import mmap
import tempfile
import zlib
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely import MultiPolygon, Polygon, box

from routing.archive import (
    FORMAT_VERSION,
    deserialize_router,
    pack_archive,
    raise_archive_errors,
    serialize_router,
    unpack_archive,
    weigh_networks,
)
from routing.arrays import join_lists, pack_rows, pack_shapes
from routing.costing import TravelMode
from routing.errors import ArchiveError
from routing.search.router import Position, Router, WaypointRef
from tests.routing.ascii_plans import process_drawing

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


PROCESSED = process_drawing("A.n,,e", "B.+,,e", "###")
ROUTER_ARCHIVE = serialize_router(PROCESSED.router)
IDS = ["A", "B"]


@pytest.mark.parametrize("mode", TravelMode)
def test_a_table_comes_back_as_it_was(mode: TravelMode) -> None:
    table, loaded = PROCESSED.tables[mode], deserialize_router(ROUTER_ARCHIVE).tables[mode]
    assert loaded.location_ids == table.location_ids
    for one, other in zip(loaded.look_up(IDS, IDS), table.look_up(IDS, IDS), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_router_without_tables_comes_back_without() -> None:
    loaded = deserialize_router(serialize_router(Router(PROCESSED.networks)))
    assert loaded.tables == {}
    foot = Router({TravelMode.FOOT: PROCESSED.networks[TravelMode.FOOT]})
    assert [*deserialize_router(serialize_router(foot)).networks] == [TravelMode.FOOT]


def test_what_networks_share_weighs_once() -> None:
    foot, wheelchair = PROCESSED.networks.values()
    assert wheelchair.levels is foot.levels
    weight = weigh_networks([foot])
    assert weight > weigh_networks([]) == 0
    assert weigh_networks([foot, foot]) == weight
    assert weight < weigh_networks([foot, wheelchair]) < 2 * weight
    assert weight < len(ROUTER_ARCHIVE)


def test_arrays_can_stay_in_a_mapped_file() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(ROUTER_ARCHIVE)
        file.flush()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        router = deserialize_router(mapped)
        table = router.tables[TravelMode.FOOT]
        assert not table.steps.flags.owndata
        assert table.look_up(["A"], ["B"]).feet[0, 0] > 0


@pytest.mark.parametrize("mode", TravelMode)
def test_a_network_answers_as_before(mode: TravelMode) -> None:
    before = Router(PROCESSED.networks)
    after = Router(deserialize_router(ROUTER_ARCHIVE).networks)
    ends: list[WaypointRef] = [*IDS, Position("0", 3.0, 1.0)]
    for one, other in zip(
        before.matrix(ends, ends, mode), after.matrix(ends, ends, mode), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert before.route("A", "B", mode) == after.route("A", "B", mode)


@pytest.mark.parametrize("name", ["costing", "portals", "links"])
@pytest.mark.parametrize("value", [None, [7], [[7]]])
def test_damaged_values_are_refused(name: str, value: object) -> None:
    values, arrays = unpack_archive("router", ROUTER_ARCHIVE)
    with pytest.raises(ArchiveError, match="damaged"):
        foot = {**values["foot"], name: value}
        deserialize_router(pack_archive("router", {**values, "foot": foot}, arrays))


@given(st.integers(0, len(ROUTER_ARCHIVE) - 1), st.binary(min_size=1, max_size=8))
def test_any_other_bytes_are_a_network_or_refused(at: int, written: bytes) -> None:
    damaged = ROUTER_ARCHIVE[:at] + written + ROUTER_ARCHIVE[at + len(written) :]
    with suppress(ArchiveError):
        deserialize_router(damaged)


def test_lists_of_shapes_and_names_come_back_in_order_and_in_any_language() -> None:
    room, pair = box(0, 0, 2, 1), MultiPolygon([box(0, 0, 1, 1), box(3, 0, 4, 1)])
    packed = join_lists([pack_shapes([[room, pair], []]), pack_shapes([[Polygon()]])])
    assert len(packed) == 3
    assert [packed.shapes(index) for index in range(3)] == [(room, pair), (), (Polygon(),)]
    names = join_lists([pack_rows([[("r1", "Küche"), ("r2", "会议室")]]), pack_rows([[]])])
    assert [names.rows(0), names.rows(1)] == [[("r1", "Küche"), ("r2", "会议室")], []]
