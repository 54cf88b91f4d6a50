"""The streams of a worker: how many, of which API keys, and what they send.

They end with their key or the worker.

A stream holds no slot of `requests_in_flight`, which are for work: it has a limit of its own.
See docs/decisions/server/subscriptions.md.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Iterator
from contextlib import ExitStack, aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.exchange import SCOPE_AUTHENTICATED_KEY, parse_weights
from gateway.graphql.request import dump_variables
from gateway.request_spans import RequestSpans
from gateway.server.admission import Admission
from resolvers.request.caller import Caller
from resolvers.request.context import Context
from rest.dispatch import wait_for_disconnect
from rest.endpoints import RequestServices
from rest.errors import (
    HttpError,
    method_not_allowed_error,
    note_errors,
    service_unavailable_error,
    too_many_in_progress_error,
)
from schema.errors import UnavailableCause, UnavailableError
from schema.execution import Event, Operation, OperationResult
from schema.interpretation import list_event_variables
from storage.administration.api_keys import ApiKey
from storage.cache.api_key_cache import ApiKeyCache, AuthenticatedKey
from storage.cache.cache import Cache
from storage.mongo.spans import note_long_work

KEY_CHECK_SECONDS = 1.0
"""The time between two looks at the keys of all streams; each event looks at its own too."""


class StreamEnd(Enum):
    """A reason why the server ends a stream."""

    RESTART = "Service restart"
    KEY_ENDED = "The API key has ended"
    KEY_CHANGED = "The API key has other rights now: connect again"


class StreamEndedError(Exception):
    """A stream that must not go on."""

    def __init__(self, end: StreamEnd) -> None:
        super().__init__(end.value)
        self.end = end


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """One stream: its key, and what ends it."""

    key: AuthenticatedKey
    end: Callable[[StreamEnd], None]


class StreamTable:
    """The open streams of one kind, up to `limit` of all keys and `key_limit` of each."""

    def __init__(self, limit: int, key_limit: int, noun: str) -> None:
        self._limit = limit
        self._key_limit = key_limit
        self._noun = noun
        self._open: dict[Stream, None] = {}
        self._open_by: Counter[str] = Counter()
        self.is_closed = False
        """Tells whether the worker drains, so that no stream may begin."""

    def __len__(self) -> int:
        return len(self._open)

    @contextmanager
    def hold(self, stream: Stream) -> Iterator[None]:
        """Count a stream while the block runs. Raises HttpError 503 or 429."""
        key_id = stream.key.record.id
        if self.is_closed or len(self._open) >= self._limit:
            raise service_unavailable_error(
                UnavailableCause.RESTARTING if self.is_closed else UnavailableCause.QUEUE_FULL
            )
        if self._open_by[key_id] >= self._key_limit:
            raise too_many_in_progress_error(
                f"API key: at most {self._key_limit} {self._noun} may be open at a time"
            )
        self._open[stream] = None
        self._open_by[key_id] += 1
        try:
            yield
        finally:
            del self._open[stream]
            self._open_by[key_id] -= 1
            if not self._open_by[key_id]:
                del self._open_by[key_id]

    def end_all(self) -> None:
        """End all streams, and let none begin."""
        self.is_closed = True
        for stream in [*self._open]:
            stream.end(StreamEnd.RESTART)

    async def end_those_without_key(self, keys: "StreamKeys") -> None:
        """End the streams with a key that is not what it was."""
        ends: dict[int, StreamEnd | None] = {}
        for stream in [*self._open]:
            identity = id(stream.key.record)
            if identity not in ends:
                ends[identity] = await keys.find_end(stream.key)
            if (end := ends[identity]) and stream in self._open:
                stream.end(end)


@dataclass(frozen=True, slots=True)
class StreamKeys:
    """Tells whether the keys of streams are still what they were when the streams began."""

    cache: ApiKeyCache
    timeout_seconds: float

    async def check(self, key: AuthenticatedKey) -> None:
        """Raise StreamEndedError if the key has ended or changed, or HttpError 503."""
        try:
            end = await self.find_end(key)
        except (UnavailableError, TimeoutError) as error:
            cause = getattr(error, "cause", UnavailableCause.DEADLINE_EXCEEDED)
            raise service_unavailable_error(cause) from error
        if end is not None:
            raise StreamEndedError(end)

    async def find_end(self, key: AuthenticatedKey) -> StreamEnd | None:
        """Return why a stream with this key has to end. Raises UnavailableError and TimeoutError.

        It costs no read of the database unless keys have changed.
        """
        record = self.cache.get_cached_key(key.digest)
        if record is key.record:
            return None
        async with asyncio.timeout(self.timeout_seconds):
            record = await self.cache.load_key(key.digest)
        if record is None:
            return StreamEnd.KEY_ENDED
        return None if _rights(record) == _rights(key.record) else StreamEnd.KEY_CHANGED


def _rights(record: ApiKey) -> tuple[object, ...]:
    return record.scope, frozenset(record.permissions), frozenset(record.origins)


class Streams:
    """All streams of a worker. A WebSocket counts, and so does each subscription, anywhere."""

    def __init__(self, limit: int, key_limit: int) -> None:
        self.subscriptions = StreamTable(limit, key_limit, "subscriptions")
        self.sockets = StreamTable(limit, key_limit, "WebSockets")
        self.new_sockets: set[Callable[[StreamEnd], None]] = set()
        """The functions that end the WebSockets that have no key yet."""

    def end_all(self) -> None:
        """End all streams, because the worker drains."""
        for table in (self.subscriptions, self.sockets):
            table.end_all()
        for end in [*self.new_sockets]:
            end(StreamEnd.RESTART)

    async def watch(self, keys: StreamKeys) -> None:
        """End streams soon after their keys have ended."""
        while True:
            await asyncio.sleep(KEY_CHECK_SECONDS)
            for table in (self.subscriptions, self.sockets):
                with suppress(UnavailableError, TimeoutError):  # no event passes either
                    await table.end_those_without_key(keys)


# Results of events that many followers get: one change is an event of each of them.
#
# Those who may see the same, and ask for the same, get the same bytes; see
# docs/decisions/server/subscriptions.md.


SHARING_SECONDS = 1.0
"""The age that a shared result may have: the records in it are as they were then."""
MAX_SHARED_BYTES = 8 << 20


class ResultKey(NamedTuple):
    """Everything that the result of an event depends on, but the data."""

    operation: Operation
    variables: bytes
    """The values of the operation's variables that `list_event_variables` names, as JSON."""
    base_url: str
    rights: Hashable
    """The rights of the caller: what it may see and do."""
    value: Hashable = None
    """The event. Two that are equal are one."""


class SharedResults:
    """The newest results, as JSON."""

    def __init__(self) -> None:
        self._results: Cache[ResultKey, tuple[float, bytes]] = Cache(
            max_bytes=MAX_SHARED_BYTES,
            # An operation lives as long as its results.
            weigh=lambda key, result: key.operation.size_bytes + len(result[1]),
            name="events",
        )

    def get(self, key: ResultKey) -> bytes | None:
        """Return the result, unless it is too old or there is none."""
        found = self._results.get(key)
        if found is None or time.monotonic() - found[0] > SHARING_SECONDS:
            return None
        return found[1]

    def keep(self, key: ResultKey, content: bytes, context: Context) -> None:
        """Keep a result, unless it has errors or depends on something that the key does not tell.

        Its `context` knows, as it does for the response cache.
        """
        if context.reads.is_complete:
            self._results.put(key, (time.monotonic(), content))


MAX_EVENTS_AT_A_TIME = 10
"""Events that a worker executes at a time. One change is an event of every stream: without a bound
these would take all connections to MongoDB and the time of requests."""


@dataclass(frozen=True, slots=True)
class StreamServices:
    """The services of the gateway that streams need."""

    service: RequestServices
    streams: Streams
    admission: Admission
    get_keys: Callable[[], StreamKeys]
    """Raises HttpError while the application starts or stops."""
    serialize: Callable[[OperationResult, Context, str], Awaitable[bytes]]
    """Returns a result as JSON, within the budget of the context, for the request with this id."""
    spans: RequestSpans | None = None
    """Follows each operation of a WebSocket."""
    turns: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(MAX_EVENTS_AT_A_TIME)
    )
    results: SharedResults = field(default_factory=SharedResults)

    async def respond(
        self, operation: Operation, variables: dict[str, Any], caller: Caller, request: Request
    ) -> ASGIApp:
        """Return an operation as server-sent events; of a query, it is one. Raises HttpError."""
        if operation.is_mutation and request.method != "POST":
            raise method_not_allowed_error(["OPTIONS", "POST"])
        if not operation.is_subscription:
            return SingleEventResponse(await self.run_once(operation, variables, caller, request))
        if request.method == "HEAD":
            raise method_not_allowed_error(["GET", "OPTIONS", "POST"])
        response = EventStreamResponse(self.follow(operation, variables, caller, request))
        stream = Stream(request.scope[SCOPE_AUTHENTICATED_KEY], response.end)
        response.slot.enter_context(self.streams.subscriptions.hold(stream))
        return response

    async def run_once(
        self, operation: Operation, variables: dict[str, Any], caller: Caller, request: Request
    ) -> bytes:
        """Return the result of a query or mutation. Raises HttpError."""
        context = self._create_context(caller, request)
        result = await self.service.run_operation(operation, variables, context)
        return await self._write(result, context, request)

    async def follow(
        self, operation: Operation, variables: dict[str, Any], caller: Caller, request: Request
    ) -> AsyncGenerator[bytes]:
        """Yield the result of each event of a subscription.

        The stream ends after an event that has nothing but errors: a client that goes on from its
        last event misses none. Raises HttpError, and StreamEndedError when its key has ended.
        """
        note_long_work()
        executor, keys = self.service.executor, self.get_keys()
        key = request.scope[SCOPE_AUTHENTICATED_KEY]
        context = self._create_context(caller, request)
        names = list_event_variables(operation)
        used = dump_variables({name: variables[name] for name in names if name in variables})
        shared = ResultKey(operation, used, context.base_url, caller.rights)
        source = await executor.open_events(operation, variables, context)
        if isinstance(source, OperationResult):
            yield await self._write(source, context, request)
            return
        is_last = False
        async with aclosing(source):
            while True:
                try:
                    value = await anext(source)
                except StopAsyncIteration:
                    return
                except Exception as error:
                    yield await self._write(executor.to_result(error), context, request)
                    return
                result_key = shared._replace(value=value)
                async with self.turns:
                    # In its turn: the others then find the key that the first ones have read.
                    await keys.check(key)
                    content = self.results.get(result_key)
                    if content is None:
                        # The record cache may hear of a change later than the follower.
                        event = self._create_context(caller, request).with_record_cache(None)
                        result = await executor.run(operation, variables, event, Event(value))
                        content = await self._write(result, event, request)
                        self.results.keep(result_key, content, event)
                        is_last = bool(result.errors) and not any((result.data or {}).values())
                yield content
                if is_last:
                    return

    def _create_context(self, caller: Caller, request: Request) -> Context:
        context = self.service.create_context(caller, request)
        context.budget.max_bytes = self.service.executor.limits.response_bytes
        return msgspec.structs.replace(context, waited_seconds=0.0)

    async def _write(self, result: OperationResult, context: Context, request: Request) -> bytes:
        note_errors(request.scope, result.errors)
        return await self.serialize(result, context, request.scope["state"]["request_id"])


# Server-sent events: "GraphQL over Server-Sent Events", distinct connections mode.
#
# https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md


EVENT_STREAM_MEDIA_TYPE = "text/event-stream"
HEARTBEAT_SECONDS = 12.0
"""The time between two comments, which tell proxies and clients that the stream is alive."""
HEARTBEAT = b":\n\n"
COMPLETE = b"event: complete\ndata:\n\n"
_EVENT_HEADERS = [
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


class SingleEventResponse:
    """A stream that is complete with its first event."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the event, uncompressed: the response is marked as one that goes on."""
        await send({"type": "http.response.start", "status": 200, "headers": _EVENT_HEADERS})
        await send(_body_part(write_event(self._content) + COMPLETE))
        await send(_body_part(b"", more=False))


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
        with self.slot:
            await send({"type": "http.response.start", "status": 200, "headers": _EVENT_HEADERS})
            await send(_body_part(HEARTBEAT))
            if not self._is_ended:
                await self._send_events(receive, send)
            await send(_body_part(b"", more=False))

    async def _send_events(self, receive: Receive, send: Send) -> None:
        self._pump = asyncio.create_task(self._send_results(send))
        leaving = asyncio.create_task(wait_for_disconnect(receive))
        tasks = {self._pump, leaving}
        try:
            while not (await asyncio.wait(tasks, timeout=HEARTBEAT_SECONDS, return_when=_FIRST))[0]:
                async with self._lock:
                    await send(_body_part(HEARTBEAT))
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
                    await send(_body_part(write_event(content)))
        async with self._lock:
            await send(_body_part(COMPLETE))


_FIRST = asyncio.FIRST_COMPLETED


def _body_part(content: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": content, "more_body": more}
