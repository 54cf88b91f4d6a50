"""Networks and tables survive as bytes, unchanged, and other bytes are refused."""

import mmap
import tempfile

import numpy as np
import pytest

from routing.archive import pack, unpack
from routing.costing import Mode
from routing.errors import FormatError
from routing.router import Position, Router, Waypoint
from routing.saving import load_network, load_table, save_network, save_table
from tests.routing.world import process_drawing

PROCESSED = process_drawing("A.+,,e", "B.+,,e", "###")
IDS = ["A", "B"]


def test_a_table_comes_back_as_it_was() -> None:
    table = PROCESSED.tables[Mode.FOOT]
    loaded = load_table(save_table(table))
    assert loaded.ids == table.ids
    np.testing.assert_array_equal(loaded.feet, table.feet)
    np.testing.assert_array_equal(loaded.seconds, table.seconds)


def test_a_table_can_stay_in_a_mapped_file() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(save_table(PROCESSED.tables[Mode.FOOT]))
        file.flush()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        table = load_table(mapped)
        assert not table.feet.flags.owndata
        assert table.look_up(["A"], ["B"]).feet[0, 0] > 0


def test_a_table_holds_eight_bytes_a_pair() -> None:
    table = PROCESSED.tables[Mode.FOOT]
    assert table.feet.nbytes + table.seconds.nbytes == 8 * len(table.ids) ** 2


@pytest.mark.parametrize("mode", Mode)
def test_a_network_answers_as_before(mode: Mode) -> None:
    network = PROCESSED.networks[mode]
    before, after = Router({mode: network}), Router({mode: load_network(save_network(network))})
    ends: list[Waypoint] = [*IDS, Position("0", 3.0, 1.0)]
    for one, other in zip(
        before.matrix(ends, ends, mode), after.matrix(ends, ends, mode), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert before.route("A", "B", mode) == after.route("A", "B", mode)


def test_the_same_network_makes_the_same_bytes() -> None:
    data = save_network(PROCESSED.networks[Mode.FOOT])
    assert save_network(load_network(data)) == data


@pytest.mark.parametrize("data", [b"", b"<svg/>", b"FLOORRTE" + bytes(20)])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(FormatError, match="process the map again"):
        load_table(data)


def test_a_network_is_no_table() -> None:
    with pytest.raises(FormatError, match="is a network of version 3, not a table"):
        load_table(save_network(PROCESSED.networks[Mode.FOOT]))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_an_archive_cut_short_is_refused(share: float) -> None:
    data = save_network(PROCESSED.networks[Mode.FOOT])
    with pytest.raises(FormatError):
        load_network(data[: int(len(data) * share)])


def test_arrays_are_aligned_and_keep_their_type() -> None:
    arrays: dict[str, np.ndarray] = {
        "a": np.arange(3, dtype=np.int16),
        "b": np.eye(2),
        "empty": np.empty((0, 2)),
    }
    values, found = unpack("x", pack("x", {"n": 1}, arrays))
    assert values == {"n": 1}
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
