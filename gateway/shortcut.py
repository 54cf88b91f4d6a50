"""The shortest way to an answer that is kept: from a request's bytes to the response's.

The long way (scope, middleware, route, key, flags, variables) leads a GET whose answer is kept to
the name of that answer. It is remembered under a digest of all that the long way looked at, so that
the same request again needs none of it: only that the key is still valid, its rate not exceeded,
and the answer still true. Whatever is unusual about a request sends it the long way.

Nothing readable of a request is held: neither its key nor its address.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from starlette.types import Scope

from gateway.access import KEY, ROUTE
from gateway.admission import RateLimiter
from gateway.answers import Answers
from gateway.keys import HEADER as API_KEY
from gateway.ready import ANSWER
from rest.endpoints import Key
from storage import keys
from storage.keyring import KeyRing
from storage.keys import ApiKey, Digest

Headers = Iterable[tuple[bytes, bytes]]

MOST_WAYS = 20_000
"""A way takes some 500 bytes."""
MOST_BYTES = 1_000
"""Of the address and headers of a request that is remembered: a way may outlive its answer."""

_PART_OF_IT = (API_KEY, b"experimental-flags", b"accept", b"host", b"x-forwarded-proto")
_LEFT_TO_THE_ANSWER = (b"accept-encoding", b"if-none-match")
_UNUSUAL = frozenset(
    {b"content-length", b"transfer-encoding", b"expect", b"upgrade", b"connection", b"origin"}
)
_LOOKED_AT = frozenset({*_PART_OF_IT, *_LEFT_TO_THE_ANSWER, *_UNUSUAL})


class Found(NamedTuple):
    """A response, all but what every response carries."""

    status: int
    head: bytes
    """Header lines."""
    body: bytes
    route: str
    key_id: str


class _Way(NamedTuple):
    answer: Key
    key: Digest
    record: ApiKey
    """What was known of the key: another record may have other rights."""
    route: str


class Shortcut:
    """Ways to kept answers, the least recently used given up first."""

    def __init__(
        self, answers: Answers, ring: KeyRing, limiter: RateLimiter, besides: bytes = b""
    ) -> None:
        self._answers = answers
        self._ring = ring
        self._limiter = limiter
        self._besides = besides
        """Header lines that the long way adds to every answer."""
        self._ways: OrderedDict[bytes, _Way] = OrderedDict()

    def find(self, target: bytes, headers: Headers) -> Found | None:
        """The kept answer to a GET; None where only the long way tells."""
        given = _looked_at(headers)
        if given is None:
            return None
        digest = _digest(target, given)
        way = self._ways.get(digest)
        if way is None:
            return None
        record = self._ring.recall(way.key)
        ready = self._answers.find(way.answer) if record is way.record else None
        if record is None or ready is None:
            del self._ways[digest]
            return None
        if self._limiter.check(record.id, time.monotonic()) is not None:
            return None  # a refusal costs the key nothing: the long way gives the same
        self._ways.move_to_end(digest)
        coded, is_held = ready.get(given.get(b"accept-encoding"), given.get(b"if-none-match"))
        if is_held:
            head = coded.not_modified_head + self._besides
            return Found(304, head, b"", way.route, record.id)
        return Found(200, coded.head + self._besides, coded.body["body"], way.route, record.id)

    def remember(self, scope: Scope) -> None:
        """Notes where the long way has led a request, if it was to a kept answer."""
        answer = scope.get(ANSWER)
        if answer is None or scope["method"] != "GET":
            return
        given = _looked_at(scope["headers"])
        if given is None:
            return
        query: bytes = scope["query_string"]
        target = scope["raw_path"] + b"?" + query if query else scope["raw_path"]
        if len(target) + sum(map(len, given.values())) > MOST_BYTES:
            return
        key = keys.digest(given[API_KEY].decode("latin-1").strip())
        self._ways[_digest(target, given)] = _Way(answer, key, scope[KEY], scope[ROUTE])
        if len(self._ways) > MOST_WAYS:
            self._ways.popitem(last=False)


def _looked_at(headers: Headers) -> dict[bytes, bytes] | None:
    """The headers that an answer depends on; None for a request that is unusual."""
    given: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _LOOKED_AT:
            if name in given or (name in _UNUSUAL and not _is_keep_alive(name, value)):
                return None
            given[name] = value
    return given if given.get(API_KEY, b"").strip() else None


def _is_keep_alive(name: bytes, value: bytes) -> bool:
    return name == b"connection" and value.lower() == b"keep-alive"


def _digest(target: bytes, given: dict[bytes, bytes]) -> bytes:
    # No header holds a NUL or a newline; an absent one differs from an empty one.
    parts = [target, *(given.get(name, b"\n") for name in _PART_OF_IT)]
    return hashlib.sha256(b"\0".join(parts)).digest()
