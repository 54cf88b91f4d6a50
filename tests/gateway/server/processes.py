"""A server in separate processes, and helpers that observe it from outside."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import orjson

CHECKOUT = Path(__file__).parents[3]
TIMEOUT_SECONDS = 60
PROGRAM = """
import orjson, pathlib, sys
from gateway.server.server import serve
from gateway.server.config import ConnectionLimits, ServerConfig
from tests.gateway import small_app

create_application = getattr(small_app, sys.argv[1])
options = orjson.loads(sys.argv[2])
service = options.pop("service")
service["limits"] = ConnectionLimits(**service.get("limits", {}))
if "log_file" in service:
    service["log_file"] = pathlib.Path(service["log_file"])
sys.exit(serve(ServerConfig(create_application, **service), **options))
"""


class ServerProcess:
    """A server process, and the one line that it printed."""

    def __init__(
        self,
        application: str = "create",
        service: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
        log: Path | None = None,
        **options: Any,
    ) -> None:
        options = {"service": service or {}, "port": 0, **options}
        with contextlib.ExitStack() as stack:  # a log in a file can be read while the server runs
            errors = subprocess.PIPE if log is None else stack.enter_context(log.open("wb"))
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, application, orjson.dumps(options).decode()],
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=CHECKOUT,
                env={**os.environ, **(environment or {})},
            )

    def address(self) -> str:
        """Waits for the `ready` line."""
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], TIMEOUT_SECONDS)[0]
        line = self.process.stdout.readline().decode()
        assert line.startswith("ready ")
        return line.removeprefix("ready ").strip()

    def wait_for_exit(self) -> tuple[int, str, str]:
        """Exit status, and the rest of standard output and error."""
        output, errors = self.process.communicate(timeout=TIMEOUT_SECONDS)
        return self.process.returncode, output.decode(), (errors or b"").decode()

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        self.process.send_signal(number)
        return self.wait_for_exit()

    def kill(self) -> None:
        """Kill it, if it still runs."""
        self.process.kill()
        self.process.communicate()


Start: TypeAlias = Callable[..., ServerProcess]


def get(url: str) -> httpx.Response:
    """On a fresh connection; not verifying spares the reading of all authorities."""
    return httpx.get(url, verify=False, timeout=TIMEOUT_SECONDS)


def keeping_client() -> httpx.Client:
    """A client that never closes its connection itself."""
    return httpx.Client(timeout=TIMEOUT_SECONDS, limits=httpx.Limits(keepalive_expiry=None))


def pid(address: str) -> int:
    """The process that answers on a fresh connection."""
    answer: int = get(f"{address}/pid").json()["pid"]
    return answer


def pids(address: str) -> set[int]:
    return {pid(address) for _ in range(20)}


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds, and fail after the timeout."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def is_in_flight(address: str) -> bool:
    """Whether the process that answers has got a request for `/sleep`."""
    return bool(get(f"{address}/pid").json()["sleeping"])


def refuses_connections(address: str) -> bool:
    """Whether no connection can be opened any more."""
    try:
        get(f"{address}/pid")
    except httpx.TransportError:
        return True
    return False


def exit_worker(address: str) -> None:
    """Makes the process that gets the request end at once, without an answer."""
    with contextlib.suppress(httpx.TransportError):
        get(f"{address}/exit")


def is_alive(process_id: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process_id}/status").read_text()
    except OSError:
        return False
