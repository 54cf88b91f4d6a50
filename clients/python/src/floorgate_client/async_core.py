"""Requests, retries, the cache and lists, which all resources share.

`async_core.py` is written by hand; `clients/generate.py` makes `core.py` from it, without `await`.
"""

import asyncio
import os
import random
import re
import ssl
from collections import OrderedDict
from collections.abc import AsyncIterable, AsyncIterator, Collection, Mapping, Sequence
from copy import copy
from datetime import datetime
from functools import partial
from threading import Lock
from typing import Protocol, Self, TypeAlias, TypeVar
from urllib.parse import quote

import httpx
from pydantic import TypeAdapter, ValidationError

from floorgate_client.errors import ConnectionFailedError, FloorgateError, ResponseError, error_of
from floorgate_client.version import VERSION

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Query: TypeAlias = Mapping[str, object]

MAX_RETRIES = 4
MAX_PAUSE_SECONDS = 60
MAX_CACHE_BYTES = 50_000_000


class AsyncCore:
    """Send requests to one service with one API key."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        flags: Collection[str] = (),
        timeout: httpx.Timeout | float | None = 30.0,
        verify: ssl.SSLContext | str | bool = True,
    ) -> None:
        """Make a client of the service at `url`, with an API key.

        They default to the environment's `FLOORGATE_URL` and `FLOORGATE_KEY`. `flags` are
        experimental flags. `timeout` is the number of seconds to wait for a connection, and for
        each part of a response. `verify` is a file of certificates to trust, such as the one that
        the service has made for itself, or as in httpx. Raises ValueError.
        """
        self._url = to_address(url or os.environ.get("FLOORGATE_URL"))
        key = to_key(key or os.environ.get("FLOORGATE_KEY"))
        self._headers = {"API-Key": key, "User-Agent": f"floorgate-python/{VERSION}"}
        self._headers |= to_headers(flags)
        self._timeout = httpx.Timeout(timeout)
        self._cache = Cache()
        self._is_patient = False
        if isinstance(verify, str):
            verify = ssl.create_default_context(cafile=verify)
        self._http = httpx.AsyncClient(verify=verify)

    def __repr__(self) -> str:
        """Return the address, but not the key."""
        return f"{type(self).__name__}({self._url!r})"

    async def __aenter__(self) -> Self:
        """Return the client, which closes with the block."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def with_options(
        self,
        *,
        flags: Collection[str] | None = None,
        timeout: httpx.Timeout | float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """Return a client with other flags, timeout or headers, over the same connections."""
        other = copy(self)
        other._headers = dict(self._headers)
        if flags is not None:
            other._headers.pop("Experimental-Flags", None)
            other._headers |= to_headers(flags)
        other._headers |= headers or {}
        other._timeout = self._timeout if timeout is None else httpx.Timeout(timeout)
        return other

    def patient(self) -> Self:
        """Return a client that repeats requests for as long as their errors are temporary."""
        other = copy(self)
        other._is_patient = True
        return other

    async def request(
        self,
        method: str,
        path: str,
        *ids: str,
        query: Query | None = None,
        json: object = None,
        drawing: str | bytes | None = None,
    ) -> httpx.Response:
        """Send a request, up to five times, and return its response.

        `ids` take the place of `{}` in the path. The body is `json` or a `drawing`. Raises
        FloorgateError, and ValueError for an id that would lead to another path.
        """
        drawing_type = {} if drawing is None else {"Content-Type": "application/vnd.map+xml"}
        request = self._http.build_request(
            method,
            self._url + path.format(*map(to_segment, ids)),
            params={
                name: to_text(each) for name, each in (query or {}).items() if each is not None
            },
            headers=self._headers | drawing_type,
            json=json,
            content=drawing,
            timeout=self._timeout,
        )
        cached = self._cache.get(request)
        if cached is not None:
            request.headers["If-None-Match"] = cached.headers["ETag"]
        attempt = 0
        while True:
            error: FloorgateError
            try:
                response = await self._http.send(request)
            except httpx.RequestError as cause:
                error = ConnectionFailedError(self._url, cause)
            else:
                if response.status_code == 304 and cached is not None:
                    response = cached
                if response.is_success:
                    self._cache.put(response)
                    return response
                error = error_of(response)
            seconds = error.retry_after
            if seconds is None:
                seconds = random.uniform(0.1, 0.2) * 2 ** min(attempt, 7)  # noqa: S311
            is_last = attempt == MAX_RETRIES or seconds > MAX_PAUSE_SECONDS
            if not error.is_temporary or (is_last and not self._is_patient):
                raise error
            await asyncio.sleep(min(seconds, MAX_PAUSE_SECONDS))
            attempt += 1


class Cache:
    """Keep the latest responses, for when a 304 says that one of them still holds.

    A strong ETag is the same for equal bodies only, whatever key and flags they were sent to.
    """

    def __init__(self) -> None:
        self._responses: OrderedDict[str, httpx.Response] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, request: httpx.Request) -> httpx.Response | None:
        """Return the last response, unless the caller has set a condition of their own."""
        is_open = request.method == "GET" and "If-None-Match" not in request.headers
        return self._responses.get(str(request.url)) if is_open else None

    def put(self, response: httpx.Response) -> None:
        """Keep a response, and drop the oldest ones where there is no room for it."""
        is_kept = response.status_code == 200 and "ETag" in response.headers
        is_small = len(response.content) <= MAX_CACHE_BYTES
        if response.request.method != "GET" or not (is_kept and is_small):
            return
        url = str(response.request.url)
        with self._lock:
            if replaced := self._responses.pop(url, None):
                self._bytes -= len(replaced.content)
            self._responses[url] = response
            self._bytes += len(response.content)
            while self._bytes > MAX_CACHE_BYTES:
                _, oldest = self._responses.popitem(last=False)
                self._bytes -= len(oldest.content)


class AsyncResource:
    """Hold what the methods of one place in the API need; `ids` are those in its path."""

    def __init__(self, core: AsyncCore, *ids: str) -> None:
        self._core = core
        self._ids = ids


class Page(Protocol[T_co]):
    """Describe what the pages of all lists have."""

    @property
    def data(self) -> Sequence[T_co]:
        """Return the resources of this page."""
        ...


class AsyncList(AsyncIterable[T]):
    """Iterate over the resources of a list, and request its pages on the way."""

    def __init__(
        self, page: type[Page[T]], core: AsyncCore, method: str, path: str, *ids: str, query: Query
    ) -> None:
        self._page = page
        self._request = partial(core.request, method, path, *ids)
        self._query = query

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
            link = response.links.get("next")  # behind a proxy, only its query may be right
            query = httpx.URL(link["url"]).params if link else None


def read(model: type[T], response: httpx.Response) -> T:
    """Return the result in a response. Raises ResponseError."""
    try:
        return TypeAdapter(model).validate_json(response.content)
    except ValidationError as error:
        message = "Not what the API sends: is the address that of the service?"
        raise ResponseError(response, {"message": message}) from error


def to_address(url: str | None) -> str:
    """Return an address without a slash at its end. Raises ValueError."""
    if not url:
        raise ValueError("There is no address: pass one, or set FLOORGATE_URL")
    host = r"(?:[^/?#@]*@)?(?:\[[\da-f:]+\]|[^/?#@:\s]+)(?::\d+)?"
    pattern = rf"(https?://{host}(?:/[^?#]*?)??)(/v1|/graphql)?/*"
    parts = re.fullmatch(pattern, url, re.IGNORECASE)
    if not parts:
        raise ValueError(f"An address is https:// or http://, host, port and path, unlike {url!r}")
    address, path = parts.groups()
    if path:
        raise ValueError(f"The address goes without {path}: {address!r} instead of {url!r}")
    return str(address)


def to_key(key: str | None) -> str:
    """Return an API key without white space around it, as from a file. Raises ValueError."""
    key = (key or "").strip()
    if not key:
        raise ValueError("There is no API key: pass one, or set FLOORGATE_KEY")
    if not re.fullmatch("[!-~]+", key):  # which httpx would show in its exception
        raise ValueError("The API key has a character that keys do not have, such as a space")
    return key


def to_headers(flags: Collection[str]) -> dict[str, str]:
    """Return the header of experimental flags."""
    names = flags if isinstance(flags, str) else ",".join(flags)
    return {"Experimental-Flags": names} if names else {}


def to_segment(id: str) -> str:
    """Return an id as it is in a path. Raises ValueError."""
    if id in {"", ".", ".."}:  # it would be the path of something else
        raise ValueError(f"{id!r} cannot be an id in an address")
    return quote(id, safe="")


def to_text(value: object) -> str:
    """Return a parameter as it is in a query: a list with commas between its items."""
    match value:
        case bool():
            return str(value).lower()
        case datetime():
            return value.isoformat()
        case Sequence() if not isinstance(value, str):
            return ",".join(re.sub(r"[\\,]", r"\\\g<0>", str(item)) for item in value)
    return str(value)
