"""What programs with the clients of the REST API have to find, in any language."""

from typing import Any

import httpx

from tests.clients.unsteady_service import ERROR, UnsteadyService

MAP = "alder-court-floor-plates"
REQUESTS = {
    "seconds": 2,
    "date": 2,
    "lost": 2,
    "gateway": 2,
    "late": 2,
    "same": 2,
    "post": 2,
    "down": 5,
    "broken": 1,
    "invalid": 1,
    "later": 1,
    "closed": 1,
}
"""How often a client asks: once more after the named time, at most four times more, or never."""


def outlines_of(parent: dict[str, Any]) -> dict[str, str]:
    """The kinds of shapes that units have in a parsed map, by the id of the unit."""
    outlines = {
        each["id"]: each["shape"]["type"] for each in parent["elements"] if each["type"] == "Unit"
    }
    for element in parent["elements"]:
        if "elements" in element:
            outlines |= outlines_of(element)
    return outlines


def check(found: dict[str, Any], service: httpx.Client) -> None:
    """Compare what a program has found with the service, read without a client."""
    units, assets = (service.get(path).json()["data"] for path in ("/units", "/assets"))
    floors = service.get(f"/assets/{assets[0]['id']}/floors").json()["data"]
    maps = service.get("/maps", params={"tags": "pathfinding"}).json()["data"]
    parsed = service.get(f"/maps/{MAP}/parsed").json()
    level_tags = service.get(f"/maps/{MAP}/levels/tags").json()["data"]
    directory = found["read_directory"]
    assert directory.pop("references") and directory.pop("asset_references")
    assert directory == {
        "assets": [each["id"] for each in assets],
        "floor": floors[0]["id"],
        "units": [each["id"] for each in units],
        "unit": units[0]["id"],
        "created": units[0]["created_at"],
    }
    assert found["read_map"] == {
        "maps": [each["id"] for each in maps],
        "level_tags": [each["key"] for each in level_tags],
        "outlines": outlines_of(parsed),
        "path": "M0 0h9v9z",
        "parsed": parsed,
    }
    assert found["read_map"]["outlines"]
    assert all(distance > 0 for distance in found["measure"]["distances"])
    assert found["measure"]["closing"] == "PERMISSION_REQUIRED"
    assert found["assign"]["assigned"] > 3
    assert {tuple(each) for each in found["assign"]["changes"]} == {
        ("attribute_assignments", "removed"),
        ("attribute_assignments", "created"),
    }
    assert found["fail"] == {"missing": "NOT_FOUND", "fields": ["page", "per-page"]}


def check_requests(service: UnsteadyService, client: str) -> None:
    """Check how often a client has asked for what fails, when, and with which headers."""
    asked = {
        name.removesuffix(f"-{client}"): len(requests)
        for name, requests in service.requests.items()
        if name.endswith(f"-{client}")
    }
    assert asked == REQUESTS
    assert service.early == []
    first, second = service.requests[f"same-{client}"]
    assert first["If-None-Match"] is None and second["If-None-Match"] == '"1"'
    for requests in service.requests.values():
        assert {each["API-Key"] for each in requests} == {"key"}
        assert {each["Experimental-Flags"] for each in requests} == {"changes,distances"}


def check_errors(errors: list[dict[str, Any]]) -> None:
    """Check what a client tells of the requests that failed to the end."""
    down, broken, invalid, later, closed = errors
    assert (down["type"], down["code"]) == ("UnavailableError", "UNAVAILABLE")
    assert (broken["type"], broken["status"]) == ("ResponseError", 500)
    described = {name: ERROR[name] for name in ("code", "fields", "request_id", "docs")}
    own = {"type": "InvalidInputError", "status": 422, "retry_after": None}
    assert invalid == {**own, **described}
    assert [each["retry_after"] for each in (down, broken, later)] == [0, None, 3600]
    assert closed["retry_after"] > 365 * 24 * 3600  # until a date that is far away
