"""The map explorer of the demo property as people use it, in a real Chromium."""

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from typing import Any, cast

from playwright.sync_api import Locator, Page, expect

from tests.gateway.pages import browser
from tests.rest.demo_service import FLOORGATE, DemoService

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

    seen: browser.Visit
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
