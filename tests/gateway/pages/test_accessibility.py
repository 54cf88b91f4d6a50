"""People who use a screen reader, a keyboard, a phone or the dark can use the pages: axe agrees."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from gateway import browser_pages
from rest.error_codes import render_errors_page
from tests.gateway.fake_service import APP, KEY
from tests.gateway.pages import browser
from tests.gateway.pages.test_browser_pages import serve_pages
from tests.rest.packages import install

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("page-accessibility"),
    pytest.mark.skipif(
        not browser_pages.DIST_DIR.exists() or not browser.CHROMIUM,
        reason="gateway/web/dist is not built (make setup), or no Chromium (apt install chromium)",
    ),
]

TOOLS = Path(__file__).with_name("tools")
AXE = TOOLS / "node_modules" / "axe-core" / "axe.min.js"
FIND_PROBLEMS = """async () => {
  const { violations } = await axe.run({ resultTypes: ['violations'], elementRef: true })
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes
      .filter(({ element }) => element.isConnected) // editors draw lines anew at any time
      .map(({ target, any }) => `${id}: ${target} ${any[0]?.message}`))
}"""


@pytest.fixture(scope="module")
def axe() -> str:
    installed = install(TOOLS)
    if isinstance(installed, str):
        pytest.skip(installed)
    return AXE.read_text()


@pytest.fixture(scope="module")
def chromium() -> Iterator[browser.Visit]:
    with serve_pages(APP) as url, browser.visit(url) as opened:
        yield opened


@pytest.fixture(params=["light", "dark"])
def seen(chromium: browser.Visit, request: pytest.FixtureRequest) -> browser.Visit:
    chromium.page.emulate_media(color_scheme=request.param, reduced_motion="reduce")
    chromium.page.goto("about:blank")
    return chromium


def problems(page: Page, axe: str) -> dict[int, list[str]]:
    """What axe calls serious or critical, by the width of a phone and of a desk."""
    page.evaluate(axe)
    found = {}
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        serious = page.evaluate(FIND_PROBLEMS)
        if page.evaluate("document.documentElement.scrollWidth") > width:
            serious.append("the page scrolls sideways")
        if serious:
            found[width] = serious
    return found


def test_graphiql_is_accessible(seen: browser.Visit, axe: str) -> None:
    browser.open_graphiql(seen)
    assert problems(seen.page, axe) == {}
    browser.type_key(seen.page, KEY)
    browser.execute_query(seen, "Harbour Court")
    seen.page.locator(".response-bar").get_by_text("Headers").click()
    assert problems(seen.page, axe) == {}


def test_the_page_of_errors_is_accessible(chromium: browser.Visit, axe: str) -> None:
    # It has the browser's own colours; axe takes those of the dark ones for dark on white.
    chromium.page.emulate_media(color_scheme="light")
    chromium.page.set_content(render_errors_page())
    assert problems(chromium.page, axe) == {}


def test_the_reference_is_accessible(seen: browser.Visit, axe: str) -> None:
    browser.open_reference(seen)
    assert problems(seen.page, axe) == {}
    browser.type_key(seen.page, KEY)
    expect(browser.try_units(seen).locator(".live-responses-table")).to_be_visible()
    assert problems(seen.page, axe) == {}
