"""The browser pages: what they send, what they may load, and the key that is typed into them."""

import gzip
import json
import re
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest
import zstandard
from playwright.sync_api import expect
from starlette.applications import Starlette

from gateway import client_packages, public_endpoints
from gateway import responses as compression
from gateway.public_endpoints import render_start_page
from rest.dispatch import PathRouter
from rest.responses import Encoding
from tests.gateway.pages import browser
from tests.gateway.pages.browser import needs_browser
from tests.rest.demo_service import DemoService

pytestmark = pytest.mark.xdist_group("clients")

WEB = Path(public_endpoints.__file__).parent / "web"
AS_BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
PAGES = ["/graphql", "/v1/openapi", "/maps"]

needs_build = pytest.mark.skipif(
    not public_endpoints.DIST_DIR.exists(), reason="gateway/web/dist is not built: run `make setup`"
)


@pytest.fixture(scope="module")
def client(demo: DemoService) -> Iterator[httpx.Client]:
    """A browser without a key, before it runs any script."""
    trusted = ssl.create_default_context(cafile=demo.certificate)
    with httpx.Client(base_url=demo.url, headers=AS_BROWSER, verify=trusted, timeout=60) as client:
        yield client


@pytest.fixture
async def unbuilt(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the assets in an empty folder, which a test may fill."""
    monkeypatch.setattr(public_endpoints, "DIST_DIR", tmp_path)
    assets = PathRouter(public_endpoints.build_asset_routes, Starlette())
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(assets), base_url="https://pages.test"
    ) as client:
        yield client


def assets_of(html: str) -> list[str]:
    """The addresses of what a page loads, as seen from the root."""
    found = re.findall(r'(?:href|src)="([^"]*?/pages/[^"]+)"', html)
    return [address.lstrip("./") for address in found]


def policy_of(headers: httpx.Headers) -> dict[str, str]:
    parts = headers["content-security-policy"].split("; ")
    return dict(part.split(" ", 1) for part in parts)


@needs_build
@pytest.mark.parametrize("path", PAGES)
def test_a_page_allows_scripts_and_calls_of_its_own_origin_only(
    client: httpx.Client, path: str
) -> None:
    response = client.get(path)
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert "<title>Floorgate" in response.text
    policy = policy_of(response.headers)
    assert policy["default-src"] == policy["base-uri"] == "'none'"
    assert policy["frame-ancestors"] == policy["form-action"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == policy["worker-src"] == "'self'"
    assert response.headers.get_list("x-content-type-options") == ["nosniff"]  # not twice
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["cross-origin-opener-policy"] == "same-origin"


@needs_build
@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_no_inline_script_and_loads_nothing_from_elsewhere(
    client: httpx.Client, path: str
) -> None:
    html = client.get(path).text
    assert "//" not in html.replace("<!doctype", "")
    assert not re.search(r"<script(?![^>]+src=)| on\w+=| style=", html)
    types = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    for address in assets_of(html):
        response = client.get(address)
        assert response.status_code == 200
        assert response.headers["content-type"].startswith(types[Path(address).suffix])
        assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert response.headers.get_list("x-content-type-options") == ["nosniff"]


@needs_build
@pytest.mark.parametrize("path", PAGES)
def test_a_page_leads_to_the_others_and_to_the_clients(client: httpx.Client, path: str) -> None:
    links = re.findall(r'<a href="(.+?)"', client.get(path).text)
    assert {urljoin(path, link) for link in links} >= {*PAGES, "/clients/"}


@needs_build
def test_the_map_page_has_one_copy_of_lit(client: httpx.Client) -> None:
    [script] = [each for each in assets_of(client.get("/maps").text) if each.endswith(".js")]
    assert client.get(script).text.count("litHtmlVersions") == 1


@needs_build
def test_a_page_without_a_nonce_need_not_be_sent_again(client: httpx.Client) -> None:
    page = client.get("/maps")
    assert "%NONCE%" not in page.text
    again = client.get("/maps", headers={"If-None-Match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@needs_build
@pytest.mark.parametrize("path", ["/graphql", "/v1/openapi"])
def test_each_response_of_a_page_with_a_nonce_has_its_own(client: httpx.Client, path: str) -> None:
    first, second = client.get(path), client.get(path)
    nonces = [re.search(r'nonce="([^"]+)"', page.text) for page in (first, second)]
    assert nonces[0] and nonces[1] and nonces[0][1] != nonces[1][1]
    assert f"'nonce-{nonces[0][1]}'" in first.headers["content-security-policy"]
    assert first.headers["cache-control"] == "no-store"


@needs_build
def test_an_asset_travels_compressed_to_those_who_accept_it(client: httpx.Client) -> None:
    style = next(name for name in assets_of(client.get("/graphql").text) if name.endswith(".css"))
    stored = public_endpoints.DIST_DIR / "assets" / Path(style).name
    for coding, decompress in (("gzip", gzip.decompress), ("zstd", zstandard.decompress)):
        with client.stream("GET", style, headers={"Accept-Encoding": coding}) as response:
            assert response.headers["content-encoding"] == coding
            assert decompress(b"".join(response.iter_raw())) == stored.read_bytes()
    plain = client.get(style, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.headers["vary"] == "Accept-Encoding, Origin"
    assert plain.content == stored.read_bytes()


@pytest.mark.parametrize(
    "path",
    [
        "/pages/../pages.py",
        "/pages/%2e%2e/%2e%2e/build.js",
        "/pages/..%5c..%5cbuild.js",
        "/pages/%2fetc%2fpasswd",
        "/pages/%00",
        "/pages/",
        "/pages/assets/icon.svg",
        "/pages/.",
        "/pages/" + 300 * "n",
        "/pages/%ff",
    ],
)
def test_nothing_but_assets_is_served(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 404


async def test_an_asset_is_read_and_compressed_once_for_all_clients(
    unbuilt: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compressed: list[str] = []
    compress = compression.compress

    def count(body: bytes, encoding: Encoding) -> bytes:
        compressed.append(encoding)
        return compress(body, encoding)

    monkeypatch.setattr(compression, "compress", count)
    file = tmp_path / "assets" / "chunk-1.js"
    address = f"/pages/{file.name}"
    assert (await unbuilt.get(address)).status_code == 404  # it may be built later
    file.parent.mkdir()
    file.write_text("x" * 1_000)
    assert (await unbuilt.get(address)).text == "x" * 1_000
    file.unlink()
    for coding in ("identity", "gzip", "zstd"):
        response = await unbuilt.get(address, headers={"Accept-Encoding": coding})
        assert (response.text, response.headers.get("content-encoding", "identity")) == (
            "x" * 1_000,
            coding,
        )
        headers = {"Accept-Encoding": coding, "If-None-Match": response.headers["etag"]}
        assert (await unbuilt.get(address, headers=headers)).status_code == 304
    assert sorted(compressed) == ["gzip", "identity", "zstd"]


async def test_a_browser_gets_the_start_page_and_another_client_json(
    anonymous: httpx.AsyncClient,
) -> None:
    page = await anonymous.get("/", headers=AS_BROWSER)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    index = await anonymous.get("/", headers={"Accept": "*/*"})
    assert index.json()["name"] == "Floorgate"
    for response in (page, index):
        assert response.headers["vary"] == "Accept, Accept-Encoding, Origin"
    headers = {**AS_BROWSER, "If-None-Match": page.headers["etag"]}
    assert (await anonymous.get("/", headers=headers)).status_code == 304
    headers["Accept"] = "*/*"
    assert (await anonymous.get("/", headers=headers)).status_code == 200


async def test_without_a_build_every_link_of_the_start_page_says_how_to_build_it(
    anonymous: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(public_endpoints, "DIST_DIR", tmp_path)
    monkeypatch.setattr(client_packages, "DIST_DIR", tmp_path)
    public_endpoints._read_page.cache_clear()
    public_endpoints._build_page.cache_clear()
    page = await anonymous.get("/", headers=AS_BROWSER)
    links = re.findall(r'href="(.+?)"', page.text)
    assert links[0] == "maps"
    unbuilt = set()
    for link in links:
        response = await anonymous.get(f"/{link}", headers=AS_BROWSER)
        if response.status_code == 503:
            assert f"make {'clients' if link == 'clients/' else 'setup'}" in response.text
            unbuilt.add(f"/{link}")
        else:
            assert response.status_code == 200, link
    assert unbuilt == {*PAGES, "/clients/"}


def test_the_start_page_loads_nothing() -> None:
    assert not re.search(r"<script|<link|<img| src=|//", render_start_page())


def test_the_npm_lock_names_no_registry_and_hashes_every_package() -> None:
    locked = json.loads((WEB / "package-lock.json").read_text())["packages"]
    packages = {name: entry for name, entry in locked.items() if name}
    assert packages
    assert not [name for name, entry in packages.items() if "resolved" in entry]
    assert not [name for name, entry in packages.items() if "sha512-" not in entry["integrity"]]


@needs_browser
def test_the_style_of_the_start_page_is_admitted_by_its_policy(seen: browser.Visit) -> None:
    seen.page.goto(seen.base_url)
    link = seen.page.get_by_role("link", name="Open the map explorer")
    assert link.evaluate("each => getComputedStyle(each).color") == "rgb(255, 255, 255)"
    assert seen.all_errors() == []


@needs_browser
def test_the_key_travels_in_its_header_and_stays_in_the_tab(
    seen: browser.Visit, demo: DemoService
) -> None:
    browser.open_graphiql(seen)
    browser.expect_key_state(seen, "Needed to read data")
    assert "Type your API key" in browser.execute_query(seen, "API")
    assert not [request for request in seen.requests if request.method == "POST"]
    seen.page.get_by_label("distances").check()
    seen.page.get_by_label("references").check()
    browser.type_key(seen.page, demo.key)
    browser.expect_key_state(seen, "Key accepted")
    browser.execute_query(seen, "Alder Court")
    sent = [each for each in seen.requests if "api-key" in each.headers][-1]
    assert sent.headers["api-key"] == demo.key
    assert sent.headers["experimental-flags"] == "references,distances"
    assert not [request.url for request in seen.requests if demo.key in request.url]
    assert demo.key not in seen.page.evaluate("JSON.stringify(localStorage) + location.href")
    assert demo.key in seen.page.evaluate("JSON.stringify(sessionStorage)")
    assert seen.page.get_by_label("API key").get_attribute("type") == "password"
    assert seen.all_errors() == []


@needs_browser
def test_the_reference_tries_an_operation_with_the_key_of_the_page(
    seen: browser.Visit, demo: DemoService
) -> None:
    operation = browser.open_reference(seen)
    for key, status in (("wrong", "403"), (demo.key, "200 OK")):
        browser.type_key(seen.page, key)
        expect(operation.locator(".request-card")).to_contain_text(key)
        dialog = browser.try_operation(operation)
        expect(dialog.get_by_role("region", name="Response")).to_contain_text(status)
        seen.page.keyboard.press("Escape")
        expect(operation.get_by_role("button", name="Test Request")).to_be_focused()
    sent = [each for each in seen.requests if each.url.endswith("/v1/units")]
    assert [each.headers["api-key"] for each in sent] == ["wrong", demo.key]
    browser.expect_key_state(seen, "Key accepted")
    expect(seen.page.get_by_text("Selected Auth Type").filter(visible=True)).to_have_count(0)
    assert demo.key not in seen.page.evaluate("JSON.stringify(localStorage)")
    assert [error for error in seen.all_errors() if "403" not in error] == []


@needs_browser
@pytest.mark.slow
def test_an_operation_is_tried_with_its_flag_and_its_drawing(
    seen: browser.Visit, demo: DemoService
) -> None:
    seen.page.goto(f"{demo.url}/v1/openapi#key={demo.key}")
    browser.expect_key_state(seen, "Key accepted")
    for name in ("References/listUnitReferences", "Maps/parseMap"):
        seen.page.goto("about:blank")
        dialog = browser.try_operation(browser.open_reference(seen, name))
        expect(dialog.get_by_role("region", name="Response")).to_contain_text("200 OK")
    assert seen.all_errors() == []


@needs_browser
def test_the_samples_are_in_curl_python_and_typescript(seen: browser.Visit) -> None:
    operation = browser.open_reference(seen)
    sample = operation.locator(".request-card")
    expect(sample).to_contain_text("curl https://")
    expect(sample).not_to_contain_text("per-page")  # what is optional is left out
    sample.get_by_role("button", name="Change code sample language").click()
    options = seen.page.get_by_role("option")
    assert sorted(options.all_inner_texts()) == ["Curl", "Python", "TypeScript"]
    options.filter(has_text="TypeScript").click()
    expect(sample).to_contain_text("of client.units.list({ asset: 'alder-court' })")
    assert seen.all_errors() == []


@needs_browser
def test_the_reference_is_searched_with_the_keyboard(seen: browser.Visit) -> None:
    browser.open_reference(seen)
    seen.page.keyboard.press("Control+k")
    seen.page.keyboard.type("closures")
    expect(seen.page.get_by_role("option", name="closures").first).to_be_visible()
    seen.page.keyboard.press("ArrowDown")
    seen.page.keyboard.press("Enter")
    expect(seen.page).to_have_url(re.compile("losure"))
    assert seen.all_errors() == []


@needs_browser
def test_a_description_that_cannot_be_read_is_reported(seen: browser.Visit) -> None:
    seen.page.route("**/v1/openapi.json", lambda route: route.fulfill(status=503, body="{}"))
    seen.page.goto(f"{seen.base_url}/v1/openapi")
    expect(seen.page.locator("#page")).to_have_text(
        "The description could not be read: /v1/openapi.json answered 503."
    )


OWN = """query Flats($page: Int) @endpoint(
  path: "/v1/x/flats", summary: "List <b>flats</b>", tag: "Units", description: DESCRIPTION
) { units(page: $page) { data { id name } } }""".replace(
    "DESCRIPTION", json.dumps("**Bold.** <img src=x onerror=alert(1)> [go](javascript:alert(1))")
)
SAVE = "mutation($texts: [String!]!) { saveEndpoints(documents: $texts) { added } }"


@pytest.fixture
def flats(client: httpx.Client, demo: DemoService) -> Iterator[str]:
    """The path of an operator's endpoint."""
    headers = {"API-Key": demo.key, "Accept": "application/json"}

    def run(query: str, **variables: list[str]) -> None:
        sent = {"query": query, "variables": variables}
        assert "errors" not in client.post("/graphql", json=sent, headers=headers).json()

    run(SAVE, texts=[OWN])
    yield "/v1/x/flats"
    run('mutation { removeEndpoints(names: ["Flats"]) { removed } }')


@needs_browser
def test_the_reference_has_own_endpoints_in_their_group_for_a_valid_key(
    seen: browser.Visit, demo: DemoService, flats: str
) -> None:
    browser.open_reference(seen)
    group = seen.page.get_by_role("complementary").get_by_text("Custom endpoints: Units")
    browser.type_key(seen.page, "wrong")
    browser.expect_key_state(seen, "Invalid authentication credentials")
    expect(group).to_have_count(0)
    assert [error for error in seen.errors if "403" not in error] == []
    seen.errors.clear()
    browser.type_key(seen.page, demo.key)
    expect(group.first).to_be_visible()
    browser.expect_key_state(seen, "Key accepted")
    seen.page.goto("about:blank")
    own = browser.open_reference(seen, "Custom%20endpoints%3A%20Units/flats")
    # Texts of operators are Markdown without HTML, and plain texts elsewhere.
    expect(own.locator("strong").get_by_text("Bold.")).to_be_visible()
    expect(own).to_contain_text("<img src=x")
    expect(own.locator("img, a[href^=javascript], b")).to_have_count(0)
    dialog = browser.try_operation(own)
    expect(dialog.get_by_role("region", name="Response")).to_contain_text("200 OK")
    assert seen.all_errors() == []


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("anchor", ["Units/getUnit", "Unit%20attributes/listAttributeGroups"])
def test_a_link_opens_an_operation_of_the_reference(seen: browser.Visit, anchor: str) -> None:
    expect(browser.open_reference(seen, anchor)).to_be_in_viewport()


@needs_browser
@pytest.mark.slow
def test_a_link_to_what_the_key_does_not_see_opens_the_reference_at_its_start(
    seen: browser.Visit,
) -> None:
    seen.page.goto(f"{seen.base_url}/v1/openapi#/Custom%20endpoints%3A%20Units/flats")
    units = seen.page.get_by_role("complementary").get_by_role("link", name="Units", exact=True)
    expect(units).to_have_attribute("href", "#tag/Units")
    expect(seen.page).to_have_url(f"{seen.base_url}/v1/openapi#description/introduction")


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "shows"),
    [("/maps", "Alder Court"), ("/graphql", "GraphiQL"), ("/v1/openapi", "Units")],
)
def test_the_key_of_a_link_is_used_and_leaves_the_address_at_once(
    seen: browser.Visit, demo: DemoService, path: str, shows: str
) -> None:
    seen.page.goto(f"{demo.url}{path}#key={demo.key}")
    expect(seen.page.locator("#key")).to_have_value(demo.key)
    expect(seen.page.locator("body")).to_contain_text(shows)
    assert seen.page.url.partition("#")[0] == demo.url + path
    kept = "JSON.stringify(localStorage) + JSON.stringify(history.state) + location.href"
    assert demo.key not in seen.page.evaluate(kept)
    assert not [request.url for request in seen.requests if demo.key in request.url]
    seen.page.reload()
    expect(seen.page.locator("#key")).to_have_value(demo.key)
    assert seen.all_errors() == []
