"""`floorgate` as its users run it, and a gateway in this process behind a real socket."""

import asyncio
import contextlib
import os
import select
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.app import Gateway
from gateway.response_cache import FastPath, FastResponse
from gateway.server.config import Application, ServerConfig
from gateway.server.connections import ConnectionTable
from gateway.server.worker import WorkerServer
from gateway.settings import Settings
from storage.cache import change_feed
from tests.waiting import TIMEOUT_SECONDS

CHECKOUT = Path(__file__).parents[2]
COMMAND = [str(Path(sys.executable).parent / "floorgate")]
# The program itself refuses to run the packages of another checkout, which PYTHONPATH names.
_COMMAND_OF_OTHERS = [sys.executable, "-P", "-c", "from gateway.cli.main import main; main()"]


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


def _find_command(given: Mapping[str, str]) -> list[str]:
    return _COMMAND_OF_OTHERS if "PYTHONPATH" in given else COMMAND


def floorgate(*arguments: Any, stdin: str = "", **given: str) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end."""
    return subprocess.run(
        [*_find_command(given), *map(str, arguments)],
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
    options = ("--port", "0", "--data-dir", str(data_dir), *map(str, arguments))
    process = subprocess.Popen(
        [*_find_command(given), "serve", *options],
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


VOLATILE = ("x-request-id", "date", "ratelimit")


@dataclass
class WireResponse:
    """A response as it came over the connection."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def repeatable(self) -> tuple[int, dict[str, str], bytes]:
        """Return the parts that an identical request gets as well."""
        headers = {name: text for name, text in self.headers.items() if name not in VOLATILE}
        return self.status, headers, self.body


class Connection:
    """A connection to a gateway."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str | None
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.key = key

    def send(self, path: str, method: str = "GET", body: bytes = b"", **headers: str) -> None:
        given = {"Host": "directory.test"}
        if body:
            given |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        given |= {name.replace("_", "-"): text for name, text in headers.items()}
        if self.key is not None:
            given = {"API-Key": self.key, **given}
        lines = [
            f"{method} {path} HTTP/1.1",
            *(f"{name}: {text}" for name, text in given.items()),
        ]
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + body)

    async def receive(self, method: str = "GET") -> WireResponse:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            fields = (line.partition(": ") for line in head[1:-2])
            headers = {name.lower(): text for name, _, text in fields}
            length = 0 if method == "HEAD" else int(headers.get("content-length", "0"))
            status = int(head[0].split()[1])
            body = await self.reader.readexactly(0 if status == 304 else length)
        return WireResponse(status, headers, body)

    async def request(
        self, path: str, method: str = "GET", body: bytes = b"", **headers: str
    ) -> WireResponse:
        self.send(path, method, body, **headers)
        return await self.receive(method)


@dataclass
class FastPathServer:
    """A gateway behind a real socket; `found` has the status of each fast response."""

    gateway: Gateway
    port: int
    found: list[int]

    @contextlib.asynccontextmanager
    async def connect(self, key: str | None) -> AsyncIterator[Connection]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20)
        try:
            yield Connection(reader, writer, key)
        finally:
            writer.close()

    async def wait_for_fast_path(self, connection: Connection, path: str) -> None:
        """Send requests until the fast path responds: creating a key invalidates entries too."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not self.found:
                assert (await connection.request(path)).status == 200


@contextlib.asynccontextmanager
async def serve_with_fast_path(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[FastPathServer]:
    """A gateway that uses its caches however slow this machine is."""
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 3600.0)
    found = list[int]()
    look_up = FastPath.look_up

    def counting(self: FastPath, *request: Any, **method: Any) -> FastResponse | None:
        answer = look_up(self, *request, **method)
        if answer is not None:
            found.append(answer.status)
        return answer

    monkeypatch.setattr(FastPath, "look_up", counting)
    gateway = Gateway(settings)
    monkeypatch.setattr(gateway, "warm_up", Application().warm_up)
    async with serve_here(gateway) as port:
        yield FastPathServer(gateway, port, found)


@contextlib.asynccontextmanager
async def serve_here(gateway: Gateway) -> AsyncIterator[int]:
    """The port at which this process serves a gateway, which follows changes if it caches."""
    service = ServerConfig(lambda _: gateway, headers=(("x-content-type-options", "nosniff"),))
    is_ready = asyncio.Event()
    server = WorkerServer(service, gateway, ConnectionTable(service.limits), is_ready.set)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # As uvloop does; else a response in two parts waits 40 ms for the client's kernel.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        serving = asyncio.create_task(server.serve_until_stopped([listener]))
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not (
                is_ready.is_set() and gateway.state and gateway.state.change_feed.take_snapshot()
            ):
                if serving.done():  # it could not start
                    await serving
                await asyncio.sleep(0.01)
        yield listener.getsockname()[1]
        server.stop(signal.SIGINT)
        await serving
