"""The streams of a worker: how many, and of which API keys. They end with their key or the worker.

A stream holds no slot of `requests_in_flight`, which are for work: it has a limit of its own.
See docs/decisions/server/subscriptions.md.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from rest.errors import RETRY_AFTER_HEADERS, HttpError, service_unavailable_error
from schema.errors import Cause, UnavailableError
from storage.administration.api_keys import ApiKey
from storage.cache.api_key_cache import ApiKeyCache, AuthenticatedKey

KEY_CHECK_SECONDS = 1.0
"""Between two looks at the keys of all streams; each event looks at its own as well."""


class StreamEnd(Enum):
    """Why the server ends a stream."""

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
        """Whether the worker drains, so that no stream may begin."""

    def __len__(self) -> int:
        return len(self._open)

    @contextlib.contextmanager
    def hold(self, stream: Stream) -> Iterator[None]:
        """Count a stream while the block runs. Raises HttpError 503 or 429."""
        key_id = stream.key.record.id
        if self.is_closed or len(self._open) >= self._limit:
            raise service_unavailable_error(Cause.RESTART if self.is_closed else Cause.QUEUE)
        if self._open_by[key_id] >= self._key_limit:
            raise HttpError(
                429,
                f"API key: at most {self._key_limit} {self._noun} may be open at a time",
                "RATE_LIMITED",
                headers=RETRY_AFTER_HEADERS,
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
    """Whether the keys of streams are still what they were when the streams began."""

    cache: ApiKeyCache
    timeout_seconds: float

    async def check(self, key: AuthenticatedKey) -> None:
        """Raise StreamEndedError if the key has ended or changed, or HttpError 503."""
        try:
            end = await self.find_end(key)
        except (UnavailableError, TimeoutError) as error:
            raise service_unavailable_error(Cause.DEADLINE) from error
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
    return record.scope, frozenset(record.permissions)


class Streams:
    """All streams of a worker. A WebSocket counts, and so does each subscription, anywhere."""

    def __init__(self, limit: int, key_limit: int) -> None:
        self.subscriptions = StreamTable(limit, key_limit, "subscriptions")
        self.sockets = StreamTable(limit, key_limit, "WebSockets")
        self.new_sockets: set[Callable[[StreamEnd], None]] = set()
        """What ends the WebSockets that have no key yet."""

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
                with contextlib.suppress(UnavailableError, TimeoutError):  # no event passes either
                    await table.end_those_without_key(keys)
