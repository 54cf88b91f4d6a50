"""The address of a client: the peer of the connection, or the one that a proxy vouches for.

A proxy appends the address that it was called from to `X-Forwarded-For`. Whatever stands before
was sent by the client, so it can be anything.
"""

import functools
import ipaddress
import re
from collections.abc import Iterable

_IPV6_CLIENT_BITS = 64
"""Prefix that one IPv6 customer gets at least (RFC 6177): its addresses are one client."""
_WITH_PORT = re.compile(r"\[([^\[\]]*)\](?::[0-9]+)?|([^:]*):[0-9]+")
_LONGEST = len("[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535")


def get_forwarded_address(
    peer: str, headers: Iterable[tuple[bytes, bytes]], proxy_hops: int
) -> str:
    """Return the address that the outermost of `proxy_hops` trusted proxies was called from.

    That is the entry `proxy_hops` from the end of all `X-Forwarded-For` lines together. Return
    the peer if there are fewer entries, or if that one is no address.

    >>> get_forwarded_address("10.0.0.1", [(b"x-forwarded-for", b"1.2.3.4, 5.6.7.8:90")], 1)
    '5.6.7.8'
    """
    lines = [value for name, value in headers if name == b"x-forwarded-for"]
    entries = b",".join(lines).split(b",")
    if len(entries) < proxy_hops:
        return peer
    return normalize_address(entries[-proxy_hops].decode("latin-1").strip()) or peer


@functools.lru_cache(maxsize=10_000)
def normalize_address(text: str) -> str:
    """Return an IP address in its one usual form, without a port; empty if it is none.

    >>> [normalize_address(text) for text in ("[2001:DB8::1]:5", "::ffff:1.2.3.4", "unknown")]
    ['2001:db8::1', '1.2.3.4', '']
    """
    if len(text) > _LONGEST or "%" in text:  # a zone is of the proxy's machine
        return ""
    with_port = _WITH_PORT.fullmatch(text)
    try:
        address = ipaddress.ip_address(with_port[1] or with_port[2] if with_port else text)
    except ValueError:
        return ""
    return str(getattr(address, "ipv4_mapped", None) or address)


@functools.lru_cache(maxsize=10_000)
def group_address(address: str) -> str:
    """Return what limits per address count by: an IPv4 address, or the /64 of an IPv6 address.

    >>> group_address("192.0.2.7"), group_address("2001:db8::1:2:3:4")
    ('192.0.2.7', '2001:db8::/64')
    """
    normalized = normalize_address(address.partition("%")[0])
    if ":" not in normalized:
        return normalized or address
    return str(ipaddress.ip_network((normalized, _IPV6_CLIENT_BITS), strict=False))
