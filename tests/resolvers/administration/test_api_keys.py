"""A key passes on no rights that it lacks: neither permissions, nor assets, nor time."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from resolvers.request.caller import (
    ADMIN_PERMISSION,
    PARSE_UNIT_MAPS_PERMISSION,
    PERMISSIONS,
    READ_UNIT_ATTRIBUTES_PERMISSION,
)
from tests.fixtures import SEEN, World, gateway_client, make_key, open_database, post_graphql
from tests.resolvers.administration.key_changes import name_permissions, read_error

pytestmark = pytest.mark.anyio

CREATE = """mutation (
    $permissions: [Permission!], $assetIds: [ID!], $all: Boolean!, $expires: DateTime
) {
    createApiKey(input: {
        name: "new", permissions: $permissions, assetIds: $assetIds, allAssets: $all,
        expires: $expires
    }) { apiKey { id } key }
}"""
END = datetime.now(UTC).replace(microsecond=0) + timedelta(days=7)


@pytest.fixture
async def gateway(own_world: World) -> AsyncIterator[httpx.AsyncClient]:
    async with gateway_client(own_world.settings()) as client:
        yield client


async def use_key(
    world: World, client: httpx.AsyncClient, permissions: tuple[str, ...], **given: Any
) -> None:
    """Make `client` use a new key, created past all rules, as by an older release."""
    async with open_database(world) as database:
        _, key = await make_key(database, "creator", permissions=permissions, **given)
    client.headers["API-Key"] = key


async def create(client: httpx.AsyncClient, **given: Any) -> dict[str, Any]:
    """Return the created key, or the extensions of the error."""
    body = await post_graphql(client, CREATE, name_permissions({"all": False, **given}))
    if "errors" in body:
        return read_error(body)
    payload: dict[str, Any] = body["data"]["createApiKey"]
    return {**payload.pop("apiKey"), **payload}


@pytest.mark.parametrize("asset_ids", [[SEEN], []])
async def test_a_key_limited_to_assets_is_no_administrator(
    own_world: World, gateway: httpx.AsyncClient, asset_ids: list[str]
) -> None:
    await use_key(own_world, gateway, PERMISSIONS, asset_ids=asset_ids)
    for all_assets in (True, False):
        error = await create(gateway, all=all_assets)
        assert error == {"code": "PERMISSION_REQUIRED", "permission": ADMIN_PERMISSION}
    for query in (
        "{ apiKeys { data { id } } }",
        'mutation { revokeApiKey(input: { id: "any" }) { __typename } }',
    ):
        [error] = (await post_graphql(gateway, query))["errors"]
        assert error["extensions"]["code"] == "PERMISSION_REQUIRED"


@pytest.mark.parametrize("asset_ids", [[SEEN], []])
async def test_no_administrator_limited_to_assets_is_created(
    own_world: World, gateway: httpx.AsyncClient, asset_ids: list[str]
) -> None:
    await use_key(own_world, gateway, PERMISSIONS)
    error = await create(gateway, permissions=[ADMIN_PERMISSION], assetIds=asset_ids)
    assert error["fields"] == {
        "permissions": ["must not have service.admin unless allAssets is true"]
    }
    assert "key" in await create(gateway, permissions=[ADMIN_PERMISSION], all=True)


async def test_a_key_grants_only_permissions_that_it_has(
    own_world: World, gateway: httpx.AsyncClient
) -> None:
    await use_key(own_world, gateway, (ADMIN_PERMISSION, PARSE_UNIT_MAPS_PERMISSION))
    missing = [READ_UNIT_ATTRIBUTES_PERMISSION, PARSE_UNIT_MAPS_PERMISSION]
    error = await create(gateway, permissions=missing, assetIds=[SEEN])
    assert error["code"] == "INVALID_INPUT"
    [rule] = error["fields"]["permissions"]
    assert rule.endswith(f"which lacks {READ_UNIT_ATTRIBUTES_PERMISSION}")
    for given in ([], [PARSE_UNIT_MAPS_PERMISSION]):
        assert "key" in await create(gateway, permissions=given, assetIds=[SEEN])


@pytest.mark.parametrize(
    ("expires", "is_created"),
    [
        (END - timedelta(days=1), True),
        (END, True),
        (END + timedelta(seconds=1), False),
        (None, False),
    ],
)
async def test_a_key_that_expires_creates_none_that_outlives_it(
    own_world: World, gateway: httpx.AsyncClient, expires: datetime | None, is_created: bool
) -> None:
    await use_key(own_world, gateway, PERMISSIONS, expires_at=END)
    result = await create(gateway, expires=expires and expires.isoformat())
    if is_created:
        assert "key" in result
    else:
        [rule] = result["fields"]["expires"]
        assert rule.startswith(f"must be at or before {END.isoformat()}")
