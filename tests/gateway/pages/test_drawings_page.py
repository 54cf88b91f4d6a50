"""Drawings that are dropped on the page, and the problems of a plan, in a real Chromium."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.gateway.pages import browser
from tests.gateway.pages.explorer import APARTMENT, MAP, Explorer, create_key, run_command

pytestmark = [pytest.mark.xdist_group("clients"), browser.needs_browser]

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
