"""The page at `/`: for browsers, without a key, scripts or built pages."""

import re
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway import browser_pages
from gateway.start_page import START_POLICY, render_start_page
from tests.gateway.pages import browser
from tests.gateway.pages.test_browser_pages import serve_pages

pytestmark = pytest.mark.anyio

AS_BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


async def test_a_browser_gets_a_page_and_another_client_json(anonymous: httpx.AsyncClient) -> None:
    page = await anonymous.get("/", headers=AS_BROWSER)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    index = await anonymous.get("/", headers={"Accept": "*/*"})
    assert index.json()["name"] == "Floorgate"
    for response in (page, index):
        assert response.headers["vary"] == "Accept, Accept-Encoding"
    headers = {**AS_BROWSER, "If-None-Match": page.headers["etag"]}
    assert (await anonymous.get("/", headers=headers)).status_code == 304
    headers["Accept"] = "*/*"
    assert (await anonymous.get("/", headers=headers)).status_code == 200


async def test_every_link_of_the_page_leads_somewhere(
    anonymous: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(browser_pages, "DIST_DIR", tmp_path)  # not built
    browser_pages._read_page.cache_clear()
    browser_pages._build_page.cache_clear()
    page = await anonymous.get("/", headers=AS_BROWSER)
    links = re.findall(r'href="(.+?)"', page.text)
    assert links[0] == "maps"
    for link in links:
        response = await anonymous.get(f"/{link}", headers=AS_BROWSER)
        built = response.status_code == 200
        assert built or "make setup" in response.text, link


@pytest.mark.slow
@pytest.mark.xdist_group("page-accessibility")
@pytest.mark.skipif(not browser.CHROMIUM, reason="no Chromium (apt install chromium)")
def test_the_style_of_the_page_is_admitted_by_its_policy() -> None:
    def send(_: Request) -> Response:
        return browser_pages.static_page_response(render_start_page(), START_POLICY)

    with (
        serve_pages(Starlette(routes=[Route("/", send)])) as url,
        browser.visit(url) as seen,
    ):
        seen.page.goto(url)
        link = seen.page.get_by_role("link", name="Open the map explorer")
        assert link.evaluate("each => getComputedStyle(each).color") == "rgb(255, 255, 255)"
        assert seen.all_errors() == []


def test_the_page_loads_nothing() -> None:
    assert not re.search(r"<script|<link|<img| src=|//", render_start_page())
