"""`floorgate` as its users run it: in processes of its own, spoken to over HTTPS."""

import os
import select
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.waiting import TIMEOUT_SECONDS

CHECKOUT = Path(__file__).parents[2]
COMMAND = [str(Path(sys.executable).parent / "floorgate")]


def environment(**given: str) -> dict[str, str]:
    """The environment of a command, without the `FLOORGATE_*` variables of this process."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("FLOORGATE_")}
    return {**ours, "COLUMNS": "200", **given}


def storage_options(mongo_url: str, database: str, folder: Path) -> list[str]:
    """The options that name a database; the address, which has a password, is in a file."""
    file = folder / "mongo-url"
    file.touch(0o600)
    file.write_text(mongo_url)
    return ["--mongo-url-file", str(file), "--database", database]


def floorgate(*arguments: Any, stdin: str = "", **given: str) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env=environment(**given),
        timeout=TIMEOUT_SECONDS,
    )


@dataclass
class Server:
    """A running `floorgate serve`."""

    process: subprocess.Popen[str]
    address: str
    certificate: Path | None
    """None behind a proxy."""

    def client(self, key: str | None = None) -> httpx.Client:
        """A client that trusts the server's certificate and nothing else."""
        assert self.certificate is not None
        trusted = ssl.create_default_context(cafile=str(self.certificate))
        headers = {} if key is None else {"API-Key": key}
        return httpx.Client(
            base_url=self.address, headers=headers, verify=trusted, timeout=TIMEOUT_SECONDS
        )

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Exit status, and the rest of standard output and error."""
        self.process.send_signal(number)
        output, errors = self.process.communicate(timeout=TIMEOUT_SECONDS)
        return self.process.returncode, output, errors


@contextmanager
def run_serve_command(data_dir: Path, *arguments: Any, **given: str) -> Iterator[Server]:
    """`floorgate serve` on a free port, terminated afterwards if it still runs."""
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--data-dir", str(data_dir), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
        env=environment(**given),
    )
    try:
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], TIMEOUT_SECONDS)[0]
        line = process.stdout.readline()
        if not line.startswith("ready "):
            raise AssertionError(process.communicate(timeout=TIMEOUT_SECONDS))
        yield Server(process, line.split()[1], next(data_dir.glob("**/*cert*.pem"), None))
    finally:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=TIMEOUT_SECONDS)
