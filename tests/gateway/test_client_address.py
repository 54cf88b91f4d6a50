"""Whose request it is: behind proxies, in any spelling, and for limits per address."""

import pytest

from gateway.client_address import get_forwarded_address, group_address, normalize_address

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
