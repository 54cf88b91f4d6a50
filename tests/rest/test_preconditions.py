"""Conditional writes: `If-Match` and `If-None-Match` prevent lost updates of assignments."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.fixtures import (
    ALL_FLAGS,
    HIDDEN,
    SEEN,
    UNIT,
    World,
    gateway_client,
    make_key,
    open_database,
)

pytestmark = pytest.mark.anyio

PATH = "/v1/units/attribute-groups/view/assignments"
SEA = {"group_id": "view", "attribute_id": "sea", "asset_id": SEEN, "unit_id": UNIT}
YARD = SEA | {"attribute_id": "yard"}
OTHER_UNIT = SEA | {"unit_id": "a/b"}
OTHER_ASSET = YARD | {"asset_id": HIDDEN, "unit_id": "unit-s"}


@pytest.fixture
async def writer(own_world: World) -> AsyncIterator[httpx.AsyncClient]:
    """Sees and may do everything."""
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        client.headers.update(ALL_FLAGS)
        yield client


async def write(
    client: httpx.AsyncClient, data: dict[str, Any], url: str = PATH, **headers: str
) -> int:
    """The status of assigning, or of removing at `PATH/remove`."""
    method = "POST" if "/remove" in url else "PUT"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = await client.request(method, url, json={"data": [data]}, headers=named)
    return response.status_code


async def test_a_write_based_on_an_old_list_is_rejected(writer: httpx.AsyncClient) -> None:
    read = await writer.get(PATH)
    assert await write(writer, YARD, If_Match=read.headers["etag"]) == 200
    assert await write(writer, SEA, If_Match=read.headers["etag"]) == 412
    assert await write(writer, YARD, f"{PATH}/remove", If_Match=read.headers["etag"]) == 412
    now = await writer.get(PATH)
    assert YARD in now.json()["data"]
    assert await write(writer, YARD, f"{PATH}/remove", If_Match=now.headers["etag"]) == 204
    response = await writer.put(PATH, json={"data": [SEA]}, headers={"If-Match": '"old"'})
    assert response.json()["message"] == (
        "If-Match: must hold the current ETag; it has changed, so read again"
    )


@pytest.mark.parametrize("count", ["", "&total-count=true"])
async def test_the_tag_of_a_page_protects_that_page(writer: httpx.AsyncClient, count: str) -> None:
    url = f"{PATH}?per-page=1&asset={HIDDEN}{count}"
    read = await writer.get(url, headers={"Accept-Encoding": "gzip"})
    assert await write(writer, YARD) == 200  # on another page
    assert await write(writer, OTHER_ASSET, url, If_Match=read.headers["etag"]) == 200
    assert await write(writer, OTHER_ASSET, url, If_Match=read.headers["etag"]) == 412
    assert await write(writer, YARD, f"{PATH}?page=0", If_Match="*") == 422


async def test_parameters_of_the_list_are_not_ignored_by_conditional_writes(
    writer: httpx.AsyncClient,
) -> None:
    url = f"{PATH}?total-count=true&per-pge=5"
    ignored = []
    for headers in ({}, {"If-Match": (await writer.get(url)).headers["etag"]}):
        response = await writer.put(url, json={"data": [SEA]}, headers=headers)
        assert response.status_code == 200
        ignored.append(response.headers["floorgate-ignored-parameters"])
    assert ignored == ['"total-count", "per-pge"', '"per-pge";did-you-mean="per-page"']


async def test_the_list_always_exists(writer: httpx.AsyncClient) -> None:
    for url in (PATH, f"{PATH}/remove"):
        status = 200 if url == PATH else 204
        assert await write(writer, SEA, url, If_Match="*") == status
        assert await write(writer, SEA, url, If_None_Match="*") == 412
        assert await write(writer, SEA, url, If_None_Match='"other"') == status


async def test_other_errors_come_first(writer: httpx.AsyncClient) -> None:
    unknown = PATH.replace("view", "none")
    assert await write(writer, SEA | {"group_id": "none"}, unknown, If_Match='"old"') == 404
    assert await write(writer, SEA | {"unit_id": "none"}, If_Match='"old"') == 422
    assert await write(writer, {}, If_Match='"old"') == 422


async def test_a_key_that_cannot_read_the_list_cannot_depend_on_it(own_world: World) -> None:
    async with open_database(own_world) as database:
        permission = "service.unit-attributes.write"
        _, key = await make_key(database, "writer", permissions=(permission,), asset_ids=[SEEN])
    async with gateway_client(own_world.settings(), key) as client:
        client.headers.update(ALL_FLAGS)
        assert await write(client, SEA) == 200
        for condition in ("*", '"old"'):
            response = await client.put(PATH, json={"data": [SEA]}, headers={"If-Match": condition})
            assert response.status_code == 403
            assert response.json()["message"].endswith("service.unit-attributes.read")


async def test_of_writers_that_read_the_same_list_one_wins(writer: httpx.AsyncClient) -> None:
    """Also where they write to different units, so that MongoDB alone sees no conflict."""
    for assignment in (SEA, OTHER_UNIT):
        assert await write(writer, assignment) == 200
    tag = (await writer.get(PATH)).headers["etag"]
    yard = {"attribute_id": "yard"}
    statuses = await asyncio.gather(
        write(writer, SEA | yard, If_Match=tag), write(writer, OTHER_UNIT | yard, If_Match=tag)
    )
    assert sorted(statuses) == [200, 412]
