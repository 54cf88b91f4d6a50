"""Walks from page to page by the addresses in responses."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx

from tests.fixtures import UNIT_IDS

EVERY_UNIT = sorted([*UNIT_IDS, "unit-s", "!unit-s"])


async def walk(client: httpx.AsyncClient, address: str, towards: str = "next_url") -> list[Any]:
    """The pages from an address on, following their own addresses."""
    pages = []
    while address:
        pages.append((await client.get(address)).json())
        address = pages[-1]["paging"][towards]
    return pages


def ids(pages: list[Any]) -> list[str]:
    return [record["id"] for page in pages for record in page["data"]]


def query_of(address: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(address).query, keep_blank_values=True))
