"""Removing records in GraphQL, and who sees what was removed."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from resolvers.administration import imports
from resolvers.request.caller import (
    READ_UNIT_ATTRIBUTES_PERMISSION,
    READ_UNIT_REFERENCES_PERMISSION,
)
from storage.tombstones import TOMBSTONES
from tests.fixtures import (
    CATALOG,
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

pytestmark = pytest.mark.usefixtures("no_processes")

REMOVE = """mutation($kind: RecordKind!, $ids: [ID!]!, $dry: Boolean! = false, $plan: String) {
  removeRecords(input: { kind: $kind, ids: $ids, dryRun: $dry, plan: $plan }) {
    kinds { kind updated removed }
    refusal
    plan {
      digest unlisted
      changes { kind operation recordId removedWith fields { field before after } }
    }
  }
}"""
REMOVALS = """query($asset: ID, $since: DateTime, $perPage: Int = 100, $page: Int, $after: String) {
  removals(asset: $asset, since: $since, perPage: $perPage, page: $page, after: $after) {
    paging { next } data { kind recordId assetId removedAt }
  }
}"""


async def remove(client: httpx.AsyncClient, kind: str, *ids: str, **options: Any) -> dict[str, Any]:
    variables = {"kind": kind, "ids": ids, **options}
    result: dict[str, Any] = (await data_of(client, REMOVE, variables))["removeRecords"]
    return result


async def removals(client: httpx.AsyncClient, **variables: Any) -> list[tuple[str, str]]:
    page = (await data_of(client, REMOVALS, variables))["removals"]
    return [(each["kind"], each["recordId"]) for each in page["data"]]


async def test_a_dry_run_shows_what_is_removed_and_its_digest_holds_it(own_world: World) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        plan = (await remove(client, "units", UNIT, dry=True))["plan"]
        removed = {
            (each["kind"], each["recordId"], each["removedWith"]) for each in plan["changes"]
        }
        assert removed == {
            ("units", UNIT, None),
            (
                "unit_references",
                f"{UNIT}/crm",
                f"unit {UNIT}",
            ),
            (
                "unit_references",
                f"{UNIT}/crm-unit-ids",
                f"unit {UNIT}",
            ),
            ("attribute_assignments", f"view/{UNIT}/sea", f"unit {UNIT}"),
            ("locations", "loc-1", f"unit {UNIT}"),
        }
        assert await removals(client) == []
        done = await remove(client, "units", UNIT, plan=plan["digest"])
        assert done["plan"] == plan
        body = await post_graphql(client, REMOVE, {"kind": "units", "ids": [UNIT]})
        [error] = body["errors"]
        assert error["extensions"]["code"] == "REFUSED_DOCUMENT"
        variables = {"kind": "units", "ids": ["unit-2"], "plan": plan["digest"]}
        [error] = (await post_graphql(client, REMOVE, variables))["errors"]
        assert "has changed since the plan was shown" in error["message"]
        assert error["extensions"]["code"] == "PLAN_CHANGED"


async def test_what_is_removed_is_served_no_longer(own_world: World) -> None:
    """Each way to it has been cached, and ends with the removal."""
    paths = [f"/v1/units/{UNIT}", "/v1/units", f"/v1/assets/{SEEN}"]
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        before = [(await client.get(path)) for path in paths for _ in range(3)]
        assert {response.status_code for response in before} == {200}
        await remove(client, "units", UNIT)
        assert (await client.get(paths[0])).status_code == 404
        assert UNIT not in [each["id"] for each in (await client.get(paths[1])).json()["data"]]
        await remove(client, "assets", SEEN)
        assert (await client.get(paths[2])).status_code == 404


async def test_a_removal_of_a_kind_of_another_version_is_listed_without_it(
    own_world: World,
) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        await remove(client, "backgrounds", "bg-2", "bg-s")
        async with open_database(own_world) as database:
            renamed = await database[TOMBSTONES.name].update_one(
                {"values": ["bg-2"]}, {"$set": {"kind": "planets"}}
            )
        assert renamed.modified_count == 1
        assert sorted(await removals(client), key=str) == [("backgrounds", "bg-s"), (None, "bg-2")]


async def test_a_key_sees_the_removals_of_its_assets_and_permissions(own_world: World) -> None:
    async with open_database(own_world) as database:
        texts = {}
        for name, permissions in {
            "plain": (),
            "references": (READ_UNIT_REFERENCES_PERMISSION,),
            "attributes": (READ_UNIT_ATTRIBUTES_PERMISSION,),
        }.items():
            _, texts[name] = await make_key(
                database, name, permissions=permissions, asset_ids=[SEEN]
            )
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        await remove(client, "assets", SEEN, HIDDEN)
        await remove(client, "attribute_groups", "view")
        everything = await removals(client)
        assert {kind for kind, _ in everything} == {*CATALOG}
        assert {("assets", SEEN), ("assets", HIDDEN)} <= {*everything}
        assert [each for each in everything if each in await removals(client, asset=SEEN)] == (
            await removals(client, asset=SEEN)
        )
        seen = {}
        for name, text in texts.items():
            client.headers["API-Key"] = text
            seen[name] = await removals(client)
            assert ("assets", SEEN) in seen[name]
            assert ("assets", HIDDEN) not in seen[name]
            assert await removals(client, asset=HIDDEN) == []
            variables = {"kind": "assets", "ids": [SEEN]}
            [error] = (await post_graphql(client, REMOVE, variables))["errors"]
            assert error["extensions"]["code"] == "PERMISSION_REQUIRED"
        kinds = {name: {kind for kind, _ in found} for name, found in seen.items()}
        guarded = {"attribute_groups", "attribute_assignments", "asset_references"}
        assert not kinds["plain"] & {*guarded, "unit_references"}
        assert kinds["references"] - kinds["plain"] == {"unit_references"}
        assert kinds["attributes"] - kinds["plain"] == {"attribute_assignments"}


async def test_removals_are_read_on_from_where_the_last_reading_ended(own_world: World) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        await remove(client, "locations", "loc-1")
        first = (await data_of(client, REMOVALS))["removals"]["data"][-1]
        await asyncio.sleep(0.01)
        await remove(client, "locations", "loc-2", "loc-s")
        rest = await removals(client)
        assert rest == [("locations", "loc-1"), ("locations", "loc-2"), ("locations", "loc-s")]
        assert await removals(client, since=first["removedAt"]) == rest
        found: list[tuple[str, str]] = []
        cursor: dict[str, Any] = {}
        for page in (1, 2, 3):
            variables = {"perPage": 1, "page": page, **cursor}
            got = (await data_of(client, REMOVALS, variables))["removals"]
            found += [(each["kind"], each["recordId"]) for each in got["data"]]
            cursor = {"after": got["paging"]["next"]}
        assert (found, cursor) == (rest, {"after": None})


async def test_a_bundle_is_mirrored_within_the_limit(own_world: World) -> None:
    query = """mutation($bundle: String!, $limit: String, $assets: [ID!], $sync: Boolean! = true) {
      importCatalog(input: { bundle: $bundle, sync: $sync, assets: $assets, maxRemovals: $limit }) {
        kinds { kind removed }
      }
    }"""
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        bundle = json.dumps({"units": []})
        [error] = (await post_graphql(client, query, {"bundle": bundle}))["errors"]
        assert error["extensions"]["code"] == "TOO_MANY_REMOVALS"
        assert "more than 20% of a kind" in error["message"]
        wrong = {"bundle": bundle, "sync": False, "assets": [SEEN]}
        [error] = (await post_graphql(client, query, wrong))["errors"]
        assert error["extensions"]["code"] == "INVALID_INPUT"
        [error] = (await post_graphql(client, query, {"bundle": bundle, "assets": []}))["errors"]
        assert error["extensions"]["fields"] == {"input.assets": ["must hold 1 to 1000 ids, not 0"]}
        wrong = {"bundle": bundle, "assets": [f"{SEEN}x", SEEN]}
        [error] = (await post_graphql(client, query, wrong))["errors"]
        assert error["message"] == (
            f'assets to mirror: there is no asset "{SEEN}x", neither in the bundle nor in the'
            f' catalog; did you mean "{SEEN}"?'
        )
        variables = {"bundle": bundle, "limit": "100%", "assets": [HIDDEN]}
        kinds = (await data_of(client, query, variables))["importCatalog"]["kinds"]
        of_hidden = [unit["id"] for unit in CATALOG["units"] if unit["asset_id"] == HIDDEN]
        assert {"kind": "units", "removed": len(of_hidden)} in kinds
        left = (await client.get("/v1/units")).json()["data"]
        assert {unit["asset_id"] for unit in left} == {SEEN}


async def test_ids_to_remove_have_limits_each_and_together(own_world: World) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        for ids, message in (
            ([], "input.ids: must hold 1 to 5000 ids, not 0"),
            (["u"] * 5_001, "The operation passes 5001 ids in one list, over the limit of 5000"),
            (["u" * 3_001], "input.ids: must have 1 to 3000 characters, not 3001"),
        ):
            body = await post_graphql(client, REMOVE, {"kind": "units", "ids": ids})
            assert body["errors"][0]["message"] == message
        ids = [f"{UNIT}-{number}" for number in range(4_000)]
        [error] = (await post_graphql(client, REMOVE, {"kind": "units", "ids": ids}))["errors"]
        assert error["extensions"]["errorCount"] == 4_000


async def test_a_bundle_undoes_a_removal(own_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    remove_and_undo = """mutation($ids: [ID!]!, $dry: Boolean!) {
      removeRecords(input: { kind: units, ids: $ids, dryRun: $dry, undo: true }) { undo }
    }"""
    restore = """mutation($bundle: String!) {
      importCatalog(input: { bundle: $bundle }) { kinds { kind inserted } undo }
    }"""
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        before = (await client.get("/v1/units")).json()["data"]
        shown = await data_of(client, remove_and_undo, {"ids": [UNIT], "dry": True})
        done = await data_of(client, remove_and_undo, {"ids": [UNIT], "dry": False})
        assert shown == done
        undo = done["removeRecords"]["undo"]
        result = (await data_of(client, restore, {"bundle": undo}))["importCatalog"]
        assert {"kind": "units", "inserted": 1} in result["kinds"]
        assert result["undo"] is None
        assert (await client.get("/v1/units")).json()["data"] == before
        monkeypatch.setattr(imports, "MAX_UNDO_BYTES", 100)
        variables = {"ids": [UNIT], "dry": False}
        [error] = (await post_graphql(client, remove_and_undo, variables))["errors"]
        assert "the bundle that undoes this has over 100 bytes" in error["message"]
        assert (await client.get("/v1/units")).json()["data"] == before
