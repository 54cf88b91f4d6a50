"""GraphiQL as a developer uses it, in a real Chromium on the demo property."""

import json
import os
import re
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from graphql import parse, validate
from playwright.sync_api import Page, Response, Route, expect

from gateway import browser_pages
from resolvers.request.caller import FLAGS
from schema.root import GRAPHQL_SCHEMA
from tests.gateway.pages import browser
from tests.rest.demo_service import DemoService, demo_service

TASKS = sorted((Path(browser_pages.__file__).parent / "web" / "tasks").glob("*.graphql"))
needs_browser = pytest.mark.skipif(
    not browser_pages.DIST_DIR.exists() or not browser.CHROMIUM,
    reason="gateway/web/dist is not built (make setup), or no Chromium (apt install chromium)",
)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.stem)
def test_a_ready_made_operation_is_valid(task: Path) -> None:
    assert validate(GRAPHQL_SCHEMA, parse(task.read_text())) == []


def test_every_ready_made_operation_has_a_tab() -> None:
    script = (TASKS[0].parents[1] / "tasks.js").read_text()
    assert {*re.findall(r"'\./tasks/(.+?)'", script)} == {task.name for task in TASKS}


def test_every_flag_can_be_switched_on() -> None:
    page = (TASKS[0].parents[1] / "graphiql.html").read_text()
    assert re.findall(r'type="checkbox" value="(.+?)"', page) == [*FLAGS]


@pytest.fixture(scope="module")
def service(mongo_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoService]:
    with demo_service(mongo_url, tmp_path_factory.mktemp("graphiql")) as running:
        yield running


@pytest.fixture
def seen(service: DemoService) -> Iterator[browser.Visit]:
    with browser.visit(service.url) as opened:
        browser.open_graphiql(opened)
        with opened.page.expect_response(is_samples):  # they are put into the tabs
            browser.type_key(opened.page, service.key)
        browser.expect_key_state(opened, "Key accepted")
        yield opened


def is_samples(response: Response) -> bool:
    return "query Samples" in (response.request.post_data or "")


def open_tab(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()
    expect(page.locator(".graphiql-tab-active")).to_contain_text(name)


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize(
    ("tab", "flags", "awaited"),
    [
        ("Units", [], "Alder Court"),
        ("UnitsOfAFloor", [], "endCursor"),
        ("NearestGym", ["distances"], "Fitness"),
        ("Distances", ["distances"], "pathfinding"),
        ("Assign", ["unit-attributes-resource"], "attributeName"),
    ],
)
def test_a_ready_made_tab_runs_with_records_that_the_key_sees(
    seen: browser.Visit, tab: str, flags: list[str], awaited: str
) -> None:
    for flag in flags:
        seen.page.get_by_role("checkbox", name=flag).check()
    variables = seen.page.locator(".graphiql-editor-tool")
    open_tab(seen.page, tab)
    expect(variables).not_to_contain_text('"<')
    browser.execute_query(seen, awaited)
    assert seen.all_errors() == []


@needs_browser
@pytest.mark.slow
def test_a_tab_that_is_opened_before_its_records_are_known_stays_open(service: DemoService) -> None:
    held: list[Route] = []

    def hold_samples(route: Route) -> None:
        is_held = "query Samples" in (route.request.post_data or "")
        held.append(route) if is_held else route.continue_()

    with browser.visit(service.url) as opened:
        opened.page.route("**/graphql", hold_samples)
        browser.open_graphiql(opened)
        browser.type_key(opened.page, service.key)
        browser.expect_key_state(opened, "Key accepted")
        open_tab(opened.page, "Distances")
        [route] = held
        with opened.page.expect_response(is_samples):
            route.continue_()
        expect(opened.page.locator(".graphiql-editor-tool")).not_to_contain_text('"<')
        expect(opened.page.locator(".graphiql-tab-active")).to_contain_text("Distances")


@needs_browser
@pytest.mark.slow
def test_one_click_switches_on_the_flag_that_an_error_names(seen: browser.Visit) -> None:
    open_tab(seen.page, "Distances")
    expect(seen.page.locator(".graphiql-editor-tool")).not_to_contain_text('"<')
    browser.execute_query(seen, "FLAG_REQUIRED")
    seen.page.get_by_role("button", name="Switch on distances and run again").click()
    expect(seen.page.locator(".result-window")).to_contain_text("pathfinding")
    assert seen.page.get_by_role("checkbox", name="distances").is_checked()


@needs_browser
@pytest.mark.slow
def test_the_flag_is_read_from_the_error_not_from_its_wording(seen: browser.Visit) -> None:
    extensions = {"code": "FLAG_REQUIRED", "flag": "distances"}
    refusal = {"errors": [{"message": "Not switched on.", "extensions": extensions}]}
    seen.page.route("**/graphql", lambda route: route.fulfill(status=400, json=refusal))
    open_tab(seen.page, "Units")
    browser.execute_query(seen, "Not switched on")
    button = seen.page.locator(".response-bar").get_by_role("button", name="and run again")
    expect(button).to_have_text("Switch on distances and run again")


@needs_browser
@pytest.mark.slow
def test_a_subscription_shows_each_event_until_the_button_stops_it(
    seen: browser.Visit, service: DemoService
) -> None:
    seen.page.get_by_role("checkbox", name="changes").check()
    seen.page.get_by_role("checkbox", name="unit-attributes-resource").check()
    open_tab(seen.page, "Changes")
    bar, response = seen.page.locator(".response-bar"), seen.page.locator(".result-window")
    with seen.page.expect_response(lambda each: "event-stream" in each.headers["content-type"]):
        seen.page.get_by_role("button", name="Execute query").click()
    expect(bar).to_contain_text("0 events so far")
    unit = "ugwo2tfiznm"
    assign(service, unit, "finish-package-modern")
    expect(response).to_contain_text(unit)
    expect(bar).to_contain_text(re.compile(r"[1-9]\d* events? so far"))

    with seen.page.expect_event("requestfailed"):  # the page lets go of the stream
        seen.page.get_by_role("button", name="Stop query").click()
    expect(seen.page.get_by_role("button", name="Execute query")).to_be_visible()
    expect(bar).to_contain_text(re.compile(r"events?, stopped"))
    assert seen.all_errors() == []


def assign(service: DemoService, unit: str, attribute: str) -> None:
    group = "finish-package"
    assignment = {"groupId": group, "attributeId": attribute, "assetId": "alder-court"}
    response = httpx.post(
        f"{service.url}/graphql",
        json={
            "query": "mutation ($input: AssignUnitAttributesInput!) "
            "{ assignUnitAttributes(input: $input) { assignments { attributeId } } }",
            "variables": {
                "input": {"groupId": group, "assignments": [{**assignment, "unitId": unit}]}
            },
        },
        headers={"API-Key": service.key, "Experimental-Flags": "unit-attributes-resource"},
        verify=ssl.create_default_context(cafile=service.certificate),
        timeout=60,
    )
    assert "errors" not in response.json()


@needs_browser
@pytest.mark.slow
def test_one_click_switches_on_the_flag_of_a_subscription(seen: browser.Visit) -> None:
    open_tab(seen.page, "Changes")
    browser.execute_query(seen, "FLAG_REQUIRED")
    seen.page.get_by_role("button", name="Switch on changes and run again").click()
    expect(seen.page.locator(".response-bar")).to_contain_text("0 events so far")
    assert seen.page.get_by_role("checkbox", name="changes").is_checked()


@needs_browser
@pytest.mark.slow
def test_a_service_of_registered_documents_says_so(seen: browser.Visit) -> None:
    extensions = {"code": "DOCUMENT_NOT_TRUSTED"}
    refusal = {"errors": [{"message": "not registered", "extensions": extensions}]}
    seen.page.route("**/graphql", lambda route: route.fulfill(status=403, json=refusal))
    for tab in ("Units", "Changes"):
        open_tab(seen.page, tab)
        browser.execute_query(seen, "registered")
        expect(seen.page.locator(".response-bar")).to_contain_text("only documents that its")
        browser.expect_key_state(seen, "Key accepted")


@needs_browser
@pytest.mark.slow
def test_an_operation_is_written_run_and_read_with_the_keyboard(seen: browser.Visit) -> None:
    keyboard = seen.page.keyboard
    editor = seen.page.locator(".graphiql-query-editor")
    seen.page.get_by_role("checkbox", name="changes").focus()
    press_until(seen.page, "Tab", ".graphiql-query-editor .graphiql-editor")
    keyboard.press("Enter")  # into the editor
    keyboard.press("Control+a")
    keyboard.type("{assets{totalCount")  # the editor closes the braces
    expect(editor).to_contain_text("{assets{totalCount}}")
    keyboard.press("Escape")  # the list of suggestions
    keyboard.press("Control+Enter")
    expect(seen.page.locator(".result-window")).to_contain_text("totalCount")
    keyboard.press("Control+m")  # in Monaco: Tab moves on, in place of writing a tab
    press_until(seen.page, "Tab", ".result-window")
    press_until(seen.page, "Tab", ".response-bar summary")
    keyboard.press("Enter")
    expect(seen.page.locator(".response-bar")).to_contain_text("x-request-id")


def press_until(page: Page, key: str, selector: str) -> None:
    """Press a key until the focus is in what the selector names."""
    for _ in range(60):
        if page.evaluate("(selector) => !!document.activeElement.closest(selector)", selector):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{key} never came to {selector}")


@needs_browser
@pytest.mark.slow
def test_below_a_response_are_its_status_time_size_cost_and_headers(seen: browser.Visit) -> None:
    browser.execute_query(seen, "Alder Court")
    bar = seen.page.locator(".response-bar")
    assert re.match(r"200\s*\d+ ms\s*[\d.]+ k?B\s*cost \d+", bar.inner_text())
    bar.get_by_text("Headers").click()
    expect(bar).to_contain_text("x-request-id")


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("language", ["curl", "Python httpx"])
def test_the_code_of_an_operation_runs(
    seen: browser.Visit, service: DemoService, language: str
) -> None:
    seen.page.get_by_role("button", name="Show Code").click()
    seen.page.get_by_label("Language").select_option(language)
    code = seen.page.locator(".code-export pre").inner_text()
    assert service.key not in code
    command = ["bash", "-c", code] if language == "curl" else [sys.executable, "-c", code]
    certificate = str(service.certificate)
    trust = {"CURL_CA_BUNDLE": certificate, "SSL_CERT_FILE": certificate}
    done = subprocess.run(
        command,
        env={**os.environ, **trust, "FLOORGATE_KEY": service.key},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Alder Court" in done.stdout


@needs_browser
@pytest.mark.slow
def test_code_for_browsers_has_the_operation_the_variables_and_the_flags(
    seen: browser.Visit, service: DemoService
) -> None:
    seen.page.get_by_role("checkbox", name="references").check()
    open_tab(seen.page, "UnitsOfAFloor")
    expect(seen.page.locator(".graphiql-editor-tool")).not_to_contain_text('"<')
    seen.page.get_by_role("button", name="Show Code").click()
    for language, call in (("fetch", "await fetch("), ("Apollo Client", "client.query(")):
        seen.page.get_by_label("Language").select_option(language)
        code = seen.page.locator(".code-export pre").inner_text()
        assert call in code
        assert f"'Experimental-Flags': {json.dumps('references')}" in code
        assert '"floor": "alder-court-floor-1"' in code


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("path", ["/graphql", "/v1/openapi"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_is_as_wide_as_the_window(service: DemoService, path: str, width: int) -> None:
    with browser.visit(service.url) as opened:
        opened.page.set_viewport_size({"width": width, "height": 800})
        opened.page.goto(service.url + path)
        browser.type_key(opened.page, service.key)
        expect(opened.page.locator("#page")).to_contain_text(re.compile("Units|Assets"))
        opened.page.wait_for_function(
            "width => document.documentElement.scrollWidth === width", arg=width
        )
