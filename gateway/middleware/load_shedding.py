"""Load shedding: a limit on the requests in progress.

See docs/decisions/server/load-shedding.md.
"""

from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.exchange import UNAVAILABLE_MESSAGES

HEALTH_PATHS = frozenset({"/health/live", "/health/ready"})
"""Never shed: an orchestrator would restart a busy service that fails its probes."""
MAX_ARRIVING_BYTES = 128 << 20
"""Total of all incomplete request bodies: six times the largest body allowed."""


class _OverloadedError(Exception):
    """There is no slot for a request, or no room for more of its body."""


class LoadSheddingMiddleware:
    """Respond with 503 at once to requests beyond `max_in_flight` in progress.

    Otherwise an overloaded event loop makes the database driver's timeouts fire, and all requests
    fail; this way the rest stay fast. A request that waits for its client to send the rest of its
    body or to read the response does not count, or slow clients could hold all slots without
    causing any work. A `max_in_flight` of 0 turns load shedding off.
    """

    def __init__(
        self, app: ASGIApp, max_in_flight: int = 100, exempt_paths: Collection[str] = HEALTH_PATHS
    ) -> None:
        self.app = app
        self.max_in_flight = max_in_flight
        self.exempt_paths = exempt_paths
        self.in_flight = 0
        self.arriving_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self.max_in_flight or scope["path"] in self.exempt_paths:
            await self.app(scope, receive, send)
            return
        slot = _RequestPermit(self, receive, send)
        try:
            slot.acquire()
            await self.app(scope, slot.receive, slot.send)
            return
        except _OverloadedError:
            pass  # respond below, once the exception no longer references parts of the body
        finally:
            slot.release()
            slot.forget_body()
        for message in UNAVAILABLE_MESSAGES:
            await send(message)


class _RequestPermit:
    """The slot of one request, held while the request causes work."""

    def __init__(self, shedding: LoadSheddingMiddleware, receive: Receive, send: Send) -> None:
        self._shedding = shedding
        self._receive = receive
        self._send = send
        self._is_held = False
        self._expects_body = True
        """True until the body is complete, or the response begins without it."""
        self._arrived_bytes = 0
        """Bytes received of an incomplete body."""

    def acquire(self) -> None:
        """Take a slot. Raises _OverloadedError when there is none."""
        if self._shedding.in_flight >= self._shedding.max_in_flight:
            raise _OverloadedError
        self._shedding.in_flight += 1
        self._is_held = True

    def release(self) -> None:
        """Give the slot back, if it is held."""
        if self._is_held:
            self._is_held = False
            self._shedding.in_flight -= 1

    async def receive(self) -> Message:
        """Receive without a slot until the body is complete, then take one again."""
        if not self._expects_body:
            return await self._receive()
        self.release()
        message = await self._receive()
        if message.get("more_body"):
            self._count(len(message["body"]))
        elif message["type"] == "http.request" and self._expects_body:
            self._expects_body = False
            self.forget_body()
            self.acquire()
        return message

    def _count(self, piece_bytes: int) -> None:
        self._arrived_bytes += piece_bytes
        self._shedding.arriving_bytes += piece_bytes
        if self._shedding.arriving_bytes > MAX_ARRIVING_BYTES:
            raise _OverloadedError

    def forget_body(self) -> None:
        """Stop counting the bytes received so far."""
        self._shedding.arriving_bytes -= self._arrived_bytes
        self._arrived_bytes = 0

    async def send(self, message: Message) -> None:
        """Send without a slot: the work is done when the response begins."""
        self._expects_body = False
        self.release()
        await self._send(message)
