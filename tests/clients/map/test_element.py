"""The map component in pages of others: what people see, press, type and drop."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.clients.conftest import Site
from tests.clients.map.pages import EXAMPLES, Examples, open_examples
from tests.gateway.pages import browser
from tests.gateway.pages.test_accessibility import AXE, TOOLS, problems
from tests.rest.packages import install

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("map"),
    pytest.mark.skipif(
        not browser.CHROMIUM, reason="no Chromium on this machine: apt install chromium"
    ),
]

MAP = "alder-court-floor-plates"


@pytest.fixture(scope="module")
def examples(published: None, site: Site) -> Iterator[Examples]:
    install(TOOLS)
    with open_examples(site) as opened:
        yield opened


@dataclass(frozen=True)
class Explorer:
    """The component of a page, by the words that people see."""

    page: Page

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def search(self, text: str) -> Locator:
        """Type a search, and return the list of what is found."""
        self.page.get_by_role("combobox", name="Search units and amenities").fill(text)
        return self.page.get_by_role("option")

    def find(self, text: str) -> None:
        """Choose the first that a search finds."""
        self.search(text).first.click()

    @property
    def card(self) -> Locator:
        return self.page.get_by_role("article")

    def floor(self, name: str) -> Locator:
        return self.page.get_by_role("radio", name=name)

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.page.evaluate("document.querySelector('floorgate-map').state")
        return state


@pytest.fixture
def explorer(examples: Examples) -> Explorer:
    examples.open("plain.html")
    expect(examples.page.get_by_role("application", name="Map of Floor plates")).to_be_visible()
    # the units are read: until then, a key in the search finds nothing
    expect(examples.page.get_by_role("button", name="Colours and amenities")).to_be_visible()
    return Explorer(examples.page)


def test_a_page_of_ten_lines_shows_the_map(examples: Examples, explorer: Explorer) -> None:
    assert len((EXAMPLES / "plain.html").read_text().splitlines()) <= 10
    expect(explorer.floor("Ground floor, Alder Court")).to_be_checked()
    assert examples.errors() == []


def test_the_search_finds_units_and_amenities_as_people_type(explorer: Explorer) -> None:
    expect(explorer.search("10")).to_contain_text(["101", "102", "103", "104", "105", "106", "107"])
    expect(explorer.page.get_by_text("7 results")).to_be_visible()
    expect(explorer.search("cen fit")).to_contain_text(["Fitness centre"])
    expect(explorer.search("nowhere")).to_have_count(0)
    expect(explorer.page.get_by_text("Nothing found")).to_be_visible()


def test_a_unit_is_found_with_the_keyboard_alone(explorer: Explorer) -> None:
    field = explorer.page.get_by_role("combobox", name="Search units and amenities")
    field.press_sequentially("50")
    field.press("ArrowDown")
    field.press("ArrowDown")
    field.press("Enter")
    expect(explorer.card.get_by_role("heading")).to_have_text("502")
    expect(explorer.floor("Floor 5, Alder Court")).to_be_checked()
    explorer.page.keyboard.press("Escape")
    expect(explorer.card).to_have_count(0)


def test_the_card_of_a_unit_says_what_is_known_and_how_to_get_it(explorer: Explorer) -> None:
    explorer.find("101")
    for text in ("Ground floor, Alder Court", "Alder Court", "One bedroom", "AL-101"):
        expect(explorer.card.get_by_text(text, exact=True)).to_be_visible()
    unit = explorer.state()["unit"]
    explorer.card.get_by_text("As JSON").click()
    expect(explorer.card.get_by_text(f"GET /v1/units/{unit}")).to_be_visible()
    expect(explorer.card.get_by_text('"name": "101"')).to_be_visible()
    link = explorer.card.get_by_role("link", name="Open in the API reference")
    assert (link.get_attribute("href") or "").endswith("/v1/openapi#/Units/getUnit")
    explorer.card.get_by_text("As GraphQL").click()
    link = explorer.card.get_by_role("link", name="Open in GraphiQL")
    assert "/graphql#query=query+ShowUnit" in (link.get_attribute("href") or "")
    explorer.card.get_by_text("As curl").click()
    expect(explorer.card.get_by_text('-H "API-Key: $KEY"')).to_be_visible()


def test_a_click_on_the_map_selects_a_unit_or_an_amenity(
    examples: Examples, explorer: Explorer
) -> None:
    explorer.find("104")
    expect(explorer.card.get_by_role("heading")).to_have_text("104")
    examples.click(2024, 640)
    expect(explorer.card.get_by_role("heading")).to_have_text("101")
    examples.click(1200, 1900)
    expect(explorer.card).to_have_count(0)


def test_units_are_coloured_by_a_group_with_a_legend(explorer: Explorer) -> None:
    explorer.button("Colours and amenities").click()
    explorer.page.get_by_label("Colour units by").select_option("Apartment type")
    studios = explorer.page.get_by_role("button", name="Studio 24 units")
    studios.click()
    expect(studios).to_have_attribute("aria-pressed", "true")
    assert explorer.state()["color"] == "apartment-type"


def test_a_wheelchair_route_from_an_apartment_to_the_gym(
    examples: Examples, explorer: Explorer
) -> None:
    explorer.find("506")
    explorer.button("Route from here").click()
    to = explorer.page.get_by_role("combobox", name="To")
    to.fill("fitness")
    to.press("Enter")
    explorer.page.get_by_label("By wheelchair").check()
    expect(explorer.page.get_by_text("by wheelchair", exact=False).first).to_be_visible()
    steps = explorer.page.get_by_role("listitem").filter(has_text="Take Lift")
    expect(steps.first).to_be_visible()
    state = explorer.state()
    assert (state["mode"], state["floor"]) == ("wheelchair", "alder-court-floor-5")
    explorer.button("Ground floor").click()
    expect(explorer.floor("Ground floor, Alder Court")).to_be_checked()
    assert examples.events("routefound")[-1]["mode"] == "wheelchair"


def test_attributes_are_a_link_and_events_tell_what_changes(
    examples: Examples, explorer: Explorer
) -> None:
    script = """() => {
      const map = document.querySelector('floorgate-map')
      map.setAttribute('unit', 'ugwo2tfiznm')
      map.setAttribute('theme', 'dark')
      map.setAttribute('avoid', 'lifts,stairs')
      return map.state
    }"""
    state = examples.page.evaluate(script)
    assert (state["unit"], state["theme"], state["avoid"]) == (
        "ugwo2tfiznm",
        "dark",
        ["lifts", "stairs"],
    )
    expect(explorer.card.get_by_role("heading")).to_have_text("101")
    assert examples.events("statechange") == []  # only users fire it
    explorer.button("Close").click()
    assert examples.events("unitselect") == [None]
    assert "unit" not in examples.events("statechange")[-1]


def test_the_place_of_a_person_is_marked_and_routes_start_there(examples: Examples) -> None:
    examples.open("plain.html")
    page, explorer = examples.page, Explorer(examples.page)
    page.evaluate(
        "document.querySelector('floorgate-map').setAttribute('here', 'unit:ugwo2tfiznm')"
    )
    expect(page.get_by_text("You are here: 101")).to_be_visible()
    expect(explorer.button("You are here: 101")).to_be_visible()
    explorer.find("fitness")
    explorer.button("Route to here").click()
    expect(page.get_by_text("on foot", exact=False).first).to_be_visible()
    state = explorer.state()
    assert state["here"] == {"unit": "ugwo2tfiznm"}
    assert "from" not in state


@pytest.mark.parametrize(("measure", "length"), [("feet", "170 ft"), ("metres", "51 m")])
def test_lengths_are_in_the_measure_of_the_attribute(
    explorer: Explorer, measure: str, length: str
) -> None:
    script = """measure => {
      const map = document.querySelector('floorgate-map')
      const values = { measure, from: 'unit:ugwo2tfiznm', to: 'l4xusy2pgwt' }
      for (const [name, value] of Object.entries(values)) map.setAttribute(name, value)
    }"""
    explorer.page.evaluate(script, measure)
    explorer.button("Routes").click()
    expect(explorer.page.get_by_text(f"{length} on foot")).to_be_visible()
    step = explorer.page.get_by_role("listitem").filter(has_text="Walk ").first
    expect(step).to_contain_text(re.compile(rf"^Walk \d+ {length.split()[1]}\b"))


def test_a_key_without_permissions_shows_the_map_and_no_more(examples: Examples) -> None:
    examples.open("plain.html", key=examples.plain_key)
    explorer = Explorer(examples.page)
    explorer.find("101")
    expect(explorer.card.get_by_text("Ground floor, Alder Court")).to_be_visible()
    expect(explorer.button("Route from here")).to_have_count(0)
    expect(explorer.card.get_by_text("AL-101")).to_have_count(0)
    explorer.button("Colours and amenities").click()
    expect(explorer.page.get_by_label("Colour units by")).to_have_count(0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"key": "fgk_wrong"}, "Invalid authentication credentials"),
        ({"key": ""}, "An API key is needed to show a map"),
    ],
)
def test_people_are_told_why_there_is_no_map(
    examples: Examples, changes: dict[str, str], message: str
) -> None:
    examples.open("plain.html", **changes)
    expect(examples.page.locator(".notice")).to_contain_text(message)


def test_people_are_told_that_the_service_cannot_be_reached(explorer: Explorer) -> None:
    script = "document.querySelector('floorgate-map').url = 'https://127.0.0.1:1'"
    explorer.page.evaluate(script)
    expect(explorer.page.locator(".notice")).to_contain_text("The service cannot be reached")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(examples: Examples, explorer: Explorer, scheme: Any) -> None:
    axe = AXE.read_text()
    explorer.page.emulate_media(color_scheme=scheme)
    assert problems(explorer.page, axe) == {}
    explorer.find("101")
    expect(explorer.card).to_be_visible()
    assert problems(explorer.page, axe) == {}
    explorer.button("Route from here").click()
    explorer.page.get_by_role("combobox", name="To").fill("fit")
    assert problems(explorer.page, axe) == {}
    explorer.button("Colours and amenities").click()
    explorer.page.get_by_label("Colour units by").select_option("Apartment type")
    expect(explorer.page.get_by_role("button", name="Studio 24 units")).to_be_visible()
    assert problems(explorer.page, axe) == {}


def test_the_page_of_examples_has_it_in_react_and_vue(examples: Examples) -> None:
    examples.open("index.html")
    for framework in ("react", "vue"):
        part = examples.page.locator(f"#{framework}")
        part.get_by_role("combobox").fill("104")
        part.get_by_role("option").first.click()
        expect(part.get_by_text("knows that 104 is selected")).to_be_visible()
    branded = examples.page.locator("#branded")
    expect(branded.get_by_text("Alder Court", exact=True).first).to_be_visible()
    whole = examples.page.locator("#whole")
    whole.get_by_role("combobox").fill("104")
    whole.get_by_role("option").first.click()
    expect(examples.page.locator("#told")).to_have_text("Unit 104 is selected.")
    expect(examples.page.locator("#still").get_by_role("button")).to_have_count(0)
    assert examples.errors() == []


def test_the_focus_goes_on_where_its_control_is_gone(explorer: Explorer) -> None:
    page = explorer.page
    on_map = page.get_by_role("application", name="Map of Floor plates")
    explorer.find("506")
    expect(page.get_by_role("status").get_by_text("Selected: 506")).to_be_attached()
    explorer.button("Close").press("Enter")
    expect(on_map).to_be_focused()
    explorer.find("506")
    explorer.button("Route from here").press("Enter")
    expect(page.get_by_role("region", name="Routes").first).to_be_focused()
    to = page.get_by_role("combobox", name="To")
    to.fill("fitness")
    to.press("Enter")
    explorer.button("Lift 1 to Ground floor").press("Enter")
    expect(on_map).to_be_focused()
    explorer.button("Swap start and destination").focus()
    page.keyboard.press("Escape")
    expect(explorer.button("Routes")).to_be_focused()


@pytest.mark.parametrize("part", ["unit", "location"])
def test_an_unknown_place_has_a_card_that_says_so(explorer: Explorer, part: str) -> None:
    explorer.page.evaluate("part => { document.querySelector('floorgate-map')[part] = 'no' }", part)
    expect(explorer.card).to_contain_text("There is no such place, or the key may not see it")
    explorer.button("Close").click()
    expect(explorer.card).to_have_count(0)
    assert explorer.state() == {"map": MAP, "mode": "foot", "avoid": [], "theme": "auto"}


def test_a_card_without_details_says_why_and_asks_again(
    examples: Examples, explorer: Explorer
) -> None:
    body = {"errors": [{"message": "The key was revoked"}]}
    examples.page.route("**/graphql", lambda route: route.fulfill(status=401, json=body))
    explorer.find("101")
    expect(explorer.card.get_by_role("heading")).to_have_text("101")
    expect(explorer.card.get_by_role("alert")).to_contain_text("The key was revoked")
    examples.page.unroute("**/graphql")
    explorer.button("Try again").click()
    expect(explorer.card.get_by_text("AL-101")).to_be_visible()


def test_a_query_that_meets_the_rate_limit_is_sent_again(
    examples: Examples, explorer: Explorer
) -> None:
    headers = {"Retry-After": "0", "Access-Control-Allow-Origin": "*"}
    examples.page.route(
        "**/graphql", lambda route: route.fulfill(status=429, headers=headers), times=1
    )
    explorer.find("101")
    expect(explorer.card.get_by_text("AL-101")).to_be_visible()


def test_an_element_that_is_moved_in_the_page_draws_again(explorer: Explorer) -> None:
    script = "document.body.prepend(document.querySelector('floorgate-map'))"
    explorer.page.evaluate(script)
    expect(explorer.page.get_by_role("application", name="Map of Floor plates")).to_be_visible()
    expect(explorer.page.get_by_role("application")).to_have_count(1)
    explorer.find("101")
    expect(explorer.card.get_by_role("heading")).to_have_text("101")


def test_what_colours_and_amenities_lack_is_told(examples: Examples, explorer: Explorer) -> None:
    body = {"message": "The key was revoked"}
    assignments = "**/attribute-groups/*/assignments*"
    examples.page.route(assignments, lambda route: route.fulfill(status=401, json=body))
    explorer.button("Colours and amenities").click()
    panel = explorer.page.get_by_role("region", name="Colours and amenities")
    panel.get_by_label("Colour units by").select_option("Apartment type")
    expect(panel.get_by_role("alert")).to_contain_text("The key was revoked")
    examples.page.unroute(assignments)
    explorer.button("Try again").click()
    expect(panel.get_by_role("button", name="Studio 24 units")).to_be_visible()
    kinds = panel.locator("option", has_text="Storage")
    expect(kinds).to_have_text(["Storage, amenity (4)", "Storage, room (4)"])
