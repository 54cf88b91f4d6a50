"""A server process whose log can be read while it runs."""

import signal
from pathlib import Path
from typing import Any

import httpx
import orjson

from tests.gateway.server.processes import (
    ServerProcess,
    Start,
    wait_until,
)


class Service:
    """A server process whose log can be read while it runs."""

    def __init__(self, start: Start, folder: Path, **given: Any) -> None:
        self.log = folder / "log"
        self.running: ServerProcess = start(log=self.log, **given)
        self.address = self.running.address()
        self.port = httpx.URL(self.address).port or 0

    def send(self, number: int) -> None:
        self.running.process.send_signal(number)

    def lines(self, message: str) -> list[dict[str, Any]]:
        complete, _, _ = self.log.read_text().rpartition("\n")  # a line may be half written
        logged = [orjson.loads(line) for line in complete.splitlines() if line[0] == "{"]
        return [line for line in logged if line["message"].startswith(message)]

    def wait_for(self, message: str, count: int = 1) -> list[dict[str, Any]]:
        wait_until(lambda: len(self.lines(message)) >= count)
        return self.lines(message)

    def reload(self) -> None:
        """Reload, and wait until new workers serve."""
        count = len(self.lines("Reloaded"))
        self.send(signal.SIGHUP)
        self.wait_for("Reloaded", count + 1)

    def stop(self) -> int:
        return self.running.stop()[0]
