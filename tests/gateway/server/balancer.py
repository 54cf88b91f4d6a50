"""A balancer for tests: it asks each gateway whether it is ready, and passes connections on."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PROBE = b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
PROBE_SECONDS = 0.05


class Balancer:
    """Sends each new connection to the next gateway that was ready when asked last."""

    def __init__(self) -> None:
        self.ports: list[int] = []
        self.ready: set[int] = set()
        self.port = 0
        self._turn = 0
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()

    async def _run(self, started: threading.Event) -> None:
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        while not self._stopped.is_set():
            for port in list(self.ports):
                is_ready = await self._is_ready(port)
                (self.ready.add if is_ready else self.ready.discard)(port)
            await asyncio.sleep(PROBE_SECONDS)
        server.close()

    async def _is_ready(self, port: int) -> bool:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(PROBE)
            answer = await reader.read()
            writer.close()
        except OSError:
            return False
        return answer.startswith(b"HTTP/1.1 200 ")

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._turn += 1
        ready = sorted(self.ready)
        port = ready[self._turn % len(ready)]
        with contextlib.suppress(OSError):
            there = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(_copy(reader, there[1]), _copy(there[0], writer))
        writer.close()

    def _thread(self, started: threading.Event) -> None:
        self._loop.run_until_complete(self._run(started))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


@contextmanager
def balance() -> Iterator[Balancer]:
    """A balancer in a thread of its own; name the gateways in its `ports`."""
    balancer = Balancer()
    started = threading.Event()
    thread = threading.Thread(target=balancer._thread, args=(started,))
    thread.start()
    started.wait()
    try:
        yield balancer
    finally:
        balancer._loop.call_soon_threadsafe(balancer._stopped.set)
        thread.join()
        balancer._loop.close()
