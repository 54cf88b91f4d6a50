"""A proxy of MongoDB's wire protocol, which sees each command and lets chosen ones fail.

Errors are those of MongoDB's own fail point `failCommand`: the server labels them, and ends a
transaction or not, as it does in earnest. The proxy sets it right before the command that it is
meant for, and lets no other command with that name pass meanwhile. What happens on the way, such as
a reply that is lost after the command was carried out, the proxy does itself.
"""

import asyncio
import re
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import bson
import uvloop
from pymongo import MongoClient

from storage.embedded.replica_set import HOST
from storage.mongo.topology import APPLICATION
from tests.storage.mongo.replica_set_of_three import Member

LATE_SECONDS = 2.0
"""How late a command arrives."""
_POLL_SECONDS = 0.005
_HEADER = struct.Struct("<iiii")
_OP_MSG = 2013
_STAGING = re.compile(r"\bstaging\..*")
"""Collections of an import, each with a random name."""
_ONCE = {"times": 1}
_CHANGE_STREAM = "$changeStream"


class Fault(Enum):
    """What happens to a command, or to its reply."""

    LATE = "late"
    """The command arrives LATE_SECONDS later, also if nobody waits for its reply any more."""
    CLOSED = "closed"
    """The connection is closed before the command arrives."""
    LOST = "lost"
    """It is carried out, and the connection is closed instead of a reply."""
    CUT = "cut"
    """It is carried out, and the connection is closed in the middle of the reply."""
    NOT_PRIMARY = "not-primary"
    WRITE_CONFLICT = "write-conflict"
    MAX_TIME = "max-time"
    MEMORY = "memory"
    UNAUTHORIZED = "unauthorized"
    HELD = "held"
    """The command is held; it is forgotten if its sender closes the connection, as by its death."""
    REPLY_HELD = "reply-held"
    """It is carried out, and its reply is held."""


ERROR_CODES = {
    Fault.NOT_PRIMARY: 10107,  # NotWritablePrimary
    Fault.WRITE_CONFLICT: 112,  # WriteConflict
    Fault.MAX_TIME: 50,  # MaxTimeMSExpired
    Fault.MEMORY: 292,  # QueryExceededMemoryLimitNoDiskUseAllowed
    Fault.UNAUTHORIZED: 13,  # Unauthorized
}
"""The error that MongoDB fails with, without carrying the command out."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A command on its way to MongoDB."""

    name: str
    database: str
    collection: str
    """Empty where it is of none; of `getMore`, that of its cursor."""
    is_of_stream: bool
    """Whether it opens or reads a change stream."""
    is_in_transaction: bool

    @property
    def label(self) -> str:
        """What the command is called in tables, such as `update units`."""
        target = _STAGING.sub("staging", self.collection)
        if self.is_of_stream or self.name == "createIndexes":
            target = "the change stream" if self.is_of_stream else ""
        more = " in a transaction" if self.is_in_transaction and target else ""
        return f"{self.name} {target}".strip() + more


@dataclass(eq=False)
class Injection:
    """A fault of the next `times` commands that are chosen."""

    fault: Fault
    is_chosen: Callable[[Sent], bool]
    times: float = 1
    """`math.inf` for all."""
    hits: list[Sent] = field(default_factory=list)
    """The commands that it has met."""
    hit: threading.Event = field(default_factory=threading.Event)
    """Set when it has met the first one."""
    arrived: int = 0
    """How many of them have reached MongoDB, and been carried out or refused there."""
    missed: int = 0
    """Errors that met another command instead."""
    held: threading.Event = field(default_factory=threading.Event)
    """Set when a command or a reply waits to be let go."""
    released: threading.Event = field(default_factory=threading.Event)
    """Set it to let go what is held."""

    def end(self) -> None:
        """Let the commands that come pass, and let go what is held."""
        self.times = 0
        self.released.set()


class Wire:
    """A proxy in front of a member; clients connect to it with `directConnection`."""

    def __init__(self, member: Member) -> None:
        self.port = 0
        self.sent: list[Sent] = []
        """All commands but those of the driver itself."""
        self._member = member
        self._injections: list[Injection] = []
        self._armed: dict[str, asyncio.Event] = {}
        """Set when the command of this name has met the error that was set for it."""
        self._connections: set[asyncio.Task[None] | None] = set()
        self._loop = uvloop.new_event_loop()
        self._admin: MongoClient[dict[str, Any]]

    @property
    def url(self) -> str:
        """The address for clients."""
        return self._member.connect_url(self.port)

    @contextmanager
    def run(self) -> Iterator["Wire"]:
        """Listen while the block runs, in a thread."""
        started, ended = threading.Event(), asyncio.Event()

        async def serve() -> None:
            server = await asyncio.start_server(self._accept, HOST, 0)
            async with server:
                self.port = server.sockets[0].getsockname()[1]
                started.set()
                await ended.wait()
                for each in self._connections:
                    if each is not None:
                        each.cancel()

        def run() -> None:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(serve())

        thread = threading.Thread(target=run, name="wire")
        with self._member.connect() as self._admin:
            thread.start()
            started.wait()
            try:
                yield self
            finally:
                self.clear()
                self._loop.call_soon_threadsafe(ended.set)
                thread.join()

    def inject(
        self, fault: Fault, is_chosen: Callable[[Sent], bool], times: float = 1
    ) -> Injection:
        """Let the next commands that are chosen meet a fault, until `clear`."""
        injection = Injection(fault, is_chosen, times)
        self._injections.append(injection)
        return injection

    def clear(self) -> None:
        """End all faults, and let go what is held."""
        injections, self._injections = self._injections, []
        for injection in injections:
            injection.end()

    def find(self, sent: Sent) -> Injection | None:
        """Return the fault that a command meets, and count it."""
        for injection in self._injections:
            if len(injection.hits) < injection.times and injection.is_chosen(sent):
                injection.hits.append(sent)
                injection.hit.set()
                return injection
        return None

    async def wait_until_unarmed(self, name: str) -> None:
        """Wait while an error is set for another command of this name."""
        while name in self._armed:
            await self._armed[name].wait()

    async def arm(self, sent: Sent, code: int) -> None:
        """Set the error that the next command of this name meets."""
        await self.wait_until_unarmed(sent.name)
        self._armed[sent.name] = asyncio.Event()
        data: dict[str, Any] = {
            "appName": APPLICATION,  # not commands of the test itself
            "failCommands": [sent.name],
            "errorCode": code,
        }
        if sent.collection and not sent.is_of_stream:
            is_named = sent.name == "renameCollection"  # with its database
            data["namespace"] = (
                sent.collection if is_named else f"{sent.database}.{sent.collection}"
            )
        await asyncio.to_thread(self._set_fail_point, data)

    def _set_fail_point(self, data: dict[str, Any]) -> None:
        self._admin.admin.command("configureFailPoint", "failCommand", mode=_ONCE, data=data)

    def disarm(self, name: str) -> None:
        """Let other commands of this name pass again."""
        self._armed.pop(name).set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            back, forth = await asyncio.open_connection(HOST, self._member.port)
        except OSError:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        self._connections.add(task)
        try:
            with suppress(OSError, EOFError, asyncio.CancelledError):
                await _Connection(self, reader, writer, back, forth).run()
        finally:
            self._connections.discard(task)
            for each in (writer, forth):
                each.transport.abort()


class _Connection:
    """One connection of a client, which carries one command at a time."""

    def __init__(
        self,
        wire: Wire,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        back: asyncio.StreamReader,
        forth: asyncio.StreamWriter,
    ) -> None:
        self._wire = wire
        self._reader, self._writer, self._back, self._forth = reader, writer, back, forth

    async def run(self) -> None:
        """Pass commands and replies, until one of both sides closes the connection."""
        while True:
            message = await _read_message(self._reader)
            sent = read_command(message)
            injection = None
            if sent is not None:
                self._wire.sent.append(sent)
                injection = self._wire.find(sent)
                if injection is None:
                    await self._wire.wait_until_unarmed(sent.name)
            if sent is None or injection is None:
                self._forth.write(message)
                self._writer.write(await self._unless_left(_read_message(self._back)))
                await self._writer.drain()
            elif not await self._fail(message, sent, injection):
                return

    async def _unless_left(self, reply: Any) -> Any:
        """Wait for something, or raise EOFError when the client has closed the connection."""
        waiting = asyncio.ensure_future(reply)
        leaving = asyncio.ensure_future(self._reader.read(1))
        # A client sends nothing before it has the reply: what is read here is the end.
        try:
            await asyncio.wait([waiting, leaving], return_when=asyncio.FIRST_COMPLETED)
            if leaving.done():
                raise EOFError
            return waiting.result()
        finally:
            for each in (waiting, leaving):
                each.cancel()
            await asyncio.gather(waiting, leaving, return_exceptions=True)

    async def _fail(self, message: bytes, sent: Sent, injection: Injection) -> bool:
        """Let a command meet a fault; return whether the connection goes on."""
        fault = injection.fault
        if fault is Fault.CLOSED:
            return False
        if fault is Fault.LATE:
            await asyncio.sleep(LATE_SECONDS)
        elif fault is Fault.HELD:
            await self._unless_left(_wait_until_released(injection))
        elif code := ERROR_CODES.get(fault):
            await self._wire.arm(sent, code)
        try:
            self._forth.write(message)
            reply = await _read_message(self._back)
        finally:
            injection.arrived += 1
            if fault in ERROR_CODES:
                self._wire.disarm(sent.name)
        if fault in ERROR_CODES:
            injection.missed += bson.decode(reply[21:]).get("code") != ERROR_CODES[fault]
        if fault is Fault.LOST:
            return False
        if fault is Fault.REPLY_HELD:
            await self._unless_left(_wait_until_released(injection))
        self._writer.write(reply[: len(reply) // 2] if fault is Fault.CUT else reply)
        await self._writer.drain()
        return fault is not Fault.CUT


async def _wait_until_released(injection: Injection) -> None:
    injection.held.set()
    while not injection.released.is_set():
        await asyncio.sleep(_POLL_SECONDS)


async def _read_message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(_HEADER.size)
    (length, *_) = _HEADER.unpack(head)
    return head + await reader.readexactly(length - _HEADER.size)


_OF_THE_DRIVER = {"hello", "ismaster", "isMaster", "saslStart", "saslContinue"}


def read_command(message: bytes) -> Sent | None:
    """Return the command of a message; None for those by which drivers look at a server."""
    *_, opcode = _HEADER.unpack_from(message)
    if opcode != _OP_MSG:
        return None
    document = _find_body(message)
    name = next(iter(document))
    if name in _OF_THE_DRIVER:
        return None
    value = document["collection"] if name == "getMore" else document[name]
    collection = value if isinstance(value, str) else ""
    is_of_stream = collection.startswith("$cmd.") or (
        name == "aggregate" and any(_CHANGE_STREAM in stage for stage in document["pipeline"])
    )
    return Sent(name, document["$db"], collection, is_of_stream, "autocommit" in document)


def _find_body(message: bytes) -> dict[str, Any]:
    at = _HEADER.size + 4
    while True:
        kind, (length,) = message[at], struct.unpack_from("<i", message, at + 1)
        if kind == 0:
            body: dict[str, Any] = bson.decode(message[at + 1 : at + 1 + length])
            return body
        at += 1 + length
