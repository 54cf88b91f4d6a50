"""A real headless Chromium, one for each worker, that opens pages and records every error."""

import asyncio
import json
import os
import re
import subprocess
from asyncio import AbstractEventLoop
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from shutil import which
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    expect,
    sync_playwright,
)

from gateway import public_endpoints
from tests.rest.demo_service import FLOORGATE, DemoService

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(which, NAMES)), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TIMEOUT_MS = 90_000
expect.set_options(timeout=TIMEOUT_MS)

# Chromium reports what the content security policy stopped to the page as an event.
COLLECT_VIOLATIONS = """
window.violations = []
document.addEventListener('securitypolicyviolation', (event) => {
  window.violations.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`)
})
"""


@dataclass
class Visit:
    """One open page, what it asked for, and what went wrong on it."""

    base_url: str
    page: Page
    requests: list[Request] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def all_errors(self) -> list[str]:
        """Console errors, uncaught exceptions, policy violations, failed or foreign requests."""
        return [*self.errors, *self.page.evaluate("window.violations")]

    def watch(self) -> None:
        self.page.add_init_script(COLLECT_VIOLATIONS)
        self.page.on("console", self._read_console)
        self.page.on("pageerror", lambda error: self.errors.append(f"uncaught: {error}"))
        self.page.on("request", self._read_request)

    def _read_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(f"console {message.type}: {message.text}")

    def _read_request(self, request: Request) -> None:
        self.requests.append(request)
        asked, own = urlsplit(request.url), urlsplit(self.base_url)
        if asked.scheme in ("data", "blob"):
            return
        if (asked.scheme, asked.netloc) != (own.scheme, own.netloc):
            self.errors.append(f"request to another origin: {request.url}")


@contextmanager
def start_chromium() -> Iterator[Browser]:
    """Start Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=FLAGS, timeout=TIMEOUT_MS
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def open_page(browser: Browser, base_url: str) -> Iterator[Visit]:
    """Open a page in a new, empty profile; self-signed certificates are accepted."""
    context = browser.new_context(ignore_https_errors=True, viewport={"width": 1280, "height": 800})
    try:
        context.set_default_timeout(TIMEOUT_MS)
        opened = Visit(base_url, context.new_page())
        opened.watch()
        yield opened
    finally:
        context.close()


@contextmanager
def visit(base_url: str) -> Iterator[Visit]:
    """Start Chromium and open one page."""
    with start_chromium() as browser, open_page(browser, base_url) as opened:
        yield opened


needs_browser = pytest.mark.skipif(
    not public_endpoints.DIST_DIR.exists() or not CHROMIUM,
    reason="gateway/web/dist is not built (make setup), or no Chromium (apt install chromium)",
)


def type_key(page: Page, key: str) -> None:
    field = page.get_by_role("textbox", name="API key")
    field.fill(key)
    field.press("Enter")


def open_graphiql(seen: Visit) -> None:
    """Open the page and wait until its editor is ready."""
    seen.page.goto(f"{seen.base_url}/graphql")
    expect(seen.page).to_have_title("Floorgate · GraphiQL")
    expect_editor(seen)


def expect_editor(seen: Visit) -> None:
    """Wait until the panes are editors."""
    expect(seen.page.locator(".graphiql-query-editor")).to_contain_text("{")
    expect(seen.page.locator(".result-window .monaco-editor")).to_be_visible()


def execute_query(seen: Visit, awaited: str) -> str:
    """Press the button and return the response pane's text once `awaited` is in it."""
    seen.page.get_by_role("button", name="Execute query").click()  # once it is enabled
    response = seen.page.locator(".result-window")
    expect(response).to_contain_text(awaited)
    # the editor draws spaces as no-break spaces
    return response.inner_text().replace("\xa0", " ")


def expect_key_state(seen: Visit, text: str) -> None:
    expect(seen.page.locator("#key-state")).to_have_text(text)


def open_reference(seen: Visit, operation: str = "Units/listUnits") -> Locator:
    """Open the API reference at an operation, and wait until it is drawn."""
    seen.page.goto(f"{seen.base_url}/v1/openapi#/{operation}")
    return find_operation(seen.page, operation.split("/")[1])


def find_operation(page: Page, operation_id: str) -> Locator:
    operation = page.locator(f"section[id$='/{operation_id}']")
    expect(operation.get_by_role("button", name="Test Request")).to_be_visible()
    return operation


def try_operation(operation: Locator) -> Locator:
    """Open the dialog that sends the operation's request, and send it."""
    operation.get_by_role("button", name="Test Request").press("Enter")
    dialog = operation.page.get_by_role("dialog", name="API Client")
    dialog.locator("[data-addressbar-action=send]:visible").press("Enter")
    return dialog


MAP = "alder-court-floor-plates"
APARTMENT = "ugwo2tfiznm"
GYM = "l4xusy2pgwt"

DROP = """(target, [name, text]) => {
  const dataTransfer = new DataTransfer()
  dataTransfer.items.add(new File([text], name, { type: 'image/svg+xml' }))
  for (const type of ['dragover', 'drop']) {
    target.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }))
  }
}"""


@dataclass(frozen=True)
class Explorer:
    """A tab of the browser, and the service that it shows."""

    seen: Visit
    service: DemoService
    refusals: list[str] = field(default_factory=list)
    """Statuses of the responses that the test expects to fail."""

    @property
    def page(self) -> Page:
        return self.seen.page

    @property
    def map(self) -> Locator:
        return self.page.locator("floorgate-map")

    @property
    def card(self) -> Locator:
        return self.page.get_by_role("article")

    @property
    def warnings(self) -> Locator:
        return self.page.get_by_role("region", name="Warnings of the drawing")

    def open(self, query: str = "", key: str | None = None) -> None:
        """Open a link of the explorer, with the key of the demo or another."""
        self.page.goto(f"{self.service.url}/maps{query}#key={key or self.service.key}")

    def open_map(self, *, key: str | None = None, **state: str) -> None:
        self.open("?" + "&".join(f"{name}={value}" for name, value in state.items()), key)
        expect(self.page.get_by_role("application", name="Map of")).to_be_visible()

    def button(self, name: str | re.Pattern[str]) -> Locator:
        return self.page.get_by_role("button", name=name)

    def floor(self, name: str) -> Locator:
        return self.page.get_by_role("radio", name=name)

    def choose(self, field: str, text: str) -> None:
        """Type a text into a search field, and take the first that it finds."""
        box = self.page.get_by_role("combobox", name=field)
        box.fill(text)
        expect(self.page.get_by_role("option").first).to_be_visible()
        box.press("Enter")

    def drop(self, target: Locator, name: str, text: str) -> None:
        target.evaluate(DROP, [name, text])

    def errors(self) -> list[str]:
        return [
            error
            for error in self.seen.all_errors()
            if not any(f"status of {status}" in error for status in self.refusals)
        ]

    def state(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self.map.evaluate("map => map.state"))

    def pixels(self, x: float, y: float) -> tuple[float, float]:
        """Where a position of the drawing is in the window."""
        inside = self.map.evaluate("(map, point) => map.toPixels(point)", {"x": x, "y": y})
        box = self.map.bounding_box()
        assert box
        return box["x"] + inside["x"], box["y"] + inside["y"]


def run_command(service: DemoService, *arguments: str) -> str:
    """What a command prints that works on the database of the service."""
    command = [str(FLOORGATE), *arguments]
    environment = {**os.environ, **service.environment}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def create_key(service: DemoService, *permissions: str) -> str:
    """Create a key that sees the demo property."""
    options = [option for each in permissions for option in ("--permission", each)]
    command = ("keys", "create", "--name", "test", "--asset", "alder-court", "--json", *options)
    return str(json.loads(run_command(service, *command))["key"])


@pytest.fixture(scope="session")
def started_chromium() -> Iterator[tuple[Browser, AbstractEventLoop]]:
    """Start Chromium; tests take `chromium`."""
    with start_chromium() as started:
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
def seen(chromium: Browser, demo: DemoService) -> Iterator[Visit]:
    """A new tab, in light colours and without moving parts."""
    with open_page(chromium, demo.url) as opened:
        opened.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        yield opened


@pytest.fixture
def explorer(seen: Visit, demo: DemoService) -> Iterator[Explorer]:
    """A new tab; nothing may go wrong in it, unless the test says so."""
    yield (explorer := Explorer(seen, demo))
    assert explorer.errors() == []
