"""The gate's rule, on ratios that are known."""

import random
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.gate.intervals import MAX_ERROR, MIN_ROUNDS, Interval, find_interval

many_ratios = st.lists(st.floats(0.1, 10), min_size=MIN_ROUNDS, max_size=60)
SEED = 4


@given(many_ratios)
def test_the_median_is_in_its_interval(ratios: list[float]) -> None:
    found = find_interval(ratios)
    assert min(ratios) <= found.lower <= found.median <= found.upper <= max(ratios)


@given(many_ratios, st.randoms())
def test_the_order_of_rounds_does_not_matter(ratios: list[float], picked: random.Random) -> None:
    assert find_interval(picked.sample(ratios, len(ratios))) == find_interval(ratios)


@pytest.mark.parametrize("count", range(MIN_ROUNDS, 60))
def test_the_interval_is_the_narrowest_that_is_certain_enough(count: int) -> None:
    """So many tosses of a coin have `outside` heads or fewer rarely enough, one more does not."""
    outside = find_interval([float(number) for number in range(count)]).lower
    chances = [comb(count, heads) / 2**count for heads in range(count)]
    assert sum(chances[: int(outside) + 1]) <= MAX_ERROR < sum(chances[: int(outside) + 2])


def test_too_few_ratios_have_no_interval() -> None:
    with pytest.raises(ValueError, match="7 ratios are too few, at least 8 are needed"):
        find_interval([1.0] * (MIN_ROUNDS - 1))


def test_noise_around_one_is_neither_worse_nor_better() -> None:
    picked = random.Random(SEED)
    for _ in range(200):
        found = find_interval([picked.gauss(1, 0.1) for _ in range(24)])
        assert not found.is_worse and not found.is_better


@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_a_tenth_more_in_noise_is_worse(noise: float) -> None:
    picked = random.Random(SEED)
    found = find_interval([1.1 + picked.gauss(0, noise) for _ in range(24)])
    assert found.is_worse and not found.is_better


def test_a_single_round_that_was_disturbed_is_not_worse() -> None:
    assert not find_interval([1.0] * 23 + [9.0]).is_worse


def test_what_takes_less_is_better() -> None:
    assert find_interval([0.9] * 24).is_better
    assert find_interval([0.9] * 24) == Interval(0.9, 0.9, 0.9)
