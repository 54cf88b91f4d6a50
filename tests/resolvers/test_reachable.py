"""What is within some minutes of a waypoint: locations, units and the areas of floors."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from shapely import Point, Polygon

from resolvers import reachable
from tests.fixtures import World, data_of
from tests.resolvers.conftest import LATER
from tests.resolvers.tower import CATALOG, processed, unit_locations

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_processes")]


REACHABLE = """query (
    $map: ID! = "tower", $from: WaypointInput!, $minutes: Float!, $mode: TravelMode,
    $tags: String, $limit: Int, $floor: ID
) { map(id: $map) { reachable(from: $from, minutes: $minutes, mode: $mode) {
    mode minutes
    locations(tags: $tags, limit: $limit) { distance time location { id } }
    units(tags: $tags, limit: $limit) { distance time unit { id } }
    areas(floorId: $floor) { floorId squareFeet polygons }
} } }"""
NEAREST = """query ($from: WaypointInput!, $mode: TravelMode) {
    map(id: "tower") { nearest(from: $from, mode: $mode, limit: 100) {
        distance time location { id }
    } }
}"""
MIDDLE = {"x": 50, "y": 25, "floorId": "lower"}
"""In the corridor, in front of the lift."""
WALK_FEET = 5.1 * 3280.84 / 3600
"""On foot, in a second."""


async def find_reachable(walker: httpx.AsyncClient, minutes: float, **given: Any) -> Any:
    variables = {"from": MIDDLE, "minutes": minutes, **given}
    return (await data_of(walker, REACHABLE, variables))["map"]["reachable"]


async def invalid_fields(walker: httpx.AsyncClient, **given: Any) -> list[str]:
    variables = {"from": MIDDLE, "minutes": 1, **given}
    response = await walker.post("/graphql", json={"query": REACHABLE, "variables": variables})
    fields: set[str] = set()
    for error in response.json()["errors"]:  # one for each of the lists with the argument
        assert error["extensions"]["code"] == "INVALID_INPUT"
        fields |= error["extensions"]["fields"].keys()
    return [*fields]


def to_shapes(area: dict[str, Any]) -> list[Polygon]:
    return [Polygon(outline, holes) for outline, *holes in area["polygons"]]


def area_on(found: dict[str, Any], floor_id: str) -> dict[str, Any]:
    by_floor: dict[str, dict[str, Any]] = {area["floorId"]: area for area in found["areas"]}
    return by_floor[floor_id]


@pytest.mark.parametrize("mode", ["foot", "wheelchair"])
async def test_locations_within_reach_are_the_nearest_ones_within_the_time(
    walker: httpx.AsyncClient, mode: str
) -> None:
    nearest = (await data_of(walker, NEAREST, {"from": MIDDLE, "mode": mode}))["map"]["nearest"]
    assert len(nearest) > 2
    for near in nearest:
        found = await find_reachable(walker, near["time"] / 60 + 1e-4, mode=mode)
        assert found["mode"] == mode
        assert found["locations"] == [each for each in nearest if each["time"] <= near["time"]]


async def test_units_within_reach_are_those_of_locations(walker: httpx.AsyncClient) -> None:
    located = await unit_locations(walker)
    unit_by_location = {location: unit for unit, location in located.items()}
    found = await find_reachable(walker, 5)
    times = {near["location"]["id"]: near["time"] for near in found["locations"]}
    assert {near["unit"]["id"]: near["time"] for near in found["units"]} == {
        unit_by_location[location]: time
        for location, time in times.items()
        if location in unit_by_location
    }
    assert [near["time"] for near in found["units"]] == sorted(
        near["time"] for near in found["units"]
    )


@pytest.mark.parametrize("tags", ["sport==yes", "sport,svc:id"])
async def test_locations_and_units_meet_every_term(walker: httpx.AsyncClient, tags: str) -> None:
    found = await find_reachable(walker, 5, tags=tags)
    assert [near["location"]["id"] for near in found["locations"]] == ["gym"]
    assert [near["unit"]["id"] for near in found["units"]] == ["lower-east"]


async def test_a_limit_leaves_the_nearest(walker: httpx.AsyncClient) -> None:
    most = await find_reachable(walker, 5, limit=reachable.MAX_REACHABLE)
    everything, first = await find_reachable(walker, 5), await find_reachable(walker, 5, limit=1)
    for name in ("locations", "units"):
        assert first[name] == everything[name][:1]
    assert await find_reachable(walker, 5, limit=None) == everything == most
    for limit in (0, reachable.MAX_REACHABLE + 1):
        assert await invalid_fields(walker, limit=limit) == ["limit"]


async def test_a_limit_counts_units_not_their_locations(
    own_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gym = CATALOG["locations"][0]
    stands_for = {"dup0": "lower-east", "dup1": "lower-east", "dup2": "lower-east", "old": "gone"}
    copies = [
        gym | {"id": id, "tags": [{"key": "svc:id", "value": unit}]}
        for id, unit in stands_for.items()
    ]
    monkeypatch.setattr(reachable, "DEFAULT_REACHABLE", 1)  # the first batch is as small
    async with processed(own_world, tmp_path, locations=copies) as walker:
        everything = (await find_reachable(walker, 60))["units"]
        assert sorted(near["unit"]["id"] for near in everything) == sorted(
            unit["id"] for unit in CATALOG["units"]
        )
        for limit in range(1, 5):
            found = await find_reachable(walker, 60, limit=limit)
            assert found["units"] == everything[:limit]


async def test_an_area_is_in_the_coordinates_of_the_map(walker: httpx.AsyncClient) -> None:
    seconds = 4 / WALK_FEET
    found = await find_reachable(walker, seconds / 60)
    [area] = found["areas"]
    [shape] = to_shapes(area)
    assert area["floorId"] == "lower"
    assert area["squareFeet"] == pytest.approx(shape.area, abs=0.1)
    west, _, east, _ = shape.bounds
    assert (west, east) == pytest.approx((46, 54), abs=0.1)
    [ring] = area["polygons"][0]
    assert ring[0] == ring[-1]


async def test_every_place_within_reach_is_in_the_area_of_its_floor(
    walker: httpx.AsyncClient,
) -> None:
    places = (await walker.get("/v1/maps/tower/locations")).json()["data"]
    found = await find_reachable(walker, 1.2)
    near = {each["location"]["id"]: each["time"] for each in found["locations"]}
    assert near
    for place in places:
        if place["id"] in {each["id"] for each in LATER}:
            continue
        [floor] = place["floors"]
        shapes = [
            shape
            for area in found["areas"]
            if area["floorId"] == floor["id"]
            for shape in to_shapes(area)
        ]
        is_inside = any(shape.covers(Point(place["x"], place["y"])) for shape in shapes)
        assert is_inside is (place["id"] in near)


async def test_areas_of_one_floor_are_returned_alone(walker: httpx.AsyncClient) -> None:
    everywhere = await find_reachable(walker, 5)
    assert [area["floorId"] for area in everywhere["areas"]] == ["lower", "upper"]
    upper = await find_reachable(walker, 5, floor="upper")
    assert upper["areas"] == [area_on(everywhere, "upper")]
    assert (await find_reachable(walker, 5, floor="none"))["areas"] == []


async def test_nothing_is_near_a_place_off_the_floor(walker: httpx.AsyncClient) -> None:
    found = await find_reachable(walker, 5, **{"from": {**MIDDLE, "y": 500}})
    assert found == {"mode": "foot", "minutes": 5, "locations": [], "units": [], "areas": []}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"from": {"id": "none"}}, "from.id"),
        ({"tags": "sport,"}, "tags"),
        ({"map": "plain", "from": {"id": "p1"}}, "map"),  # not processed
    ],
)
async def test_what_is_wrong_is_named(
    walker: httpx.AsyncClient, given: dict[str, Any], field: str
) -> None:
    assert await invalid_fields(walker, **given) == [field]


async def test_rest_returns_all_of_it(walker: httpx.AsyncClient) -> None:
    path = "/v1/maps/tower/reachable?from=50,25,lower&minutes=0.5&limit=1&floor=lower"
    data = (await walker.get(path)).json()["data"]
    found = await find_reachable(walker, 0.5, limit=1, floor="lower")
    assert (data["mode"], data["minutes"]) == ("foot", 0.5)
    [near], [unit], [area] = data["locations"], data["units"], data["areas"]
    assert near["location"]["id"] == found["locations"][0]["location"]["id"]
    assert unit["unit"]["id"] == found["units"][0]["unit"]["id"]
    assert area["square_feet"] == found["areas"][0]["squareFeet"]
    assert area["polygons"] == found["areas"][0]["polygons"]


@pytest.mark.parametrize("minutes", ["", "x", "-1", "60.1", "0", "60"])
async def test_minutes_are_from_0_to_60(walker: httpx.AsyncClient, minutes: str) -> None:
    response = await walker.get(f"/v1/maps/tower/reachable?from=gym&minutes={minutes}")
    if minutes in ("0", "60"):
        assert response.status_code == 200
    else:
        assert (response.status_code, [*response.json()["fields"]]) == (422, ["minutes"])
