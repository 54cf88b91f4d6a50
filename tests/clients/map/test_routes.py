"""What the map component reads of routes, and how people find them by mouse and by keyboard."""

import re
from typing import Any, Literal

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.clients.map.pages import MAP, World
from tests.gateway.pages import browser
from tests.gateway.pages.test_accessibility import AXE, TOOLS, problems
from tests.rest.packages import install

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
        ("measureOf('en-US', 'metres')", "metres"),
        ("measureOf('en-US', 'yards')", "feet"),
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


@pytest.fixture
def page(world: World) -> Page:
    return world.page


def test_a_route_is_found_with_the_keyboard_alone(page: Page) -> None:
    start, target = (
        page.get_by_role("combobox", name="From"),
        page.get_by_role("combobox", name="To"),
    )
    start.fill("101")
    start.press("Enter")
    expect(start).to_have_value("101")
    target.fill("fitn")
    target.press("ArrowDown")
    target.press("Enter")
    expect(target).to_have_value("Fitness centre")
    expect(summary(page)).to_have_text("35 sec, 170 ft on foot")
    page.get_by_role("radio", name="By wheelchair").check()
    expect(summary(page)).to_have_text("45 sec, 170 ft by wheelchair")
    steps = page.locator(".steps li")
    expect(steps.last).to_have_text("Arrive at Fitness centre.")
    expect(page.get_by_text("Straight line: 160 ft.")).to_be_visible()
    steps.last.get_by_role("button").press("Enter")
    place = {"x": 437.5, "y": 350, "floorId": "alder-court-floor-1"}
    assert page.evaluate("document.querySelector('routes-page').told.at(-1)") == place


def test_ends_are_swapped_and_cleared(world: World) -> None:
    page = world.page
    world.set_state(**{"from": APARTMENT, "to": GYM})
    page.get_by_role("button", name="Swap start and destination").click()
    expect(page.get_by_role("combobox", name="From")).to_have_value("Fitness centre")
    expect(page.locator(".steps li").last).to_contain_text("Arrive at 101")
    page.get_by_role("button", name="Clear the destination").click()
    expect(page.get_by_role("combobox", name="To")).to_have_value("")
    expect(summary(page)).to_have_text("")
    expect(page.locator(".steps")).to_have_count(0)


def test_text_that_was_not_chosen_goes_when_the_field_is_left(world: World) -> None:
    world.set_state(**{"from": APARTMENT})
    start = world.page.get_by_role("combobox", name="From")
    start.fill("4")
    expect(world.page.get_by_role("option").first).to_be_visible()
    world.page.get_by_role("combobox", name="To").focus()
    expect(start).to_have_value("101")


def test_without_a_route_what_to_do_is_offered(world: World) -> None:
    page = world.page
    with world.closed(*LIFTS):
        world.set_state(**{"from": APARTMENT, "to": UPSTAIRS, "mode": "wheelchair"})
        expect(summary(page)).to_have_text("There is no route.")
        reasons = page.locator(".reasons li")
        expect(reasons.first).to_contain_text("There is a way, but not for wheelchairs.")
        expect(reasons.first).to_contain_text("In the way: “Take Stair")
        expect(reasons.last).to_contain_text("Closed at the moment: Lift 1 and Lift 2.")
        page.get_by_role("button", name="Go on foot").click()
        expect(summary(page)).to_contain_text("on foot")
        expect(page.locator(".steps")).to_contain_text("Take Stair")


def test_what_is_avoided_can_be_allowed_again(world: World) -> None:
    page = world.page
    avoid = ["stairs", "lifts"]
    world.set_state(**{"from": APARTMENT, "to": UPSTAIRS, "avoid": avoid})
    page.get_by_role("button", name="Allow lifts").click()
    expect(page.get_by_role("checkbox", name="Lifts")).not_to_be_checked()
    expect(page.get_by_role("checkbox", name="Stairs")).to_be_checked()
    expect(page.locator(".steps")).to_contain_text("Take Lift")


def test_another_place_is_chosen_in_place_of_one_off_the_floor(world: World) -> None:
    world.set_state(**{"from": OUTSIDE, "to": GYM})
    start = world.page.get_by_role("combobox", name="From")
    expect(start).to_have_value("Point on Ground floor")
    reason = world.page.locator(".reasons li")
    expect(reason).to_contain_text("The start is not on floor that can be walked.")
    reason.get_by_role("button").click()
    expect(world.page.get_by_text("Click a place on the map.")).to_be_visible()


def test_the_nearest_amenity_becomes_the_destination(world: World) -> None:
    world.set_state(**{"from": APARTMENT})
    nearest = world.page.locator(".nearest").get_by_role("button")
    expect(nearest).to_have_count(10)
    name = "Route to Recycling Ground floor 10 sec · 41 ft"
    world.page.get_by_role("button", name=name).click()
    expect(world.page.get_by_role("combobox", name="To")).to_have_value("Recycling")
    expect(nearest.first).to_have_attribute("aria-current", "true")
    expect(summary(world.page)).to_have_text("10 sec, 41 ft on foot")


def test_the_slider_counts_what_is_within_reach(world: World) -> None:
    page = world.page
    world.set_state(**{"from": APARTMENT})
    page.get_by_role("checkbox", name="Show what is within reach").check()
    slider, count = page.get_by_role("slider", name="Minutes of travel"), page.locator(".reach p")
    expect(count).to_have_text(re.compile(r"Within 2 min: units \d+, amenities \d+"))
    slider.press("Home")
    expect(count).to_have_text(re.compile(r"Within 0.5 min: units \d+, amenities \d+"))
    page.get_by_role("checkbox", name="Show what is within reach").uncheck()
    expect(slider).to_have_count(0)
    expect(count).to_have_text("")


def test_only_the_newest_request_is_answered(world: World) -> None:
    held: list[Route] = []
    world.page.route("**/route?*", lambda route: route.continue_() if held else held.append(route))
    with world.page.expect_request("**/route?*"):
        world.set_state(**{"from": APARTMENT, "to": UPSTAIRS})
    world.set_state(**{"from": APARTMENT, "to": GYM})
    expect(summary(world.page)).to_have_text("35 sec, 170 ft on foot")
    assert held
    assert world.page.evaluate("document.querySelector('routes-page').told") == ["route"]
    world.page.unroute("**/route?*")  # not before: it would let go of the first one


def test_a_key_that_may_not_ask_for_routes_sees_no_panel(world: World) -> None:
    world.open(world.plain_key)
    world.set_state(**{"from": APARTMENT, "to": GYM})
    panel = "document.querySelector('routes-page')"
    world.page.wait_for_function(f"{panel}.building && {panel}.finder.availability.value")
    expect(world.page.locator("routes-page")).to_have_text("")


def test_what_has_changed_since_a_map_was_processed_is_told(world: World) -> None:
    routing = {"isRoutable": False, "isStale": True, "reason": "its drawing has changed"}
    answer = {"data": {"map": {"routing": routing, "closures": {"connectors": []}}}}
    world.page.route("**/graphql", lambda route: route.fulfill(json=answer))
    world.open()
    text = "This map has no routes at the moment: its drawing has changed."
    expect(world.page.locator("routes-page")).to_contain_text(text)
    expect(world.page.get_by_role("combobox")).to_have_count(0)
    world.page.unroute("**/graphql")


def test_an_error_is_shown_and_the_request_repeated(world: World) -> None:
    page = world.page
    page.route("**/nearest?*", lambda route: route.abort())
    world.set_state(**{"from": APARTMENT})
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("The service cannot be reached.")
    page.unroute("**/nearest?*")
    alert.get_by_role("button", name="Try again").click()
    expect(page.locator(".nearest").get_by_role("button")).to_have_count(10)
    expect(alert).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_panel_is_accessible(world: World, scheme: Literal["light", "dark"]) -> None:
    install(TOOLS)
    page = world.page
    page.emulate_media(color_scheme=scheme)
    state = {"from": APARTMENT, "to": UPSTAIRS, "minutes": 2, "floor": "alder-court-floor-1"}
    world.set_state(**state)
    expect(page.locator(".nearest").get_by_role("button")).to_have_count(10)
    expect(page.locator(".steps")).to_be_visible()
    assert problems(page, AXE.read_text()) == {}
    world.set_state(**state, mode="wheelchair", avoid=["lifts"])
    expect(page.locator(".reasons li")).to_have_count(2)
    assert problems(page, AXE.read_text()) == {}


def summary(page: Page) -> Locator:
    return page.locator(".summary")
