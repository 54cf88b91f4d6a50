"""The network between the members of a replica set and their clients, which tests can break.

Each member is found at the port of a TCP proxy. A connection's link is named by where it comes from
and where it leads: the proxy knows the process at the other end by the inode of its socket, which
is among those of /proc/<pid>/fd. So the primary can be cut off from one secondary while clients
still reach both.
"""

import asyncio
import multiprocessing
import os
import signal
import socket
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from storage.embedded.replica_set import HOST
from tests.storage.mongo.replica_set_of_three import Member

CLIENTS = -1
"""The origin of connections that are of no member."""
_CHUNK_BYTES = 1 << 16
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _REQUEST = 4, 20, 1
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
    """Proxies at ports of their own, one in front of each member.

    They are a process of their own: where they share an interpreter with clients and checkers,
    heartbeats of the members come late, and these elect again and again.
    """

    def __init__(self, ports: Sequence[int]) -> None:
        self.proxy_ports: list[int] = []
        self._ports = ports
        self._commands: Connection
        self.command = len(ports)
        """The origin of connections of the process that `command_pid_file` names."""
        self._everyone = (CLIENTS, *range(len(ports)), self.command)

    def identify(self, members: Sequence[Member], command_pid_file: Path) -> None:
        """Have connections of these processes count as those of the members and of a command."""
        command_pid_file.touch()
        self._call("identify", [*(member.pid_file for member in members), command_pid_file])

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
        chosen = range(len(self._ports)) if members is None else members
        pairs = [(origin, member) for origin in origins for member in chosen]
        self._call("set_fault", pairs, fault, delay_there, delay_back)

    def heal(self) -> None:
        """Let everything pass."""
        self.set_fault(Fault.NONE, self._everyone)

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
        count: int = self._call("count_connections", origin, member)
        return count

    def list_ports(self, origin: int) -> list[int]:
        """Return the ports from which connections of an origin reach the members."""
        ports: list[int] = self._call("list_ports", origin)
        return ports

    @contextmanager
    def run(self) -> Iterator["Network"]:
        """Listen while the block runs."""
        context = multiprocessing.get_context("spawn")
        self._commands, theirs = context.Pipe()
        process = context.Process(
            target=_run_proxies, args=(theirs, self._ports), name="network", daemon=True
        )
        process.start()
        theirs.close()
        try:
            self.proxy_ports = self._commands.recv()
            yield self
        finally:
            self._commands.close()
            process.join()
            process.close()

    def _call(self, name: str, *arguments: Any) -> Any:
        self._commands.send((name, arguments))
        return self._commands.recv()


def _run_proxies(commands: Connection, ports: Sequence[int]) -> None:
    """Run the process of the proxies until the other end of the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(_Proxies(ports).run(commands))


class _Proxies:
    """What listens in front of the members. Public methods are the commands of `Network`."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = ports
        self._pid_files: Sequence[Path] = ()
        self._links: dict[tuple[int, int], Link] = defaultdict(Link)
        self._unidentified: dict[tuple[int, int], asyncio.Future[int]] = {}
        """By the ports of the connection."""
        self._ended = asyncio.Event()

    async def run(self, commands: Connection) -> None:
        servers = [
            await asyncio.start_server(partial(self._forward, member), HOST, 0)
            for member in range(len(self._ports))
        ]
        commands.send([server.sockets[0].getsockname()[1] for server in servers])
        asyncio.get_running_loop().add_reader(commands.fileno(), self._obey, commands)
        await self._ended.wait()
        os._exit(0)  # connections end with the process

    def _obey(self, commands: Connection) -> None:
        try:
            name, arguments = commands.recv()
        except EOFError:
            self._ended.set()
        else:
            commands.send(getattr(self, name)(*arguments))

    def identify(self, pid_files: Sequence[Path]) -> None:
        self._pid_files = pid_files

    def count_connections(self, origin: int, member: int) -> int:
        return len(self._links[origin, member].writers) // 2

    def list_ports(self, origin: int) -> list[int]:
        links = [self._links[origin, member] for member in range(len(self._ports))]
        return [each.get_extra_info("sockname")[1] for link in links for each in link.writers]

    def set_fault(
        self,
        pairs: Sequence[tuple[int, int]],
        fault: Fault,
        delay_there: float,
        delay_back: float,
    ) -> None:
        for link in (self._links[pair] for pair in pairs):
            link.fault = fault
            link.delay_there, link.delay_back = delay_there, delay_back
            link.changed.set()
            link.changed = asyncio.Event()
            if fault is Fault.REFUSE:
                for writer in link.writers:
                    _reset(writer)

    async def _find_origin(self, writer: asyncio.StreamWriter) -> int:
        loop = asyncio.get_running_loop()
        if not self._unidentified:
            loop.call_soon(self._identify_connections)
        link = writer.get_extra_info("peername")[1], writer.get_extra_info("sockname")[1]
        return await self._unidentified.setdefault(link, loop.create_future())

    def _identify_connections(self) -> None:
        """Look once for all that have just been accepted: it takes long where there are many."""
        connections, self._unidentified = self._unidentified, {}
        pids = [each.read_text() for each in self._pid_files]
        origins = find_origins(connections, pids)
        for link, origin in connections.items():
            origin.set_result(origins.get(link, CLIENTS))

    async def _forward(
        self, member: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        link = self._links[await self._find_origin(writer), member]
        if link.fault is Fault.REFUSE:
            _reset(writer)
            return
        try:
            back, forth = await asyncio.open_connection(HOST, self._ports[member])
        except OSError:
            _reset(writer)
            return
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


def find_origins(
    links: Iterable[tuple[int, int]], pids: Sequence[int | str]
) -> dict[tuple[int, int], int]:
    """Return the position of the process at the first port of each connection between two ports.

    Those of other processes have no result.
    """
    inodes = {f"socket:[{_find_inode(*link)}]": link for link in links}
    origins = {}
    for number, pid in enumerate(pids):
        with suppress(OSError):
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    if link := inodes.get(str(descriptor.readlink())):
                        origins[link] = number
    return origins


def _find_inode(port: int, other_port: int) -> int:
    """Return the inode of the socket at the first port of a connection; 0 if there is none.

    This asks the kernel for one socket, see sock_diag(7). /proc/net/tcp lists all, with those that
    were closed a minute ago: too long to be read for each connection.
    """
    address = socket.inet_aton(HOST).ljust(16, b"\0")
    ends = struct.pack(">HH", port, other_port) + address + address
    any_socket = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
    request = struct.pack("=BBxxI", socket.AF_INET, socket.IPPROTO_TCP, 0xFFFFFFFF)
    request += ends + any_socket
    header = struct.pack("=IHHII", 16 + len(request), _SOCK_DIAG_BY_FAMILY, _REQUEST, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.send(header + request)
        reply = kernel.recv(4096)
    (kind,) = struct.unpack_from("=H", reply, 4)
    inode: int = struct.unpack_from("=I", reply, 84)[0] if kind == _SOCK_DIAG_BY_FAMILY else 0
    return inode
