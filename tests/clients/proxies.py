"""Ask through the proxy of the environment, with the Python clients: `python proxies.py URL`.

The proxy gets all requests but those to the URL.
"""

import asyncio
import json
import sys

import httpx
from floorgate_client import AsyncFloorgate, Floorgate
from floorgate_client.rest.api.maps import list_level_tags

REQUESTS = [
    ("http://floorgate.example", "cut"),
    ("http://floorgate.example", "same"),
    ("https://secure.example", "none"),
]


def ask(direct: str) -> list[str]:
    """Ask with the client that waits; return the errors."""
    errors = []
    for url, name in [*REQUESTS, (direct, "direct")]:
        with Floorgate(url, "key") as client:
            try:
                for _ in range(2):
                    list_level_tags.sync(f"{name}-sync", client=client)
            except httpx.TransportError as error:
                errors.append(f"{type(error).__name__}: {error}")
    return errors


async def ask_async(direct: str) -> list[str]:
    """Ask with the client for asyncio; return the errors."""
    errors = []
    for url, name in [*REQUESTS, (direct, "direct")]:
        async with AsyncFloorgate(url, "key") as client:
            try:
                for _ in range(2):
                    await list_level_tags.asyncio(f"{name}-async", client=client)
            except httpx.TransportError as error:
                errors.append(f"{type(error).__name__}: {error}")
    return errors


if __name__ == "__main__":
    [url] = sys.argv[1:]
    json.dump({"sync": ask(url), "async": asyncio.run(ask_async(url))}, sys.stdout)
