"""Weights in `Accept` and `Accept-Encoding` (RFC 9110, 12.4.2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.graphql import negotiate_media_type
from gateway.negotiation import parse_weights


@pytest.mark.parametrize(
    ("member", "weight"),
    [
        ("a", 1.0),
        ("a;q=1", 1.0),
        ("a;q=0", 0.0),
        ("a; Q=0.25", 0.25),
        ("a ; q = 0.5", 0.5),
        ("a;charset=utf-8;q=0.5", 0.5),
        ("a;q=.2", 0.2),  # HttpURLConnection of Java 8
        ("a;q=0.33333", 0.33333),
        ("a;q=2", 0.0),  # no weight is above 1
        ("a;q=", 0.0),
        ("a;q=high", 0.0),
        ("a;q=nan", 0.0),
        ("a;q=1e0", 0.0),
        ("a;q=²", 0.0),  # a digit to str.isdigit, not to float
        ("a;q=٠.٥", 0.0),  # digits to float, not to HTTP
    ],
)
def test_a_weight_is_a_number_from_0_to_1_or_else_0(member: str, weight: float) -> None:
    assert parse_weights(member) == {"a": weight}


@given(st.text(alphabet=st.characters(max_codepoint=255)))
def test_any_header_has_weights_from_0_to_1(header: str) -> None:
    assert all(0 <= weight <= 1 for weight in parse_weights(header).values())


@given(st.text(alphabet=st.characters(max_codepoint=255)))
def test_any_accept_header_gets_a_media_type_or_none(header: str) -> None:
    assert "json" in (negotiate_media_type(header) or "json")
