"""A server in processes of its own, and helpers that observe it from outside."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import orjson

from tests.waiting import TIMEOUT_SECONDS, wait_until

CHECKOUT = Path(__file__).parents[3]
PROGRAM = """
import orjson, pathlib, sys
from gateway.server import config, supervisor
from gateway.server.config import ConnectionLimits, ServerConfig
from gateway.server.server import serve
from tests.gateway import small_app

supervisor._CHECK_SECONDS = config.GRACE_SECONDS = 600  # however busy the machine is
create_application = getattr(small_app, sys.argv[1])
options = orjson.loads(sys.argv[2])
service = options.pop("service")
service["limits"] = ConnectionLimits(**service.get("limits", {}))
if "log_file" in service:
    service["log_file"] = pathlib.Path(service["log_file"])
sys.exit(serve(ServerConfig(create_application, **service), **options))
"""


class ServerProcess:
    """A server process, of which the log can be read while it runs."""

    def __init__(
        self,
        log: Path,
        application: str = "create",
        service: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        self.log = log
        options = {"service": service or {}, "port": 0, **options}
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, application, orjson.dumps(options).decode()],
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=CHECKOUT,
                env={**os.environ, **(environment or {})},
            )

    @cached_property
    def address(self) -> str:
        """The address on the `ready` line, which this waits for."""
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], TIMEOUT_SECONDS)[0]
        line = self.process.stdout.readline().decode()
        assert line.startswith("ready "), self.log.read_text()
        return line.removeprefix("ready ").strip()

    @property
    def port(self) -> int:
        return httpx.URL(self.address).port or 0

    def lines(self, message: str) -> list[dict[str, Any]]:
        """What the log says so far of events with this message."""
        complete, _, _ = self.log.read_text().rpartition("\n")  # a line may be half written
        logged = [orjson.loads(line) for line in complete.splitlines() if line[0] == "{"]
        return [line for line in logged if line["message"].startswith(message)]

    def wait_for(self, message: str, count: int = 1) -> list[dict[str, Any]]:
        wait_until(lambda: len(self.lines(message)) >= count)
        return self.lines(message)

    def reload(self) -> None:
        """Reload, and wait until new workers serve."""
        count = len(self.lines("Reloaded"))
        self.process.send_signal(signal.SIGHUP)
        self.wait_for("Reloaded", count + 1)

    def wait_for_exit(self) -> tuple[int, str, str]:
        """Exit status, and the rest of standard output and error."""
        output, _ = self.process.communicate(timeout=TIMEOUT_SECONDS)
        return self.process.returncode, output.decode(), self.log.read_text()

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


def find_workers(address: str, count: int = 2, excluding: Collection[int] = ()) -> set[int]:
    """Wait until so many live processes have answered that are not among `excluding`."""
    seen: set[int] = set()

    def is_complete() -> bool:
        seen.add(pid(address))
        return len({each for each in seen.difference(excluding) if is_alive(each)}) == count

    wait_until(is_complete)
    return {each for each in seen.difference(excluding) if is_alive(each)}


def is_in_flight(address: str) -> bool:
    """Whether the process that answers has got a request that takes long."""
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


PAUSE_SECONDS = 0.03


@dataclass
class Load:
    """What the clients have seen so far."""

    answers: int = 0
    failures: list[str] = field(default_factory=list)
    pids: Counter[int] = field(default_factory=Counter)
    """Complete answers by the process that gave them."""


@contextmanager
def clients(port: int, *, keeping: int = 4, fresh: int = 2) -> Iterator[Load]:
    """Clients in threads of their own.

    They keep their connections until a response says that it closes; `fresh` ones open a connection
    for each request.
    """
    load, lock, stopped = Load(), threading.Lock(), threading.Event()

    def run(*, keeps_alive: bool) -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
        while not stopped.wait(PAUSE_SECONDS):
            try:
                connection.request("GET", "/pid")
                response = connection.getresponse()
                body = response.read()
            except (OSError, HTTPException) as error:
                connection.close()
                load.failures.append(repr(error))
                continue
            if response.status != 200:
                load.failures.append(body.decode())
                continue
            with lock:
                load.answers += 1
                load.pids[orjson.loads(body)["pid"]] += 1
            if not keeps_alive:
                connection.close()
        connection.close()

    threads = [
        threading.Thread(target=run, kwargs={"keeps_alive": number < keeping})
        for number in range(keeping + fresh)
    ]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
