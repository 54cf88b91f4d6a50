"""The browser pages: what they send, what they may load, and that they work in a real Chromium."""

import gzip
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn
import zstandard
from starlette.applications import Starlette
from starlette.types import ASGIApp

from gateway import browser_pages, compression
from gateway.server.server import security_headers
from rest.entity_tags import Encoding
from rest.path_routing import PathRouter
from tests.gateway.fake_service import APP, KEY
from tests.gateway.pages import browser

pytestmark = pytest.mark.slow

WEB = Path(browser_pages.__file__).parent / "web"
AS_BROWSER = {"Accept": "text/html,application/xhtml+xml"}
PAGES = ["/graphql", "/v1/openapi", "/maps"]

needs_build = pytest.mark.skipif(
    not browser_pages.DIST_DIR.exists(), reason="gateway/web/dist is not built: run `make setup`"
)
needs_chromium = pytest.mark.skipif(
    not browser.CHROMIUM, reason="no Chromium on this machine: apt install chromium"
)


@contextmanager
def serve_pages(app: ASGIApp) -> Iterator[str]:
    """Serve the application on a free port of this machine for as long as the context lasts."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(
            app, log_level="warning", ws="none", headers=list(security_headers(use_hsts=False))
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with serve_pages(APP) as url:
        yield url


@pytest.fixture
def client(base_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=base_url, headers=AS_BROWSER) as client:
        yield client


def assets_of(html: str) -> list[str]:
    """The addresses of what a page loads, as seen from the root."""
    found = re.findall(r'(?:href|src)="([^"]*?/pages/[^"]+)"', html)
    return [address.lstrip("./") for address in found]


def policy_of(headers: dict[str, str]) -> dict[str, str]:
    parts = headers["content-security-policy"].split("; ")
    return dict(part.split(" ", 1) for part in parts)


@needs_build
@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_html_named_floorgate(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert "<title>Floorgate" in response.text


@needs_build
@pytest.mark.parametrize("path", PAGES)
def test_a_page_allows_scripts_and_calls_of_its_own_origin_only(
    client: httpx.Client, path: str
) -> None:
    policy = policy_of(dict(client.get(path).headers))
    assert policy["default-src"] == policy["base-uri"] == "'none'"
    assert policy["frame-ancestors"] == policy["form-action"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == policy["worker-src"] == "'self'"


@needs_build
@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_nothing_inline_and_nothing_from_elsewhere(
    client: httpx.Client, path: str
) -> None:
    html = client.get(path).text
    assert "//" not in html.replace("<!doctype", "")
    assert not re.search(r"<style|<script(?![^>]+src=)| on\w+=| style=", html)


@needs_build
def test_the_reference_is_the_same_for_everybody_and_need_not_be_sent_again(
    client: httpx.Client,
) -> None:
    page = client.get("/v1/openapi")
    assert "%NONCE%" not in page.text
    again = client.get("/v1/openapi", headers={"If-None-Match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@needs_build
def test_each_response_has_a_nonce_of_its_own(client: httpx.Client) -> None:
    first, second = client.get("/graphql"), client.get("/graphql")
    nonces = [re.search(r'nonce="([^"]+)"', page.text) for page in (first, second)]
    assert nonces[0] and nonces[1] and nonces[0][1] != nonces[1][1]
    assert f"'nonce-{nonces[0][1]}'" in first.headers["content-security-policy"]
    assert first.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", PAGES)
def test_a_page_hides_its_address_and_keeps_other_windows_out(
    client: httpx.Client, path: str
) -> None:
    headers = client.get(path).headers
    assert headers.get_list("x-content-type-options") == ["nosniff"]  # not twice
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"


@needs_build
@pytest.mark.parametrize("path", PAGES)
def test_everything_a_page_names_is_served_with_its_type(client: httpx.Client, path: str) -> None:
    types = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    for address in assets_of(client.get(path).text):
        response = client.get(address)
        assert response.status_code == 200
        assert response.headers["content-type"].startswith(types[Path(address).suffix])
        assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert response.headers.get_list("x-content-type-options") == ["nosniff"]


@needs_build
def test_an_asset_travels_compressed_to_those_who_accept_it(client: httpx.Client) -> None:
    style = next(name for name in assets_of(client.get("/graphql").text) if name.endswith(".css"))
    stored = browser_pages.DIST_DIR / "assets" / Path(style).name
    for coding, decompress in (("gzip", gzip.decompress), ("zstd", zstandard.decompress)):
        with client.stream("GET", style, headers={"Accept-Encoding": coding}) as response:
            assert response.headers["content-encoding"] == coding
            assert decompress(b"".join(response.iter_raw())) == stored.read_bytes()
    plain = client.get(style, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.headers["vary"] == "Accept-Encoding"
    assert plain.content == stored.read_bytes()


@needs_build
def test_an_asset_the_browser_still_has_is_not_sent_again(client: httpx.Client) -> None:
    icon = next(name for name in assets_of(client.get("/graphql").text) if name.endswith(".svg"))
    etag = client.get(icon).headers["etag"]
    assert client.get(icon, headers={"If-None-Match": etag}).status_code == 304


@pytest.mark.parametrize(
    "path",
    [
        "/pages/../pages.py",
        "/pages/%2e%2e/%2e%2e/build.js",
        "/pages/..%2f..%2fbuild.js",
        "/pages/..%5c..%5cbuild.js",
        "/pages//etc/passwd",
        "/pages/%2fetc%2fpasswd",
        "/pages/%00",
        "/pages/",
        "/pages/none.js",
        "/pages/assets/icon.svg",
        "/pages/.",
        "/pages/" + 300 * "n",
        "/pages/%ff",
    ],
)
def test_nothing_but_assets_is_served(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_without_a_build_a_page_says_how_to_build_it(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(browser_pages, "DIST_DIR", tmp_path)
    browser_pages._read_page.cache_clear()
    browser_pages._build_page.cache_clear()
    for path in PAGES:
        response = client.get(path)
        assert response.status_code == 503
        assert "make setup" in response.text


def test_an_asset_is_read_and_compressed_once_for_all_clients(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compressed: list[str] = []
    compress = compression.compress

    def count(body: bytes, encoding: Encoding) -> bytes:
        compressed.append(encoding)
        return compress(body, encoding)

    monkeypatch.setattr(compression, "compress", count)
    monkeypatch.setattr(browser_pages, "DIST_DIR", tmp_path)
    file = tmp_path / "assets" / "chunk-1.js"
    with serve_pages(PathRouter(browser_pages.PageAssets().build_routes(), Starlette())) as url:
        address = f"{url}/pages/{file.name}"
        assert httpx.get(address).status_code == 404  # it may be built later
        file.parent.mkdir()
        file.write_text("x" * 1_000)
        assert httpx.get(address).text == "x" * 1_000
        file.unlink()
        for coding in ("identity", "gzip", "zstd"):
            response = httpx.get(address, headers={"Accept-Encoding": coding})
            assert (response.text, response.headers.get("content-encoding", "identity")) == (
                "x" * 1_000,
                coding,
            )
            headers = {"Accept-Encoding": coding, "If-None-Match": response.headers["etag"]}
            assert httpx.get(address, headers=headers).status_code == 304
    assert sorted(compressed) == ["gzip", "identity", "zstd"]


def test_without_a_build_an_asset_is_not_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(browser_pages, "DIST_DIR", tmp_path / "none")
    with serve_pages(PathRouter(browser_pages.PageAssets().build_routes(), Starlette())) as url:
        assert httpx.get(f"{url}/pages/icon.svg").status_code == 404


def test_the_npm_lock_names_no_registry_and_hashes_every_package() -> None:
    locked = json.loads((WEB / "package-lock.json").read_text())["packages"]
    packages = {name: entry for name, entry in locked.items() if name}
    assert packages
    assert not [name for name, entry in packages.items() if "resolved" in entry]
    assert not [name for name, entry in packages.items() if "sha512-" not in entry["integrity"]]


@needs_build
@needs_chromium
def test_graphiql_runs_its_first_query_in_chromium(base_url: str) -> None:
    response, errors = browser.run_graphiql(base_url, KEY)
    assert "Harbour Court" in response
    assert errors == []


@needs_build
@needs_chromium
def test_the_reference_tries_an_operation_in_chromium(base_url: str) -> None:
    status, errors = browser.run_reference(base_url, KEY)
    assert status == 200
    assert errors == []


@needs_build
@needs_chromium
def test_graphiql_asks_for_a_key_instead_of_failing(base_url: str) -> None:
    with browser.visit(base_url) as seen:
        browser.open_graphiql(seen)
        browser.expect_key_state(seen, "Needed to read data")
        assert "Type your API key" in browser.execute_query(seen, "API")
        assert not [request for request in seen.requests if request.method == "POST"]
        assert seen.all_errors() == []


@needs_build
@needs_chromium
def test_graphiql_reports_an_invalid_key_and_loads_the_schema_with_a_valid_one(
    base_url: str,
) -> None:
    with browser.visit(base_url) as seen:
        browser.open_graphiql(seen)
        browser.type_key(seen.page, "a-wrong-key")
        browser.expect_key_state(seen, "Invalid authentication credentials")
        browser.type_key(seen.page, KEY)
        browser.expect_key_state(seen, "Key accepted")
        seen.page.get_by_role("button", name="Show Documentation Explorer").click()
        seen.page.get_by_role("link", name="Units", exact=True).wait_for()


@needs_build
@needs_chromium
def test_the_key_travels_in_its_header_and_stays_in_the_tab(base_url: str) -> None:
    with browser.visit(base_url) as seen:
        browser.open_graphiql(seen)
        seen.page.get_by_label("distances").check()
        seen.page.get_by_label("references").check()
        browser.type_key(seen.page, KEY)
        browser.expect_key_state(seen, "Key accepted")
        browser.execute_query(seen, "Harbour")
        sent = [each for each in seen.requests if "api-key" in each.headers][-1]
        assert sent.headers["api-key"] == KEY
        assert sent.headers["experimental-flags"] == "references,distances"
        assert not [request.url for request in seen.requests if KEY in request.url]
        assert KEY not in seen.page.evaluate("JSON.stringify(localStorage) + location.href")
        assert KEY in seen.page.evaluate("JSON.stringify(sessionStorage)")
        assert seen.page.get_by_label("API key").get_attribute("type") == "password"
