"""Load shedding: work only on requests that have a slot.

See docs/decisions/server/load-shedding.md.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.header_fields import fields_of
from gateway.server.admission import OVERLOADED, SCOPE_ADMISSION, Admission, Permit, Rejection


class _RejectedError(Exception):
    """There is no slot for a request any more, or no room for more of its body."""

    def __init__(self, rejection: Rejection) -> None:
        super().__init__(rejection.error.status)
        self.rejection = rejection


class LoadSheddingMiddleware:
    """Respond at once to requests for which `admission` has no slot.

    Otherwise an overloaded event loop makes the database driver's timeouts fire, and all requests
    fail; this way the rest stay fast. A request that waits for its client to send the rest of its
    body or to read the response does not count, or slow clients could hold all slots without
    causing any work. The protocol may have decided already (`SCOPE_ADMISSION`).
    """

    def __init__(self, app: ASGIApp, admission: Admission) -> None:
        self.app = app
        self.admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if SCOPE_ADMISSION in scope:
            decision = scope[SCOPE_ADMISSION]
        else:
            decision = self.admission.admit(scope)
        if decision is None:
            await self.app(scope, receive, send)
            return
        if isinstance(decision, Permit):
            work = _Work(decision, receive, send, has_body=_has_body(scope))
            try:
                await self.app(scope, work.receive, work.send)
                return
            except _RejectedError as error:
                # Respond below, once the exception no longer references parts of the body.
                decision = error.rejection
            finally:
                work.end()
        await decision.error.to_response()(scope, receive, send)


def _has_body(scope: Scope) -> bool:
    """Return whether the application waits for a body, even an empty one (RFC 9112, 6.3).

    No GET reads one: a body that is announced and never sent must not free the slot.
    """
    if scope["type"] == "websocket" or scope["method"] in ("GET", "HEAD"):
        return False
    fields = fields_of(scope)
    return b"content-length" in fields or b"transfer-encoding" in fields


class ReleaseMiddleware:
    """Release the permit that the protocol has taken, whichever layer answers the request.

    Wrap all middleware that may answer without `LoadSheddingMiddleware`, such as CORS.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.app(scope, receive, send)
        finally:
            permit = scope.get(SCOPE_ADMISSION)
            if isinstance(permit, Permit):
                permit.release()


class _Work:
    """One request: it holds its permit while it causes work."""

    def __init__(
        self,
        permit: Permit,
        receive: Receive,
        send: Send,
        *,
        has_body: bool,
    ) -> None:
        self._permit = permit
        self._receive = receive
        self._send = send
        # Without a body, to receive is to wait for the client to leave, during the work.
        self._expects_body = has_body
        """True until the body is complete, or the response begins without it."""
        self._arrived_bytes = 0
        """Bytes received of an incomplete body."""

    async def receive(self) -> Message:
        """Receive without a slot until the body is complete, then take one again."""
        if not self._expects_body:
            return await self._receive()
        self._permit.release()
        message = await self._receive()
        if message.get("more_body"):
            self._count(len(message["body"]))
        elif message["type"] == "http.request" and self._expects_body:
            self._expects_body = False
            self._forget_body()
            rejection = self._permit.acquire()
            if rejection is not None:
                raise _RejectedError(rejection)
        return message

    def _count(self, piece_bytes: int) -> None:
        self._arrived_bytes += piece_bytes
        if not self._permit.count_arriving(piece_bytes):
            raise _RejectedError(OVERLOADED)

    def _forget_body(self) -> None:
        """Stop counting the bytes received so far."""
        if not self._arrived_bytes:
            return
        self._permit.count_arriving(-self._arrived_bytes)
        self._arrived_bytes = 0

    async def send(self, message: Message) -> None:
        """Send without a slot: the work is done when the response begins."""
        self._expects_body = False
        self._permit.release()
        await self._send(message)

    def end(self) -> None:
        """Give everything back."""
        self._permit.release()
        self._forget_body()
