"""The button "Explain" of both pages shows how the service carries out a request."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from gateway import browser_pages
from tests.gateway.pages import browser
from tests.gateway.pages.test_accessibility import axe, problems
from tests.rest.demo_service import DemoService, demo_service

__all__ = ["axe"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("page-explanations"),
    pytest.mark.skipif(
        not browser_pages.DIST_DIR.exists() or not browser.CHROMIUM,
        reason="gateway/web/dist is not built (make setup), or no Chromium (apt install chromium)",
    ),
]


@pytest.fixture(scope="module")
def service(mongo_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoService]:
    with demo_service(mongo_url, tmp_path_factory.mktemp("explain")) as running:
        yield running


@pytest.fixture(scope="module")
def chromium(service: DemoService) -> Iterator[browser.Visit]:
    with browser.visit(service.url) as opened:
        yield opened


@pytest.fixture(params=["light", "dark"])
def seen(chromium: browser.Visit, request: pytest.FixtureRequest) -> browser.Visit:
    chromium.page.emulate_media(color_scheme=request.param, reduced_motion="reduce")
    chromium.page.set_viewport_size({"width": 1280, "height": 800})
    return chromium


def explain(page: Page) -> Locator:
    button = page.get_by_role("button", name="Explain", exact=True)
    button.focus()
    button.press("Enter")
    dialog = page.get_by_role("dialog", name="Explanation")
    expect(dialog).to_be_visible()
    return dialog


def test_graphiql_explains_the_operation_of_the_tab(
    seen: browser.Visit, service: DemoService, axe: str
) -> None:
    browser.open_graphiql(seen)
    browser.type_key(seen.page, service.key)
    browser.expect_key_state(seen, "Key accepted")
    seen.page.get_by_role("button", name="Units", exact=True).click()
    dialog = explain(seen.page)
    expect(dialog).to_contain_text("query Units")
    expect(dialog.get_by_role("table", name="MongoDB commands")).to_contain_text("IXSCAN asset_id")
    expect(dialog).to_contain_text("The key is limited to assets, so values")
    dialog.get_by_text("As JSON").press("Enter")
    expect(dialog).to_contain_text('"requirements"')
    assert problems(seen.page, axe) == {}
    seen.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

    seen.page.get_by_role("button", name="NearestGym", exact=True).click()
    dialog = explain(seen.page)
    requirements = dialog.get_by_role("table", name="Requirements")
    expect(requirements).to_contain_text("flag distances, permission service.distances.calculate")
    expect(requirements).to_contain_text("not met")
    assert problems(seen.page, axe) == {}
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
    assert seen.all_errors() == []


def test_the_reference_explains_the_request_that_was_executed(
    seen: browser.Visit, service: DemoService, axe: str
) -> None:
    browser.open_reference(seen)
    browser.type_key(seen.page, service.key)
    expect(browser.try_units(seen).locator(".live-responses-table")).to_be_visible()
    dialog = explain(seen.page)
    expect(dialog).to_contain_text("GET /v1/units")
    expect(dialog).to_contain_text("query ListUnits")
    expect(dialog).to_contain_text("IXSCAN asset_id")
    assert problems(seen.page, axe) == {}
    dialog.get_by_role("button", name="Close").click()
    assert seen.all_errors() == []


def test_a_key_without_the_permission_is_told(chromium: browser.Visit) -> None:
    page, message = chromium.page, "Permission required: service.requests.explain"
    browser.open_graphiql(chromium)
    page.route(
        "**/graphql",
        lambda route: route.fulfill(status=200, json={"errors": [{"message": message}]}),
    )
    browser.type_key(page, "fgk_of_a_website")
    expect(explain(page).get_by_role("alert")).to_have_text(message)
    page.unroute("**/graphql")
