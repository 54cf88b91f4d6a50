"""People who use a screen reader, a keyboard, a phone or the dark can use the pages: axe agrees."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from rest.errors import render_errors_page
from tests.gateway.pages import browser
from tests.rest.demo_service import DemoService
from tests.rest.packages import install

pytestmark = [pytest.mark.xdist_group("clients"), browser.needs_browser, pytest.mark.slow]

TOOLS = Path(__file__).with_name("tools")
AXE = TOOLS / "node_modules" / "axe-core" / "axe.min.js"
FIND_PROBLEMS = """async (part) => {
  const COLOURED_BY_SWAGGER_UI = '.models' // too pale, in every theme
  const { violations } = await axe.run(part, { resultTypes: ['violations'], elementRef: true })
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes
      .filter(({ element }) => element.isConnected) // editors draw lines anew at any time
      .filter(({ element }) => !element.closest(COLOURED_BY_SWAGGER_UI))
      .map(({ target, any }) => `${id}: ${target} ${any[0]?.message}`))
}"""


@pytest.fixture(scope="module")
def axe() -> str:
    install(TOOLS)
    return AXE.read_text()


@pytest.fixture(params=["light", "dark"])
def coloured(seen: browser.Visit, request: pytest.FixtureRequest) -> browser.Visit:
    seen.page.emulate_media(color_scheme=request.param, reduced_motion="reduce")
    return seen


def problems(page: Page, axe: str, part: str = "html") -> dict[int, list[str]]:
    """What axe calls serious or critical in a part, by the width of a phone and of a desk."""
    page.evaluate(axe)
    found = {}
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        serious = page.evaluate(FIND_PROBLEMS, part)
        # The editors are laid out some time after a change of the width.
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        if serious:
            found[width] = serious
    return found


def explain(page: Page) -> Locator:
    """Press the button that explains a request, with the keyboard."""
    button = page.get_by_role("button", name="Explain", exact=True)
    button.focus()
    button.press("Enter")
    dialog = page.get_by_role("dialog", name="Explanation")
    expect(dialog).to_be_visible()
    return dialog


def test_the_reference_and_its_explanations_are_accessible(
    coloured: browser.Visit, demo: DemoService, axe: str
) -> None:
    browser.open_reference(coloured)
    assert problems(coloured.page, axe) == {}
    browser.type_key(coloured.page, demo.key)
    expect(browser.try_units(coloured).locator(".live-responses-table")).to_be_visible()
    dialog = explain(coloured.page)
    expect(dialog).to_contain_text("GET /v1/units")
    expect(dialog).to_contain_text("query ListUnits")
    expect(dialog).to_contain_text("IXSCAN asset_id")
    assert problems(coloured.page, axe, "dialog") == {}
    dialog.get_by_role("button", name="Close").click()
    assert coloured.all_errors() == []


def test_graphiql_and_its_explanations_are_accessible(
    coloured: browser.Visit, demo: DemoService, axe: str
) -> None:
    page = coloured.page
    browser.open_graphiql(coloured)
    browser.type_key(page, demo.key)
    browser.execute_query(coloured, "Alder Court")
    page.locator(".response-bar").get_by_text("Headers").click()
    assert problems(page, axe) == {}
    page.get_by_role("button", name="Units", exact=True).click()
    dialog = explain(page)
    expect(dialog).to_contain_text("query Units")
    expect(dialog.get_by_role("table", name="MongoDB commands")).to_contain_text("IXSCAN asset_id")
    expect(dialog).to_contain_text("The key is limited to assets, so values")
    dialog.get_by_text("As JSON").press("Enter")
    expect(dialog).to_contain_text('"requirements"')
    assert problems(page, axe) == {}
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="NearestGym", exact=True).click()
    requirements = explain(page).get_by_role("table", name="Requirements")
    expect(requirements).to_contain_text("flag distances, permission service.distances.calculate")
    expect(requirements).to_contain_text("not met")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Save as endpoint").press("Enter")
    dialog = page.get_by_role("dialog", name="Save as endpoint")
    expect(dialog).to_contain_text("NearestGym will be added.")
    assert problems(page, axe, "dialog") == {}
    dialog.get_by_label("Path").fill("/v1/x/{nothing}")
    expect(dialog.get_by_role("status")).to_contain_text("Line 3, column")
    assert page.evaluate(FIND_PROBLEMS, "dialog") == []
    assert coloured.all_errors() == []


def test_the_list_of_maps_and_the_dialog_are_accessible(
    coloured: browser.Visit, demo: DemoService, axe: str
) -> None:
    coloured.page.goto(demo.explorer)
    expect(coloured.page.get_by_role("link", name="Alder Court")).to_be_visible()
    assert problems(coloured.page, axe) == {}
    coloured.page.get_by_role("link", name="Alder Court").click()
    coloured.page.get_by_role("button", name="Share").click()
    assert problems(coloured.page, axe) == {}


def test_the_page_of_errors_is_accessible(seen: browser.Visit, axe: str) -> None:
    # It has the browser's own colours; axe takes those of the dark ones for dark on white.
    seen.page.set_content(render_errors_page())
    assert problems(seen.page, axe) == {}
