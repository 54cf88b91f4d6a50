"""Networks and tables survive as bytes, unchanged, and other bytes are refused."""

import mmap
import tempfile
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing.archive import pack_archive, unpack_archive
from routing.costing import TravelMode
from routing.errors import ArchiveError
from routing.search.router import Position, Router, WaypointRef
from routing.serialization import (
    deserialize_network,
    deserialize_table,
    serialize_network,
    serialize_table,
)
from tests.routing.ascii_plans import process_drawing

PROCESSED = process_drawing("A.+,,e", "B.+,,e", "###")
IDS = ["A", "B"]


def test_a_table_comes_back_as_it_was() -> None:
    table = PROCESSED.tables[TravelMode.FOOT]
    loaded = deserialize_table(serialize_table(table))
    assert loaded.location_ids == table.location_ids
    np.testing.assert_array_equal(loaded.feet, table.feet)
    np.testing.assert_array_equal(loaded.seconds, table.seconds)


def test_a_table_can_stay_in_a_mapped_file() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(serialize_table(PROCESSED.tables[TravelMode.FOOT]))
        file.flush()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        table = deserialize_table(mapped)
        assert not table.feet.flags.owndata
        assert table.look_up(["A"], ["B"]).feet[0, 0] > 0


def test_a_table_holds_eight_bytes_a_pair() -> None:
    table = PROCESSED.tables[TravelMode.FOOT]
    assert table.feet.nbytes + table.seconds.nbytes == 8 * len(table.location_ids) ** 2


@pytest.mark.parametrize("mode", TravelMode)
def test_a_network_answers_as_before(mode: TravelMode) -> None:
    network = PROCESSED.networks[mode]
    before, after = (
        Router({mode: network}),
        Router({mode: deserialize_network(serialize_network(network))}),
    )
    ends: list[WaypointRef] = [*IDS, Position("0", 3.0, 1.0)]
    for one, other in zip(
        before.matrix(ends, ends, mode), after.matrix(ends, ends, mode), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert before.route("A", "B", mode) == after.route("A", "B", mode)


def test_the_same_network_makes_the_same_bytes() -> None:
    data = serialize_network(PROCESSED.networks[TravelMode.FOOT])
    assert serialize_network(deserialize_network(data)) == data


@pytest.mark.parametrize("data", [b"", b"<svg/>", b"FLOORRTE" + bytes(20)])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ArchiveError, match="process the map again"):
        deserialize_table(data)


def test_a_network_is_no_table() -> None:
    with pytest.raises(ArchiveError, match="is a network of version 3, not a table"):
        deserialize_table(serialize_network(PROCESSED.networks[TravelMode.FOOT]))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_an_archive_cut_short_is_refused(share: float) -> None:
    data = serialize_network(PROCESSED.networks[TravelMode.FOOT])
    with pytest.raises(ArchiveError):
        deserialize_network(data[: int(len(data) * share)])


FOOT_ARCHIVE = serialize_network(PROCESSED.networks[TravelMode.FOOT])


@pytest.mark.parametrize(
    ("array", "number"),
    [
        ("0/second", 2**31 - 1),  # igraph would make as many vertices
        ("0/second", 10_000),
        ("0/first", -1),
        ("0/feet", -1.0),
        ("0/feet", np.nan),
        ("0/free", 0),
    ],
)
def test_damaged_arrays_are_refused(array: str, number: float) -> None:
    values, arrays = unpack_archive("network", FOOT_ARCHIVE)
    damaged = arrays[array].copy()
    damaged[0] = number
    with pytest.raises(ArchiveError, match="damaged"):
        deserialize_network(pack_archive("network", values, {**arrays, array: damaged}))


def test_edges_without_their_lengths_are_refused() -> None:
    values, arrays = unpack_archive("network", FOOT_ARCHIVE)
    short = {**arrays, "0/feet": arrays["0/feet"][:-1]}
    with pytest.raises(ArchiveError, match="damaged"):
        deserialize_network(pack_archive("network", values, short))


@pytest.mark.parametrize("name", ["mode", "costing", "levels", "gates", "links", "anchors"])
@pytest.mark.parametrize("value", [None, 7, "x", [7], [[7]]])
def test_damaged_values_are_refused(name: str, value: object) -> None:
    values, arrays = unpack_archive("network", FOOT_ARCHIVE)
    with pytest.raises(ArchiveError, match="damaged"):
        deserialize_network(pack_archive("network", {**values, name: value}, arrays))


@pytest.mark.slow
@given(st.integers(0, len(FOOT_ARCHIVE) - 1), st.binary(min_size=1, max_size=8))
@settings(max_examples=300, deadline=None)
def test_any_other_bytes_are_a_network_or_refused(at: int, written: bytes) -> None:
    damaged = FOOT_ARCHIVE[:at] + written + FOOT_ARCHIVE[at + len(written) :]
    with suppress(ArchiveError):
        deserialize_network(damaged)


def test_arrays_are_aligned_and_keep_their_type() -> None:
    arrays: dict[str, np.ndarray] = {
        "a": np.arange(3, dtype=np.int16),
        "b": np.eye(2),
        "empty": np.empty((0, 2)),
    }
    values, found = unpack_archive("x", pack_archive("x", {"n": 1}, arrays))
    assert values == {"n": 1}
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
