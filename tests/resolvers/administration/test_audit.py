"""Operators read the audit log at `/graphql`: those who may see everything, and nobody else."""

import httpx
import pytest

from resolvers.administration.audit import MAX_AUDIT_PER_PAGE
from resolvers.request.caller import ADMIN_PERMISSION
from tests.fixtures import (
    SEEN,
    UNIT,
    World,
    data_of,
    gateway_client,
    make_key,
    open_database,
    post_graphql,
)

pytestmark = pytest.mark.anyio

AUDIT_LOG = """query($page: Int, $perPage: Int, $after: String, $since: DateTime, $until: DateTime,
    $actor: ID, $action: String, $target: ID) {
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
CREATE = """mutation($name: String!) {
    createApiKey(input: { name: $name, permissions: ["service.unit-maps.parse"] }) { apiKey { id } }
}"""


@pytest.mark.slow
async def test_what_a_client_changes_is_read_at_once(own_world: World) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        for name in ("one", "two"):
            # twice, so that a cached response would be found
            before = (await data_of(client, AUDIT_LOG, {"actor": None}))["auditLog"]["data"]
            created = (await data_of(client, CREATE, {"name": name}))["createApiKey"]
            created = created["apiKey"]["id"]
            latest, *others = (await data_of(client, AUDIT_LOG))["auditLog"]["data"]
            assert others == before
            assert latest["action"] == "key.created"
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
    assert sorted(actions) == ["catalog.imported", *["key.created"] * 4, "key.revoked"]
    assert actions[-1] == "catalog.imported"
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
        ({"action": "key.created"}, 4),
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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"since": "soon"}, "since: must be an ISO 8601 time"),
        ({"until": "soon"}, "until: must be an ISO 8601 time"),
        ({"action": "key.lost"}, "action: must be"),
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


@pytest.mark.slow
async def test_a_key_without_the_permission_or_limited_to_assets_reads_nothing(
    own_world: World,
) -> None:
    async with open_database(own_world) as database:
        _, limited = await make_key(
            database, "limited", permissions=(ADMIN_PERMISSION,), asset_ids=[SEEN]
        )
        _, plain = await make_key(database, "plain")
    for key in (limited, plain, own_world.keys.restricted):
        async with gateway_client(own_world.settings(), key) as client:
            for _ in range(2):  # the second time it is compiled
                body = await post_graphql(client, AUDIT_LOG)
                [error] = body["errors"]
                assert error["extensions"]["code"] == "PERMISSION_REQUIRED"
                assert body["data"] == {"auditLog": None}
