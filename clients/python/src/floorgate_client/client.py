"""The clients: connections, retries, reuse of responses, errors as exceptions, and paging."""

from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from copy import copy
from typing import Any, ParamSpec, Protocol, Self, TypeVar, cast

import httpx

from floorgate_client.errors import error_of
from floorgate_client.proxies import proxy_for
from floorgate_client.rest.client import AuthenticatedClient
from floorgate_client.retries import Trust, retry, retry_async
from floorgate_client.revalidation import AsyncRevalidatingTransport, RevalidatingTransport

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Page(Protocol[T_co]):
    """One page of a list."""

    @property
    def has_pages(self) -> bool:
        """True: generated in the types of lists that have `Link`, and in no others."""
        ...

    @property
    def data(self) -> Sequence[T_co]:
        """The resources."""
        ...


class PageResponse(Protocol[T_co]):
    """A response with a page; its header `Link` has the address of the next one."""

    @property
    def parsed(self) -> Page[T_co]:
        """The page."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers."""
        ...


class _Client(AuthenticatedClient):
    """What both clients share: the generated client with this service's headers."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        flags: Iterable[str] = (),
        timeout: httpx.Timeout | float | None = 30.0,
        verify: Trust = True,
    ) -> None:
        """Connect to a service at `url` with an API key; `flags` are experimental flags.

        `timeout` is how many seconds to wait for a connection, and for each part of a response.
        `verify` is as in httpx: pass `ssl.create_default_context(cafile=...)` for a certificate of
        your own.
        """
        names = flags if isinstance(flags, str) else ",".join(flags)
        super().__init__(
            base_url=url.rstrip("/"),
            token=key,
            prefix="",
            auth_header_name="API-Key",
            headers={"Experimental-Flags": names} if names else {},
            timeout=httpx.Timeout(timeout),
            httpx_args=self._connect(proxy_for(url), verify),
        )

    def __repr__(self) -> str:
        """Return the address, but not the key."""
        return f"{type(self).__name__}({httpx.URL(self._base_url)!r})"

    def _connect(self, proxy: str | None, verify: Trust) -> dict[str, Any]:
        """Return the arguments of the httpx client, which is made when it is first needed."""
        raise NotImplementedError

    def with_headers(self, headers: dict[str, str]) -> Self:
        """Return a client that also sends these headers, over the same connections."""
        return self._with(_headers={**self._headers, **headers})

    def with_cookies(self, cookies: dict[str, str]) -> Self:
        """Return a client that also sends these cookies, over the same connections."""
        return self._with(_cookies={**self._cookies, **cookies})

    def with_timeout(self, timeout: httpx.Timeout | float | None) -> Self:
        """Return a client with another timeout, over the same connections."""
        return self._with(_timeout=httpx.Timeout(timeout))

    def _with(self, **settings: object) -> Self:
        other = copy(self)
        for name, value in {"_client": None, "_async_client": None, **settings}.items():
            setattr(other, name, value)
        return other


class Floorgate(_Client):
    """A client that waits for each response.

    >>> with Floorgate("https://floorgate.example", "fgk_...") as client:  # doctest: +SKIP
    ...     for unit in client.iterate(list_units.sync_detailed, client=client):
    ...         print(unit.name)
    """

    def _connect(self, proxy: str | None, verify: Trust) -> dict[str, Any]:
        transport = RevalidatingTransport(retry(proxy, verify))
        return {"transport": transport, "event_hooks": {"response": [_raise_error]}}

    def get_async_httpx_client(self) -> httpx.AsyncClient:
        """Raise TypeError."""
        raise TypeError("Floorgate is not for asyncio: use AsyncFloorgate")

    def __enter__(self) -> Self:
        """Return the client, which closes with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.get_httpx_client().close()

    def iterate(
        self, fetch: Callable[P, PageResponse[T]], *args: P.args, **kwargs: P.kwargs
    ) -> Iterator[T]:
        """Yield the resources of all pages of a list, which `fetch` returns.

        Raises FloorgateError.
        """
        while True:
            response = fetch(*args, **kwargs)
            yield from response.parsed.data
            after = _cursor_of_next(response)
            if after is None:
                return
            kwargs = cast(Any, _continued(kwargs, after))


class AsyncFloorgate(_Client):
    """A client for asyncio."""

    def _connect(self, proxy: str | None, verify: Trust) -> dict[str, Any]:
        transport = AsyncRevalidatingTransport(retry_async(proxy, verify))
        return {"transport": transport, "event_hooks": {"response": [_raise_error_async]}}

    def get_httpx_client(self) -> httpx.Client:
        """Raise TypeError."""
        raise TypeError("AsyncFloorgate is only for asyncio: use Floorgate")

    async def __aenter__(self) -> Self:
        """Return the client, which closes with the block."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self.get_async_httpx_client().aclose()

    async def iterate(
        self, fetch: Callable[P, Awaitable[PageResponse[T]]], *args: P.args, **kwargs: P.kwargs
    ) -> AsyncIterator[T]:
        """Yield the resources of all pages of a list, which `fetch` returns.

        Raises FloorgateError.
        """
        while True:
            response = await fetch(*args, **kwargs)
            for resource in response.parsed.data:
                yield resource
            after = _cursor_of_next(response)
            if after is None:
                return
            kwargs = cast(Any, _continued(kwargs, after))


def _cursor_of_next(response: PageResponse[object]) -> str | None:
    link = httpx.Response(200, headers={"Link": response.headers.get("Link", "")}).links.get("next")
    return httpx.URL(link["url"]).params.get("after") if link else None


def _continued(arguments: dict[str, Any], after: str) -> dict[str, Any]:
    """Return the arguments for the page at a cursor, which knows its number.

    The size stays: without one, functions of lists that have a default send that.
    """
    return {**{name: value for name, value in arguments.items() if name != "page"}, "after": after}


def _raise_error(response: httpx.Response) -> None:
    if not response.is_success:
        raise error_of(response)


async def _raise_error_async(response: httpx.Response) -> None:
    _raise_error(response)
