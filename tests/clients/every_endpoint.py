"""Call every endpoint with the Python client: `python every_endpoint.py URL KEY CERTIFICATE`.

It stands for a user's program: mypy checks it strictly, and the demo service answers it.
"""

import asyncio
import json
import ssl
import sys
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, TypeAlias, TypeVar

from floorgate_client import (
    AsyncFloorgate,
    Floorgate,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
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
    get_map,
    get_map_unit,
    get_parsed_map,
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
    Asset,
    AssetPage,
    AssetReferencePage,
    AssignmentInput,
    AssignmentList,
    AssignmentPage,
    Assignments,
    AttributeGroupList,
    Background,
    BackgroundPage,
    ChangeBatch,
    ClosablePage,
    ClosuresAnswer,
    ClosuresRequest,
    ClosuresRequestData,
    CostingOptions,
    DistanceMatrixAnswer,
    DistanceRequest,
    DistanceRequestData,
    Floor,
    FloorPage,
    LevelTagList,
    LocationList,
    Map,
    MapHitAreaLayer,
    MapLayer,
    MapLevel,
    MapPage,
    MapPath,
    MapUnit,
    MapUnitLayer,
    NearLocationList,
    ParsedMap,
    PedestrianOptions,
    ReachableAnswer,
    RouteAnswer,
    Unit,
    UnitPage,
    UnitReferencePage,
    Waypoint,
)
from floorgate_client.rest.types import File

FLAGS = ["references", "unit-attributes-resource", "distances", "locations-resource", "changes"]
MAP = "alder-court-floor-plates"
DRAWING = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>'
T = TypeVar("T")
Layer: TypeAlias = MapLevel | MapLayer | MapUnitLayer | MapHitAreaLayer


def only(*types: type[T]) -> Callable[[object], T]:
    """Return the check that a response is of the type that its status promises."""

    def check(value: object) -> T:
        assert isinstance(value, types), value
        return value

    return check


def read_directory(client: Floorgate) -> dict[str, Any]:
    """Read assets, floors, units and references."""
    assets = [*client.iterate(AssetPage, list_assets.sync_detailed, client=client, per_page=1)]
    asset = only(Asset)(get_asset.sync(assets[0].id, client=client))
    floors = [*client.iterate(FloorPage, list_floors.sync_detailed, asset.id, client=client)]
    floor = only(Floor)(get_floor.sync(asset.id, floors[0].id, client=client))
    units = [*client.iterate(UnitPage, list_units.sync_detailed, client=client, per_page=7)]
    unit = only(Unit)(get_unit.sync(units[0].id, client=client))
    references = client.iterate(
        UnitReferencePage, list_unit_references.sync_detailed, client=client, asset=asset.id
    )
    only(AssetReferencePage)(list_asset_references.sync(client=client))
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
    maps = [*client.iterate(MapPage, list_maps.sync_detailed, client=client, tags="pathfinding")]
    only(Map)(get_map.sync(MAP, client=client))
    backgrounds = only(BackgroundPage)(list_backgrounds.sync(MAP, client=client)).data
    only(Background)(get_background.sync(MAP, backgrounds[0].id, client=client))
    only(LevelTagList)(list_level_tags.sync(MAP, client=client))
    units = only(UnitPage)(list_map_units.sync(MAP, client=client)).data
    only(Unit)(get_map_unit.sync(MAP, units[0].id, client=client))
    parsed = only(ParsedMap)(get_parsed_map.sync(MAP, client=client))
    outlines = {each.id: each.shape.type_ for each in iterate_units(parsed)}
    drawing = File(payload=BytesIO(DRAWING))
    [path] = only(ParsedMap)(parse_map.sync(client=client, body=drawing)).elements
    assert isinstance(path, MapPath)
    only(LocationList)(list_map_locations.sync(MAP, client=client, tags="svc:amenity==yes"))
    return {
        "maps": [each.id for each in maps],
        "outlines": outlines,
        "path": path.path_data,
        "parsed": parsed.to_dict(),
    }


def measure(client: Floorgate) -> dict[str, Any]:
    """Ask for distances, routes, what is near, and what is closed."""
    locations = only(LocationList)(list_locations.sync(MAP, client=client)).data
    first, *others = (Waypoint(id=each.id) for each in locations[:4])
    options = CostingOptions(pedestrian=PedestrianOptions(mode="wheelchair"))
    request = DistanceRequest(
        data=DistanceRequestData(sources=[first], targets=others, costing_options=options)
    )
    matrix = only(DistanceMatrixAnswer)(calculate_distances.sync(MAP, client=client, body=request))
    same = only(DistanceMatrixAnswer)(
        calculate_map_distances.sync(MAP, client=client, body=request)
    )
    assert same == matrix
    here, there = locations[0].id, locations[1].id
    only(RouteAnswer)(find_route.sync(MAP, client=client, from_=here, to=there))
    only(NearLocationList)(find_nearest.sync(MAP, client=client, from_=here))
    only(ReachableAnswer)(find_reachable.sync(MAP, client=client, from_=here, minutes=1.0))
    only(ClosablePage)(list_closable.sync(MAP, client=client))
    closed = only(ClosuresAnswer)(get_closures.sync(MAP, client=client)).data
    closures = ClosuresRequest(
        data=ClosuresRequestData(
            connectors=closed.connectors, doors=closed.doors, spaces=closed.spaces
        )
    )
    try:
        set_closures.sync(MAP, client=client, body=closures)
    except ForbiddenError as error:  # the demo's key has no service.admin
        denied = error.code
    return {
        "distances": [each.distance for each in matrix.data.sources[0].targets],
        "closing": denied,
    }


def assign(client: Floorgate) -> dict[str, Any]:
    """Assign attributes, unassign them, and give back what was there."""
    group = only(AttributeGroupList)(list_attribute_groups.sync(client=client)).data[0].group_id
    listed = client.iterate(
        AssignmentPage, list_assignments.sync_detailed, group, client=client, per_page=50
    )
    now = only(ChangeBatch)(list_changes.sync(client=client)).cursor
    all_assigned = [AssignmentInput.from_dict(each.to_dict()) for each in listed]
    body = Assignments(data=all_assigned[:3])
    removed = unassign_unit_attributes.sync_detailed(group, client=client, body=body)
    only(AssignmentList)(assign_unit_attributes.sync(group, client=client, body=body))
    changes = only(ChangeBatch)(
        list_changes.sync(client=client, after=now, kinds=["units", "attribute_assignments"])
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
        listed = client.iterate(UnitPage, list_units.asyncio_detailed, client=client, per_page=40)
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
