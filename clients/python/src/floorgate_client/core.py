"""The parts of a client that are written by hand: how it sends requests and reads lists."""

import asyncio
import os
import random
import ssl
import time
from collections import OrderedDict
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from copy import copy
from datetime import datetime
from functools import partial
from threading import Lock
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar
from urllib.parse import quote

import httpx
from pydantic import TypeAdapter, ValidationError

from floorgate_client.errors import (
    ConnectionFailedError,
    FloorgateError,
    ResponseError,
    error_of,
)
from floorgate_client.version import VERSION

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Query: TypeAlias = Mapping[str, object]
Trust: TypeAlias = ssl.SSLContext | str | bool
_Step: TypeAlias = httpx.Request | float
_Outcome: TypeAlias = httpx.Response | httpx.TransportError | None

RETRIES = 4
MAX_PAUSE_SECONDS = 60
MAX_KEPT_BYTES = 50_000_000
"""Of all bodies that are kept for responses without a body, by their `ETag`."""


class Page(Protocol[T_co]):
    """One page of a list."""

    @property
    def data(self) -> Sequence[T_co]:
        """The resources."""
        ...


class _Kept:
    """The responses that a 304 may stand for; the least recently used ones leave first."""

    def __init__(self) -> None:
        self._responses: OrderedDict[tuple[str, ...], httpx.Response] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, request: httpx.Request) -> httpx.Response | None:
        if request.method != "GET" or "if-none-match" in request.headers:  # the caller's own
            return None
        with self._lock:
            if kept := self._responses.get(_key_of(request)):
                self._responses.move_to_end(_key_of(request))
            return kept

    def keep(self, request: httpx.Request, response: httpx.Response) -> None:
        if request.method != "GET" or response.status_code != 200 or "etag" not in response.headers:
            return
        with self._lock:
            if previous := self._responses.pop(_key_of(request), None):
                self._bytes -= len(previous.content)
            self._responses[_key_of(request)] = response
            self._bytes += len(response.content)
            while self._bytes > MAX_KEPT_BYTES:
                _, dropped = self._responses.popitem(last=False)
                self._bytes -= len(dropped.content)


def _key_of(request: httpx.Request) -> tuple[str, ...]:
    names = ("api-key", "experimental-flags", "accept")
    return (str(request.url), *(request.headers.get(name, "") for name in names))


class _Core:
    """Holds the settings, builds requests and decides when to send them again."""

    _http: httpx.Client | httpx.AsyncClient

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        flags: Iterable[str] = (),
        timeout: httpx.Timeout | float | None = 30.0,
        verify: Trust = True,
    ) -> None:
        """Make a client of the service at `url`, with an API key.

        By default, they are those of the environment, in `FLOORGATE_URL` and `FLOORGATE_KEY`.
        `flags` are experimental flags. `timeout` is how many seconds to wait for a connection, and
        for each part of a response. `verify` is a file of certificates to trust, such as the one
        that the service has made for itself, or as in httpx. Raises ValueError.
        """
        self._url = _to_address(url or os.environ.get("FLOORGATE_URL"))
        key = key or os.environ.get("FLOORGATE_KEY")
        if not key:
            raise ValueError("There is no API key: pass one, or set FLOORGATE_KEY")
        names = flags if isinstance(flags, str) else ",".join(flags)
        self._headers = {"API-Key": key, "User-Agent": f"floorgate-python/{VERSION}"}
        if names:
            self._headers["Experimental-Flags"] = names
        self._timeout = httpx.Timeout(timeout)
        self._kept = _Kept()
        trust = ssl.create_default_context(cafile=verify) if isinstance(verify, str) else verify
        self._connect(trust)

    def _connect(self, trust: ssl.SSLContext | bool) -> None:
        """Make the client of httpx, whose connections are opened when they are needed."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """Return the address, but not the key."""
        return f"{type(self).__name__}({self._url!r})"

    def with_options(
        self,
        *,
        timeout: httpx.Timeout | float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """Return a client with another timeout or more headers, over the same connections."""
        other = copy(self)
        other._headers = {**self._headers, **(headers or {})}
        other._timeout = self._timeout if timeout is None else httpx.Timeout(timeout)
        return other

    def _build(
        self,
        method: str,
        path: str,
        ids: Sequence[str],
        query: Query | None = None,
        *,
        json: object = None,
        drawing: str | bytes | None = None,
    ) -> httpx.Request:
        """Return a request; `ids` take the place of `{}` in the path."""
        headers = dict(self._headers)
        if drawing is not None:
            headers["Content-Type"] = "application/vnd.map+xml"
        return self._http.build_request(
            method,
            self._url + path.format(*map(_to_segment, ids)),
            params={
                name: _to_text(each) for name, each in (query or {}).items() if each is not None
            },
            headers=headers,
            json=json,
            content=drawing,
            timeout=self._timeout,
        )

    def _exchange(self, request: httpx.Request) -> Generator[_Step, _Outcome, httpx.Response]:
        """Yield what to send, or how many seconds to pause, and return the response.

        It is sent what has come of a request. Raises FloorgateError.
        """
        kept = self._kept.get(request)
        if kept is not None:
            request.headers["If-None-Match"] = kept.headers["etag"]
        attempt = 0
        while True:
            outcome = yield request
            if isinstance(outcome, httpx.Response):
                if outcome.status_code == 304 and kept is not None:
                    return kept
                if outcome.is_success:
                    self._kept.keep(request, outcome)
                    return outcome
                error: FloorgateError = error_of(outcome)
            else:
                error = ConnectionFailedError(self._url, outcome)
            pause = error.retry_after
            if pause is None:
                pause = random.uniform(0.1, 0.2) * 2**attempt  # noqa: S311
            if not error.is_temporary or attempt == RETRIES or pause > MAX_PAUSE_SECONDS:
                raise error
            yield pause
            attempt += 1


class Core(_Core):
    """A client that waits for each response."""

    _http: httpx.Client

    def _connect(self, trust: ssl.SSLContext | bool) -> None:
        self._http = httpx.Client(verify=trust)

    def __enter__(self) -> Self:
        """Return the client, which closes with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def request(self, method: str, path: str, *ids: str, **content: Any) -> httpx.Response:
        """Return the response to any request, with its headers.

        `ids` take the place of `{}` in the path. The content is a `query`, a body as `json`, or a
        `drawing`. Raises FloorgateError.
        """
        exchange = self._exchange(self._build(method, path, ids, **content))
        outcome: _Outcome | None = None
        while True:
            try:
                step = exchange.send(outcome)
            except StopIteration as end:
                response: httpx.Response = end.value
                return response
            if isinstance(step, float):
                self.pause(step)
                outcome = None
                continue
            try:
                outcome = self._http.send(step)
            except httpx.TransportError as error:
                outcome = error

    def pause(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class AsyncCore(_Core):
    """A client for asyncio."""

    _http: httpx.AsyncClient

    def _connect(self, trust: ssl.SSLContext | bool) -> None:
        self._http = httpx.AsyncClient(verify=trust)

    async def __aenter__(self) -> Self:
        """Return the client, which closes with the block."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def request(self, method: str, path: str, *ids: str, **content: Any) -> httpx.Response:
        """Return the response to any request, with its headers.

        `ids` take the place of `{}` in the path. The content is a `query`, a body as `json`, or a
        `drawing`. Raises FloorgateError.
        """
        exchange = self._exchange(self._build(method, path, ids, **content))
        outcome: _Outcome | None = None
        while True:
            try:
                step = exchange.send(outcome)
            except StopIteration as end:
                response: httpx.Response = end.value
                return response
            if isinstance(step, float):
                await self.pause(step)
                outcome = None
                continue
            try:
                outcome = await self._http.send(step)
            except httpx.TransportError as error:
                outcome = error

    async def pause(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class Resource:
    """A place in the API; `ids` are those in its path."""

    def __init__(self, core: Core, *ids: str) -> None:
        self._core = core
        self._ids = ids


class AsyncResource:
    """A place in the API; `ids` are those in its path."""

    def __init__(self, core: AsyncCore, *ids: str) -> None:
        self._core = core
        self._ids = ids


class _List(Generic[T]):
    """Knows how to ask for the pages of a list."""

    def __init__(
        self,
        request: Callable[..., Any],
        method: str,
        path: str,
        *ids: str,
        query: Query,
        page: type[Page[T]],
    ) -> None:
        self._request = partial(request, method, path, *ids)
        self._query: Query | None = query
        self._page = page


class List(_List[T], Iterable[T]):
    """The resources of a list, whose pages are asked for as the iteration needs them."""

    def __iter__(self) -> Iterator[T]:
        """Yield the resources of all pages. Raises FloorgateError."""
        for page in self.pages():
            yield from page.data

    def pages(self) -> Iterator[Page[T]]:
        """Yield the pages. Raises FloorgateError."""
        query: Query | None = self._query
        while query is not None:
            response = self._request(query=query)
            yield read(self._page, response)
            query = _next_query(response)


class AsyncList(_List[T], AsyncIterable[T]):
    """The resources of a list, whose pages are asked for as the iteration needs them."""

    async def __aiter__(self) -> AsyncIterator[T]:
        """Yield the resources of all pages. Raises FloorgateError."""
        async for page in self.pages():
            for resource in page.data:
                yield resource

    async def pages(self) -> AsyncIterator[Page[T]]:
        """Yield the pages. Raises FloorgateError."""
        query: Query | None = self._query
        while query is not None:
            response = await self._request(query=query)
            yield read(self._page, response)
            query = _next_query(response)


def _next_query(response: httpx.Response) -> Query | None:
    """Return the query of the next page; its address may be one that only others can reach."""
    link = response.links.get("next")
    return httpx.URL(link["url"]).params if link else None


def read(model: type[T], response: httpx.Response) -> T:
    """Return the result that a response has. Raises ResponseError."""
    try:
        return TypeAdapter(model).validate_json(response.content)
    except ValidationError as error:
        message = "Not what the API sends: is the address that of the service?"
        raise ResponseError(response, {"message": message}) from error


def _to_address(url: str | None) -> str:
    if not url:
        raise ValueError("There is no address: pass one, or set FLOORGATE_URL")
    parsed = httpx.URL(url)
    if parsed.scheme not in {"http", "https"}:
        raise ValueError(f"The address begins with https:// or http://, unlike {url!r}")
    for path in ("/v1", "/graphql"):
        if parsed.path.rstrip("/").endswith(path):
            origin = str(parsed.copy_with(raw_path=b"/")).rstrip("/")
            raise ValueError(f"The address goes without {path}: {origin!r} instead of {url!r}")
    return url.rstrip("/")


def _to_segment(id: str) -> str:
    if id in {"", ".", ".."}:  # it would be the path of something else
        raise ValueError(f"{id!r} cannot be an id in an address")
    return quote(id, safe="")


def _to_text(value: object) -> str:
    """Return a parameter as the service reads it: a list with commas between its items."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str) or not isinstance(value, Sequence):
        return str(value)
    return ",".join(str(item).replace("\\", "\\\\").replace(",", "\\,") for item in value)
