"""GraphiQL and the page of maps as a developer uses them, in a real Chromium."""

import io
import json
import os
import re
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest
import zxingcpp
from graphql import parse, validate
from PIL import Image
from playwright.sync_api import Page, expect

from gateway import public_endpoints
from resolvers.request.caller import FLAGS
from schema.root import GRAPHQL_SCHEMA
from tests.gateway.pages import browser
from tests.gateway.pages.browser import APARTMENT, MAP, needs_browser
from tests.rest.demo_service import DemoService

pytestmark = pytest.mark.xdist_group("clients")

TASKS = sorted((Path(public_endpoints.__file__).parent / "web" / "tasks").glob("*.graphql"))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.stem)
def test_a_ready_made_operation_is_valid(task: Path) -> None:
    assert validate(GRAPHQL_SCHEMA, parse(task.read_text())) == []


def test_every_ready_made_operation_has_a_tab() -> None:
    script = (TASKS[0].parents[1] / "tasks.js").read_text()
    assert {*re.findall(r"'\./tasks/(.+?)'", script)} == {task.name for task in TASKS}


def test_every_flag_can_be_switched_on() -> None:
    page = (TASKS[0].parents[1] / "graphiql.html").read_text()
    assert re.findall(r'type="checkbox" value="(.+?)"', page) == [*FLAGS]


@pytest.fixture
def graphiql(seen: browser.Visit, demo: DemoService) -> browser.Visit:
    """GraphiQL with the key of the demo, and its records in the tabs."""
    browser.open_graphiql(seen)
    with seen.page.expect_response(lambda each: "query Samples" in (each.request.post_data or "")):
        browser.type_key(seen.page, demo.key)
    browser.expect_key_state(seen, "Key accepted")
    return seen


def open_tab(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()
    expect(page.locator(".graphiql-tab-active")).to_contain_text(name)


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize(
    ("tab", "flags", "awaited"),
    [
        ("UnitsOfAFloor", [], "endCursor"),
        ("NearestGym", ["distances"], "Fitness"),
        ("Assign", ["unit-attributes-resource"], "attributeName"),
    ],
)
def test_a_ready_made_tab_runs_with_records_that_the_key_sees(
    graphiql: browser.Visit, tab: str, flags: list[str], awaited: str
) -> None:
    for flag in flags:
        graphiql.page.get_by_role("checkbox", name=flag).check()
    variables = graphiql.page.locator(".graphiql-editor-tool")
    open_tab(graphiql.page, tab)
    expect(variables).not_to_contain_text('"<')
    browser.execute_query(graphiql, awaited)
    assert graphiql.all_errors() == []


@needs_browser
@pytest.mark.slow
def test_an_invalid_key_is_reported_and_a_valid_one_loads_the_schema(
    seen: browser.Visit, demo: DemoService
) -> None:
    browser.open_graphiql(seen)
    browser.type_key(seen.page, "a-wrong-key")
    browser.expect_key_state(seen, "Invalid authentication credentials")
    browser.type_key(seen.page, demo.key)
    browser.expect_key_state(seen, "Key accepted")
    seen.page.get_by_role("button", name="Show Documentation Explorer").click()
    seen.page.get_by_role("link", name="Query", exact=True).wait_for()


@needs_browser
@pytest.mark.slow
def test_a_link_opens_a_query_and_does_not_run_it(seen: browser.Visit, demo: DemoService) -> None:
    query = "query OneUnit($id: ID!) {\n  unit(id: $id) {\n    name\n  }\n}"
    variables = json.dumps({"id": "ugwo2tfiznm"})
    linked = urlencode({"query": query, "variables": variables}, quote_via=quote)
    for visit in range(2):  # without and with tabs of an earlier visit
        seen.page.goto("about:blank")
        key = "" if visit else f"&key={demo.key}"
        seen.page.goto(f"{demo.url}/graphql#{linked}{key}")
        browser.expect_key_state(seen, "Key accepted")  # the schema is read
        expect(seen.page.locator(".graphiql-tab-active")).to_contain_text("OneUnit")
        expect(seen.page.locator(".graphiql-query-editor")).to_contain_text("unit(id: $id)")
        expect(seen.page.locator(".graphiql-editor-tool")).to_contain_text("ugwo2tfiznm")
        assert seen.page.url == f"{demo.url}/graphql"
        assert not [each for each in seen.requests if "OneUnit" in (each.post_data or "")]
    browser.execute_query(seen, "name")
    assert seen.all_errors() == []


@needs_browser
@pytest.mark.slow
def test_one_click_switches_on_the_flag_that_an_error_names(graphiql: browser.Visit) -> None:
    open_tab(graphiql.page, "Distances")
    expect(graphiql.page.locator(".graphiql-editor-tool")).not_to_contain_text('"<')
    browser.execute_query(graphiql, "FLAG_REQUIRED")
    graphiql.page.get_by_role("button", name="Switch on distances and run again").click()
    expect(graphiql.page.locator(".result-window")).to_contain_text("pathfinding")
    assert graphiql.page.get_by_role("checkbox", name="distances").is_checked()


@needs_browser
@pytest.mark.slow
def test_a_subscription_shows_each_event_until_the_button_stops_it(
    graphiql: browser.Visit, demo: DemoService
) -> None:
    graphiql.page.get_by_role("checkbox", name="changes").check()
    graphiql.page.get_by_role("checkbox", name="unit-attributes-resource").check()
    open_tab(graphiql.page, "Changes")
    bar, response = graphiql.page.locator(".response-bar"), graphiql.page.locator(".result-window")
    with graphiql.page.expect_response(lambda each: "event-stream" in each.headers["content-type"]):
        graphiql.page.get_by_role("button", name="Execute query").click()
    expect(bar).to_contain_text("0 events so far")
    unit = "ugwo2tfiznm"
    assign(demo, unit, "finish-package-modern")
    expect(response).to_contain_text(unit)
    expect(bar).to_contain_text(re.compile(r"[1-9]\d* events? so far"))

    with graphiql.page.expect_event("requestfailed"):  # the page lets go of the stream
        graphiql.page.get_by_role("button", name="Stop query").click()
    expect(graphiql.page.get_by_role("button", name="Execute query")).to_be_visible()
    expect(bar).to_contain_text(re.compile(r"events?, stopped"))
    assert graphiql.all_errors() == []


def assign(demo: DemoService, unit: str, attribute: str) -> None:
    group = "finish-package"
    assignment = {"groupId": group, "attributeId": attribute, "assetId": "alder-court"}
    response = httpx.post(
        f"{demo.url}/graphql",
        json={
            "query": "mutation ($input: AssignUnitAttributesInput!) "
            "{ assignUnitAttributes(input: $input) { assignments { attributeId } } }",
            "variables": {
                "input": {"groupId": group, "assignments": [{**assignment, "unitId": unit}]}
            },
        },
        headers={"API-Key": demo.key, "Experimental-Flags": "unit-attributes-resource"},
        verify=ssl.create_default_context(cafile=demo.certificate),
        timeout=60,
    )
    assert "errors" not in response.json()


@needs_browser
@pytest.mark.slow
def test_an_operation_is_written_run_and_read_with_the_keyboard(graphiql: browser.Visit) -> None:
    keyboard = graphiql.page.keyboard
    editor = graphiql.page.locator(".graphiql-query-editor")
    graphiql.page.get_by_role("checkbox", name="changes").focus()
    press_until(graphiql.page, "Tab", ".graphiql-query-editor .graphiql-editor")
    keyboard.press("Enter")  # into the editor
    keyboard.press("Control+a")
    keyboard.type("{assets{totalCount")  # the editor closes the braces
    expect(editor).to_contain_text("{assets{totalCount}}")
    keyboard.press("Escape")  # the list of suggestions
    keyboard.press("Control+Enter")
    expect(graphiql.page.locator(".result-window")).to_contain_text("totalCount")
    keyboard.press("Control+m")  # in Monaco: Tab moves on, in place of writing a tab
    press_until(graphiql.page, "Tab", ".result-window")
    press_until(graphiql.page, "Tab", ".response-bar summary")
    keyboard.press("Enter")
    bar = graphiql.page.locator(".response-bar")
    expect(bar).to_contain_text("x-request-id")
    assert re.match(r"200\s*\d+ ms\s*[\d.]+ k?B\s*cost \d+", bar.inner_text())


def press_until(page: Page, key: str, selector: str) -> None:
    """Press a key until the focus is in what the selector names."""
    for _ in range(60):
        if page.evaluate("(selector) => !!document.activeElement.closest(selector)", selector):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{key} never came to {selector}")


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("language", ["curl", "Python httpx"])
def test_the_code_of_an_operation_runs(
    graphiql: browser.Visit, demo: DemoService, language: str
) -> None:
    graphiql.page.get_by_role("button", name="Show Code").click()
    graphiql.page.get_by_label("Language").select_option(language)
    code = graphiql.page.locator(".code-export pre").inner_text()
    assert demo.key not in code
    command = ["bash", "-c", code] if language == "curl" else [sys.executable, "-c", code]
    certificate = str(demo.certificate)
    trust = {"CURL_CA_BUNDLE": certificate, "SSL_CERT_FILE": certificate}
    done = subprocess.run(
        command,
        env={**os.environ, **trust, "FLOORGATE_KEY": demo.key},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Alder Court" in done.stdout


ROOT = Path(public_endpoints.__file__).parents[1]


def read_state(page: Page) -> dict[str, Any]:
    """Return what the explorer shows, as soon as it is there."""
    state: dict[str, Any] = page.locator("floorgate-map").evaluate("explorer => explorer.state")
    return state


@pytest.fixture
def listed(seen: browser.Visit, demo: DemoService) -> browser.Visit:
    """The list of maps, with the key of the link that the demo prints."""
    seen.page.goto(f"{demo.url}/maps#key={demo.key}")
    expect(seen.page.get_by_role("link", name="Alder Court")).to_be_visible()
    return seen


@pytest.fixture
def opened(listed: browser.Visit) -> browser.Visit:
    """The explorer with the map of the demo."""
    listed.page.get_by_role("link", name="Alder Court").click()
    expect(listed.page.locator("floorgate-map")).to_be_visible()
    return listed


def change(seen: browser.Visit, part: dict[str, Any]) -> str:
    """Change what the explorer shows as a user does, and return the query of the address."""
    script = "part => { document.querySelector('floorgate-map').change(part) }"
    seen.page.evaluate(script, part)
    search: str = seen.page.evaluate("decodeURIComponent(location.search)")
    return search


@needs_browser
@pytest.mark.slow
def test_without_a_valid_key_the_page_says_what_to_do(
    seen: browser.Visit, demo: DemoService
) -> None:
    seen.page.goto(f"{demo.url}/maps")
    status = seen.page.get_by_role("status").filter(has_text=re.compile("."))
    expect(status.last).to_contain_text("Paste your API key at the top")
    assert seen.all_errors() == []
    browser.type_key(seen.page, "a-wrong-key")
    browser.expect_key_state(seen, "Invalid authentication credentials")
    expect(seen.page.locator(".maps")).to_contain_text("Invalid authentication credentials")
    browser.type_key(seen.page, demo.key)
    browser.expect_key_state(seen, "Key accepted")
    expect(seen.page.get_by_role("link", name="Alder Court")).to_contain_text("drawing · routes")


@needs_browser
@pytest.mark.slow
def test_a_map_is_found_and_opened_with_the_keyboard(listed: browser.Visit) -> None:
    page = listed.page
    search = page.get_by_role("searchbox", name="Search maps")
    search.fill("no such map")
    expect(page.locator(".maps")).to_contain_text("No map has this name.")
    search.fill("FLOOR alder")
    expect(page.locator(".maps")).to_contain_text("1 map")
    search.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("floorgate-map")).to_be_visible()
    assert page.evaluate("location.search") == f"?map={MAP}"
    page.go_back()
    expect(page.get_by_role("link", name="Alder Court")).to_be_visible()
    page.go_forward()
    expect(page.locator("floorgate-map")).to_be_visible()
    assert listed.all_errors() == []


STATES: list[tuple[str, dict[str, Any]]] = [
    (f"?map={MAP}&floor=alder-court-floor-2&unit={APARTMENT}", {"unit": APARTMENT}),
    (
        "?map=m&from=unit:a:b&to=-1.5,20,floor,1&mode=wheelchair&avoid=stairs,outdoors&theme=dark",
        {
            "from": {"unit": "a:b"},
            "to": {"x": -1.5, "y": 20, "floor": "floor,1"},
            "mode": "wheelchair",
            "avoid": ["stairs", "outdoors"],
            "theme": "dark",
        },
    ),
    ("?map=a%26b%20c&tags=amenity%3D%3Dgym", {"map": "a&b c", "tags": "amenity==gym"}),
    ("?map=m&mode=car&avoid=cars&theme=pink&minutes=-1&floor=", {"mode": "foot", "avoid": []}),
]


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize(("search", "expected"), STATES)
def test_a_link_shows_what_it_was_made_of(
    seen: browser.Visit, demo: DemoService, search: str, expected: dict[str, Any]
) -> None:
    seen.page.goto(f"{demo.url}/maps{search}")  # without a key nothing is read
    state = read_state(seen.page)
    assert {name: state.get(name) for name in expected} == expected
    change(seen, {})
    seen.page.reload()
    assert read_state(seen.page) == state
    assert seen.page.evaluate("history.length") == 2  # about:blank and this page


@needs_browser
@pytest.mark.slow
def test_the_back_button_goes_from_selection_to_selection(opened: browser.Visit) -> None:
    page = opened.page
    assert change(opened, {"unit": APARTMENT}) == f"?map={MAP}&unit={APARTMENT}"
    change(opened, {"floor": "alder-court-floor-3"})
    change(opened, {"theme": "dark"})
    search = change(opened, {"to": {"location": "gym"}})
    assert search == f"?map={MAP}&floor=alder-court-floor-3&unit={APARTMENT}&to=gym&theme=dark"
    page.go_back()
    page.wait_for_url("**theme=dark")
    state = read_state(page)
    assert (state["unit"], state["floor"], state.get("to")) == (
        APARTMENT,
        "alder-court-floor-3",
        None,
    )
    page.go_back()
    page.wait_for_url(f"**/maps?map={MAP}")
    assert read_state(page).get("unit") is None
    page.go_forward()
    page.go_forward()
    page.wait_for_url("**to=gym**")
    assert read_state(page)["to"] == {"location": "gym"}


@needs_browser
@pytest.mark.slow
def test_the_qr_codes_hold_the_link_and_not_the_key(
    opened: browser.Visit, demo: DemoService
) -> None:
    page = opened.page
    change(opened, {"unit": APARTMENT, "mode": "wheelchair"})
    address = f"{demo.url}/maps?map={MAP}&unit={APARTMENT}&mode=wheelchair"
    page.get_by_role("button", name="Share").click()
    dialog = page.get_by_role("dialog", name="Share what you see")
    expect(dialog.get_by_label("Link", exact=True)).to_have_value(address)
    picture = dialog.get_by_role("img", name="QR code of the link").screenshot()
    assert read_qr(picture) == address
    with page.expect_download() as download:
        dialog.get_by_role("button", name="QR code as PNG").click()
    assert read_qr(download.value.path().read_bytes()) == address
    with page.expect_download() as download:
        dialog.get_by_role("button", name="QR code as SVG").click()
    svg = download.value.path().read_text()
    assert svg.startswith("<svg") and demo.key not in svg
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dialog.get_by_role("button", name="Copy link").click()
    expect(dialog).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == address
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert opened.all_errors() == []


def read_qr(picture: bytes) -> str:
    [code] = zxingcpp.read_barcodes(Image.open(io.BytesIO(picture)).convert("L"))
    return code.text


@needs_browser
@pytest.mark.slow
def test_the_title_of_the_page_names_the_map(opened: browser.Visit) -> None:
    expect(opened.page).to_have_title("Floor plates · Floorgate · Maps")
    opened.page.go_back()
    expect(opened.page).to_have_title("Floorgate · Maps")


def test_the_page_has_the_packages_of_the_component_in_the_same_versions() -> None:
    component = read_json("clients/map/package.json")
    page = read_json("gateway/web/package.json")
    tools = {"typescript"}
    ours = component["dependencies"] | component["devDependencies"]
    pins = {
        name: version
        for name, version in ours.items()
        if name not in tools and not name.startswith("@types/")
    }
    assert pins.items() <= page["dependencies"].items()
    locked = [read_json(f"{folder}/package-lock.json") for folder in ("clients/map", "gateway/web")]
    for name in pins:
        component_entry, page_entry = (lock["packages"][f"node_modules/{name}"] for lock in locked)
        assert component_entry["integrity"] == page_entry["integrity"]


def read_json(path: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((ROOT / path).read_text())
    return read
