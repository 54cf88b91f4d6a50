"""The example page in React with Apollo Client, in a real browser beside the demo property."""

import pytest
from playwright.sync_api import expect

from tests.clients.conftest import Site
from tests.clients.environment import CLIENTS
from tests.gateway.pages import browser
from tests.gateway.pages.test_accessibility import AXE, TOOLS, problems
from tests.rest.packages import install, npm

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("map"),
    pytest.mark.skipif(
        not browser.CHROMIUM, reason="no Chromium on this machine: apt install chromium"
    ),
]

PAGE = CLIENTS / "examples" / "directory-page"
PAGE_SIZE = 25


def test_it_lists_and_finds_units_and_loads_more(site: Site) -> None:
    install(TOOLS)
    install(PAGE).run(*npm(), "run", "build")
    (site.directory / "directory").symlink_to(PAGE)
    with browser.visit(site.url) as seen:
        page = seen.page
        page.goto(f"{site.url}/directory/?url={site.demo.url}&key={site.demo.key}")
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
