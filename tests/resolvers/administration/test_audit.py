"""Operators read the audit log at `/graphql`: those who may see everything, and nobody else."""

import httpx
import pytest

from resolvers.administration.audit import MAX_AUDIT_PER_PAGE
from resolvers.request.caller import ADMIN_PERMISSION
from storage.administration.audit import AUDIT_COLLECTION
from tests.fixtures import (
    UNIT,
    World,
    data_of,
    gateway_client,
    open_database,
    post_graphql,
)

pytestmark = pytest.mark.anyio

AUDIT_LOG = """query($page: Int, $perPage: Int, $after: String, $since: DateTime, $until: DateTime,
    $actor: ID, $action: AuditAction, $target: ID) {
    auditLog(page: $page, perPage: $perPage, after: $after, since: $since, until: $until,
        actor: $actor, action: $action, target: $target) {
        paging { perPage currentPage hasNext next }
        data {
            auditId at action actor { type actorId name } interface clientAddress requestId
            target { kind ids } assetIds
            changes { kind operation count ids before after }
        }
    }
}"""
WORDS = (ADMIN_PERMISSION, "service.everything")
CREATE = """mutation($name: String!) {
    createApiKey(input: { name: $name, permissions: [service_unit_maps_parse] }) { apiKey { id } }
}"""


async def test_what_a_client_changes_is_read_at_once(own_world: World) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        for name in ("one", "two"):
            # twice, so that a cached response would be found
            before = (await data_of(client, AUDIT_LOG, {"actor": None}))["auditLog"]["data"]
            created = (await data_of(client, CREATE, {"name": name}))["createApiKey"]
            created = created["apiKey"]["id"]
            latest, *others = (await data_of(client, AUDIT_LOG))["auditLog"]["data"]
            assert others == before
            assert latest["action"] == "key_created"
            assert latest["actor"]["name"] == "full"
            assert (latest["interface"], latest["clientAddress"]) == ("graphql", "127.0.0.1")
            assert latest["target"] == {"kind": "api_keys", "ids": [created]}
            [change] = latest["changes"]
            assert (change["operation"], change["before"]) == ("inserted", None)
            assert change["after"] == {
                "name": name,
                "permissions": ["service.unit-maps.parse"],
                "all_assets": False,
                "expires_at": None,
            }


async def test_it_is_paged_and_filtered(client: httpx.AsyncClient) -> None:
    everything = (await data_of(client, AUDIT_LOG))["auditLog"]
    actions = [record["action"] for record in everything["data"]]
    # the world was imported, and its keys were made
    assert sorted(actions) == ["catalog_imported", *["key_created"] * 4, "key_revoked"]
    assert actions[-1] == "catalog_imported"
    first = (await data_of(client, AUDIT_LOG, {"perPage": 4}))["auditLog"]
    assert first["paging"]["hasNext"] is True
    second = (
        await data_of(
            client, AUDIT_LOG, {"page": 2, "perPage": 4, "after": first["paging"]["next"]}
        )
    )["auditLog"]
    assert first["data"] + second["data"] == everything["data"]
    assert everything["paging"]["perPage"] == MAX_AUDIT_PER_PAGE
    [imported] = everything["data"][5:]
    for given, count in (
        ({"action": "key_created"}, 4),
        ({"target": UNIT}, 1),
        ({"target": "nothing"}, 0),
        ({"actor": imported["actor"]["actorId"]}, 6),
        ({"actor": "key_0"}, 0),
        ({"since": imported["at"]}, 6),
        ({"until": imported["at"]}, 0),
        ({"perPage": 10_000}, 6),
    ):
        page = (await data_of(client, AUDIT_LOG, given))["auditLog"]
        assert len(page["data"]) == count, given
        assert page["paging"]["perPage"] <= MAX_AUDIT_PER_PAGE


async def test_words_that_another_version_has_written_are_null(own_world: World) -> None:
    other = {"action": "key.lent", "interface": "fax", "actor.type": "robot"}
    change = {"kind": "units", "operation": "painted", "count": 1, "ids": [UNIT]}
    async with open_database(own_world) as database:
        await database[AUDIT_COLLECTION].update_one({}, {"$set": {**other, "changes": [change]}})
        await database["api_keys"].update_many({}, {"$set": {"permissions": [*WORDS]}})
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        records = (await data_of(client, AUDIT_LOG))["auditLog"]["data"]
        keys = (await data_of(client, "{ apiKeys { data { permissions } } }"))["apiKeys"]["data"]
    [changed] = [record for record in records if record["action"] is None]
    assert (changed["interface"], changed["actor"]["type"]) == (None, None)
    assert changed["changes"] == [{**change, "operation": None, "before": None, "after": None}]
    assert {each["permissions"][0] for each in keys} == {"service_admin"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"since": "soon"}, "since: must be an ISO 8601 time"),
        ({"until": "soon"}, "until: must be an ISO 8601 time"),
        ({"action": "key_lost"}, "Variable '$action' has invalid value: A value of AuditAction"),
        ({"perPage": 0}, "perPage: must be from 1"),
        ({"target": ""}, "target: must have 1 to 255 characters"),
        ({"actor": ""}, "actor: must have 1 to 255 characters"),
    ],
)
async def test_a_wrong_filter_is_named(
    client: httpx.AsyncClient, given: dict[str, str], message: str
) -> None:
    [error] = (await post_graphql(client, AUDIT_LOG, given))["errors"]
    assert error["message"].startswith(message)
