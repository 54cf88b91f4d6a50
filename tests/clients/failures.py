"""Ask a service that fails, with the Python clients, without `with`: `python failures.py URL`."""

import asyncio
import json
import sys

import httpx
from floorgate_client import AsyncFloorgate, Floorgate, FloorgateError
from floorgate_client.rest.api.maps import list_level_tags

NAMES = ("same", "cut", "gone", "later", "moved", "array", "null", "text", "html")


def describe(error: FloorgateError | httpx.TransportError) -> str:
    """Return what a user sees of an error."""
    return f"{type(error).__name__}: {error}"


def ask(url: str) -> dict[str, str]:
    """Ask with the client that waits."""
    client = Floorgate(url, "key", flags="distances")
    found = {}
    for name in NAMES:
        try:
            list_level_tags.sync(f"{name}-sync", client=client)
        except (FloorgateError, httpx.TransportError) as error:
            found[name] = describe(error)
    other = client.with_headers({"X-Request-Id": "mine"}).with_cookies({"a": "b"}).with_timeout(5)
    list_level_tags.sync("same-sync", client=other)
    found["timeout"] = str(other.get_httpx_client().timeout)
    found["shown"] = f"{client!r} {other!r}"
    list_level_tags.sync("same-sync", client=client)
    try:
        etag = {"If-None-Match": '"1"'}
        list_level_tags.sync("same-sync", client=client.with_headers(etag))
    except FloorgateError as error:
        found["unchanged"] = describe(error)
    client.close()
    return found


async def ask_async(url: str) -> dict[str, str]:
    """Ask with the client for asyncio."""
    client = AsyncFloorgate(url, "key", flags="distances")
    found = {}
    for name in NAMES:
        try:
            await list_level_tags.asyncio(f"{name}-async", client=client)
        except (FloorgateError, httpx.TransportError) as error:
            found[name] = describe(error)
    other = client.with_headers({"X-Request-Id": "mine"}).with_cookies({"a": "b"}).with_timeout(5)
    await list_level_tags.asyncio("same-async", client=other)
    found["timeout"] = str(other.get_async_httpx_client().timeout)
    found["shown"] = f"{client!r} {other!r}"
    await list_level_tags.asyncio("same-async", client=client)
    try:
        etag = {"If-None-Match": '"1"'}
        await list_level_tags.asyncio("same-async", client=client.with_headers(etag))
    except FloorgateError as error:
        found["unchanged"] = describe(error)
    await client.aclose()
    return found


async def main(url: str) -> None:
    """Ask with both at once, and print what was found as JSON."""
    waiting, concurrent = await asyncio.gather(asyncio.to_thread(ask, url), ask_async(url))
    json.dump({"sync": waiting, "async": concurrent}, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
