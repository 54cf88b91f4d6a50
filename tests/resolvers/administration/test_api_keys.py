"""Operators create, change, rotate, list and revoke API keys, and read the audit log."""

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import httpx
import pytest

from resolvers.administration import api_keys as resolvers
from resolvers.administration.audit import MAX_AUDIT_PER_PAGE
from resolvers.request.caller import (
    ADMIN_PERMISSION,
    PARSE_UNIT_MAPS_PERMISSION,
    PERMISSIONS,
    READ_UNIT_ATTRIBUTES_PERMISSION,
    WRITE_UNIT_ATTRIBUTES_PERMISSION,
)
from resolvers.request.kinds import name_word
from storage.administration import api_keys
from storage.administration.audit import AUDIT_COLLECTION
from storage.mongo import driver
from tests.fixtures import (
    HIDDEN,
    SEEN,
    UNIT,
    World,
    data_of,
    gateway_client,
    make_key,
    open_database,
    post_graphql,
)
from tests.fixtures import post_graphql as post

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
CREATE_NAMED = """mutation($name: String!) {
    createApiKey(input: { name: $name, permissions: [service_unit_maps_parse] }) { apiKey { id } }
}"""


async def test_what_a_client_changes_is_read_at_once(own_world: World) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        for name in ("one", "two"):
            # twice, so that a cached response would be found
            before = (await data_of(client, AUDIT_LOG, {"actor": None}))["auditLog"]["data"]
            created = (await data_of(client, CREATE_NAMED, {"name": name}))["createApiKey"]
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
                "origins": [],
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


UPDATE = """mutation (
    $id: ID!, $name: String, $permissions: [Permission!], $assetIds: [ID!], $addAssetIds: [ID!],
    $removeAssetIds: [ID!], $allAssets: Boolean! = false, $expires: DateTime,
    $neverExpires: Boolean! = false, $origins: [String!]
) {
    updateApiKey(input: {
        id: $id, name: $name, permissions: $permissions, assetIds: $assetIds,
        addAssetIds: $addAssetIds, removeAssetIds: $removeAssetIds, allAssets: $allAssets,
        expires: $expires, neverExpires: $neverExpires, origins: $origins
    }) { apiKey { id name permissions assetIds origins expiresAt revokedAt lastUsedAt } }
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
SHOP, OTHER = "https://shop.example", "http://[::1]:8080"
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


CREATE = """mutation (
    $permissions: [Permission!], $assetIds: [ID!], $all: Boolean!, $expires: DateTime,
    $origins: [String!]
) {
    createApiKey(input: {
        name: "new", permissions: $permissions, assetIds: $assetIds, allAssets: $all,
        expires: $expires, origins: $origins
    }) { apiKey { id origins } key }
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


async def test_what_is_not_given_stays(administration: Administration) -> None:
    key_id = await administration.make(
        PARSE_UNIT_MAPS_PERMISSION, asset_ids=[SEEN], origins=[SHOP], expires_at=END
    )
    before = await administration.find(key_id)
    renamed = await administration.run(UPDATE, id=key_id, name="web")
    assert renamed == {
        "id": key_id,
        "name": "web",
        "permissions": [name_word(PARSE_UNIT_MAPS_PERMISSION)],
        "assetIds": [SEEN],
        "origins": [SHOP],
        "expiresAt": END.isoformat(),
        "revokedAt": None,
        "lastUsedAt": None,
    }
    after = await administration.find(key_id)
    assert (after.name, after.created_at, after.scope) == ("web", before.created_at, before.scope)


@pytest.mark.parametrize(
    ("assets", "change", "result"),
    [
        ([SEEN], {"addAssetIds": [HIDDEN, SEEN]}, [SEEN, HIDDEN]),
        ([SEEN, HIDDEN], {"removeAssetIds": [SEEN]}, [HIDDEN]),
        ([SEEN], {"addAssetIds": [HIDDEN], "removeAssetIds": [SEEN]}, [HIDDEN]),
        ([SEEN], {"assetIds": [HIDDEN, HIDDEN]}, [HIDDEN]),
        ([SEEN], {"assetIds": []}, []),
        ([SEEN], {"allAssets": True}, None),
        (None, {"assetIds": [SEEN]}, [SEEN]),
    ],
)
async def test_assets_are_added_removed_or_set(
    administration: Administration, assets: Any, change: dict[str, Any], result: Any
) -> None:
    key_id = await administration.make(asset_ids=assets)
    assert (await administration.run(UPDATE, id=key_id, **change))["assetIds"] == result
    assert (await administration.find(key_id)).asset_ids == result


async def test_a_key_is_bound_to_origins(administration: Administration) -> None:
    created = await create(administration, origins=[SHOP, SHOP])
    assert created["origins"] == [SHOP]
    for origins in ([OTHER, SHOP], [], [OTHER]):
        changed = await administration.run(UPDATE, id=created["id"], origins=origins)
        assert changed["origins"] == origins
        assert (await administration.find(created["id"])).origins == origins
    rotated = await administration.run(ROTATE, id=created["id"])
    assert (await administration.find(rotated["id"])).origins == [OTHER]


@pytest.mark.parametrize(
    ("origin", "rule"),
    [
        ("*", "must be one origin, not '*': a key without origins is for all pages"),
        ("https://Shop.example:443/maps/", "such as 'https://shop.example', not 'https://Shop"),
        ("http://shop.example:80", "such as 'http://shop.example', not"),
        ("http://[::1]:80", "such as 'http://[::1]', not"),
        ("https://shop.example/", "such as 'https://shop.example', not 'https://shop.example/'"),
        ("https://me@shop.example", "such as 'https://shop.example', not"),
        ("shop.example", "such as 'https://www.example.com', not 'shop.example'"),
        ("ftp://shop.example", "such as 'https://www.example.com', not"),
        ("https://*.shop.example", "such as 'https://www.example.com', not"),
        ("https://b\u00fccher.example", "such as 'https://www.example.com', not"),
        ("https://shop.example:99999", "such as 'https://www.example.com', not"),
        ("http://[::1", "such as 'https://www.example.com', not"),
        ("null", "such as 'https://www.example.com', not 'null'"),
        ("", "such as 'https://www.example.com', not ''"),
        (f"https://{'a' * 300}", "not 'https://aaa"),
    ],
)
async def test_an_origin_is_written_as_browsers_send_it(
    administration: Administration, origin: str, rule: str
) -> None:
    assert is_refused(await create(administration, origins=[SHOP, origin]), "origins", rule)


async def test_a_key_has_so_many_origins_at_most(administration: Administration) -> None:
    origins = [f"http://localhost:{port}" for port in range(1000, 1101)]
    refused = await create(administration, origins=origins)
    assert (refused["code"], refused["max"]) == ("LIMIT_EXCEEDED", 100)
    assert (await create(administration, origins=origins[1:]))["origins"] == origins[1:]


async def test_permissions_and_expiry_are_set_and_taken_away(
    administration: Administration,
) -> None:
    key_id = await administration.make(*PERMISSIONS[:2], asset_ids=[SEEN])
    changes: list[tuple[list[str], dict[str, Any], datetime | None]] = [
        ([PERMISSIONS[2]], {"expires": END.isoformat()}, END),
        ([], {"neverExpires": True}, None),
    ]
    for permissions, expiry, expires_at in changes:
        changed = await administration.run(UPDATE, id=key_id, permissions=permissions, **expiry)
        assert changed["permissions"] == [*map(name_word, permissions)]
        found = await administration.find(key_id)
        assert (found.permissions, found.expires_at) == (permissions, expires_at)


@pytest.mark.parametrize(
    ("assets", "change", "field", "rule"),
    [
        ([SEEN], {"removeAssetIds": [HIDDEN]}, "removeAssetIds", f"not {HIDDEN!r}"),
        (None, {"addAssetIds": [SEEN]}, "addAssetIds", "give assetIds"),
        (None, {"removeAssetIds": [SEEN]}, "removeAssetIds", "give assetIds"),
        ([], {"addAssetIds": ["a", "b", "c"]}, "addAssetIds", "at most 2 assets, not 3"),
        ([], {"assetIds": ["a"], "allAssets": True}, "allAssets", "together with assetIds"),
        ([], {"assetIds": ["a"], "addAssetIds": ["b"]}, "addAssetIds", "together with assetIds"),
        ([], {"allAssets": True, "removeAssetIds": ["b"]}, "removeAssetIds", "with allAssets"),
        ([], {"expires": "2999-01-31", "neverExpires": True}, "neverExpires", "with expires"),
        ([], {"expires": "2001-01-31"}, "expires", "must be in the future"),
        ([], {"name": ""}, "name", "1 to 255 characters"),
        ([SEEN], {"permissions": [ADMIN_PERMISSION]}, "permissions", "unless allAssets is true"),
    ],
)
async def test_a_change_that_cannot_be_made_is_explained_and_changes_nothing(
    administration: Administration,
    monkeypatch: pytest.MonkeyPatch,
    assets: Any,
    change: dict[str, Any],
    field: str,
    rule: str,
) -> None:
    monkeypatch.setattr(resolvers, "MAX_ASSETS", 2)
    key_id = await administration.make(asset_ids=assets)
    before = await administration.find(key_id)
    assert is_refused(await administration.run(UPDATE, id=key_id, **change), field, rule)
    assert await administration.find(key_id) == before


async def test_a_key_may_have_as_many_assets_as_the_limit(
    administration: Administration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolvers, "MAX_ASSETS", 2)
    key_id = await administration.make(asset_ids=[SEEN])
    changed = await administration.run(UPDATE, id=key_id, addAssetIds=[HIDDEN])
    assert changed["assetIds"] == [SEEN, HIDDEN]


async def test_an_administrator_cannot_be_limited_to_assets_and_stay_one(
    administration: Administration,
) -> None:
    key_id = await administration.make(*PERMISSIONS)
    limited = {"assetIds": [SEEN]}
    assert is_refused(await administration.run(UPDATE, id=key_id, **limited), "permissions")
    changed = await administration.run(UPDATE, id=key_id, permissions=[], **limited)
    assert changed["assetIds"] == [SEEN]


@pytest.mark.parametrize("document", [UPDATE, ROTATE])
async def test_a_revoked_key_stays_as_it_is(administration: Administration, document: str) -> None:
    key_id = await administration.make()
    await api_keys.revoke_api_key(administration.database, key_id)
    before = await api_keys.list_api_keys(administration.database)
    result = await administration.run(document, id=key_id)
    assert is_refused(result, "id", "not revoked", key_id)
    assert len(await api_keys.list_api_keys(administration.database)) == len(before)
    assert await administration.find(key_id) in before


@pytest.mark.parametrize("document", [UPDATE, ROTATE])
async def test_an_unknown_key_is_not_found(administration: Administration, document: str) -> None:
    assert (await administration.run(document, id="key_0"))["code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    "change",
    [
        {"permissions": [WRITE_UNIT_ATTRIBUTES_PERMISSION, PARSE_UNIT_MAPS_PERMISSION]},
        {"addAssetIds": [HIDDEN]},
        {"assetIds": [HIDDEN]},
        {"allAssets": True},
        {"origins": [SHOP, OTHER]},
        {"origins": []},
        {"expires": END.isoformat()},
        {"neverExpires": True},
    ],
)
async def test_a_key_cannot_extend_one_that_has_permissions_which_it_lacks(
    administration: Administration, change: dict[str, Any]
) -> None:
    """Else the holder of both would write where neither of them may."""
    key_id = await administration.make(
        WRITE_UNIT_ATTRIBUTES_PERMISSION, asset_ids=[SEEN], origins=[SHOP], expires_at=SOONER
    )
    before = await administration.find(key_id)
    await administration.use_key((ADMIN_PERMISSION, PARSE_UNIT_MAPS_PERMISSION))
    result = await administration.run(UPDATE, id=key_id, **change)
    lacks = f"which lacks {WRITE_UNIT_ATTRIBUTES_PERMISSION}"
    assert is_refused(result, "permissions", "the key that changes this one", lacks)
    assert await administration.find(key_id) == before


@pytest.mark.parametrize(
    "change",
    [
        {"name": "web"},
        {"permissions": [READ_UNIT_ATTRIBUTES_PERMISSION]},
        {"removeAssetIds": [SEEN]},
        {"assetIds": [HIDDEN]},
        {"origins": [SHOP]},
        {"expires": SOONER.isoformat()},
    ],
)
async def test_any_administrator_may_rename_a_key_and_take_from_it(
    administration: Administration, change: dict[str, Any]
) -> None:
    held = (READ_UNIT_ATTRIBUTES_PERMISSION, WRITE_UNIT_ATTRIBUTES_PERMISSION)
    key_id = await administration.make(*held, asset_ids=[SEEN, HIDDEN], expires_at=LATER)
    await administration.use_key((ADMIN_PERMISSION,), expires_at=END)
    assert (await administration.run(UPDATE, id=key_id, **change))["id"] == key_id


@pytest.mark.parametrize(
    ("change", "is_changed"),
    [
        ({"expires": END.isoformat()}, True),
        ({"expires": LATER.isoformat()}, False),
        ({"neverExpires": True}, False),
        ({"permissions": [PARSE_UNIT_MAPS_PERMISSION]}, True),
    ],
)
async def test_a_key_that_expires_lets_none_outlive_it(
    administration: Administration, change: dict[str, Any], is_changed: bool
) -> None:
    key_id = await administration.make(asset_ids=[SEEN], expires_at=SOONER)
    await administration.use_key(expires_at=END)
    result = await administration.run(UPDATE, id=key_id, **change)
    assert is_changed or is_refused(result, "expires", f"at or before {END.isoformat()}")
    assert ("code" not in result) == is_changed


async def test_a_key_cannot_prolong_itself(administration: Administration) -> None:
    await administration.use_key(expires_at=END)
    records = await api_keys.list_api_keys(administration.database)
    [own] = [record.id for record in records if record.name == "caller"]
    for document, change in (
        (UPDATE, {"neverExpires": True}),
        (UPDATE, {"expires": LATER.isoformat()}),
        (ROTATE, {"expires": LATER.isoformat()}),
    ):
        result = await administration.run(document, id=own, **change)
        assert is_refused(result, "expires", "at or before", END.isoformat())
    rotated = await administration.run(ROTATE, id=own, expires=END.isoformat())
    assert rotated["expiresAt"] == END.isoformat()


async def test_a_rotated_key_is_replaced_by_one_with_the_same_rights(
    administration: Administration,
) -> None:
    rights: dict[str, Any] = {"asset_ids": [SEEN], "expires_at": NOW + timedelta(days=90)}
    key_id = await administration.make(PARSE_UNIT_MAPS_PERMISSION, **rights)
    old = await administration.find(key_id)
    assert old.expires_at is not None
    then = datetime.now(UTC).replace(microsecond=0)
    rotated = await administration.run(ROTATE, id=key_id, overlap=60)
    new = await administration.find(rotated["id"])
    assert new.id != key_id
    assert (new.name, new.permissions, new.asset_ids) == (old.name, old.permissions, [SEEN])
    assert new.expires_at is not None
    assert new.expires_at - new.created_at == old.expires_at - old.created_at
    assert rotated["expiresAt"] == new.expires_at.isoformat()
    ended = await administration.find(key_id)
    assert rotated["replaced"]["id"] == key_id
    assert ended.expires_at == datetime.fromisoformat(rotated["replaced"]["expiresAt"])
    assert then + timedelta(seconds=60) <= ended.expires_at
    assert ended.expires_at <= datetime.now(UTC) + timedelta(seconds=60)
    found = await api_keys.find_api_key(administration.database, api_keys.hash_key(rotated["key"]))
    assert found == new


async def test_a_key_is_rotated_once_unless_its_end_is_changed(
    administration: Administration,
) -> None:
    """Its end is that of the overlap now, and no measure for the life of another."""
    key_id = await administration.make(asset_ids=[SEEN])
    rotated = await administration.run(ROTATE, id=key_id)
    assert rotated["expiresAt"] is None  # as the old one had no end
    assert (await administration.find(key_id)).expires_at is not None
    again = await administration.run(ROTATE, id=key_id)
    assert is_refused(again, "id", f"{rotated['id']!r} has replaced it")
    await administration.run(UPDATE, id=key_id, expires=LATER.isoformat())
    assert (await administration.run(ROTATE, id=key_id))["replaced"]["id"] == key_id


async def test_without_overlap_the_old_key_ends_at_once(administration: Administration) -> None:
    key_id = await administration.make(asset_ids=[SEEN])
    await administration.run(ROTATE, id=key_id, overlap=0)
    assert not (await administration.find(key_id)).is_valid(datetime.now(UTC))


async def test_an_overlap_never_makes_the_old_key_last_longer(
    administration: Administration,
) -> None:
    soon = NOW + timedelta(hours=1)
    key_id = await administration.make(asset_ids=[SEEN], expires_at=soon)
    rotated = await administration.run(ROTATE, id=key_id, overlap=86_400)
    assert rotated["replaced"]["expiresAt"] == soon.isoformat()


async def test_a_lifetime_beyond_the_calendar_ends_with_it(
    administration: Administration,
) -> None:
    last = datetime(9999, 12, 31, tzinfo=UTC)
    key_id = await administration.make(asset_ids=[SEEN], expires_at=last)
    old = {"created_at": datetime(2020, 1, 31, tzinfo=UTC)}
    await administration.database["api_keys"].update_one({"_id": key_id}, {"$set": old})
    assert (await administration.run(ROTATE, id=key_id))["expiresAt"] == last.isoformat()


async def test_rotation_hands_out_no_rights_that_the_caller_lacks(
    administration: Administration,
) -> None:
    key_id = await administration.make(WRITE_UNIT_ATTRIBUTES_PERMISSION, asset_ids=[SEEN])
    await administration.use_key((ADMIN_PERMISSION,))
    lacks = f"which lacks {WRITE_UNIT_ATTRIBUTES_PERMISSION}"
    result = await administration.run(ROTATE, id=key_id)
    assert is_refused(result, "permissions", "the key that rotates this one", lacks)
    assert (await administration.find(key_id)).expires_at is None


@pytest.mark.parametrize("overlap", [-1, api_keys.MAX_OVERLAP_DAYS * 86_400 + 1])
async def test_an_overlap_is_at_most_a_year(administration: Administration, overlap: int) -> None:
    key_id = await administration.make()
    assert is_refused(
        await administration.run(ROTATE, id=key_id, overlap=overlap), "overlapSeconds"
    )
