"""Call every method of the Python library: `python every_endpoint.py URL KEY CERTIFICATE`.

It stands for a user's program: mypy checks it strictly, and the demo service answers it.
"""

import asyncio
import json
import sys
from collections.abc import Iterator
from typing import Any, ClassVar, TypeAlias

import httpx
from floorgate_client import (
    AsyncFloorgate,
    Floorgate,
    InvalidInputError,
    NotFoundError,
    PermissionRequiredError,
)
from floorgate_client.models import (
    MapHitAreaLayer,
    MapLayer,
    MapLevel,
    MapPath,
    MapUnit,
    MapUnitLayer,
    ParsedMap,
)
from floorgate_client.params import AssignmentInput, Waypoint

FLAGS = ["references", "unit-attributes-resource", "distances", "locations-resource", "changes"]
MAP = "alder-court-floor-plates"
DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>'
Layer: TypeAlias = MapLevel | MapLayer | MapUnitLayer | MapHitAreaLayer


def read_directory(client: Floorgate) -> dict[str, Any]:
    """Read assets, floors, units and references."""
    assets = [*client.assets.list(per_page=1)]
    asset = client.assets.get(assets[0].id)
    [floor, *_] = client.assets(asset.id).floors.list()
    assert client.assets(asset.id).floors.get(floor.id) == floor
    units = [*client.units.list(per_page=7)]
    unit = client.units.get(units[0].id)
    return {
        "assets": [each.id for each in assets],
        "floor": floor.id,
        "units": [each.id for each in units],
        "unit": unit.id,
        "created": unit.created_at.isoformat(),
        "references": len([*client.units.references.list(asset=asset.id)]),
        "asset_references": len([*client.assets.references.list()]),
    }


def iterate_units(parent: ParsedMap | Layer) -> Iterator[MapUnit]:
    """Yield the outlines of units in a parsed map."""
    for element in parent.elements:
        match element:
            case MapUnit():
                yield element
            case MapLevel() | MapLayer() | MapUnitLayer() | MapHitAreaLayer():
                yield from iterate_units(element)


def read_map(client: Floorgate) -> dict[str, Any]:
    """Read a map and what is on it."""
    here = client.maps(MAP)
    assert client.maps.get(MAP).id == MAP
    [background, *_] = here.backgrounds.list()
    assert here.backgrounds.get(background.id) == background
    [unit, *_] = here.units.list()
    assert here.units.get(unit.id) == unit
    parsed = here.parsed()
    assert all(each.properties.model_extra for each in here.geojson().features)
    assert here.picture().startswith(b"<svg ")
    [path] = client.maps.parse(DRAWING).elements
    assert isinstance(path, MapPath)
    return {
        "maps": [each.id for each in client.maps.list(tags="pathfinding")],
        "level_tags": [each.key for each in here.level_tags.list()],
        "outlines": {each.id: each.shape.type for each in iterate_units(parsed)},
        "path": path.d,
        "parsed": parsed.model_dump(mode="json", by_alias=True, exclude_unset=True),
    }


def measure(client: Floorgate) -> dict[str, Any]:
    """Ask for distances, routes, what is near, and what is closed."""
    here = client.maps(MAP)
    start, *others = here.locations.list(tags="svc:amenity==yes")
    matrix = here.distances(
        sources=[Waypoint(id=start.id)],
        targets=[{"id": each.id} for each in others[:3]],
        costing_options={"pedestrian": {"mode": "wheelchair"}},
    )
    route = here.route(from_=start.id, to=others[0].id, steps=True)
    assert route is not None and route.steps
    assert here.nearest(from_=start.id)
    assert here.reachable(from_=start.id, minutes=1).areas
    closed = here.closures.get()
    assert [*here.closures.candidates()]
    try:
        here.closures.set(doors=closed.doors)
    except PermissionRequiredError as error:  # the demo's key has no service.admin
        denied = error.code
    return {
        "distances": [each.distance for each in matrix.sources[0].targets],
        "closing": denied,
    }


def assign(client: Floorgate) -> dict[str, Any]:
    """Assign attributes, unassign them, and give back what was there."""
    group = client.attribute_groups.list()[0].group_id
    assignments = client.attribute_groups(group).assignments
    now = client.changes.list().cursor
    all_assigned = [*assignments.list(per_page=50)]
    some: list[AssignmentInput] = [
        {
            "group_id": each.group_id,
            "attribute_id": each.attribute_id,
            "asset_id": each.asset_id,
            "unit_id": each.unit_id,
        }
        for each in all_assigned[:3]
    ]
    assignments.remove(some)
    assert len(assignments.add(some)) == 3
    batch = next(client.changes.follow(after=now, kinds=["units", "attribute_assignments"]))
    return {
        "assigned": len(all_assigned),
        "changes": [(each.kind, each.operation) for each in batch.data],
    }


def fail(client: Floorgate) -> dict[str, Any]:
    """Provoke errors: an unknown id, and two invalid inputs."""
    try:
        client.units.get("none")
    except NotFoundError as error:
        missing = error.code
    try:
        [*client.units.list(page=0, per_page=0)]
    except InvalidInputError as error:
        fields = sorted(error.fields)
    return {"missing": missing, "fields": fields}


async def read_concurrently(url: str, key: str, certificate: str) -> dict[str, Any]:
    """Read with asyncio: a list and a unit twice, the second time from memory."""
    async with AsyncFloorgate(url, key, flags=FLAGS, verify=certificate) as client:
        units = [unit.id async for unit in client.units.list(per_page=40)]
        pair = [await client.units.get(units[0]) for _ in range(2)]
        assert pair[0] == pair[1]
        async for batch in client.changes.follow():
            assert not batch.data
            break
        return {"units": units, "parsed": len((await client.maps.parse(DRAWING)).elements)}


class RecordingFloorgate(Floorgate):
    """Note the method and path of each request."""

    requests: ClassVar[list[str]] = []

    def request(self, method: str, path: str, *ids: str, **content: Any) -> httpx.Response:
        self.requests.append(f"{method} {path}")
        return super().request(method, path, *ids, **content)


def main() -> None:
    """Call them all and print what was found as JSON."""
    url, key, certificate = sys.argv[1:]
    with RecordingFloorgate(url, key, flags=FLAGS, verify=certificate) as client:
        found: dict[str, Any] = {
            each.__name__: each(client)
            for each in (read_directory, read_map, measure, assign, fail)
        }
    found["concurrently"] = asyncio.run(read_concurrently(url, key, certificate))
    found["requests"] = RecordingFloorgate.requests
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
