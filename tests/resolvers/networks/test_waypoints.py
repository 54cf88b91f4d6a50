"""Waypoints of requests: checked, completed from locations, and in the form of routing."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from resolvers.networks.routable_maps import Placement, RoutableMap
from resolvers.networks.waypoints import (
    LocationOrPosition,
    Waypoint,
    WaypointInput,
    find_locations,
    resolve_waypoints,
    to_waypoint_refs,
)
from resolvers.request.caller import Caller
from resolvers.request.context import Context
from resolvers.request.errors import InvalidInputError
from routing.search.matrix import Position
from storage.catalog import Map
from storage.importing.import_bundles import import_bundles
from storage.mongo import driver
from storage.records.visibility import ALL_ASSETS
from storage.store import Store
from tests.routing.ascii_plans import process_drawing
from tests.storage.catalogs import SMALL, write_arrays

MAP = Map(id="am", asset_id="a", name="Plates", feet_per_unit=2.0)
ABSENT: dict[str, Any] = {"id": None, "unit_id": None, "x": None, "y": None, "floor_id": None}


def waypoint(**given: Any) -> WaypointInput:
    return WaypointInput(**{"name": None, **ABSENT, **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"id": "l"}, None),
        ({"x": 1, "y": 2, "floor_id": "f"}, None),
        ({"id": "l", "x": 1, "y": 2}, None),
        ({"unit_id": "u"}, None),
        ({"unit_id": "u", "x": 1, "y": 2, "floor_id": "f"}, None),
        ({"id": "l", "unit_id": "u"}, "must have an id or a unit id, not both"),
        ({}, "must have the id of a location or a unit, or x, y and a floor"),
        ({"x": 1, "y": 2}, "must have the id of a location or a unit, or x, y and a floor"),
        ({"id": "l", "x": 1}, "must have both x and y, or neither"),
    ],
)
def test_a_waypoint_has_an_id_or_a_position(given: dict[str, Any], message: str | None) -> None:
    error = LocationOrPosition().check(ABSENT | given)
    assert (error and error.message) == message


@pytest.fixture
async def context(mongo_url: str, database_name: str, tmp_path: Path) -> AsyncIterator[Context]:
    client = driver.connect(mongo_url, timeout_seconds=30)
    bundle = write_arrays(tmp_path / "b.json", SMALL)
    await import_bundles(client[database_name], [bundle])
    yield Context(Caller("key", ALL_ASSETS), Store(client, database_name))
    await driver.close(client)


@pytest.mark.anyio
async def test_waypoints_are_completed_from_their_locations(context: Context) -> None:
    resolved = await resolve_waypoints(
        context,
        MAP,
        None,
        [
            ("from", waypoint(id="l")),
            ("to", waypoint(id="l", name="Here", x=1.0, y=2.0, floor_id="a1")),
            ("via", waypoint(x=3.0, y=4.0, floor_id="a1")),
        ],
    )
    assert resolved == [
        Waypoint("l", "Pool", 1.5, -2, "a1", True, "l"),
        Waypoint("l", "Here", 1.0, 2.0, "a1", False, "l"),
        Waypoint(None, None, 3.0, 4.0, "a1", False),
    ]


@pytest.mark.anyio
async def test_all_waypoints_that_are_not_of_the_map_are_reported(context: Context) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await resolve_waypoints(
            context,
            MAP,
            None,
            [
                ("sources[0]", waypoint(id="missing")),
                ("sources[1]", waypoint(x=1.0, y=2.0, floor_id="b1")),
                ("sources[2]", waypoint(unit_id="a101")),
            ],
        )
    assert caught.value.extensions["fields"] == {
        "sources[0].id": ["must be a location of this map, or a unit that has one, not 'missing'"],
        "sources[1].floorId": ["must be a floor of this map, not 'b1'"],
        "sources[2].unitId": ["must be a unit that has a location on this map, not 'a101'"],
    }


@pytest.mark.anyio
async def test_what_the_network_knows_is_not_read_again(context: Context) -> None:
    router = process_drawing("A,,,").router
    routable = RoutableMap(router, {"A": Placement("A", "Gym", 1, 1, ("0",))})
    (resolved,) = await resolve_waypoints(
        context, MAP, routable, [("from", waypoint(id="A", floor_id="0"))]
    )
    assert resolved == Waypoint("A", "Gym", 1, 1, "0", True, "A")
    assert not context.reads.collections


@pytest.mark.anyio
async def test_waypoints_that_only_name_locations_of_the_network_are_found_at_once(
    context: Context,
) -> None:
    placements = {
        "A": Placement("A", "Gym", 1, 1, ("0", "1")),
        "B": Placement("B", "Bar", 2, 3, ()),
    }
    points = [waypoint(id="A"), waypoint(id="B", name="Here"), waypoint(id="A", name="")]
    found = find_locations(placements, points)
    routable = RoutableMap(process_drawing("A,B,").router, placements)
    named = [("sources[0]", point) for point in points]
    assert found == await resolve_waypoints(context, MAP, routable, named)
    assert [each.name for each in found or ()] == ["Gym", "Here", ""]


@pytest.mark.parametrize(
    "other",
    [
        {"id": "C"},
        {"unit_id": "A"},
        {"id": "A", "floor_id": "0"},
        {"id": "A", "x": 1.0, "y": 1.0},
        {"x": 1.0, "y": 1.0, "floor_id": "0"},
    ],
)
def test_other_waypoints_are_left_to_be_resolved(other: dict[str, Any]) -> None:
    placements = {"A": Placement("A", "Gym", 1, 1, ("0",))}
    assert find_locations(placements, [waypoint(id="A"), waypoint(**other)]) is None


def test_routing_gets_the_id_of_a_location_or_a_position_in_feet() -> None:
    router = process_drawing("A,,,").router
    location = Waypoint("A", "Gym", 1, 1, "0", True, "A")
    unit = Waypoint("suite", "Gym", 1, 1, "0", True, "A")
    moved = Waypoint("A", "Gym", 2, 3, "0", False, "A")
    unknown = Waypoint("B", "Bar", 2, 3, "0", True, "B")
    position = Position("0", 4, 6)
    waypoints = [location, unit, moved, unknown]
    assert to_waypoint_refs(router, MAP, waypoints) == ["A", "A", position, position]
