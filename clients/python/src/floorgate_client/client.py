"""The clients: connections, retries, reuse of responses, errors as exceptions, and paging."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Any, ParamSpec, Protocol, Self, TypeVar, cast

import httpx
from httpx_retries import Retry, RetryTransport

from floorgate_client.errors import error_of
from floorgate_client.rest.client import AuthenticatedClient
from floorgate_client.rest.types import Response
from floorgate_client.revalidation import AsyncRevalidatingTransport, RevalidatingTransport

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")

RETRIES = 4
RETRIED_STATUSES = (429, 503)
"""The service says in `Retry-After` when to try again. Every endpoint may be repeated: writes
replace or remove, and doing so twice is the same as once."""
SECONDS_OF_FIRST_PAUSE = 0.1
"""Of at most so many, where there is no `Retry-After`; later pauses are longer."""
METHODS = ("GET", "HEAD", "PUT", "POST")


class Page(Protocol[R]):
    """One page of a list."""

    @property
    def data(self) -> list[R]:
        """The resources."""
        ...

    @property
    def paging(self) -> Any:
        """Where the page is in the list."""
        ...


class _Client(AuthenticatedClient):
    """What both clients share: the generated client with this service's headers."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        flags: Iterable[str] = (),
        timeout: float = 30.0,
        verify: ssl.SSLContext | bool = True,
    ) -> None:
        """Connect to a service at `url` with an API key; `flags` are experimental flags.

        `verify` is as in httpx: pass `ssl.create_default_context(cafile=...)` for a certificate
        of your own.
        """
        headers = {"Experimental-Flags": ",".join(flags)} if flags else {}
        super().__init__(
            base_url=url.rstrip("/"),
            token=key,
            prefix="",
            auth_header_name="API-Key",
            headers=headers,
        )
        self._url = url.rstrip("/")
        self._all_headers = {**headers, "API-Key": key}
        self._seconds = timeout
        self._trust = verify
        self._retry = Retry(
            total=RETRIES,
            allowed_methods=METHODS,
            status_forcelist=RETRIED_STATUSES,
            backoff_factor=SECONDS_OF_FIRST_PAUSE,
        )


class Floorgate(_Client):
    """A client that waits for each response.

    >>> with Floorgate("https://floorgate.example", "fgk_...") as client:  # doctest: +SKIP
    ...     for unit in client.iterate(UnitPage, list_units.sync_detailed, client=client):
    ...         print(unit.name)
    """

    def __enter__(self) -> Self:
        """Open the connections."""
        retrying = RetryTransport(
            transport=httpx.HTTPTransport(verify=self._trust), retry=self._retry
        )
        self.set_httpx_client(
            httpx.Client(
                base_url=self._url,
                headers=self._all_headers,
                timeout=self._seconds,
                transport=RevalidatingTransport(retrying),
                event_hooks={"response": [_raise_error]},
            )
        )
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.get_httpx_client().close()

    def iterate(
        self,
        page_type: type[Page[T]],
        fetch: Callable[P, Response[Any]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Iterator[T]:
        """Yield the resources of all pages of a list, which `fetch` returns.

        Raises FloorgateError.
        """
        while True:
            page = cast(Page[T], fetch(*args, **kwargs).parsed)
            yield from page.data
            after = _cursor_of(page)
            if after is None:
                return
            kwargs = cast(Any, _continued(kwargs, after))


class AsyncFloorgate(_Client):
    """A client for asyncio."""

    async def __aenter__(self) -> Self:
        """Open the connections."""
        retrying = RetryTransport(
            transport=httpx.AsyncHTTPTransport(verify=self._trust), retry=self._retry
        )
        self.set_async_httpx_client(
            httpx.AsyncClient(
                base_url=self._url,
                headers=self._all_headers,
                timeout=self._seconds,
                transport=AsyncRevalidatingTransport(retrying),
                event_hooks={"response": [_raise_error_async]},
            )
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        await self.get_async_httpx_client().aclose()

    async def iterate(
        self,
        page_type: type[Page[T]],
        fetch: Callable[P, Awaitable[Response[Any]]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> AsyncIterator[T]:
        """Yield the resources of all pages of a list, which `fetch` returns.

        Raises FloorgateError.
        """
        while True:
            page = cast(Page[T], (await fetch(*args, **kwargs)).parsed)
            for resource in page.data:
                yield resource
            after = _cursor_of(page)
            if after is None:
                return
            kwargs = cast(Any, _continued(kwargs, after))


def _cursor_of(page: Page[Any]) -> str | None:
    next_url = page.paging.next_url
    return httpx.URL(next_url).params.get("after") if next_url else None


def _continued(arguments: dict[str, Any], after: str) -> dict[str, Any]:
    """Return the arguments for the page at a cursor, which knows its number and size."""
    rest = {name: value for name, value in arguments.items() if name not in ("page", "per_page")}
    return {**rest, "after": after}


def _raise_error(response: httpx.Response) -> None:
    if response.status_code >= 400:
        response.read()
        raise error_of(response)


async def _raise_error_async(response: httpx.Response) -> None:
    if response.status_code >= 400:
        await response.aread()
        raise error_of(response)
