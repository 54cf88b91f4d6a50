"""People find routes, learn why there is none, and see what is near, by mouse and by keyboard."""

import re
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.clients.map.routes_world import World
from tests.clients.map.test_routes_data import APARTMENT, GYM, LIFTS, OUTSIDE, UPSTAIRS
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
    name = "Route to Recycling, Ground floor: 10 sec, 41 ft"
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
