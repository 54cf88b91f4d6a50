"""Call every endpoint with the Python client: `python every_endpoint.py URL KEY CERTIFICATE`.

It stands for a user's program: mypy checks it strictly, and the demo service answers it.
"""

import asyncio
import json
import ssl
import sys
from collections.abc import Iterator
from typing import Any, TypeAlias

from floorgate_client import (
    AsyncFloorgate,
    Floorgate,
    InvalidInputError,
    NotFoundError,
    PermissionRequiredError,
)
from floorgate_client.rest.api.assets import get_asset, list_assets
from floorgate_client.rest.api.changes import list_changes
from floorgate_client.rest.api.distances import (
    calculate_distances,
    calculate_map_distances,
    find_nearest,
    find_reachable,
    find_route,
    get_closures,
    list_closable,
    set_closures,
)
from floorgate_client.rest.api.floors import get_floor, list_floors
from floorgate_client.rest.api.locations import list_locations, list_map_locations
from floorgate_client.rest.api.maps import (
    get_background,
    get_geo_json,
    get_map,
    get_map_unit,
    get_parsed_map,
    get_picture,
    list_backgrounds,
    list_level_tags,
    list_map_units,
    list_maps,
    parse_map,
)
from floorgate_client.rest.api.references import list_asset_references, list_unit_references
from floorgate_client.rest.api.unit_attributes import (
    assign_unit_attributes,
    list_assignments,
    list_attribute_groups,
    unassign_unit_attributes,
)
from floorgate_client.rest.api.units import get_unit, list_units
from floorgate_client.rest.models import (
    AssignmentInput,
    Assignments,
    ClosuresRequest,
    ClosuresRequestData,
    CostingOptions,
    DistanceRequest,
    DistanceRequestData,
    MapHitAreaLayer,
    MapLayer,
    MapLevel,
    MapPath,
    MapUnit,
    MapUnitLayer,
    ParsedMap,
    PedestrianOptions,
    Waypoint,
)

FLAGS = ["references", "unit-attributes-resource", "distances", "locations-resource", "changes"]
MAP = "alder-court-floor-plates"
DRAWING = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>'
Layer: TypeAlias = MapLevel | MapLayer | MapUnitLayer | MapHitAreaLayer


def read_directory(client: Floorgate) -> dict[str, Any]:
    """Read assets, floors, units and references."""
    assets = [*client.iterate(list_assets.sync_detailed, client=client, per_page=1)]
    asset = get_asset.sync(assets[0].id, client=client)
    floors = [*client.iterate(list_floors.sync_detailed, asset.id, client=client)]
    floor = get_floor.sync(asset.id, floors[0].id, client=client)
    units = [*client.iterate(list_units.sync_detailed, client=client, per_page=7)]
    unit = get_unit.sync(units[0].id, client=client)
    references = client.iterate(list_unit_references.sync_detailed, client=client, asset=asset.id)
    list_asset_references.sync(client=client)
    return {
        "assets": [each.id for each in assets],
        "floor": floor.id,
        "units": [each.id for each in units],
        "unit": unit.to_dict(),
        "references": len([*references]),
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
    maps = [*client.iterate(list_maps.sync_detailed, client=client, tags="pathfinding")]
    get_map.sync(MAP, client=client)
    backgrounds = list_backgrounds.sync(MAP, client=client).data
    get_background.sync(MAP, backgrounds[0].id, client=client)
    list_level_tags.sync(MAP, client=client)
    units = list_map_units.sync(MAP, client=client).data
    get_map_unit.sync(MAP, units[0].id, client=client)
    parsed = get_parsed_map.sync(MAP, client=client)
    outlines = {each.id: each.shape.type_ for each in iterate_units(parsed)}
    assert get_geo_json.sync(MAP, client=client).features
    assert get_picture.sync(MAP, client=client).payload.read().startswith(b"<svg ")
    [path] = parse_map.sync(client=client, body=DRAWING).elements
    assert isinstance(path, MapPath)
    list_map_locations.sync(MAP, client=client, tags="svc:amenity==yes")
    return {
        "maps": [each.id for each in maps],
        "outlines": outlines,
        "path": path.path_data,
        "parsed": parsed.to_dict(),
    }


def measure(client: Floorgate) -> dict[str, Any]:
    """Ask for distances, routes, what is near, and what is closed."""
    locations = list_locations.sync(MAP, client=client).data
    first, *others = (Waypoint(id=each.id) for each in locations[:4])
    options = CostingOptions(pedestrian=PedestrianOptions(mode="wheelchair"))
    request = DistanceRequest(
        data=DistanceRequestData(sources=[first], targets=others, costing_options=options)
    )
    matrix = calculate_distances.sync(MAP, client=client, body=request)
    same = calculate_map_distances.sync(MAP, client=client, body=request)
    assert same == matrix
    here, there = locations[0].id, locations[1].id
    find_route.sync(MAP, client=client, from_=here, to=there)
    find_nearest.sync(MAP, client=client, from_=here)
    find_reachable.sync(MAP, client=client, from_=here, minutes=1.0)
    list_closable.sync(MAP, client=client)
    closed = get_closures.sync(MAP, client=client).data
    closures = ClosuresRequest(
        data=ClosuresRequestData(
            connectors=closed.connectors, doors=closed.doors, spaces=closed.spaces
        )
    )
    try:
        set_closures.sync(MAP, client=client, body=closures)
    except PermissionRequiredError as error:  # the demo's key has no service.admin
        denied = error.code
    return {
        "distances": [each.distance for each in matrix.data.sources[0].targets],
        "closing": denied,
    }


def assign(client: Floorgate) -> dict[str, Any]:
    """Assign attributes, unassign them, and give back what was there."""
    group = list_attribute_groups.sync(client=client).data[0].group_id
    listed = client.iterate(list_assignments.sync_detailed, group, client=client, per_page=50)
    now = list_changes.sync(client=client).cursor
    all_assigned = [AssignmentInput.from_dict(each.to_dict()) for each in listed]
    body = Assignments(data=all_assigned[:3])
    removed = unassign_unit_attributes.sync_detailed(group, client=client, body=body)
    assign_unit_attributes.sync(group, client=client, body=body)
    changes = list_changes.sync(
        client=client, after=now, kinds=["units", "attribute_assignments"]
    ).data
    return {
        "assigned": len(all_assigned),
        "removed": removed.status_code,
        "changes": [(each.kind, each.operation) for each in changes],
    }


def fail(client: Floorgate) -> dict[str, Any]:
    """Provoke errors: an unknown id, and two invalid inputs."""
    try:
        get_unit.sync("none", client=client)
    except NotFoundError as error:
        missing = error.code
    try:
        list_units.sync(client=client, page=0, per_page=0)
    except InvalidInputError as error:
        fields = sorted(error.fields)
    return {"missing": missing, "fields": fields}


async def read_concurrently(url: str, key: str, trust: ssl.SSLContext) -> dict[str, Any]:
    """Read with asyncio: a list and a unit twice, the second time from memory."""
    async with AsyncFloorgate(url, key, verify=trust) as client:
        listed = client.iterate(list_units.asyncio_detailed, client=client, per_page=40)
        units = [unit.id async for unit in listed]
        pairs = [get_unit.asyncio_detailed(units[0], client=client) for _ in range(2)]
        first, second = [await each for each in pairs]
        assert first.parsed == second.parsed
        return {"units": units}


def main() -> None:
    """Call them all and print what was found as JSON."""
    url, key, certificate = sys.argv[1:]
    trust = ssl.create_default_context(cafile=certificate)
    with Floorgate(url, key, flags=FLAGS, verify=trust) as client:
        found = {
            each.__name__: each(client)
            for each in (read_directory, read_map, measure, assign, fail)
        }
    found["concurrently"] = asyncio.run(read_concurrently(url, key, trust))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
