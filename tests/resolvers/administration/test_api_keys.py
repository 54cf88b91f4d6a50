"""A key passes on no rights that it lacks: neither permissions, nor assets, nor time."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from resolvers.request.caller import (
    ADMIN_PERMISSION,
    PARSE_UNIT_MAPS_PERMISSION,
    PERMISSIONS,
    READ_UNIT_ATTRIBUTES_PERMISSION,
)
from tests.fixtures import SEEN
from tests.resolvers.administration.key_changes import END, ROTATE, UPDATE, Administration

pytestmark = pytest.mark.anyio

CREATE = """mutation (
    $permissions: [Permission!], $assetIds: [ID!], $all: Boolean!, $expires: DateTime
) {
    createApiKey(input: {
        name: "new", permissions: $permissions, assetIds: $assetIds, allAssets: $all,
        expires: $expires
    }) { apiKey { id } key }
}"""


async def create(administration: Administration, **given: Any) -> dict[str, Any]:
    """Return the created key, or the extensions of the error."""
    return await administration.run(CREATE, **{"all": False, **given})


@pytest.mark.parametrize("asset_ids", [[SEEN], []])
async def test_a_key_limited_to_assets_is_no_administrator(
    administration: Administration, asset_ids: list[str]
) -> None:
    await administration.use_key(PERMISSIONS, asset_ids=asset_ids)
    refused = {"code": "PERMISSION_REQUIRED", "permission": ADMIN_PERMISSION}
    for all_assets in (True, False):
        assert await create(administration, all=all_assets) == refused
    for document in (UPDATE, ROTATE):
        assert await administration.run(document, id="any") == refused
    for document in (
        "{ apiKeys { data { id } } }",
        "{ auditLog { data { auditId } } }",
        'mutation { revokeApiKey(input: { id: "any" }) { __typename } }',
    ):
        assert await administration.run(document) == refused


@pytest.mark.parametrize("asset_ids", [[SEEN], []])
async def test_no_administrator_limited_to_assets_is_created(
    administration: Administration, asset_ids: list[str]
) -> None:
    error = await create(administration, permissions=[ADMIN_PERMISSION], assetIds=asset_ids)
    assert error["fields"] == {
        "permissions": ["must not have service.admin unless allAssets is true"]
    }
    assert "key" in await create(administration, permissions=[ADMIN_PERMISSION], all=True)


async def test_a_key_grants_only_permissions_that_it_has(administration: Administration) -> None:
    await administration.use_key((ADMIN_PERMISSION, PARSE_UNIT_MAPS_PERMISSION))
    missing = [READ_UNIT_ATTRIBUTES_PERMISSION, PARSE_UNIT_MAPS_PERMISSION]
    error = await create(administration, permissions=missing, assetIds=[SEEN])
    assert error["code"] == "INVALID_INPUT"
    [rule] = error["fields"]["permissions"]
    assert rule.endswith(f"which lacks {READ_UNIT_ATTRIBUTES_PERMISSION}")
    for given in ([], [PARSE_UNIT_MAPS_PERMISSION]):
        assert "key" in await create(administration, permissions=given, assetIds=[SEEN])


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
    administration: Administration, expires: datetime | None, is_created: bool
) -> None:
    await administration.use_key(expires_at=END)
    result = await create(administration, expires=expires and expires.isoformat())
    if is_created:
        assert "key" in result
    else:
        [rule] = result["fields"]["expires"]
        assert rule.startswith(f"must be at or before {END.isoformat()}")
