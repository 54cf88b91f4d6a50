"""Networks and tables survive as bytes, unchanged, and other bytes are refused."""

import mmap
import tempfile
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely import MultiPolygon, Polygon, box

from routing.archive import pack_archive, unpack_archive
from routing.costing import TravelMode
from routing.errors import ArchiveError
from routing.network.packing import join_lists, pack_rows, pack_shapes
from routing.search.router import Position, Router, WaypointRef
from routing.serialization import deserialize_router, serialize_router, weigh_networks
from tests.routing.ascii_plans import process_drawing

PROCESSED = process_drawing("A.n,,e", "B.+,,e", "###")
ARCHIVE = serialize_router(PROCESSED.router)
IDS = ["A", "B"]


@pytest.mark.parametrize("mode", TravelMode)
def test_a_table_comes_back_as_it_was(mode: TravelMode) -> None:
    table, loaded = PROCESSED.tables[mode], deserialize_router(ARCHIVE).tables[mode]
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
    assert weight < len(ARCHIVE)


def test_arrays_can_stay_in_a_mapped_file() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(ARCHIVE)
        file.flush()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        router = deserialize_router(mapped)
        table = router.tables[TravelMode.FOOT]
        assert not table.steps.flags.owndata
        assert table.look_up(["A"], ["B"]).feet[0, 0] > 0


@pytest.mark.parametrize("mode", TravelMode)
def test_a_network_answers_as_before(mode: TravelMode) -> None:
    before = Router(PROCESSED.networks)
    after = Router(deserialize_router(ARCHIVE).networks)
    ends: list[WaypointRef] = [*IDS, Position("0", 3.0, 1.0)]
    for one, other in zip(
        before.matrix(ends, ends, mode), after.matrix(ends, ends, mode), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert before.route("A", "B", mode) == after.route("A", "B", mode)


@pytest.mark.parametrize("name", ["costing", "portals", "links"])
@pytest.mark.parametrize("value", [None, [7], [[7]]])
def test_damaged_values_are_refused(name: str, value: object) -> None:
    values, arrays = unpack_archive("router", ARCHIVE)
    with pytest.raises(ArchiveError, match="damaged"):
        foot = {**values["foot"], name: value}
        deserialize_router(pack_archive("router", {**values, "foot": foot}, arrays))


@given(st.integers(0, len(ARCHIVE) - 1), st.binary(min_size=1, max_size=8))
def test_any_other_bytes_are_a_network_or_refused(at: int, written: bytes) -> None:
    damaged = ARCHIVE[:at] + written + ARCHIVE[at + len(written) :]
    with suppress(ArchiveError):
        deserialize_router(damaged)


def test_lists_of_shapes_and_names_come_back_in_order_and_in_any_language() -> None:
    room, pair = box(0, 0, 2, 1), MultiPolygon([box(0, 0, 1, 1), box(3, 0, 4, 1)])
    packed = join_lists([pack_shapes([[room, pair], []]), pack_shapes([[Polygon()]])])
    assert len(packed) == 3
    assert [packed.shapes(index) for index in range(3)] == [(room, pair), (), (Polygon(),)]
    names = join_lists([pack_rows([[("r1", "Küche"), ("r2", "会议室")]]), pack_rows([[]])])
    assert [names.rows(0), names.rows(1)] == [[("r1", "Küche"), ("r2", "会议室")], []]
