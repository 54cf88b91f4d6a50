"""A real headless Chromium that opens the pages and records every error it reports."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from shutil import which
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
    field = page.get_by_label("API key")
    field.fill(key)
    field.press("Enter")


def open_graphiql(seen: Visit) -> None:
    """Open the page and wait until its editor is ready."""
    seen.page.goto(f"{seen.base_url}/graphql")
    expect(seen.page).to_have_title("Floorgate · GraphiQL")
    expect_editor(seen)


def expect_editor(seen: Visit) -> None:
    """Wait until the panes are editors: before, the button of the page does nothing."""
    expect(seen.page.locator(".graphiql-query-editor")).to_contain_text("{")
    expect(seen.page.locator(".result-window .monaco-editor")).to_be_visible()


def execute_query(seen: Visit, awaited: str) -> str:
    """Press the button and return the response pane's text once `awaited` is in it."""
    expect_editor(seen)
    seen.page.get_by_role("button", name="Execute query").click()
    response = seen.page.locator(".result-window")
    expect(response).to_contain_text(awaited)
    # the editor draws spaces as no-break spaces
    return response.inner_text().replace("\xa0", " ")


def expect_key_state(seen: Visit, text: str) -> None:
    expect(seen.page.locator("#key-state")).to_have_text(text)


def open_reference(seen: Visit) -> None:
    """Open the API reference and wait until its list of units is there."""
    seen.page.goto(f"{seen.base_url}/v1/openapi")
    expect(seen.page).to_have_title("Floorgate · API reference")
    expect(_units_operation(seen)).to_be_visible()


def try_units(seen: Visit) -> Locator:
    """Expand the list of units and execute it."""
    operation = _units_operation(seen)
    operation.locator("button.opblock-summary-control").click()
    operation.get_by_role("button", name="Execute").click()
    return operation


def _units_operation(seen: Visit) -> Locator:
    in_list = seen.page.locator('[data-path="/v1/units"]')
    return seen.page.locator(".opblock-get").filter(has=in_list)
