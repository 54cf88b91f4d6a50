"""The example page in React with Apollo Client, in a real browser beside the demo property."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.clients.page_server import serve_directory
from tests.gateway.pages import browser
from tests.gateway.pages.test_accessibility import AXE, TOOLS, problems
from tests.rest.demo_service import UNLIMITED, demo_service
from tests.rest.packages import install, npm
from tools.client_generation import CLIENTS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("clients"),
    pytest.mark.skipif(
        not browser.CHROMIUM, reason="no Chromium on this machine: apt install chromium"
    ),
]

PAGE = CLIENTS / "examples" / "directory-page"
PAGE_SIZE = 25


@pytest.fixture(scope="module")
def page_url() -> Iterator[str]:
    """Where the page is served, from an origin of its own."""
    for folder in (PAGE, TOOLS):
        if isinstance(packages := install(folder), str):
            pytest.skip(packages)
        if folder == PAGE:
            packages.run(*npm(), "run", "build")
    with serve_directory(PAGE) as address:
        yield address


def test_it_lists_and_finds_units_and_loads_more(
    page_url: str, mongo_url: str, tmp_path: Path
) -> None:
    options = ("--cors-origins", page_url, *UNLIMITED)
    with demo_service(mongo_url, tmp_path, options) as demo, browser.visit(page_url) as seen:
        page = seen.page
        page.goto(f"{page_url}/?url={demo.url}&key={demo.key}")
        items, status = page.get_by_role("listitem"), page.get_by_role("status")
        expect(items).to_have_count(PAGE_SIZE)
        total = int(status.inner_text().split()[0])
        first = items.first.inner_text()
        page.get_by_role("button", name="More").click()
        expect(items).to_have_count(min(2 * PAGE_SIZE, total))
        assert items.first.inner_text() == first
        assert problems(page, AXE.read_text()) == {}
        page.get_by_label("Search").fill(first.split()[0])
        expect(status).not_to_have_text(f"{total} units")
        expect(items.first).to_have_text(first)
