import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsing.osm.rings import OpenRingError, join_rings


def test_pieces_are_joined_whichever_way_they_run() -> None:
    assert join_rings(["ab", "cb", "cda"]) == [("a", "b", "c", "d")]


def test_each_closed_piece_is_a_ring_of_its_own() -> None:
    assert join_rings(["abca", "xyzx"]) == [("a", "b", "c"), ("x", "y", "z")]


def test_many_pieces_at_one_node_take_linear_time() -> None:
    """In quadratic time, this would take a minute."""
    spokes = range(1, 50_000)
    pieces = [(n, 0) for n in spokes] + [(n, -n, 0) for n in spokes]
    assert sum(map(len, join_rings(pieces))) == 3 * len(spokes)


@pytest.mark.parametrize(("pieces", "end"), [(["ab", "bc"], "c"), (["aba"], "a")])
def test_open_pieces_are_an_error_with_their_end(pieces: list[str], end: str) -> None:
    with pytest.raises(OpenRingError) as error:
        join_rings(pieces)
    assert error.value.end == end


@given(st.integers(3, 30), st.sets(st.integers(0, 29)), st.randoms())
def test_a_ring_in_any_pieces_in_any_order_is_that_ring(
    size: int, cuts: set[int], random: object
) -> None:
    ends = sorted({cut % size for cut in cuts} | {0})
    pieces = [
        [n % size for n in range(start, stop + 1)]
        for start, stop in zip(ends, [*ends[1:], size], strict=True)
    ]
    pieces = [piece[::-1] if random.random() < 0.5 else piece for piece in pieces]  # type: ignore[attr-defined]
    random.shuffle(pieces)  # type: ignore[attr-defined]
    (ring,) = join_rings(pieces)
    steps = {frozenset(pair) for pair in zip(ring, [*ring[1:], ring[0]], strict=True)}
    assert steps == {frozenset({n, (n + 1) % size}) for n in range(size)}
