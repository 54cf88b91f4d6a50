"""The page of the map explorer: its list, its links and what it shares, in a real Chromium."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
import zxingcpp
from PIL import Image
from playwright.sync_api import expect

from gateway import public_endpoints
from tests.gateway.pages import browser
from tests.gateway.pages.browser import needs_browser
from tests.gateway.pages.explorer import APARTMENT, MAP
from tests.rest.demo_service import DemoService

pytestmark = pytest.mark.xdist_group("clients")

ROOT = Path(public_endpoints.__file__).parents[1]
SHOWN_STATE = "document.querySelector('floorgate-map').state"


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
    state = seen.page.evaluate(SHOWN_STATE)
    assert {name: state.get(name) for name in expected} == expected
    change(seen, {})
    seen.page.reload()
    assert seen.page.evaluate(SHOWN_STATE) == state
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
    state = page.evaluate(SHOWN_STATE)
    assert (state["unit"], state["floor"], state.get("to")) == (
        APARTMENT,
        "alder-court-floor-3",
        None,
    )
    page.go_back()
    page.wait_for_url(f"**/maps?map={MAP}")
    assert page.evaluate(SHOWN_STATE).get("unit") is None
    page.go_forward()
    page.go_forward()
    page.wait_for_url("**to=gym**")
    assert page.evaluate(SHOWN_STATE)["to"] == {"location": "gym"}


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
