"""The addresses of endpoints, and which of them cannot stand together."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from rest.names import to_snake_case

_PARAMETER = re.compile("{(.*?)}")


class Address(NamedTuple):
    """Where an endpoint is, and what it changes."""

    name: str
    method: str
    path: str
    changes: str = ""

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters of the path.

        >>> Address("Unit", "GET", "/v1/x/maps/{map}/units/{unit}").parameters
        ['map', 'unit']
        """
        return _PARAMETER.findall(self.path)


def find_clashes(addresses: Sequence[Address]) -> dict[str, list[str]]:
    """Return what keeps endpoints from standing together, by the name of each that it concerns.

    It takes less than a second for 2,000 endpoints.

    >>> find_clashes([Address("A", "GET", "/v1/x/{a}/b"), Address("B", "GET", "/v1/x/b/{b}")])["A"]
    ['GET /v1/x/{a}/b collides with GET /v1/x/b/{b} of B: the same addresses fit both']
    """
    clashes: dict[str, list[str]] = {}
    for find in (_find_same_names, _find_collisions, _find_wrong_changes):
        for address, message in find(addresses):
            clashes.setdefault(address.name, []).append(message)
    return clashes


Clashes: TypeAlias = Iterator[tuple[Address, str]]


def _find_same_names(addresses: Iterable[Address]) -> Clashes:
    """Find names that are one operation id, or one name of a method in the client libraries."""
    by_method: dict[str, Address] = {}
    for address in addresses:
        words = to_snake_case(address.name).strip("_")
        method = re.sub("_+(.)", lambda each: each[1].upper(), words)
        first = by_method.setdefault(method, address)
        if first is not address:
            yield address, f"The name {first.name} is taken, by {first.method} {first.path}"


def _find_collisions(addresses: Iterable[Address]) -> Clashes:
    """Find paths that one request fits, and neither is more specific, unless only methods differ.

    Paths with parameters in the same places are compared together, by their other segments.
    """
    # The places are bits of a number.
    by_places: dict[tuple[int, int], list[tuple[list[str], Address]]] = defaultdict(list)
    for address in addresses:
        segments = address.path.split("/")
        places = sum(1 << place for place, each in enumerate(segments) if each.startswith("{"))
        by_places[len(segments), places].append((segments, address))
    for (length, places), group in by_places.items():
        for (other_length, other_places), others in by_places.items():
            has_more = places != other_places and places & other_places in (places, other_places)
            if length != other_length or has_more:
                continue
            compared = [each for each in range(length) if not (places | other_places) >> each & 1]
            found: dict[tuple[str, ...], list[Address]] = defaultdict(list)
            for segments, other in others:
                found[tuple(segments[place] for place in compared)].append(other)
            for segments, address in group:
                for other in found[tuple(segments[place] for place in compared)]:
                    if other is not address and (
                        other.path != address.path or other.method == address.method
                    ):
                        where = f"{other.method} {other.path} of {other.name}"
                        message = f"{address.method} {address.path} collides with {where}"
                        yield address, f"{message}: the same addresses fit both"
                        break


def _find_wrong_changes(addresses: Iterable[Address]) -> Clashes:
    by_name = {address.name: address for address in addresses}
    for address in addresses:
        if not address.changes:
            continue
        changed = by_name.get(address.changes)
        if changed is None:
            yield address, f"`changes` must name an endpoint; there is no {address.changes}"
        elif changed.method != "GET":
            yield address, f"`changes` must name a GET, and {changed.name} is a {changed.method}"
        elif missing := [each for each in changed.parameters if each not in address.parameters]:
            names = f"{{{'}, {'.join(missing)}}}"
            yield address, f"`changes`: the path must have {names}, as {changed.path} does"
