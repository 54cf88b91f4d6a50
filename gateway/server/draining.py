"""Draining a connection: its last response says `Connection: close`, then the connection closes.

A request may be on its way when the server closes an idle connection (RFC 9112, 9.3.1). So a worker
that drains waits for the next request of such a connection and says in its response that it is the
last one. See docs/decisions/server/restarts.md.
"""

from typing import Any, cast

from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from gateway.server.connections.connection_table import Connection


class DrainingProtocol(HttpToolsProtocol):
    """While the worker drains, announce the end of the connection in its last response."""

    connection: Connection
    """Set by the listener."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._has_announced_close = False
        """Whether a response said so: requests behind it are not answered (RFC 9112, 9.6)."""

    @property
    def is_draining(self) -> bool:
        """Whether the worker stops."""
        return self.connection.table.is_draining

    def has_more_requests(self) -> bool:
        """Return whether something has arrived behind the request that is answered."""
        return bool(self.pipeline)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        async def run_app(scope: Scope, receive: Receive, send: Send) -> None:
            async def send_with_close(message: Message) -> None:
                is_start = message["type"] == "http.response.start"
                if not (is_start and cycle.keep_alive and self._is_last_response()):
                    await send(message)
                    return
                self._has_announced_close = True
                cycle.keep_alive = False  # adds the header
                await send(message)
                # uvicorn would close before the client has read the response, and what still
                # arrives would destroy it: the protocol closes a moment later.
                cycle.keep_alive = True

            await app(scope, receive, send_with_close)

        super()._start_asgi_task(cycle, cast(Any, run_app))

    def _is_last_response(self) -> bool:
        return self.is_draining and not self.has_more_requests()
