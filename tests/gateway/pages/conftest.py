"""The explorer of the demo property, for the tests that open it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.gateway.pages import browser
from tests.gateway.pages.explorer import Explorer
from tests.rest.demo_service import DemoService, demo_service


@pytest.fixture(scope="session")
def demo(mongo_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoService]:
    with demo_service(mongo_url, tmp_path_factory.mktemp("explorer")) as running:
        yield running


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.start_chromium() as started:
        yield started


@pytest.fixture
def explorer(chromium: Browser, demo: DemoService) -> Iterator[Explorer]:
    """A new tab; nothing may go wrong in it, unless the test says so."""
    with browser.open_page(chromium, demo.url) as seen:
        seen.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        yield (explorer := Explorer(seen, demo))
        assert explorer.errors() == []
