"""One Chromium for each worker of pytest, and tabs in it: also for the tests of clients."""

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.gateway.pages import browser
from tests.gateway.pages.explorer import Explorer
from tests.rest.demo_service import DemoService


@pytest.fixture(scope="session")
def started_chromium() -> Iterator[tuple[Browser, AbstractEventLoop]]:
    """Start Chromium; tests take `chromium`."""
    with browser.start_chromium() as started:
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield started, loop
        asyncio._set_running_loop(loop)


@pytest.fixture
def chromium(started_chromium: tuple[Browser, AbstractEventLoop]) -> Iterator[Browser]:
    """The running Chromium.

    playwright leaves its event loop running while it is open. It is hidden between the tests that
    take this fixture, so that others can run event loops of their own.
    """
    started, loop = started_chromium
    asyncio._set_running_loop(loop)
    yield started
    asyncio._set_running_loop(None)


@pytest.fixture
def seen(chromium: Browser, demo: DemoService) -> Iterator[browser.Visit]:
    """A new tab, in light colours and without moving parts."""
    with browser.open_page(chromium, demo.url) as opened:
        opened.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        yield opened


@pytest.fixture
def explorer(seen: browser.Visit, demo: DemoService) -> Iterator[Explorer]:
    """A new tab; nothing may go wrong in it, unless the test says so."""
    yield (explorer := Explorer(seen, demo))
    assert explorer.errors() == []
