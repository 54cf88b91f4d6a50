"""Server-sent events: "GraphQL over Server-Sent Events", distinct connections mode.

https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, aclosing
from typing import Any

import orjson
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.exchange import SCOPE_AUTHENTICATED_KEY, parse_weights
from gateway.graphql.streams import Stream, StreamEnd, StreamEndedError, StreamServices
from resolvers.request.caller import Caller
from rest.errors import HttpError, method_not_allowed_error
from schema.execution import Operation

EVENT_STREAM_MEDIA_TYPE = "text/event-stream"
HEARTBEAT_SECONDS = 12.0
"""The time between two comments, which tell proxies and clients that the stream is alive."""
HEARTBEAT = b":\n\n"
COMPLETE = b"event: complete\ndata:\n\n"
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # nginx would wait until its buffer is full
]


def accepts_event_stream(accept: str) -> bool:
    """Return whether a client names the media type of event streams.

    >>> accepts_event_stream("application/json, text/event-stream"), accepts_event_stream("*/*")
    (True, False)
    """
    return parse_weights(accept).get(EVENT_STREAM_MEDIA_TYPE, 0.0) > 0


def write_event(content: bytes) -> bytes:
    """Return the `next` event of a result. JSON contains no line ends that would cut it in two."""
    return b"event: next\ndata: %b\n\n" % content


def respond_with_errors(errors: Sequence[Any]) -> ASGIApp:
    """Return the stream of an operation that is not valid, as the protocol wants it: status 200."""
    return SingleEventResponse(orjson.dumps({"errors": errors}))


async def respond(
    services: StreamServices,
    operation: Operation,
    variables: dict[str, Any],
    caller: Caller,
    request: Request,
) -> ASGIApp:
    """Return the stream of any operation; of a query, it has one event. Raises HttpError."""
    if operation.is_mutation and request.method != "POST":
        raise method_not_allowed_error(["OPTIONS", "POST"])
    if not operation.is_subscription:
        content = await services.run_once(operation, variables, caller, request)
        return SingleEventResponse(content)
    if request.method == "HEAD":
        raise method_not_allowed_error(["GET", "OPTIONS", "POST"])
    results = services.follow(operation, variables, caller, request)
    response = EventStreamResponse(results)
    stream = Stream(request.scope[SCOPE_AUTHENTICATED_KEY], response.end)
    response.slot.enter_context(services.streams.subscriptions.hold(stream))
    return response


class SingleEventResponse:
    """A stream that is complete with its first event."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the event, uncompressed: the response is marked as one that goes on."""
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await send(_part(write_event(self._content) + COMPLETE))
        await send(_part(b"", more=False))


class EventStreamResponse:
    """Events as they come, until the source ends, the client leaves or the server ends them.

    Only the source's end is sent as a `complete` event: clients connect again after any other.
    """

    def __init__(self, results: AsyncGenerator[bytes]) -> None:
        self.slot = ExitStack()
        """Released when the stream has ended."""
        self._results = results
        self._lock = asyncio.Lock()
        self._pump: asyncio.Task[None] | None = None
        self._is_ended = False

    def end(self, _: StreamEnd) -> None:
        """End the stream from outside."""
        self._is_ended = True
        if self._pump is not None:
            self._pump.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""
        with self.slot:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await send(_part(HEARTBEAT))
            if not self._is_ended:
                await self._send_events(receive, send)
            await send(_part(b"", more=False))

    async def _send_events(self, receive: Receive, send: Send) -> None:
        self._pump = asyncio.create_task(self._send_results(send))
        leaving = asyncio.create_task(_wait_for_disconnect(receive))
        tasks = {self._pump, leaving}
        try:
            while not (await asyncio.wait(tasks, timeout=HEARTBEAT_SECONDS, return_when=_FIRST))[0]:
                async with self._lock:
                    await send(_part(HEARTBEAT))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        error = None if self._pump.cancelled() else self._pump.exception()
        if error is not None and not isinstance(error, (StreamEndedError, HttpError)):
            raise error

    async def _send_results(self, send: Send) -> None:
        async with aclosing(self._results) as results:
            async for content in results:
                async with self._lock:
                    await send(_part(write_event(content)))
        async with self._lock:
            await send(_part(COMPLETE))


_FIRST = asyncio.FIRST_COMPLETED


def _part(content: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": content, "more_body": more}


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
