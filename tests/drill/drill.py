"""Back up a service under load, restore it elsewhere, and compare what both answer."""

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from resolvers.request.caller import FLAGS, PERMISSIONS
from rest.endpoint_files import Endpoint
from tests.endpoints import ENDPOINTS
from tests.gateway.floorgate_process import CHECKOUT, Server, floorgate, run_serve_command

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


SAMPLES = CHECKOUT / "samples"
DEMO_MAP = "alder-court-floor-plates"
PLAN_MAP = "harbour-hall"
LIFT = "alder-court-floor-1#27"
BASE_URL = "https://drill.example"
"""Paging links begin with it, so that services at different ports answer alike."""
MAX_SECONDS = 60.0
"""Until a gateway has noticed that its database was replaced; it takes milliseconds."""

Say = Callable[[str], None]


class Outcome(NamedTuple):
    """What a request was answered before, and after each restore."""

    name: str
    before: Reading
    empty: Reading
    """By a service that had been empty."""
    running: Reading
    """By the service itself, which had been changed meanwhile."""
    changed: bool
    """Whether its answer was another one just before."""

    @property
    def is_equal(self) -> bool:
        return self.before == self.empty == self.running


def run_drill(folder: Path, say: Say) -> list[Outcome]:
    """Run the drill in an empty folder; return one outcome for each request."""
    first, second, archive = folder / "first", folder / "second", folder / "floorgate.tar"
    say("serving the demo property and a venue, both routable")
    with _serve(first) as server:
        key, key_id = _fill(first, server)
        with server.client(key) as client:
            requests = build_requests(client)
            before = read_all(client, requests)
            _check_answers(before)
            say(f"saving it, after {len(requests)} requests")
            _run(first, "backup", archive)
            _run(first, "restore", "--check", archive)
            say("changing it: another scale, names, keys; no assignments, routing, closures")
            _change(first, client, key_id)
        with server.client(_create_key(first)[0]) as client:
            changed = read_all(client, requests)
        say("restoring it while it runs")
        _run(first, "restore", "--yes", archive)
        running = _read_until_equal(server, key, requests, before)
    shutil.rmtree(first)
    say("restoring into an empty service")
    with _serve(second) as server:
        with server.client(key) as client:
            assert client.get("/v1/assets").status_code == 403  # it is cached that there is none
        _run(second, "restore", archive)
        empty = _read_until_equal(server, key, requests, before)
    return [
        Outcome(name, before[name], empty[name], running[name], changed[name] != before[name])
        for name in before
    ]


def _check_answers(before: dict[str, Reading]) -> None:
    """Check that the drill compares answers and not errors."""
    wrong = [
        name
        for name, reading in before.items()
        if reading.status != 200 or b'"errors":' in reading.body
    ]
    assert not wrong
    for mode in MODES:
        for map_id in (DEMO_MAP, PLAN_MAP):
            matrix = before[f"E18 POST /v1/maps/{map_id}/distance-matrix {mode}"]
            assert b'"pathfinding"' in matrix.body


@contextmanager
def _serve(data_dir: Path) -> Iterator[Server]:
    with run_serve_command(data_dir, "--base-url", BASE_URL) as server:
        yield server
        server.end()


def _fill(data_dir: Path, server: Server) -> tuple[str, str]:
    """Fill a service with one of everything; return a key for all of it, and the key's id."""
    _run(data_dir, "import", SAMPLES / "demo" / "bundle.json")
    _run(data_dir, "maps", "process", DEMO_MAP)
    venue = SAMPLES / "imdf" / "harbour-hall.zip"
    _run(data_dir, "maps", "process", PLAN_MAP, venue, "--asset", PLAN_MAP)
    _run(data_dir, "maps", "close", DEMO_MAP, "--connector", LIFT)
    key, key_id = _create_key(data_dir)
    _run(data_dir, "keys", "create", "--name", "other", "--asset", PLAN_MAP)
    with server.client(key) as client:
        _assign(client, "")
        _assign(client, "/remove")
        _assign(client, "")
    return key, key_id


def _create_key(data_dir: Path) -> tuple[str, str]:
    permissions = [part for name in PERMISSIONS for part in ("--permission", name)]
    made = _run(data_dir, "keys", "create", "--name", "k", "--all-assets", "--json", *permissions)
    created: dict[str, str] = json.loads(made)
    return created["key"], created["id"]


def _assign(client: httpx.Client, action: str) -> None:
    """Assign the last attribute of each group to a unit, or remove it."""
    groups = client.get("/v1/units/attribute-groups", headers=FLAG_HEADERS).json()["data"]
    [unit, *_] = client.get("/v1/units").json()["data"]
    for group in groups:
        assignment = {
            "group_id": group["group_id"],
            "attribute_id": group["attributes"][-1]["attribute_id"],
            "asset_id": unit["asset_id"],
            "unit_id": unit["id"],
        }
        url = f"/v1/units/attribute-groups/{group['group_id']}/assignments{action}"
        method = "POST" if action else "PUT"
        client.request(
            method, url, json={"data": [assignment]}, headers=FLAG_HEADERS
        ).raise_for_status()


def _change(data_dir: Path, client: httpx.Client, key_id: str) -> None:
    """Change what can be changed, and revoke the key."""
    bundle = json.loads((SAMPLES / "demo" / "bundle.json").read_text())
    for array in bundle.values():
        for record in array:
            record.pop("updated_at", None)
            record.pop("source", None)
            if "name" in record:
                record["name"] += " (changed)"
    for group in bundle["attribute_groups"]:
        group["group_name"] += " (changed)"
    bundle["assets"].append({"id": "later", "name": "Later"})
    path = data_dir / "changed.json"
    path.write_text(json.dumps(bundle))
    _run(data_dir, "import", path)
    _run(
        data_dir,
        "maps",
        "process",
        DEMO_MAP,
        SAMPLES / "demo" / "alder-court.svg",
        "--feet-per-unit",
        "3",
    )
    _run(data_dir, "maps", "open", DEMO_MAP, "--all")
    _assign(client, "/remove")
    _run(data_dir, "keys", "revoke", key_id)


def _run(data_dir: Path, *arguments: Any) -> str:
    run = floorgate(*arguments, "--data-dir", data_dir)
    if run.returncode:
        raise AssertionError(f"floorgate {arguments}: {run.stderr}")
    return run.stdout


def _read_until_equal(
    server: Server, key: str, requests: list[DrillRequest], before: dict[str, Reading]
) -> dict[str, Reading]:
    """Return the answers of a service, as soon as they are those from before."""
    deadline = time.monotonic() + MAX_SECONDS
    with server.client(key) as client:
        while (found := read_all(client, requests)) != before:
            if time.monotonic() > deadline:
                break
    return found
