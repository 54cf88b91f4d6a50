"""The page of the map explorer, in a real Chromium on the demo property."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import zxingcpp
from PIL import Image
from playwright.sync_api import Browser, expect

from gateway import browser_pages
from tests.gateway.pages import browser, test_accessibility
from tests.rest.demo_service import DemoService, demo_service

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("maps-page")]
needs_browser = pytest.mark.skipif(
    not browser_pages.DIST_DIR.exists() or not browser.CHROMIUM,
    reason="gateway/web/dist is not built (make setup), or no Chromium (apt install chromium)",
)

ROOT = Path(browser_pages.__file__).parents[1]
MAP = "alder-court-floor-plates"
UNIT = "ugwo2tfiznm"
KEY_FIELD = "#key"
SHOWN_STATE = "document.querySelector('floorgate-map').state"
axe = test_accessibility.axe


@pytest.fixture(scope="module")
def service(mongo_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoService]:
    with demo_service(mongo_url, tmp_path_factory.mktemp("maps")) as running:
        yield running


@pytest.fixture
def seen(chromium: Browser, service: DemoService) -> Iterator[browser.Visit]:
    with browser.open_page(chromium, service.url) as opened:
        yield opened


@pytest.fixture
def listed(seen: browser.Visit, service: DemoService) -> browser.Visit:
    """The list of maps, with the key of the link that the demo prints."""
    seen.page.goto(f"{service.url}/maps#key={service.key}")
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
@pytest.mark.parametrize(
    ("path", "shows"),
    [("/maps", "Alder Court"), ("/graphql", "GraphiQL"), ("/v1/openapi", "Units")],
)
def test_the_key_of_a_link_is_used_and_leaves_the_address_at_once(
    seen: browser.Visit, service: DemoService, path: str, shows: str
) -> None:
    seen.page.goto(f"{service.url}{path}#key={service.key}")
    expect(seen.page.locator(KEY_FIELD)).to_have_value(service.key)
    expect(seen.page.locator("body")).to_contain_text(shows)
    assert seen.page.url == service.url + path
    kept = "JSON.stringify(localStorage) + JSON.stringify(history.state) + location.href"
    assert service.key not in seen.page.evaluate(kept)
    assert not [request.url for request in seen.requests if service.key in request.url]
    seen.page.reload()
    expect(seen.page.locator(KEY_FIELD)).to_have_value(service.key)
    assert seen.all_errors() == []


@needs_browser
def test_a_link_pasted_into_an_open_tab_changes_the_key(
    seen: browser.Visit, service: DemoService
) -> None:
    seen.page.goto(f"{service.url}/maps")
    seen.page.evaluate(f"location.hash = 'key={service.key}'")
    expect(seen.page.get_by_role("link", name="Alder Court")).to_be_visible()
    assert seen.page.url == f"{service.url}/maps"


@needs_browser
def test_without_a_valid_key_the_page_says_what_to_do(
    seen: browser.Visit, service: DemoService
) -> None:
    seen.page.goto(f"{service.url}/maps")
    status = seen.page.get_by_role("status").filter(has_text=re.compile("."))
    expect(status.last).to_contain_text("Paste your API key at the top")
    assert seen.all_errors() == []
    browser.type_key(seen.page, "a-wrong-key")
    browser.expect_key_state(seen, "Invalid authentication credentials")
    expect(seen.page.locator(".maps")).to_contain_text("Invalid authentication credentials")
    browser.type_key(seen.page, service.key)
    browser.expect_key_state(seen, "Key accepted")
    expect(seen.page.get_by_role("link", name="Alder Court")).to_contain_text("drawing · routes")


@needs_browser
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
    (f"?map={MAP}&floor=alder-court-floor-2&unit={UNIT}", {"unit": UNIT}),
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
    ("?map=m&location=gym&from=1,2&minutes=4.5&color=view", {"from": {"location": "1,2"}}),
    ("?map=a%26b%20c&tags=amenity%3D%3Dgym", {"map": "a&b c", "tags": "amenity==gym"}),
    ("?map=m&mode=car&avoid=cars&theme=pink&minutes=-1&floor=", {"mode": "foot", "avoid": []}),
]


@needs_browser
@pytest.mark.parametrize(("search", "expected"), STATES)
def test_a_link_shows_what_it_was_made_of(
    seen: browser.Visit, service: DemoService, search: str, expected: dict[str, Any]
) -> None:
    seen.page.goto(f"{service.url}/maps{search}")  # without a key nothing is read
    state = seen.page.evaluate(SHOWN_STATE)
    assert {name: state.get(name) for name in expected} == expected
    change(seen, {})
    seen.page.reload()
    assert seen.page.evaluate(SHOWN_STATE) == state
    assert seen.page.evaluate("history.length") == 2  # about:blank and this page


@needs_browser
def test_the_back_button_goes_from_selection_to_selection(opened: browser.Visit) -> None:
    page = opened.page
    assert change(opened, {"unit": UNIT}) == f"?map={MAP}&unit={UNIT}"
    change(opened, {"floor": "alder-court-floor-3"})
    change(opened, {"theme": "dark"})
    search = change(opened, {"to": {"location": "gym"}})
    assert search == f"?map={MAP}&floor=alder-court-floor-3&unit={UNIT}&to=gym&theme=dark"
    page.go_back()
    page.wait_for_url("**theme=dark")
    state = page.evaluate(SHOWN_STATE)
    assert (state["unit"], state["floor"], state.get("to")) == (UNIT, "alder-court-floor-3", None)
    page.go_back()
    page.wait_for_url(f"**/maps?map={MAP}")
    assert page.evaluate(SHOWN_STATE).get("unit") is None
    page.go_forward()
    page.go_forward()
    page.wait_for_url("**to=gym**")
    assert page.evaluate(SHOWN_STATE)["to"] == {"location": "gym"}


@needs_browser
def test_the_qr_codes_hold_the_link_and_not_the_key(
    opened: browser.Visit, service: DemoService
) -> None:
    page = opened.page
    change(opened, {"unit": UNIT, "mode": "wheelchair"})
    address = f"{service.url}/maps?map={MAP}&unit={UNIT}&mode=wheelchair"
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
    assert svg.startswith("<svg") and service.key not in svg
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
def test_a_picture_is_asked_for_with_the_key_and_saved(
    opened: browser.Visit, service: DemoService
) -> None:
    page = opened.page
    page.route("**/picture?*", lambda route: route.fulfill(body="<svg/>"))
    floor = "alder-court-floor-1"
    change(opened, {"floor": floor, "from": {"unit": UNIT}, "to": {"location": "gym"}})
    page.get_by_role("button", name="Share").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Picture as SVG").click()
    assert download.value.suggested_filename == f"{MAP}.svg"
    [request] = [each for each in opened.requests if "/picture?" in each.url]
    query = f"level={floor}&from=unit%3A{UNIT}&to=gym&format=svg"
    assert request.url == f"{service.url}/v1/maps/{MAP}/picture?{query}"
    assert request.headers["api-key"] == service.key

    refusal = {"message": "No permission"}
    page.unroute("**/picture?*")
    page.route("**/picture?*", lambda route: route.fulfill(status=403, json=refusal))
    page.get_by_role("button", name="Picture as PNG").click()
    expect(page.get_by_role("dialog")).to_contain_text("No permission")


@needs_browser
def test_paper_has_the_map_without_the_controls_of_the_page(opened: browser.Visit) -> None:
    opened.page.emulate_media(media="print")
    expect(opened.page.locator(".bar")).to_be_hidden()
    expect(opened.page.locator("floorgate-map")).to_be_visible()
    expect(opened.page.get_by_text("Alder Court · Floor plates · Ground floor")).to_be_visible()


@needs_browser
@pytest.mark.parametrize(
    ("part", "link"),
    [("As GraphQL", "Open in GraphiQL"), ("As JSON", "Open in the API reference")],
)
def test_links_of_a_card_open_with_the_key(
    opened: browser.Visit, service: DemoService, part: str, link: str
) -> None:
    change(opened, {"unit": UNIT})
    opened.page.get_by_text(part).click()
    with opened.page.expect_popup() as popup:
        opened.page.get_by_role("link", name=link).click()
    expect(popup.value.locator(KEY_FIELD)).to_have_value(service.key)


@needs_browser
def test_the_title_of_the_page_names_the_map(opened: browser.Visit) -> None:
    expect(opened.page).to_have_title("Floor plates · Floorgate · Maps")
    opened.page.go_back()
    expect(opened.page).to_have_title("Floorgate · Maps")


@needs_browser
@pytest.mark.parametrize(("width", "height"), [(390, 844), (1080, 1920), (1280, 800)])
def test_the_explorer_fills_the_window(opened: browser.Visit, width: int, height: int) -> None:
    opened.page.set_viewport_size({"width": width, "height": height})
    box = opened.page.locator("floorgate-map").bounding_box()
    assert box is not None
    assert (box["x"], box["width"], box["y"] + box["height"]) == (0, width, height)
    assert box["height"] > 0.75 * height
    scrolled = "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    assert opened.page.evaluate(scrolled) == [width, height]


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_list_and_the_dialog_are_accessible(
    listed: browser.Visit, axe: str, scheme: str
) -> None:
    listed.page.emulate_media(
        color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce"
    )
    assert test_accessibility.problems(listed.page, axe) == {}
    listed.page.get_by_role("link", name="Alder Court").click()
    listed.page.get_by_role("button", name="Share").click()
    assert test_accessibility.problems(listed.page, axe) == {}


@needs_browser
def test_a_link_opens_a_query_in_graphiql_and_does_not_run_it(
    seen: browser.Visit, service: DemoService
) -> None:
    query = "query OneUnit($id: ID!) {\n  unit(id: $id) {\n    name\n  }\n}"
    linked = urlencode({"query": query, "variables": json.dumps({"id": UNIT})}, quote_via=quote)
    for visit in range(2):  # without and with tabs of an earlier visit
        seen.page.goto("about:blank")
        key = "" if visit else f"&key={service.key}"
        seen.page.goto(f"{service.url}/graphql#{linked}{key}")
        browser.expect_key_state(seen, "Key accepted")  # the schema is read
        expect(seen.page.locator(".graphiql-tab-active")).to_contain_text("OneUnit")
        expect(seen.page.locator(".graphiql-query-editor")).to_contain_text("unit(id: $id)")
        expect(seen.page.locator(".graphiql-editor-tool")).to_contain_text(UNIT)
        assert seen.page.url == f"{service.url}/graphql"
        assert not [each for each in seen.requests if "OneUnit" in (each.post_data or "")]
    browser.execute_query(seen, "name")
    assert seen.all_errors() == []


@needs_browser
@pytest.mark.parametrize(
    ("anchor", "path"),
    [
        ("Units/getUnit", "/v1/units/{unit}"),
        ("Unit%20attributes/listAttributeGroups", "/v1/units/attribute-groups"),
    ],
)
def test_a_link_opens_an_operation_of_the_reference(
    seen: browser.Visit, service: DemoService, anchor: str, path: str
) -> None:
    seen.page.goto(f"{service.url}/v1/openapi#/{anchor}")
    operation = seen.page.locator(".opblock.is-open")
    expect(operation).to_have_count(1)
    expect(operation.locator(".opblock-summary-path")).to_have_attribute("data-path", path)


def test_the_page_has_the_packages_of_the_component_in_the_same_versions() -> None:
    component = read_json("clients/map/package.json")
    page = read_json("gateway/web/package.json")
    client = read_json("clients/typescript/package.json")
    tools = {"typescript"}
    ours = component["dependencies"] | component["devDependencies"] | client["dependencies"]
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
