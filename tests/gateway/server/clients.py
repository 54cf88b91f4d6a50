"""Clients that send one request after the other, and count what goes wrong."""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

REQUEST = b"GET /%b HTTP/1.1\r\nHost: localhost\r\n\r\n"
PAUSE_SECONDS = 0.01
TIMEOUT_SECONDS = 60


@dataclass
class Load:
    """What the clients have seen so far."""

    answers: int = 0
    failures: list[str] = field(default_factory=list)
    pids: Counter[int] = field(default_factory=Counter)
    """Complete answers by the process that gave them."""

    def count(self, body: dict[str, Any]) -> None:
        self.answers += 1
        self.pids[body["pid"]] += 1


class Client:
    """One client. It keeps its connection until a response says that it closes, or never does."""

    def __init__(self, port: int, load: Load, *, keeps_alive: bool, path: bytes = b"pid") -> None:
        self._port = port
        self._load = load
        self._keeps_alive = keeps_alive
        self._request = REQUEST % path
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def run(self, stopped: asyncio.Event) -> None:
        while not stopped.is_set():
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    await self._exchange()
            except (OSError, EOFError, TimeoutError, ValueError) as error:
                self._load.failures.append(repr(error))
                self._disconnect()
            await asyncio.sleep(PAUSE_SECONDS)
        self._disconnect()

    async def _exchange(self) -> None:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(self._request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if not head.startswith(b"http/1.1 200 "):
            raise ValueError(head)
        length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        self._load.count(orjson.loads(await reader.readexactly(length)))
        if b"connection: close" in head or not self._keeps_alive:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


@contextmanager
def clients(port: int, *, keeping: int = 4, fresh: int = 2) -> Iterator[Load]:
    """Clients in a thread of their own; `fresh` ones open a connection for each request."""
    load = Load()
    stopped = asyncio.Event()

    async def run_all() -> None:
        each = [
            Client(port, load, keeps_alive=number < keeping) for number in range(keeping + fresh)
        ]
        await asyncio.gather(*(client.run(stopped) for client in each))

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_until_complete, args=(run_all(),))
    thread.start()
    try:
        yield load
    finally:
        loop.call_soon_threadsafe(stopped.set)
        thread.join()
        loop.close()
