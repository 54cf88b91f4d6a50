"""People who use a screen reader, a keyboard, a phone or the dark can use the pages: axe agrees."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from gateway import client_packages
from gateway.public_endpoints import NOT_BUILT_HTML
from rest.errors import render_errors_page
from tests.gateway.pages import browser
from tests.rest.demo_service import DemoService
from tests.rest.packages import install

pytestmark = [pytest.mark.xdist_group("clients"), browser.needs_browser, pytest.mark.slow]

TOOLS = Path(__file__).with_name("tools")
AXE = TOOLS / "node_modules" / "axe-core" / "axe.min.js"
FIND_PROBLEMS = """async (part) => {
  const { violations } = await axe.run(part, { resultTypes: ['violations'], elementRef: true })
  return violations.flatMap(({ id, nodes }) => nodes
    .filter(({ element }) => element.isConnected) // editors draw lines anew at any time
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
    """What axe finds in a part, at any level, by the width of a phone and of a desk."""
    page.evaluate(axe)
    found = {}
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        every = page.evaluate(FIND_PROBLEMS, part)
        # The editors are laid out some time after a change of the width.
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        if every:
            found[width] = every
    return found


def explain(page: Page) -> Locator:
    """Press the button that explains a request, with the keyboard."""
    button = page.get_by_role("button", name="Explain", exact=True)
    button.focus()
    button.press("Enter")
    dialog = page.get_by_role("dialog", name="Explanation")
    expect(dialog).to_be_visible()
    return dialog


def test_the_reference_and_its_dialogs_are_accessible(
    coloured: browser.Visit, demo: DemoService, axe: str
) -> None:
    page = coloured.page
    operation = browser.open_reference(coloured)
    assert problems(page, axe) == {}
    browser.type_key(page, demo.key)
    browser.expect_key_state(coloured, "Key accepted")
    dialog = browser.try_operation(operation)
    expect(dialog.get_by_role("region", name="Response")).to_contain_text("200 OK")
    assert problems(page, axe) == {}
    explanation = explain(page)
    expect(explanation).to_contain_text("GET /v1/units")
    expect(explanation).to_contain_text("query ListUnits")
    expect(explanation).to_contain_text("IXSCAN asset_id")
    assert problems(page, axe, "dialog") == {}
    explanation.get_by_role("button", name="Close").click()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("units")
    expect(page.get_by_role("option").first).to_be_visible()
    assert problems(page, axe) == {}
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
    for panel in ("Documentation Explorer", "History", "GraphiQL Explorer", "Code"):
        page.get_by_role("button", name=f"Show {panel}", exact=True).click()
        expect(page.locator(".graphiql-plugin")).to_be_visible()
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


def test_the_start_page_is_accessible(coloured: browser.Visit, axe: str) -> None:
    coloured.page.goto(coloured.base_url)
    assert problems(coloured.page, axe) == {}


def test_the_page_of_the_clients_is_accessible(
    coloured: browser.Visit, axe: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(client_packages, "DIST_DIR", tmp_path)
    (tmp_path / "floorgate-map-1.0.js").touch()
    coloured.page.set_content(client_packages.render_page(coloured.base_url, "1.0"))
    expect(coloured.page.get_by_role("link", name="Floorgate", exact=True)).to_be_visible()
    assert problems(coloured.page, axe) == {}


@pytest.mark.parametrize(
    "html", [render_errors_page(), NOT_BUILT_HTML], ids=["errors", "not built"]
)
def test_a_page_without_styles_is_accessible(seen: browser.Visit, axe: str, html: str) -> None:
    # They have the browser's own colours; axe takes those of the dark ones for dark on white.
    seen.page.set_content(html)
    assert problems(seen.page, axe) == {}
