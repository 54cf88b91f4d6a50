"""Requests for each asset of a portfolio, and which of them show assignments."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import orjson

from bench.data.portfolio import (
    ASSETS_PER_KEY,
    GROUP_IDS,
    UNITS_PER_ASSET,
    Portfolio,
    asset_id,
    floor_id,
    map_id,
    unit_id,
)
from bench.data.requests import LoadRequest
from bench.data.workloads import JSON

FIRST_PAGE = "first-page"
ASSIGNMENTS_PATH = "/v1/units/attribute-groups/{group}/assignments"
ATTRIBUTES = """query Attributes($asset: ID!) {
    asset(id: $asset) {
        id name
        floors {
            data {
                id name
                units {
                    data { id name attributes { data { groupId unitId attributeId } } }
                }
            }
        }
    }
}"""


class Assigned(NamedTuple):
    """The attribute of a group that a unit has."""

    group: str
    unit: str
    attribute: str


Read: TypeAlias = Callable[[Any], Iterable[Assigned]]


def _read_rest(body: Any) -> Iterator[Assigned]:
    for row in body["data"]:
        yield Assigned(row["group_id"], row["unit_id"], row["attribute_id"])


def _read_graphql(body: Any) -> Iterator[Assigned]:
    for floor in body["data"]["asset"]["floors"]["data"]:
        for unit in floor["units"]["data"]:
            for row in unit["attributes"]["data"]:
                yield Assigned(row["groupId"], row["unitId"], row["attributeId"])


class ResponseKind(NamedTuple):
    """A kind of response, of which each asset has one."""

    name: str
    title: str
    reader: str
    """The keys that read it."""
    share: int
    """Of the read mix, in percent."""
    key: Callable[[Portfolio, int], str]
    path: Callable[[int], str]
    document: str | None = None
    """Of GraphQL, with the asset as its variable."""
    read_assigned: Read | None = None
    """Reads the assignments that a response shows; None if it has none, so that it never changes
    in a measurement."""
    shown: int = 0
    """How many assignments it shows."""


def _all(portfolio: Portfolio, asset: int) -> str:
    return portfolio.directory.key


def _half(portfolio: Portfolio, asset: int) -> str:
    is_seen = asset < portfolio.assets // 2
    return portfolio.half_key if is_seen else portfolio.directory.key


def _ten(portfolio: Portfolio, asset: int) -> str:
    return portfolio.ten_keys[asset // ASSETS_PER_KEY]


def _one(portfolio: Portfolio, asset: int) -> str:
    return portfolio.asset_keys[asset]


ALL, HALF, TEN, ONE = "all assets", "half of them, or all", "ten assets", "this asset"
FIRST, SECOND = (ASSIGNMENTS_PATH.format(group=each) for each in GROUP_IDS)
ASSET_KINDS = (
    ResponseKind("unit", "a unit", ALL, 15, _all, lambda asset: f"/v1/units/{unit_id(asset, 0)}"),
    ResponseKind(
        "unit-one", "a unit", ONE, 15, _one, lambda asset: f"/v1/units/{unit_id(asset, 1)}"
    ),
    ResponseKind(
        "floor", "units of a floor", TEN, 10, _ten,
        lambda asset: f"/v1/units?floor={floor_id(asset, 0)}",
    ),
    ResponseKind(
        "floor-half", "units of a floor", HALF, 10, _half,
        lambda asset: f"/v1/units?floor={floor_id(asset, 1)}",
    ),
    ResponseKind("units", "units of an asset", ONE, 10, _one, lambda asset: "/v1/units"),
    ResponseKind(
        "assignments", "assignments, `?asset=`", ALL, 5, _all,
        lambda asset: f"{FIRST}?asset={asset_id(asset)}",
        read_assigned=_read_rest, shown=UNITS_PER_ASSET,
    ),
    ResponseKind(
        "assignments-one", "assignments", ONE, 5, _one, lambda asset: SECOND,
        read_assigned=_read_rest, shown=UNITS_PER_ASSET,
    ),
    ResponseKind(
        "level-tags", "level tags", TEN, 10, _ten,
        lambda asset: f"/v1/maps/{map_id(asset)}/levels/tags",
    ),
    ResponseKind("map", "a map", ONE, 10, _one, lambda asset: f"/v1/maps/{map_id(asset)}"),
    ResponseKind(
        "nested", "floors, units and attributes, GraphQL", TEN, 5, _ten, lambda asset: "/graphql",
        document=ATTRIBUTES, read_assigned=_read_graphql, shown=len(GROUP_IDS) * UNITS_PER_ASSET,
    ),
)  # fmt: skip
PAGE_KIND = ResponseKind(
    FIRST_PAGE, "first page of all units", "ten, half, all", 5, _all, lambda _: "/v1/units"
)
KINDS = (*ASSET_KINDS, PAGE_KIND)
"""Their shares are the read mix."""


class Address(NamedTuple):
    """A request and the key that sends it, so a response that can be cached."""

    kind: ResponseKind
    asset: int | None
    """None if it shows several."""
    request: LoadRequest


def list_addresses(portfolio: Portfolio) -> dict[str, list[Address]]:
    """Return all addresses by the name of their kind."""
    assets = range(portfolio.assets)
    addresses = {
        kind.name: [
            Address(kind, asset, _build_request(kind, portfolio, asset)) for asset in assets
        ]
        for kind in ASSET_KINDS
    }
    keys = [portfolio.directory.key, portfolio.half_key, *portfolio.ten_keys]
    addresses[FIRST_PAGE] = [
        Address(PAGE_KIND, None, LoadRequest(PAGE_KIND.path(0), headers={"API-Key": key}))
        for key in keys
    ]
    return addresses


def _build_request(kind: ResponseKind, portfolio: Portfolio, asset: int) -> LoadRequest:
    headers = {"API-Key": kind.key(portfolio, asset)}
    if kind.document is None:
        return LoadRequest(kind.path(asset), headers=headers)
    body = orjson.dumps({"query": kind.document, "variables": {"asset": asset_id(asset)}})
    return LoadRequest(kind.path(asset), "POST", body, headers | JSON)


def build_assignment(assigned: Assigned, asset: int) -> LoadRequest:
    """Return the request that gives a unit this attribute."""
    row = {
        "group_id": assigned.group,
        "attribute_id": assigned.attribute,
        "asset_id": asset_id(asset),
        "unit_id": assigned.unit,
    }
    body = orjson.dumps({"data": [row]})
    return LoadRequest(ASSIGNMENTS_PATH.format(group=assigned.group), "PUT", body, JSON)
