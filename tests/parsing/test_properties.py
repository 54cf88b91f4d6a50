"""Properties hold for random drawings, and for inputs that fuzzing found."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.parsing.fuzz import broken_drawings, check_properties, drawings

FOUND = sorted((Path(__file__).parent / "found").glob("*"))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(drawings())
def test_any_drawing_survives_the_round_trip_or_is_rejected_with_a_position(svg: bytes) -> None:
    check_properties(svg)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(broken_drawings() | st.binary(max_size=60))
def test_broken_bytes_raise_only_parsing_errors_with_a_position(svg: bytes) -> None:
    check_properties(svg)


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_inputs_found_by_fuzzing_stay_fixed(path: Path) -> None:
    check_properties(path.read_bytes())
