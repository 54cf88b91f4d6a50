"""What the map component reads of routes, of what is near, and of why there is no route."""

from typing import Any

import pytest

from tests.clients.map.routes_world import MAP, World
from tests.gateway.pages import browser

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("map"),
    pytest.mark.skipif(
        not browser.CHROMIUM, reason="no Chromium on this machine: apt install chromium"
    ),
]

APARTMENT = {"unit": "ugwo2tfiznm"}
GYM = {"location": "l4xusy2pgwt"}
UPSTAIRS = {"x": 1200, "y": 742.5, "floor": "alder-court-floor-5"}
OUTSIDE = {"x": -500, "y": -500, "floor": "alder-court-floor-1"}
LIFTS = ("alder-court-floor-1#27", "alder-court-floor-1#28")
STAIRS = ("alder-court-floor-1#29", "alder-court-floor-1#30")


def find(world: World, **request: object) -> Any:
    """The answer to a request for a route."""
    return find_with(world.demo.key, world, **request)


def find_with(api_key: str, world: World, /, **request: object) -> Any:
    whole = {"map": MAP, "from": APARTMENT, "to": GYM, "mode": "foot", "avoid": [], **request}
    script = "return routes.findRoute(routes.connectAs(key), request)"
    return world.run(script, key=api_key, request=whole)


def test_a_route_has_steps_both_ends_and_the_straight_line(world: World) -> None:
    answer = find(world, mode="wheelchair")
    assert answer["kind"] == "route"
    assert (answer["mode"], answer["feet"], answer["seconds"]) == ("wheelchair", 166.881, 45.779)
    assert answer["steps"][-1]["text"] == "Arrive at Fitness centre."
    floor = "alder-court-floor-1"
    assert answer["start"] == {"x": 2024, "y": 640, "floorId": floor, "name": "101"}
    assert answer["end"] == {"x": 437.5, "y": 350, "floorId": floor, "name": "Fitness centre"}
    assert 160 < answer["straightFeet"] < answer["feet"]


def test_a_wheelchair_without_lifts_is_told_of_the_stairs(world: World) -> None:
    with world.closed(*LIFTS):
        answer = find(world, to=UPSTAIRS, mode="wheelchair")
    assert answer["kind"] == "none"
    assert answer["end"]["floorId"] == UPSTAIRS["floor"]
    demands, closed = answer["reasons"]
    assert (demands["code"], demands["dropped"]) == ("demands", ["wheelchair"])
    assert (demands["mode"], demands["avoid"]) == ("foot", [])
    assert demands["seconds"] > 0
    assert demands["barrier"]["connector_kind"] == "steps"
    assert demands["barrier"]["text"].startswith("Take Stair")
    assert closed["code"] == "closed"
    assert [part["name"] for part in closed["parts"]] == ["Lift 1", "Lift 2"]
    assert closed["parts"][0]["place"]["floorId"] == "alder-court-floor-1"


def test_with_everything_closed_only_what_is_closed_is_named(world: World) -> None:
    with world.closed(*LIFTS, *STAIRS):
        reasons = find(world, to=UPSTAIRS, mode="wheelchair", avoid=["outdoors"])["reasons"]
    assert [reason["code"] for reason in reasons] == ["closed"]


def test_a_map_that_is_not_processed_has_no_routes(world: World) -> None:
    place, unit_map = (
        {"x": 100, "y": 100, "floor": "birch-house-floor-1"},
        "birch-house-floor-plates",
    )
    reason = {"code": "not-processed"}
    answer = find_with(world.visitor_key, world, map=unit_map, **{"from": place, "to": place})
    assert answer == {"kind": "none", "reasons": [reason]}
    script = "return routes.findAvailability(routes.connectAs(key), map)"
    found = world.run(script, key=world.visitor_key, map=unit_map)
    assert found == {"allowed": True, "reason": reason}


def test_what_is_within_reach_grows_with_time(world: World) -> None:
    start = {"map": MAP, "from": APARTMENT, "mode": "wheelchair", "avoid": []}
    script = """const api = routes.connectAs(key)
    return Promise.all([0.2, 3].map((minutes) => routes.findReach(api, { ...start, minutes })))"""
    near, far = world.run(script, key=world.demo.key, start=start)
    assert [area["floorId"] for area in near["areas"]] == ["alder-court-floor-1"]
    assert len(far["areas"]) == 5
    assert set(near["units"]) < set(far["units"])
    assert set(near["amenities"]) < set(far["amenities"])
    script = "return routes.reachOverlay(areas, 'alder-court-floor-1')"
    [area] = world.run(script, areas=near["areas"])
    assert area["rings"][0][0].keys() == {"x", "y"}


def test_a_key_without_the_permission_is_noticed(world: World) -> None:
    script = "return routes.findAvailability(routes.connectAs(key), map)"
    plain = world.run(script, key=world.plain_key, map=MAP)
    assert plain == {"allowed": False}
    assert world.run(script, key=world.demo.key, map=MAP) == {"allowed": True}
    other = world.run(script, key=world.plain_key, map="nope")
    assert other == {"allowed": False}
    start = {"map": MAP, "from": APARTMENT, "minutes": 1, "mode": "foot", "avoid": []}
    script = "return routes.findReach(routes.connectAs(key), start).catch(({ status }) => status)"
    assert world.run(script, key=world.plain_key, start=start) == 403


def draw(world: World, answer: object, floor: str | None) -> Any:
    """What a floor shows of a route."""
    script = (
        "return routes.routeOverlay(answer, floor, routes.ENGLISH, (id) => `Floor ${id.at(-1)}`)"
    )
    return world.run(script, answer=answer, floor=floor)


def test_each_floor_shows_its_part_of_a_route(world: World) -> None:
    answer = find(world, to=UPSTAIRS)
    below = draw(world, answer, "alder-court-floor-1")
    above = draw(world, answer, "alder-court-floor-5")
    assert draw(world, answer, "alder-court-floor-2") == {"lines": [], "markers": []}
    assert [line["kind"] for line in below["lines"]] == ["route"]
    stop, start = below["markers"]
    assert (stop["id"], stop["label"]) == ("floor:alder-court-floor-5", "Lift 2 to Floor 5")
    assert {"x": stop["x"], "y": stop["y"]} == below["lines"][0]["points"][-1]
    assert (start["kind"], start["text"], start["label"]) == ("start", "A", "Start: 101")
    stop, end = above["markers"]
    assert (stop["id"], stop["label"]) == ("floor:alder-court-floor-1", "Lift 2 from Floor 1")
    assert {"x": stop["x"], "y": stop["y"]} == above["lines"][0]["points"][0]
    assert (end["kind"], end["label"]) == ("end", "Destination")


def test_without_a_route_both_places_stay(world: World) -> None:
    overlay = draw(world, find(world, to=OUTSIDE), "alder-court-floor-1")
    assert [marker["kind"] for marker in overlay["markers"]] == ["start", "end"]
    assert [line["kind"] for line in overlay["lines"]] == ["straight"]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("measureOf('en-US')", "feet"),
        ("measureOf('de-CH')", "metres"),
        ("measureOf('not a tag')", "metres"),
        ("formatLength(41.2, 'feet', 'en')", "41 ft"),
        ("formatLength(1234, 'feet', 'en')", "1,230 ft"),
        ("formatLength(41.2, 'metres', 'en')", "13 m"),
        ("formatTime(58, 'en')", "1 min"),
        ("convertStep('Turn left and walk 1,200 ft past 10 ft Hall.', 'metres', 'en')",
         "Turn left and walk 370 m past 10 ft Hall."),
        ("convertStep('Take Lift 2 to Floor 5.', 'metres', 'en')", "Take Lift 2 to Floor 5."),
        ("writeWaypoint({ location: 'b' })", "b"),
        ("writeWaypoint({ x: 1e-7, y: -2.5, floor: 'c,d' })", "0,-2.5,c,d"),
    ],
)  # fmt: skip
def test_values_are_written_as_people_and_the_service_read_them(
    opened: World, call: str, expected: str
) -> None:
    if opened.page.url == "about:blank":
        opened.open()
    assert opened.run(f"return routes.{call}") == expected


def test_one_thing_is_given_up_before_several(opened: World) -> None:
    if opened.page.url == "about:blank":
        opened.open()
    request = {"mode": "wheelchair", "avoid": ["lifts", "outdoors"]}
    options = opened.run("return routes.listOptions(request)", request=request)
    assert [option["dropped"] for option in options] == [
        ["wheelchair"],
        ["lifts"],
        ["outdoors"],
        ["lifts", "outdoors"],
        ["wheelchair", "lifts", "outdoors"],
    ]
    assert options[0] == {"dropped": ["wheelchair"], "mode": "foot", "avoid": ["lifts", "outdoors"]}
    assert options[1]["mode"] == "wheelchair"
    script = "return routes.smallest(options)"
    assert opened.run(script, options=[options[0], options[4]]) == [options[0]]
    assert opened.run(script, options=[options[1], options[2], options[3]]) == options[1:3]
