"""Everything that a service can be asked: each endpoint that reads, and GraphQL."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx

from resolvers.request.caller import FLAGS
from rest.endpoint_files import Endpoint
from tests.endpoints import ENDPOINTS

FLAG_HEADERS = {"Experimental-Flags": ", ".join(FLAGS)}
MODES = ("foot", "wheelchair")
MAX_PAIRS = 7
"""A distance matrix has at most 50 pairs."""
UNIT_MAP_TYPE = "application/vnd.map+xml"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>'
QUERIES = {
    "assets": """{ assets { data { id name createdAt updatedAt references { data { key value } }
        floors { data { id name sort } } units { data { id name floor { id } } } } } }""",
    "maps": """{ maps { data { id tags routingTier updatedAt parsed backgrounds { data { id } }
        levelTags { data { name key } } units { data { id } }
        locations { data { id name x y floors { floor { id } } tags { key value } } } } } }""",
    "attributes": """{ attributeGroups { data { groupId attributes { attributeId }
        assignments { data { unitId attributeId } } } } }""",
    "keys": """{ apiKeys { data {
        id name permissions assetIds createdAt expiresAt revokedAt } } }""",
}


class DrillRequest(NamedTuple):
    """One request of the drill."""

    name: str
    method: str
    url: str
    json: Any = None
    content: str | None = None
    media_type: str = "application/json"


class Reading(NamedTuple):
    """What a service answers: status, ETag and body."""

    status: int
    etag: str | None
    body: bytes


def build_requests(client: httpx.Client) -> list[DrillRequest]:
    """Return the requests for all endpoints, with the ids that the service has now."""
    requests = [
        DrillRequest(f"GraphQL {name}", "POST", "/graphql", {"query": query})
        for name, query in QUERIES.items()
    ]
    for map_id in _list_ids(client, "/v1/maps"):
        named = _find_ids(client, map_id)
        for row in ENDPOINTS:
            if _is_repeatable(row) and named.keys() >= row.path_parameters.keys():
                requests += _build_requests_of(row, row.path.format_map(named), client, named)
    assert {request.name.split()[0] for request in requests} >= {
        row.number for row in ENDPOINTS if _is_repeatable(row)
    }
    return [*{request.name: request for request in requests}.values()]  # some are of no map


def _is_repeatable(row: Endpoint) -> bool:
    """Whether an endpoint answers alike each time; the feed of changes names the moment."""
    return "mutation" not in row.document and row.path != "/v1/changes"


def _build_requests_of(
    row: Endpoint, path: str, client: httpx.Client, named: dict[str, str]
) -> Iterator[DrillRequest]:
    name = f"{row.number} {row.method} {path}"
    if row.number == "E10":
        yield DrillRequest(name, "POST", path, content=SVG, media_type=UNIT_MAP_TYPE)
    elif row.number in ("E18", "X2", "X3", "X4"):
        locations = _list_ids(client, f"/v1/maps/{named['map']}/locations?per-page=200")
        for mode in MODES:
            yield from _build_routing_requests(row, f"{name} {mode}", path, locations, mode)
    else:
        yield DrillRequest(name, "GET", path)


def _build_routing_requests(
    row: Endpoint, name: str, path: str, locations: list[str], mode: str
) -> Iterator[DrillRequest]:
    if not locations:
        return
    first, last = locations[0], locations[-1]
    if row.number == "E18":
        costing = {"pedestrian": {"mode": mode}}
        some = [{"id": each} for each in locations[:: len(locations) // MAX_PAIRS + 1]]
        data = {"sources": some, "targets": some, "costing_options": costing}
        yield DrillRequest(name, "POST", path, {"data": data})
    elif row.number == "X2":
        yield DrillRequest(name, "GET", f"{path}?from={first}&to={last}&mode={mode}")
    elif row.number == "X4":
        yield DrillRequest(name, "GET", f"{path}?from={first}&minutes=2&mode={mode}")
    else:
        yield DrillRequest(name, "GET", f"{path}?from={first}&limit=5&mode={mode}")


def _find_ids(client: httpx.Client, map_id: str) -> dict[str, str]:
    """Return a value for each path parameter, around a map."""
    [asset] = [each["asset_id"] for each in _list(client, "/v1/maps") if each["id"] == map_id]
    lists = {
        "floor": f"/v1/assets/{asset}/floors",
        "unit": f"/v1/maps/{map_id}/units",
        "background": f"/v1/maps/{map_id}/backgrounds",
    }
    firsts = {name: ids[0] for name, url in lists.items() if (ids := _list_ids(client, url))}
    [group, *_] = _list(client, "/v1/units/attribute-groups")
    return {
        "asset": asset,
        "map": map_id,
        "unitMapId": map_id,
        "group-id": group["group_id"],
        **firsts,
    }


def _list_ids(client: httpx.Client, url: str) -> list[str]:
    return [record["id"] for record in _list(client, url)]


def _list(client: httpx.Client, url: str) -> list[dict[str, Any]]:
    response = client.get(url, headers=FLAG_HEADERS)
    response.raise_for_status()
    body = response.json()
    records: list[dict[str, Any]] = body if isinstance(body, list) else body["data"]
    return records


def read_all(client: httpx.Client, requests: list[DrillRequest]) -> dict[str, Reading]:
    """Return what the service answers to each request, by its name."""
    return {request.name: read(client, request) for request in requests}


def read(client: httpx.Client, request: DrillRequest) -> Reading:
    """Send one request."""
    response = client.request(
        request.method,
        request.url,
        json=request.json,
        content=request.content,
        headers={**FLAG_HEADERS, "Content-Type": request.media_type},
    )
    return Reading(response.status_code, response.headers.get("ETag"), response.content)
