"""The operation on screen becomes an endpoint of REST: "Save as endpoint" in a real Chromium."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Locator, Route, expect

from gateway import public_endpoints
from tests.gateway.pages import browser
from tests.gateway.pages.browser import MAP, needs_browser
from tests.rest.demo_service import DemoService

pytestmark = [pytest.mark.xdist_group("clients"), needs_browser, pytest.mark.slow]

TASKS = Path(public_endpoints.__file__).with_name("web") / "tasks"
ASSIGN = (TASKS / "assign-attributes.graphql").read_text()
PERMISSION = "service.endpoints.write"
DIRECTIVE = (
    '@endpoint(method: GET, path: "/v1/x/maps/{map}/amenities", summary: "Map amenities", '
    'result: "map.locations")'
)
AMENITIES = """# What residents look for.
query MapAmenities($map: ID!, $tag: String = "svc:amenity==yes") {
  map(id: $map) {
    locations(tags: $tag, perPage: 3) { data { ...Place floors { id: floorId } } }
  }
}

query Other { assets { totalCount } }

# A place, without its tags.
fragment Place on Location { id name updatedAt }
"""


@pytest.fixture(scope="module")
def reader(demo: DemoService) -> str:
    """A key that may read what any key may, and write nothing."""
    return browser.create_key(demo)


@pytest.fixture
def saving(demo: DemoService) -> Iterator[str]:
    """A key that may save `MapAmenities`, which is removed in the end."""
    yield demo.key
    browser.run_command(demo, "endpoints", "remove", "MapAmenities")


def open_dialog(
    seen: browser.Visit, query: str, variables: dict[str, Any], key: str = "", flags: str = ""
) -> Locator:
    """Open a query in GraphiQL, and the dialog with the keyboard."""
    linked = {"query": query, "variables": json.dumps(variables), "key": key, "flags": flags}
    seen.page.goto("about:blank")
    seen.page.goto(f"{seen.base_url}/graphql#{urlencode(linked, quote_via=quote)}")
    browser.expect_editor(seen)
    if key:
        browser.expect_key_state(seen, "Key accepted")
    seen.page.get_by_role("button", name="Save as endpoint").press("Enter")
    dialog = seen.page.get_by_role("dialog", name="Save as endpoint")
    expect(dialog).to_be_visible()
    return dialog


def save_button(dialog: Locator) -> Locator:
    return dialog.get_by_role("button", name="Save", exact=True)


def text_of(dialog: Locator, title: str) -> str:
    return dialog.get_by_role("region", name=f"Text of {title}").inner_text()


def call(dialog: Locator, demo: DemoService, key: str) -> Any:
    """Run the line of the dialog in a shell; what the endpoint answers."""
    environment = {"CURL_CA_BUNDLE": str(demo.certificate), "FLOORGATE_KEY": key}
    done = subprocess.run(
        ["bash", "-c", text_of(dialog, "Call")],
        env={**os.environ, **environment},
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_the_operation_on_screen_is_an_endpoint_and_a_later_version_may_not_break_it_unasked(
    seen: browser.Visit, demo: DemoService, saving: str, reader: str
) -> None:
    dialog = open_dialog(seen, AMENITIES, {"map": MAP}, saving, "locations-resource")
    expect(dialog).to_contain_text("MapAmenities will be added.")
    expect(dialog.get_by_role("row", name="map path, required")).to_be_visible()
    expect(dialog.get_by_role("row", name="tag query")).to_be_visible()
    expect(dialog).to_contain_text("With the variables on screen")
    operation = text_of(dialog, "Operation")
    assert operation.startswith("# What residents look for.\nquery MapAmenities($map: ID!, ")
    assert f'yes")\n{DIRECTIVE} {{\n  map' in operation
    assert "Other" not in operation and "\n\n# A place, without its tags." in operation
    save_button(dialog).press("Enter")
    expect(dialog).to_contain_text("Saved. MapAmenities answers on every gateway")
    with seen.page.expect_popup() as opened:
        dialog.get_by_role("link", name="Show it in the API reference").click()
    browser.find_operation(opened.value, "mapAmenities")  # with the key, which the tab hands on
    opened.value.close()
    response = call(dialog, demo, reader)
    assert [*response["data"][0]] == ["id", "name", "updated_at", "floors"]
    assert response["data"] == json.loads(text_of(dialog, "Response"))["data"]

    seen.page.keyboard.press("Escape")
    button = seen.page.get_by_role("button", name="Save as endpoint")
    expect(button).to_be_focused()
    expect(seen.page.locator(".graphiql-query-editor")).to_contain_text("@endpoint(method: GET")
    button.press("Enter")
    expect(dialog).to_contain_text("MapAmenities is saved already, as it is here.")
    dialog.get_by_label("Path").fill("/v1/x/amenities")
    expect(dialog).to_contain_text("This breaks callers:")
    expect(save_button(dialog)).to_be_disabled()
    dialog.get_by_label("Save it nevertheless: callers that rely on this get errors").check()
    save_button(dialog).click()
    expect(dialog).to_contain_text("Saved. MapAmenities answers on every gateway")
    assert call(dialog, demo, reader)["data"] == response["data"]
    assert seen.all_errors() == []


def test_faults_stand_at_their_lines_and_an_older_answer_never_replaces_a_newer(
    seen: browser.Visit, demo: DemoService
) -> None:
    held: list[Route] = []

    def hold_first(route: Route) -> None:
        if held or "SaveEndpoint" not in (route.request.post_data or ""):
            route.continue_()
        else:
            held.append(route)

    seen.page.route("**/graphql", hold_first)
    with seen.page.expect_request(lambda each: "SaveEndpoint" in (each.post_data or "")):
        dialog = open_dialog(seen, "query Totals {\n  assets { data { id } }\n}", {}, demo.key)
    expect(save_button(dialog)).to_be_disabled()
    dialog.get_by_label("Path").fill("/v1/x/{floor}/totals")
    fault = dialog.get_by_role("status").get_by_role("listitem")
    expect(fault).to_contain_text(re.compile(r"Line 2, column \d+: .*floor"))
    expect(fault.locator("code")).to_contain_text('path: "/v1/x/{floor}/totals"')
    with seen.page.expect_response(lambda each: each.request == held[0].request) as response:
        held[0].continue_()
    response.value.finished()
    seen.page.evaluate("new Promise(requestAnimationFrame)")
    expect(fault).to_be_visible()
    expect(save_button(dialog)).to_be_disabled()
    dialog.get_by_label("Path").fill("/v1/x/totals")
    expect(dialog).to_contain_text("Totals will be added.")
    expect(fault).to_have_count(0)
    assert seen.all_errors() == []


def test_a_mutation_is_not_run_for_its_response(seen: browser.Visit, demo: DemoService) -> None:
    variables = {"group": "finish-package", "unit": "u", "attribute": "a", "asset": "alder-court"}
    dialog = open_dialog(seen, ASSIGN, variables, demo.key, "unit-attributes-resource")
    dialog.get_by_label("Path").fill("/v1/x/groups/{group}/assign")
    expect(dialog).to_contain_text("/v1/x/groups/finish-package/assign")
    expect(dialog).to_contain_text("An example, made from the types.")
    assert "-X POST" in text_of(dialog, "Call")
    assert '{"data":{"attribute":"a","asset":"alder-court","unit":"u"}}' in text_of(dialog, "Call")
    asked = [each.post_data or "" for each in seen.requests]
    assert not [each for each in asked if "Assign" in each and "SaveEndpoint" not in each]


@pytest.mark.parametrize(
    ("query", "has_key", "said"),
    [
        (AMENITIES, True, re.compile(f"lacks the permission ({PERMISSION}).*keys create .*\\1")),
        (AMENITIES, False, "type your API key at the top of the page"),
        ("subscription { changes { id } }", True, "only a query or a mutation can be an endpoint"),
        ("query {\n  assets {", True, "GraphQL request:2:11"),
    ],
)
def test_whoever_may_not_save_sees_why(
    seen: browser.Visit, reader: str, query: str, has_key: bool, said: str | re.Pattern[str]
) -> None:
    dialog = open_dialog(seen, query, {"map": MAP}, reader if has_key else "")
    expect(dialog).to_contain_text(said)
    assert not dialog.get_by_role("button", name="Save", exact=True, disabled=False).count()
    assert seen.all_errors() == []
