"""Requests as server, middleware and caches see them: fields, addresses, weights, ids."""

import re
import time
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.exchange import (
    build_error_messages,
    fields_of,
    get_forwarded_address,
    group_address,
    new_request_id,
    normalize_address,
    parse_weights,
)
from gateway.graphql.endpoint import negotiate_media_type
from rest.errors import ErrorSource, HttpError


def test_request_ids_sort_by_time_and_differ() -> None:
    request_ids = [new_request_id() for _ in range(1000)]
    assert len(set(request_ids)) == 1000
    times = [request_id[:12] for request_id in request_ids]
    assert times == sorted(times)
    assert abs(int(times[-1], 16) / 1000 - time.time()) < 3600
    assert all(re.fullmatch("[0-9a-f]{32}", request_id) for request_id in request_ids)


def test_an_error_is_a_json_object_with_a_message_and_its_length() -> None:
    start, body = build_error_messages(
        HttpError(403, "No", "FORBIDDEN", headers={"A": "b"}), ErrorSource("r1", "https://x")
    )
    assert start["status"] == 403
    assert dict(start["headers"]) == {
        b"content-type": b"application/json",
        b"content-length": str(len(body["body"])).encode(),
        b"a": b"b",
    }
    assert orjson.loads(body["body"]) == {
        "message": "No",
        "code": "FORBIDDEN",
        "request_id": "r1",
        "docs": "https://x/v1/errors#FORBIDDEN",
    }


def test_a_copy_of_a_scope_with_other_headers_has_those() -> None:
    scope: dict[str, Any] = {"headers": [(b"api-key", b"first")]}
    assert fields_of(scope)[b"api-key"] == b"first"
    assert fields_of({**scope, "headers": [(b"api-key", b"second")]})[b"api-key"] == b"second"
    assert fields_of(scope)[b"api-key"] == b"first"


PEER = "10.0.0.1"
Headers = list[tuple[bytes, bytes]]


def forwarded(*values: bytes) -> Headers:
    return [(b"host", b"a"), *((b"x-forwarded-for", value) for value in values)]


@pytest.mark.parametrize(
    ("headers", "hops", "address"),
    [
        (forwarded(b"192.0.2.1"), 1, "192.0.2.1"),
        # The client sent an address of its own choice; the proxy appended the true one.
        (forwarded(b"203.0.113.9, 192.0.2.1"), 1, "192.0.2.1"),
        (forwarded(b"203.0.113.9", b"192.0.2.1"), 1, "192.0.2.1"),
        (forwarded(b"203.0.113.9,192.0.2.1,10.0.0.2"), 2, "192.0.2.1"),
        # Fewer entries than proxies: the request did not come through all of them.
        (forwarded(b"192.0.2.1"), 2, PEER),
        (forwarded(), 1, PEER),
        # Nothing that a proxy appends.
        (forwarded(b""), 1, PEER),
        (forwarded(b"192.0.2.1, "), 1, PEER),
        (forwarded(b"unknown"), 1, PEER),
        (forwarded(b"192.0.2.1\x00"), 1, PEER),
        (forwarded(b"\xff" * 9000), 1, PEER),
        ([(b"forwarded", b"for=192.0.2.1")], 1, PEER),
    ],
)
def test_the_proxy_nearest_to_the_client_vouches_for_its_address(
    headers: Headers, hops: int, address: str
) -> None:
    assert get_forwarded_address(PEER, headers, hops) == address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("1.2.3.4:567", "1.2.3.4"),
        ("[::1]:5", "::1"),
        ("[::1]", "::1"),
        ("2001:DB8:0:0::1", "2001:db8::1"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("[::ffff:1.2.3.4]:80", "1.2.3.4"),
        ("1.2.3.4:", ""),
        ("[::1]5", ""),
        ("[::1", ""),
        ("fe80::1%eth0", ""),
        ("01.2.3.4", ""),
        ("", ""),
    ],
)
def test_an_address_has_one_spelling_and_no_port(text: str, address: str) -> None:
    assert normalize_address(text) == address


def test_the_addresses_of_one_ipv6_network_are_one_client() -> None:
    assert group_address("2001:db8::1") == group_address("2001:db8::ffff:2")
    assert group_address("2001:db8::1") != group_address("2001:db8:0:1::1")
    assert group_address("192.0.2.1") != group_address("192.0.2.2")


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
