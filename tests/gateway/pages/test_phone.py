"""What a resident does in the map explorer with a phone, at a sign with a QR code."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, expect

from tests.gateway.pages import browser
from tests.gateway.pages.browser import APARTMENT, GYM, MAP, Explorer, create_key
from tests.gateway.pages.test_accessibility import AXE, FIND_PROBLEMS, TOOLS
from tests.rest.packages import install

pytestmark = [pytest.mark.xdist_group("clients"), browser.needs_browser]

LOBBY = "lqzelqyebp4"
THUMB_PIXELS = 44
FIND_SMALL = """(map, least) => [...map.shadowRoot.querySelectorAll('.sheet button:not(.handle)')]
  .filter((button) => button.checkVisibility())
  .map((button) => [button.textContent.trim() || button.ariaLabel, button.getBoundingClientRect()])
  .filter(([, { width, height }]) => Math.min(width, height) < least)
  .map(([name]) => name)"""


@pytest.fixture
def phone(explorer: Explorer) -> Explorer:
    explorer.page.set_viewport_size({"width": 390, "height": 844})
    return explorer


def sheet(explorer: Explorer) -> Locator:
    return explorer.map.locator(".sheet")


def expect_in_sight(part: Locator) -> None:
    """The whole part is on the screen, and nothing is over it."""
    expect(part).to_be_in_viewport(ratio=1)
    part.click(trial=True)  # waits until the part stands still and a tap would reach it


@pytest.mark.parametrize(("width", "height"), [(390, 844), (360, 640), (844, 390)])
def test_a_resident_finds_the_gym_from_a_sign_without_scrolling(
    explorer: Explorer, width: int, height: int
) -> None:
    page = explorer.page
    page.set_viewport_size({"width": width, "height": height})
    explorer.open_map(map=MAP, here=LOBBY)
    expect_in_sight(page.get_by_text("You are here: Lobby"))
    expect_in_sight(page.get_by_text("Alder Court Ground floor"))
    expect_in_sight(explorer.map.locator(".marker.here"))
    gym = page.get_by_role("group", name="Suggestions").get_by_role("button", name="Fitness centre")
    expect_in_sight(gym)
    gym.click()
    expect_in_sight(page.get_by_role("status").filter(has_text=re.compile("sec.* on foot$")))
    expect_in_sight(explorer.map.locator(".next"))
    expect_in_sight(explorer.button("Destination: Fitness centre"))
    expect_in_sight(page.get_by_role("listitem").filter(has_text=re.compile("^Walk ")).first)
    assert explorer.map.locator(".panel").evaluate("panel => panel.scrollTop") == 0
    state = explorer.state()
    assert (state["here"], state["to"]) == ({"location": LOBBY}, {"location": GYM})
    assert "from" not in state
    assert explorer.map.evaluate(FIND_SMALL, THUMB_PIXELS) == []


def test_a_sign_of_no_place_says_so_and_the_map_works(phone: Explorer) -> None:
    phone.refusals.append("422")  # what is near is asked for before the places are read
    phone.open_map(map=MAP, here="nowhere")
    expect_in_sight(phone.page.get_by_text("The place of this sign is not on the map."))
    phone.choose("From", "lobby")
    phone.choose("To", "fitness")
    expect(phone.page.get_by_text(re.compile("sec.* on foot$"))).to_be_visible()


@pytest.mark.slow
def test_the_sheet_is_dragged_to_three_heights_and_set_with_keys(phone: Explorer) -> None:
    phone.open_map(map=MAP, here=LOBBY, to=GYM)
    expect(phone.map.locator(".next")).to_be_visible()
    page, handle = phone.page, phone.button(re.compile("of the panel$"))
    for pixels, height in ((-280, "full"), (640, "peek")):
        drag(handle, pixels)
        expect(sheet(phone)).to_have_attribute("data-height", height)
    expect(handle).to_have_attribute("aria-expanded", "false")
    expect_in_sight(page.get_by_role("status").filter(has_text="on foot"))
    for key, height in (("Enter", "half"), ("ArrowUp", "full"), ("ArrowDown", "half")):
        handle.press(key)
        expect(sheet(phone)).to_have_attribute("data-height", height)
        expect(handle).to_have_attribute("aria-expanded", "true")
    expect_in_sight(phone.button("Destination: Fitness centre"))


def drag(handle: Locator, pixels: float) -> None:
    """Drag, and let go."""
    handle.hover()  # waits until it stands still
    mouse, box = handle.page.mouse, handle.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse.down()
    for step in range(1, 9):
        mouse.move(x, y + pixels * step / 8)
    mouse.up()


@pytest.mark.slow
def test_the_map_stays_in_sight_above_the_sheet(phone: Explorer) -> None:
    phone.open_map(map=MAP, here=LOBBY)
    marker = phone.map.locator(".marker.here")
    expect_in_sight(marker)
    before = marker.bounding_box()
    phone.button("Close").click()
    expect(sheet(phone)).not_to_have_attribute("data-height", re.compile(""))
    expect_in_sight(marker)
    after = marker.bounding_box()
    assert before and after
    assert after["y"] > before["y"]


def test_the_dialog_makes_the_link_of_a_sign(phone: Explorer) -> None:
    page = phone.page
    phone.open_map(map=MAP, unit=APARTMENT)
    phone.button("Share").click()
    page.get_by_label("A sign at this place").check()
    public = create_key(phone.service, "service.distances.calculate")
    field = page.get_by_label("API key that the sign gives")
    field.fill(public)
    field.press("Tab")
    expect(page.get_by_role("img", name="QR code of the link")).to_be_visible()
    link = page.get_by_role("textbox", name="Link", exact=True).input_value()
    parts = urlsplit(link)
    assert parse_qs(parts.query) == {"map": [MAP], "here": [f"unit:{APARTMENT}"]}
    assert parts.fragment == f"key={public}"
    page.goto("about:blank")
    page.goto(link)
    expect(page.get_by_text("You are here: 101")).to_be_visible()


@pytest.mark.slow
def test_the_header_of_a_phone_is_small_and_has_all_in_a_menu(phone: Explorer) -> None:
    page = phone.page
    page.goto(f"{phone.service.url}/maps")
    key = page.get_by_label("API key")
    expect(key).to_be_visible()  # without a key, it is what is needed
    key.fill(phone.service.key)
    key.press("Enter")
    expect(page.get_by_role("link", name="Alder Court")).to_be_visible()
    expect(key).to_be_hidden()
    header = page.get_by_role("banner").bounding_box()
    assert header and header["height"] <= 48
    phone.button("Menu").click()
    for link in page.get_by_role("navigation").get_by_role("link").all():
        expect_in_sight(link)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize(
    "shown",
    [
        {"here": LOBBY},
        {"here": LOBBY, "to": GYM},
        {"unit": APARTMENT},
        {"from": f"unit:{APARTMENT}", "minutes": "2", "color": "apartment-type"},
    ],
)
def test_axe_finds_nothing_of_any_weight(
    explorer: Explorer, shown: dict[str, str], width: int, scheme: str
) -> None:
    install(TOOLS)
    page = explorer.page
    page.emulate_media(
        color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce"
    )
    page.set_viewport_size({"width": width, "height": 844})
    explorer.open_map(map=MAP, **shown)
    expect(explorer.map.locator(".panel:not([hidden])")).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.evaluate(AXE.read_text())
    assert page.evaluate(FIND_PROBLEMS, "html") == []
