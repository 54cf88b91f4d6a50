"""What people do in the map explorer, and with drawings dropped on it, in a real Chromium."""

import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from tests.gateway.pages import browser
from tests.gateway.pages.browser import APARTMENT, GYM, MAP, Explorer, create_key, run_command

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


DRAWING = f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 200">
<g data-type="Level" id="Lower">
  <g data-type="UnitLayer"><rect id="{APARTMENT}" x="10" y="10" width="80" height="60"/></g>
  <text x="30" y="150">Lobby</text>
</g>
<g data-type="Level" id="Upper">
  <g data-type="UnitLayer"><rect id="attic" x="200" y="100" width="80" height="60"/></g>
  <image x="300" y="20" width="50" height="50" href="a.png"/>
</g>
</svg>"""

# A corridor, and three apartments, of which one has no door.
PLAN = f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 200">
<g data-type="Level" data-tags="floor=alder-court-floor-1">
  <polygon points="0,40 400,40 400,60 0,60" data-tags="indoor=corridor"/>
  <rect x="48" y="38" width="4" height="4" data-tags="door=yes;width=0.9"/>
  <rect x="348" y="58" width="4" height="4" data-tags="door=yes;width=0.9"/>
  <g data-type="UnitLayer">
    <polygon id="{APARTMENT}" points="0,0 100,0 100,40 0,40"/>
    <polygon id="closet" points="200,0 300,0 300,38 200,38"/>
    <polygon id="den" points="300,60 400,60 400,100 300,100"/>
  </g>
</g>
</svg>"""


def expect_at(explorer: Explorer, marker: Locator, x: float, y: float) -> None:
    """A marker is at a position of the drawing."""
    # markers follow the view in the next frame
    explorer.page.evaluate("new Promise((next) => requestAnimationFrame(() => setTimeout(next)))")
    box = marker.bounding_box()
    assert box
    assert (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) == pytest.approx(
        explorer.pixels(x, y), abs=2
    )


def test_a_drawing_dropped_on_the_list_is_shown_with_its_warnings(explorer: Explorer) -> None:
    page = explorer.page
    explorer.open()
    maps = page.get_by_role("link", name="Floor plates")
    expect(maps).to_be_visible()
    explorer.drop(page.locator(".maps"), "new.svg", DRAWING)
    expect(explorer.warnings).to_contain_text("2 levels, 2 units")
    expect(page.get_by_role("application", name="The drawing as")).to_be_visible()
    text = explorer.button("text is left out: <text> in Lower")
    expect(text).to_have_text("1")
    expect_at(explorer, text, 30, 150)
    explorer.warnings.get_by_role("button", name="<image> in Upper").click()
    expect(explorer.floor("Upper")).to_be_checked()
    expect_at(explorer, explorer.button("an image is left out"), 325, 45)
    expect(explorer.warnings).not_to_contain_text("has no unit")  # of no map
    explorer.button("Close the drawing").click()
    expect(maps).to_be_visible()
    assert page.url == f"{explorer.service.url}/maps"
    explorer.drop(page.locator(".maps"), "new.svg", DRAWING)
    expect(explorer.warnings).to_be_visible()


@pytest.mark.slow
def test_a_drawing_dropped_on_a_map_is_compared_with_its_units(explorer: Explorer) -> None:
    explorer.open_map(map=MAP, floor="alder-court-floor-3")
    expect(explorer.button("Colours and amenities")).to_be_visible()  # the units are read
    explorer.drop(explorer.map, "new.svg", DRAWING)
    cause = explorer.warnings.get_by_role("listitem").filter(has_text="has no unit with this id")
    expect(cause.first).to_contain_text("3 the map “Floor plates” has no unit with this id")
    expect(explorer.warnings.get_by_text(APARTMENT)).to_have_count(0)
    cause.get_by_role("button", name="“attic”").click()
    expect(explorer.floor("Upper")).to_be_checked()
    marker = explorer.button("the map “Floor plates” has no unit with this id: “attic”")
    expect(marker).to_have_text("3")
    expect_at(explorer, marker, 240, 130)
    explorer.button("Close the drawing").click()
    expect(explorer.floor("Floor 3, Alder Court")).to_be_checked()
    expect(explorer.page.get_by_text("The floor plan has no problems")).to_be_visible()
    assert explorer.state()["floor"] == "alder-court-floor-3"


@pytest.mark.slow
def test_a_drawing_that_cannot_be_read_says_why(explorer: Explorer) -> None:
    explorer.open_map(map=MAP)
    explorer.drop(explorer.map, "broken.svg", "<svg><g></svg>")
    reason = explorer.page.get_by_role("alert")
    expect(reason).to_have_text(re.compile(r"^The drawing cannot be read: line 1, column \d+: "))
    expect(explorer.page.get_by_role("application", name="Map of Floor plates")).to_be_visible()
    explorer.button("Close the drawing").click()
    expect(reason).to_have_count(0)


@pytest.mark.slow
def test_a_key_that_may_not_parse_drawings_is_told(explorer: Explorer) -> None:
    explorer.refusals.append("403")
    explorer.open_map(map=MAP, key=create_key(explorer.service))
    explorer.drop(explorer.map, "new.svg", DRAWING)
    expect(explorer.page.get_by_role("alert")).to_contain_text("service.unit-maps.parse")


@pytest.mark.slow
def test_the_problems_of_a_plan_are_where_they_are(explorer: Explorer, tmp_path: Path) -> None:
    (plan := tmp_path / "plan.svg").write_text(PLAN)
    options = ("--asset", "alder-court", "--feet-per-unit", "0.5")
    try:
        run_command(explorer.service, "maps", "process", "annex", str(plan), *options)
        explorer.open_map(map="annex")
        explorer.button("Check drawings").click()
        problems = explorer.page.get_by_role("region", name="Problems of the floor plan")
        expect(problems).to_contain_text("A room has no door")
        marker = explorer.button("has no door").filter(has_text=re.compile("^1$"))
        expect_at(explorer, marker, 250, 19)
        place = problems.get_by_role("button", name="Ground floor, Alder Court")
        place.click()
        expect(place).to_have_attribute("aria-pressed", "true")
        expect_at(explorer, marker, 250, 19)
    finally:
        run_command(
            explorer.service,
            "remove",
            "map",
            "annex",
            "--yes",
            "--undo",
            str(tmp_path / "undo.json"),
        )
