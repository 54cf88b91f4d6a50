"""Gateways as their users run them: a supervisor and two workers, behind a proxy of their own."""

import os
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError

from bench.load.machine import list_process_tree
from storage.embedded.replica_set import HOST
from tests.gateway.floorgate_process import CHECKOUT, COMMAND, environment, storage_options
from tests.waiting import wait_until

WORKERS = 2
DEADLINE_SECONDS = 5
"""The deadline of requests that the gateways are told."""
_ANSWER_SECONDS = 5
_DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")


@dataclass
class GatewayProcess:
    """`floorgate serve` at a port that it keeps over restarts."""

    number: int
    port: int
    directory: Path
    mongo_url: str
    database: str
    key: str
    """Of its clients."""
    process: subprocess.Popen[bytes] | None = None
    log_start: int = 0
    """Where in the log its last start begins."""
    was_ended: bool = False
    """Whether it was killed or terminated, so that connections ended without a response."""
    workers: int = WORKERS
    options: tuple[str, ...] = ()
    """More of `floorgate serve`."""

    @property
    def log(self) -> Path:
        """The file with all that it has logged."""
        return self.directory / f"gateway-{self.number}.log"

    def start(self) -> None:
        """Start it. The thread must outlive it."""
        folder = self.directory / f"gateway-{self.number}"
        folder.mkdir(exist_ok=True)
        command = [
            *(*_DIES_WITH_US, *COMMAND, "serve", "--behind-proxy", "--port", str(self.port)),
            *("--data-dir", str(folder), "--workers", str(self.workers), "--rate-limit", "0"),
            *("--request-seconds", str(DEADLINE_SECONDS), "--bad-key-limit", "0"),
            *storage_options(self.mongo_url, self.database, folder),
            *self.options,
        ]
        with self.log.open("ab") as log:
            self.log_start = log.tell()
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=CHECKOUT, env=environment()
            )

    def is_ready(self) -> bool:
        """Return whether it says that it can serve, with all of its workers."""
        if b"ready http" not in self.log.read_bytes()[self.log_start :]:
            return False  # one worker may answer while others start
        url = f"http://{HOST}:{self.port}/health/ready"
        with (
            suppress(URLError, OSError),
            urllib.request.urlopen(url, timeout=_ANSWER_SECONDS) as response,
        ):
            return bool(response.status == 200)
        return False

    def wait_until_ready(self) -> None:
        """Wait until it can serve."""
        wait_until(lambda: self.is_ready() or not self.is_running(), "the gateway is ready")
        if not self.is_running():
            raise AssertionError(f"the gateway has ended:\n{self.log.read_text()[-2000:]}")

    def is_running(self) -> bool:
        """Return whether its supervisor runs."""
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """End all its processes at once, as a crash of the machine does."""
        if self.process is None:
            return
        self.was_ended = True
        with suppress(OSError):
            for pid in list_process_tree(self.process.pid):
                os.kill(pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def terminate(self) -> int:
        """Tell it to stop; return its exit status."""
        assert self.process is not None
        self.was_ended = True
        self.process.terminate()
        return self.process.wait(timeout=60)


@contextmanager
def running(*gateways: GatewayProcess) -> Iterator[None]:
    """Start gateways, and kill them after the block."""
    try:
        for gateway in gateways:
            gateway.start()
        for gateway in gateways:
            gateway.wait_until_ready()
        yield
    finally:
        for gateway in gateways:
            gateway.kill()
