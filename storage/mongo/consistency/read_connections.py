"""Connections of the event loop to the primary, for reads outside transactions.

Motor runs each command in a thread. Two threads that take turns at one interpreter cost more than
the command itself, and the more so the busier the machine is. Here the event loop sends a command
and receives its reply. Only the usual case is handled: everything else is left to the driver. See
docs/decisions/storage/read-connections.md.
"""

import asyncio
import math
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import count
from typing import Any

import bson
from pymongo import _csot
from pymongo.asynchronous.pool import Pool
from pymongo.client_options import ClientOptions
from pymongo.errors import AutoReconnect, NetworkTimeout, PyMongoError
from pymongo.helpers_shared import _RETRYABLE_ERROR_CODES, _check_command_response

from storage.mongo.consistency.topology import PrimaryListener
from storage.records.kinds import Document

MAX_READ_CONNECTIONS = 100
"""As many as the pool of the driver has, unless `maxPoolSize` of the URL allows fewer."""
_CODES_FOR_DRIVER = {
    *_RETRYABLE_ERROR_CODES,
    72,  # InvalidOptions: behind the clock, for which only the driver's choice of a member counts
}
_MAX_CONNECTING = 2
_RETRY_SECONDS = 1.0
_GRACE_SECONDS = 0.5
"""For MongoDB to say that it has ended a command in time, before the connection counts as lost."""
_MAX_MESSAGE_BYTES = 16 << 20
_FIRST_NUMBER = 1 << 31
"""Of the numbers by which listeners tell commands apart: those of the driver are smaller."""
_OP_MSG = 2013
_HEADER = struct.Struct("<iiiiIB")
"""Length, request id, response to, opcode, flags, and that one document follows."""


class ReadConnections:
    """Connections to the primary that the driver knows; made when reads need more of them."""

    def __init__(self, options: ClientOptions, listener: PrimaryListener) -> None:
        self._options = options
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._primary: Any = None
        """The primary that all connections are to."""
        self._connections: set[_Connection] = set()
        self._idle: list[_Connection] = []
        """Those that were in use last come last."""
        self._connecting: set[asyncio.Task[None]] = set()
        self._retry_at = 0.0
        self._max_connections = min(
            options.pool_options.max_pool_size or MAX_READ_CONNECTIONS, MAX_READ_CONNECTIONS
        )
        self._max_idle_seconds = options.pool_options.max_idle_time_seconds
        """From `maxIdleTimeMS` of the URL; None for ever."""
        self._numbers = count(_FIRST_NUMBER)

    async def run(self, database: str, command: Mapping[str, Any]) -> Document | None:
        """Return the reply to a read, or None if it is for the driver to send.

        Raises PyMongoError, as the driver would.
        """
        remaining = _csot.remaining()
        seconds = self._options.timeout if remaining is None else remaining
        if seconds is None or seconds <= 0 or not self._has_idle():
            return None
        limit = {"maxTimeMS": math.ceil(seconds * 1000), "$db": database}
        sent = {**command, **limit}
        content = bson.encode(sent)
        if len(content) > _MAX_MESSAGE_BYTES:
            return None
        publish_end = self._publish_start(database, sent)
        reply: Document | None = None
        try:
            received = await self._idle.pop().send(content, seconds)
            reply = bson.decode(memoryview(received)[_HEADER.size :])
        except NetworkTimeout:
            raise
        except AutoReconnect:
            return None
        finally:
            if publish_end is not None:
                publish_end(reply)
        if reply["ok"] != 1:
            labels = reply.get("errorLabels", ())
            if reply.get("code") in _CODES_FOR_DRIVER or "RetryableError" in labels:
                return None
            _check_command_response(reply, None)
        return reply

    def _publish_start(
        self, database: str, command: Document
    ) -> Callable[[Document | None], None] | None:
        """Tell the listeners of the client, if there are any; return what tells them the end."""
        listeners = self._options.pool_options._event_listeners
        if listeners is None or not listeners.enabled_for_commands:
            return None
        started, number, name = datetime.now(UTC), next(self._numbers), next(iter(command))
        address = self._primary[0]
        listeners.publish_command_start(command, database, number, address, None)

        def publish_end(reply: Document | None) -> None:
            took = datetime.now(UTC) - started
            if reply is not None and reply["ok"] == 1:
                listeners.publish_command_success(
                    took, reply, name, number, address, None, database_name=database
                )
            else:
                listeners.publish_command_failure(
                    took, reply or {}, name, number, address, None, database_name=database
                )

        return publish_end

    def lose_primary(self) -> None:
        """Close all connections: the reads under way are left to the driver. Thread-safe."""
        self._loop.call_soon_threadsafe(self._close_connections)

    async def close(self) -> None:
        """Close all connections."""
        for task in self._connecting:
            task.cancel()
        await asyncio.gather(*self._connecting, return_exceptions=True)
        self._close_connections()

    def _has_idle(self) -> bool:
        """Return whether a connection is idle; if not, begin to make one for later reads."""
        primary = self._listener.primary
        if primary is not self._primary:
            self._close_connections()
            self._primary = primary
        if primary is None or self._listener.lost_at is not None:
            return False
        if self._max_idle_seconds is not None:
            earliest = self._loop.time() - self._max_idle_seconds
            while self._idle and self._idle[0].idle_since < earliest:
                self._idle.pop(0).close()
        if self._idle:
            return True
        count = len(self._connections) + len(self._connecting)
        if (
            count < self._max_connections
            and len(self._connecting) < _MAX_CONNECTING
            and self._loop.time() >= self._retry_at
        ):
            task = self._loop.create_task(self._connect(primary))
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)
        return False

    async def _connect(self, primary: Any) -> None:
        """Let PyMongo connect and authenticate, and take over the transport."""
        try:
            async with asyncio.timeout(self._options.pool_options.connect_timeout):
                made = await Pool(primary[0], self._options.pool_options).connect()
        except Exception:  # the driver meets it too, and says what is wrong
            self._retry_at = self._loop.time() + _RETRY_SECONDS
            return
        transport = made.conn.conn[0]
        if primary is not self._primary or transport.is_closing():
            transport.abort()
            return
        connection = _Connection(transport, self._idle, self._connections)
        transport.set_protocol(connection)
        transport.resume_reading()

    def _close_connections(self) -> None:
        self._idle.clear()
        for connection in self._connections:
            connection.close()


class _Connection(asyncio.Protocol):
    """A connection, which carries one command at a time."""

    def __init__(
        self,
        transport: asyncio.Transport,
        idle: "list[_Connection]",
        connections: "set[_Connection]",
    ) -> None:
        self._transport = transport
        self._idle = idle
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._reply: asyncio.Future[bytearray] | None = None
        self._timer: asyncio.TimerHandle | None = None
        connections.add(self)
        self._become_idle()

    def _become_idle(self) -> None:
        self.idle_since = self._loop.time()
        self._idle.append(self)

    def send(self, content: bytes, seconds: float) -> asyncio.Future[bytearray]:
        """Send a command, and return its reply; the connection is idle again when that is here.

        MongoDB ends the command after `seconds`. The reply is NetworkTimeout if it does not, and
        AutoReconnect if the connection is lost.
        """
        self._timer = self._loop.call_later(seconds + _GRACE_SECONDS, self._expire)
        self._reply = self._loop.create_future()
        header = _HEADER.pack(_HEADER.size + len(content), 0, 0, _OP_MSG, 0, 0)
        self._transport.write(header + content)
        return self._reply

    def close(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Receive a part of a reply."""
        received = self._received
        received += data
        if len(received) < _HEADER.size:
            return
        length, _, _, opcode, _, kind = _HEADER.unpack_from(received)
        if len(received) < length:
            return
        if self._reply is None or (len(received), opcode, kind) != (length, _OP_MSG, 0):
            self.close()  # not what was asked for
            return
        self._received = bytearray()
        self._end(received)
        if not self._transport.is_closing():
            self._become_idle()

    def connection_lost(self, error: Exception | None) -> None:
        """Forget the connection."""
        self._connections.discard(self)
        if self in self._idle:
            self._idle.remove(self)
        self._end(AutoReconnect("connection closed"))

    def _expire(self) -> None:
        self._end(NetworkTimeout("timed out"))
        self.close()

    def _end(self, outcome: bytearray | PyMongoError) -> None:
        reply, timer = self._reply, self._timer
        self._reply = self._timer = None
        if timer is not None:
            timer.cancel()
        if reply is None or reply.done():  # who waited for it is gone
            return
        if isinstance(outcome, bytearray):
            reply.set_result(outcome)
        else:
            reply.set_exception(outcome)
