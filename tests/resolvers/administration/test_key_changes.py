"""Changing and rotating keys: what stays, what is refused, and that no rights are won by it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import httpx
import pytest

from resolvers.administration import api_keys as resolvers
from resolvers.request.caller import (
    ADMIN_PERMISSION,
    PARSE_UNIT_MAPS_PERMISSION,
    PERMISSIONS,
    READ_UNIT_ATTRIBUTES_PERMISSION,
    WRITE_UNIT_ATTRIBUTES_PERMISSION,
)
from resolvers.request.enums import name_word
from storage.administration import api_keys, key_format
from storage.mongo import driver
from tests.fixtures import HIDDEN, SEEN, World, gateway_client, make_key, open_database
from tests.fixtures import post_graphql as post

pytestmark = pytest.mark.anyio

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
    """A gateway's client whose key may be exchanged, and the database."""

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


@pytest.fixture
async def administration(own_world: World) -> AsyncIterator[Administration]:
    async with (
        gateway_client(own_world.settings(), own_world.keys.full) as client,
        open_database(own_world) as database,
    ):
        yield Administration(client, database)


def is_refused(result: dict[str, Any], field: str, *parts: str) -> bool:
    """Whether the result is an error of this argument that has these parts."""
    assert result["code"] == "INVALID_INPUT", result
    [rule] = result["fields"][field]
    return all(part in rule for part in parts)


async def test_what_is_not_given_stays(administration: Administration) -> None:
    key_id = await administration.make(PARSE_UNIT_MAPS_PERMISSION, asset_ids=[SEEN], expires_at=END)
    before = await administration.find(key_id)
    renamed = await administration.run(UPDATE, id=key_id, name="web")
    assert renamed == {
        "id": key_id,
        "name": "web",
        "permissions": [name_word(PARSE_UNIT_MAPS_PERMISSION)],
        "assetIds": [SEEN],
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


async def test_permissions_and_expiry_are_set_and_taken_away(
    administration: Administration,
) -> None:
    key_id = await administration.make(*PERMISSIONS[:2], asset_ids=[SEEN])
    given = {"permissions": [PERMISSIONS[2]], "expires": END.isoformat()}
    changed = await administration.run(UPDATE, id=key_id, **given)
    assert (changed["permissions"], changed["expiresAt"]) == (
        [name_word(PERMISSIONS[2])],
        END.isoformat(),
    )
    changed = await administration.run(UPDATE, id=key_id, permissions=[], neverExpires=True)
    assert (changed["permissions"], changed["expiresAt"]) == ([], None)


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
        {"expires": END.isoformat()},
        {"neverExpires": True},
    ],
)
async def test_a_key_cannot_extend_one_that_has_permissions_which_it_lacks(
    administration: Administration, change: dict[str, Any]
) -> None:
    """Else the holder of both would write where neither of them may."""
    key_id = await administration.make(
        WRITE_UNIT_ATTRIBUTES_PERMISSION, asset_ids=[SEEN], expires_at=SOONER
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


async def test_a_key_that_expires_extends_no_key_without_end(
    administration: Administration,
) -> None:
    key_id = await administration.make(asset_ids=[SEEN])
    await administration.use_key(expires_at=END)
    result = await administration.run(UPDATE, id=key_id, addAssetIds=[HIDDEN])
    assert is_refused(result, "expires", f"at or before {END.isoformat()}")


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


async def test_a_rotated_key_gives_way_to_one_with_the_same_rights(
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
    found = await api_keys.find_api_key(
        administration.database, key_format.hash_key(rotated["key"])
    )
    assert found == new


async def test_a_key_is_rotated_once_unless_its_end_is_changed(
    administration: Administration,
) -> None:
    """Its end is that of the overlap now, and no measure for the life of another."""
    key_id = await administration.make(asset_ids=[SEEN])
    rotated = await administration.run(ROTATE, id=key_id)
    again = await administration.run(ROTATE, id=key_id)
    assert is_refused(again, "id", f"{rotated['id']!r} has replaced it")
    await administration.run(UPDATE, id=key_id, expires=LATER.isoformat())
    assert (await administration.run(ROTATE, id=key_id))["replaced"]["id"] == key_id


async def test_a_key_without_end_is_rotated_to_one_without_end(
    administration: Administration,
) -> None:
    key_id = await administration.make(asset_ids=[SEEN])
    rotated = await administration.run(ROTATE, id=key_id)
    assert rotated["expiresAt"] is None
    assert (await administration.find(key_id)).expires_at is not None


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


async def test_an_administrator_limited_by_an_older_release_is_not_rotated(
    administration: Administration,
) -> None:
    key_id = await administration.make(*PERMISSIONS, asset_ids=[SEEN])
    assert is_refused(await administration.run(ROTATE, id=key_id), "permissions", "allAssets")


@pytest.mark.parametrize("overlap", [-1, api_keys.MAX_OVERLAP_DAYS * 86_400 + 1])
async def test_an_overlap_is_at_most_a_year(administration: Administration, overlap: int) -> None:
    key_id = await administration.make()
    assert is_refused(
        await administration.run(ROTATE, id=key_id, overlap=overlap), "overlapSeconds"
    )


@pytest.mark.parametrize("document", [UPDATE, ROTATE])
async def test_only_an_administrator_changes_keys(
    administration: Administration, document: str
) -> None:
    key_id = await administration.make(asset_ids=[SEEN])
    await administration.use_key(tuple({*PERMISSIONS} - {ADMIN_PERMISSION}))
    assert (await administration.run(document, id=key_id))["code"] == "PERMISSION_REQUIRED"
    await administration.use_key(PERMISSIONS, asset_ids=[SEEN])
    assert (await administration.run(document, id=key_id))["code"] == "PERMISSION_REQUIRED"
