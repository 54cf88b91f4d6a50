"""What people do in the map explorer, in a real Chromium on the demo property."""

import io
import re
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from tests.gateway.pages import browser
from tests.gateway.pages.explorer import APARTMENT, GYM, MAP, Explorer

pytestmark = [pytest.mark.xdist_group("clients"), browser.needs_browser]

UPSTAIRS = "506"
ROUTE = {"map": MAP, "from": f"unit:{APARTMENT}", "to": GYM, "mode": "wheelchair"}
SUMMARY = re.compile(r"^[\d,]+ (sec|min).* by wheelchair$")


def test_a_newcomer_finds_an_apartment_the_gym_and_the_wheelchair_route(explorer: Explorer) -> None:
    page = explorer.page
    page.goto(explorer.service.explorer)
    page.get_by_role("link", name="Alder Court").click()
    explorer.choose("Search units and amenities", UPSTAIRS)
    expect(explorer.card).to_contain_text("Floor 5, Alder Court")
    explorer.choose("Search units and amenities", "gym")
    expect(explorer.card.get_by_role("heading")).to_have_text("Fitness centre")
    explorer.button("Route to here").click()
    explorer.choose("From", UPSTAIRS)
    page.get_by_label("By wheelchair").check()
    expect(page.get_by_role("status").filter(has_text=SUMMARY)).to_be_visible()
    expect(explorer.floor("Floor 5, Alder Court")).to_be_checked()
    expect(explorer.button(f"Start: {UPSTAIRS}")).to_be_visible()
    explorer.button(re.compile("^Lift .* to Ground floor$")).click()
    expect(explorer.floor("Ground floor, Alder Court")).to_be_checked()
    expect(explorer.button("Destination: Fitness centre")).to_be_visible()
    expect(explorer.map.locator(".lines .route")).to_have_count(1)


@pytest.mark.slow
def test_a_route_leads_over_stairs_or_lifts_as_people_want(explorer: Explorer) -> None:
    page = explorer.page
    explorer.open_map(**{"map": MAP, "from": f"unit:{APARTMENT}"})
    explorer.choose("To", UPSTAIRS)
    steps = page.get_by_role("listitem")
    page.get_by_label("Lifts").check()
    expect(explorer.button(re.compile(r"^Stair \w to Floor 5$"))).to_be_visible()
    expect(steps.filter(has_text="Take Lift")).to_have_count(0)
    assert explorer.state()["avoid"] == ["lifts"]
    floors = page.get_by_role("navigation", name="Floors of the route").get_by_role("button")
    expect(floors).to_have_text(["Ground floor", "Floor 5"])
    page.get_by_label("Stairs").check()
    expect(page.get_by_text("There is no route.")).to_be_visible()
    explorer.button(re.compile("^Allow lifts")).click()
    expect(steps.filter(has_text="Take Lift").first).to_be_visible()
    page.reload()
    expect(steps.filter(has_text="Take Lift").first).to_be_visible()
    assert explorer.state()["avoid"] == ["stairs"]
    steps.get_by_role("button", name=re.compile("^Arrive at")).click()
    expect(explorer.floor("Floor 5, Alder Court")).to_be_checked()


@pytest.mark.slow
def test_what_is_within_reach_is_shaded_and_counted(explorer: Explorer) -> None:
    page = explorer.page
    explorer.open_map(**{"map": MAP, "from": f"unit:{APARTMENT}"})
    page.get_by_label("Show what is within reach").check()
    counts = page.get_by_role("status").filter(has_text="Within 2 min: units ")
    expect(counts).to_be_visible()
    expect(explorer.map.locator(".areas .area").first).to_be_visible()
    page.get_by_role("slider", name="Minutes of travel").press("ArrowLeft")
    fewer = page.get_by_role("status").filter(has_text="Within 1.5 min: units ")
    expect(fewer).to_be_visible()
    assert explorer.state()["minutes"] == 1.5
    explorer.floor("Floor 5, Alder Court").click()
    page.get_by_role("slider", name="Minutes of travel").press("Home")
    expect(explorer.map.locator(".areas .area")).to_have_count(0)


@pytest.mark.slow
@pytest.mark.parametrize(("theme", "luminous"), [("light", True), ("dark", False)])
def test_a_link_says_which_theme_is_shown(explorer: Explorer, theme: str, luminous: bool) -> None:
    explorer.page.emulate_media(color_scheme="dark" if luminous else "light")
    explorer.open_map(map=MAP, unit=APARTMENT, theme=theme)
    # The loaded card is a new element, and a picture is of one element.
    expect(explorer.button("Route from here")).to_be_visible()
    for part in (explorer.card, explorer.page.locator("body")):
        picture = Image.open(io.BytesIO(part.screenshot())).convert("L")
        dark = sum(picture.histogram()[:128])
        assert (dark < picture.width * picture.height / 2) == luminous


@pytest.mark.slow
def test_a_phone_shows_the_map_beside_its_panels(explorer: Explorer) -> None:
    page = explorer.page
    page.set_viewport_size({"width": 390, "height": 844})
    explorer.open_map(map=MAP)
    explorer.choose("Search units and amenities", "101")
    expect(explorer.card).to_be_in_viewport()
    explorer.button("Route from here").click()
    explorer.choose("To", "fitness")
    arrival = explorer.button(re.compile("^Arrive at"))
    arrival.scroll_into_view_if_needed()
    expect(arrival).to_be_in_viewport()
    destination = explorer.button("Destination: Fitness centre")
    expect(destination).to_be_in_viewport()
    assert is_on_top(destination)
    explorer.floor("Floor 3, Alder Court").click()
    assert explorer.state()["floor"] == "alder-court-floor-3"
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def is_on_top(part: Locator) -> bool:
    """Whether the middle of a part of the map is covered by nothing."""
    script = """part => {
      const { x, y, width, height } = part.getBoundingClientRect()
      return part.contains(part.getRootNode().elementFromPoint(x + width / 2, y + height / 2))
    }"""
    return bool(part.evaluate(script))


@pytest.mark.slow
def test_pictures_of_the_route_are_saved(explorer: Explorer) -> None:
    page = explorer.page
    explorer.open_map(**ROUTE)
    expect(page.get_by_text(SUMMARY)).to_be_visible()
    explorer.button("Share").click()
    with page.expect_download() as saved:
        explorer.button("Picture as SVG").click()
    svg = ElementTree.fromstring(saved.value.path().read_bytes())
    assert svg.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(list(svg.iter())) > 100
    with page.expect_download() as saved:
        explorer.button("Picture as PNG").click()
    png = Image.open(saved.value.path())
    assert png.format == "PNG" and png.width >= 1000
    assert len(png.convert("RGB").getcolors(png.width * png.height) or []) > 50


@pytest.mark.slow
def test_the_card_leads_into_graphiql_with_the_key(explorer: Explorer) -> None:
    explorer.open_map(map=MAP, unit=APARTMENT)
    explorer.card.get_by_text("As GraphQL").click()
    with explorer.page.expect_popup() as opened:
        explorer.card.get_by_role("link", name="Open in GraphiQL").click()
    page = opened.value
    seen = browser.Visit(explorer.service.url, page)
    browser.expect_key_state(seen, "Key accepted")
    expect(page.locator(".graphiql-tab-active")).to_contain_text("ShowUnit")
    assert '"name": "101"' in browser.execute_query(seen, "One bedroom")
    assert page.evaluate("window.violations ?? []") == []


def test_the_requests_of_the_page_are_explained(explorer: Explorer) -> None:
    page = explorer.page
    explorer.open_map(**ROUTE)
    expect(page.get_by_text(SUMMARY)).to_be_visible()
    explorer.button("Explain").click()
    requests = page.get_by_role("dialog", name="Requests of this page")
    requests.get_by_role("button", name="/route?").click()
    explanation = page.get_by_role("dialog", name="Explanation")
    expect(explanation).to_contain_text("query FindRoute")
    expect(explanation.get_by_role("table", name="Requirements")).to_contain_text("met")
    commands = explanation.get_by_role("table", name="MongoDB commands")
    expect(commands).to_contain_text("IXSCAN _id_")
    explanation.get_by_role("button", name="Close").click()
    expect(explanation).to_be_hidden()
