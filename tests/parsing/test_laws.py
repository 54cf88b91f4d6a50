"""Laws that hold for any input, tried on random drawings and on what fuzzing found."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.parsing.laws import check
from tests.parsing.strategies import broken_drawings, drawings

pytestmark = pytest.mark.slow

FOUND = sorted((Path(__file__).parent / "found").glob("*"))


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(drawings())
def test_any_drawing_survives_the_round_trip_or_is_refused_with_its_place(svg: bytes) -> None:
    check(svg)


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(broken_drawings() | st.binary(max_size=60))
def test_broken_bytes_never_end_in_anything_but_a_sentence_with_its_place(svg: bytes) -> None:
    check(svg)


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_what_fuzzing_found_stays_mended(path: Path) -> None:
    check(path.read_bytes())
