"""An administrator who changes keys through a gateway."""

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import httpx

from resolvers.request.caller import (
    PERMISSIONS,
)
from resolvers.request.kinds import name_word
from storage.administration import api_keys
from storage.mongo import driver
from tests.fixtures import make_key
from tests.fixtures import post_graphql as post

UPDATE = """mutation (
    $id: ID!, $name: String, $permissions: [Permission!], $assetIds: [ID!], $addAssetIds: [ID!],
    $removeAssetIds: [ID!], $allAssets: Boolean! = false, $expires: DateTime,
    $neverExpires: Boolean! = false
) {
    updateApiKey(input: {
        id: $id, name: $name, permissions: $permissions, assetIds: $assetIds,
        addAssetIds: $addAssetIds, removeAssetIds: $removeAssetIds, allAssets: $allAssets,
        expires: $expires, neverExpires: $neverExpires
    }) { apiKey { id name permissions assetIds expiresAt revokedAt lastUsedAt } }
}"""
ROTATE = """mutation ($id: ID!, $overlap: Int! = 3600, $expires: DateTime) {
    rotateApiKey(input: { id: $id, overlapSeconds: $overlap, expires: $expires }) {
        apiKey { id expiresAt } key replaced { id expiresAt replacedById }
    }
}"""


def read_error(body: dict[str, Any]) -> dict[str, Any]:
    """Return the extensions of an error, with the names of the input's fields."""
    error: dict[str, Any] = body["errors"][0]["extensions"]
    if "fields" in error:
        error["fields"] = {
            name.removeprefix("input."): found for name, found in error["fields"].items()
        }
    return error


def name_permissions(given: dict[str, Any]) -> dict[str, Any]:
    """Return variables with the permissions' names in GraphQL."""
    words = given.get("permissions")
    return given if words is None else {**given, "permissions": [*map(name_word, words)]}


NOW = datetime.now(UTC).replace(microsecond=0)
END = NOW + timedelta(days=7)
LATER = END + timedelta(seconds=1)
SOONER = END - timedelta(days=1)


class Administration(NamedTuple):
    """A client that can change its key, and the database of its gateway."""

    client: httpx.AsyncClient
    database: driver.Database

    async def use_key(self, permissions: tuple[str, ...] = PERMISSIONS, **given: Any) -> None:
        """Send requests with a new key."""
        _, self.client.headers["API-Key"] = await make_key(
            self.database, "caller", permissions=permissions, **given
        )

    async def make(self, *permissions: str, **given: Any) -> str:
        """Make a key past all rules, as an operator or an older release; return its id."""
        return (await make_key(self.database, "till", permissions=permissions, **given))[0]

    async def run(self, document: str, **variables: Any) -> dict[str, Any]:
        """Return the key of a payload with its other fields, or the extensions of the error."""
        body = await post(self.client, document, name_permissions(variables))
        if "errors" in body:
            return read_error(body)
        [payload] = body["data"].values()
        assert isinstance(payload, dict)
        return {**payload.pop("apiKey"), **payload}

    async def find(self, key_id: str) -> api_keys.ApiKey:
        """Return the stored record of a key."""
        [found] = await api_keys.list_keys_by_prefix(self.database, key_id, 1)
        return found


def is_refused(result: dict[str, Any], field: str, *parts: str) -> bool:
    """Whether the result is an error of this argument that has these parts."""
    assert result["code"] == "INVALID_INPUT", result
    [rule] = result["fields"][field]
    return all(part in rule for part in parts)
