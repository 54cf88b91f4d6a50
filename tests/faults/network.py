"""The network between the members of a replica set and their clients, which tests can break.

Each member is found at the port of a TCP proxy. A connection's link is named by where it comes from
and where it leads: the proxy knows the process at the other end by its port (proc(5): /proc/net/tcp
has the inode of its socket, /proc/<pid>/fd the inodes of a process). So the primary can be cut off
from one secondary while clients still reach both.
"""

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from storage.embedded.replica_set import HOST
from tests.storage.mongo.replica_set_of_three import Member

CLIENTS = -1
"""The origin of connections that are of no member."""
_CHUNK_BYTES = 1 << 16
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Fault(Enum):
    """What happens to the connections of a link."""

    NONE = "none"
    HOLE = "hole"
    """They stay open, new ones are accepted, and nothing passes: packets are lost."""
    RESET = "reset"
    """They are reset when something is sent on them."""
    REFUSE = "refuse"
    """They are reset at once."""


@dataclass
class Link:
    """Connections from one member, or from clients, to a member."""

    fault: Fault = Fault.NONE
    delay_there: float = 0.0
    delay_back: float = 0.0
    """Seconds that each message takes in one direction."""
    writers: set[asyncio.StreamWriter] = field(default_factory=set)
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Network:
    """Proxies at ports of their own, one in front of each member."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.proxy_ports: list[int] = []
        self._ports = ports
        self._members: Sequence[Member] = ()
        self._loop = asyncio.new_event_loop()
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._links = {
            (origin, member): Link()
            for member in range(len(ports))
            for origin in (CLIENTS, *range(len(ports)))
        }

    def identify(self, members: Sequence[Member]) -> None:
        """Have connections of these processes count as those of the members."""
        self._members = members

    def set_fault(
        self,
        fault: Fault,
        origins: Sequence[int] = (CLIENTS,),
        members: Sequence[int] | None = None,
        *,
        delay_there: float = 0.0,
        delay_back: float = 0.0,
    ) -> None:
        """Break the links from these origins to these members (all, by default), or heal them."""
        if members is None:
            members = range(len(self._ports))
        links = [self._links[pair] for pair in ((o, m) for o in origins for m in members)]

        def change() -> None:
            for link in links:
                link.fault = fault
                link.delay_there, link.delay_back = delay_there, delay_back
                link.changed.set()
                link.changed = asyncio.Event()
                if fault is Fault.REFUSE:
                    for writer in link.writers:
                        _reset(writer)
            done.set()

        done = threading.Event()
        self._loop.call_soon_threadsafe(change)
        done.wait()

    def heal(self) -> None:
        """Let everything pass."""
        self.set_fault(Fault.NONE, (CLIENTS, *range(len(self._ports))))

    @contextmanager
    def isolated(self, member: int) -> Iterator[None]:
        """Separate a member from the others in the block; clients reach all of them."""
        others = [other for other in range(len(self._ports)) if other != member]
        self.set_fault(Fault.HOLE, others, [member])
        self.set_fault(Fault.HOLE, [member], others)
        try:
            yield
        finally:
            self.heal()

    def count_connections(self, origin: int, member: int) -> int:
        """Return how many connections a link has."""
        return len(self._links[origin, member].writers) // 2

    @contextmanager
    def run(self) -> Iterator["Network"]:
        """Listen in a thread of its own while the block runs."""
        thread = threading.Thread(target=self._loop.run_forever, name="network", daemon=True)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    async def _listen(self) -> None:
        for member in range(len(self._ports)):
            server = await asyncio.start_server(self._accept(member), HOST, 0)
            self._servers.append(server)
            self.proxy_ports.append(server.sockets[0].getsockname()[1])

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for _ in range(2):  # what was aborted is closed in the next turn
            await asyncio.sleep(0)

    def _accept(self, member: int) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = self._loop.create_task(self._forward(member, reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        return accept

    async def _forward(
        self, member: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        pids = [member.process.pid for member in self._members]
        origin = find_origin(writer.get_extra_info("peername")[1], pids)
        link = self._links[origin, member]
        if link.fault is Fault.REFUSE:
            _reset(writer)
            return
        try:
            back, forth = await asyncio.open_connection(HOST, self._ports[member])
        except OSError:
            _reset(writer)
            return
        except asyncio.CancelledError:
            writer.transport.abort()
            raise
        link.writers |= {writer, forth}
        try:
            await asyncio.gather(
                _pump(link, reader, forth, lambda: link.delay_there),
                _pump(link, back, writer, lambda: link.delay_back),
            )
        finally:
            link.writers -= {writer, forth}
            for each in (writer, forth):
                each.transport.abort()


async def _pump(
    link: Link,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    delay: Callable[[], float],
) -> None:
    with suppress(OSError):
        while data := await reader.read(_CHUNK_BYTES):
            if seconds := delay():
                await asyncio.sleep(seconds)
            while link.fault is Fault.HOLE:
                await link.changed.wait()
            if link.fault is not Fault.NONE:
                _reset(writer)
                break
            writer.write(data)
            await writer.drain()
    # A hole hides also that the other end is gone.
    while link.fault is Fault.HOLE:
        await link.changed.wait()
    if link.fault is not Fault.NONE:
        _reset(writer)
    writer.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    writer.transport.abort()


def find_origin(port: int, pids: Sequence[int]) -> int:
    """Return the position of the process whose connection has this local port, else CLIENTS."""
    inode = _find_inode(port)
    for number, pid in enumerate(pids):
        with suppress(OSError):
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    if str(descriptor.readlink()) == f"socket:[{inode}]":
                        return number
    return CLIENTS


def _find_inode(port: int) -> str | None:
    address = f"{int.from_bytes(socket.inet_aton(HOST), 'little'):08X}:{port:04X}"
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1] == address:
            return fields[9]
    return None


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Wait for something that happens in another process or thread."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds:.0f} seconds")
        time.sleep(0.02)
