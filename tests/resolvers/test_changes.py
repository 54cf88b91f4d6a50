"""What each key is told of changes by polls; `tests/gateway/subscriptions` follows them."""

from typing import Any

import httpx
import pytest

from resolvers.nodes import parse_node_id
from storage.changes import hub
from storage.changes.events import ChangeCursor, ChangePosition
from storage.mongo.raw_documents import rename_collection
from tests.fixtures import (
    ALL_FLAGS,
    HIDDEN,
    SEEN,
    UNIT,
    World,
    data_of,
    gateway_client,
    open_database,
)

FLAG = {"Experimental-Flags": "changes"}


@pytest.fixture(autouse=True)
def _read_at_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, a poll would be answered before it has read all that there is."""
    monkeypatch.setattr(hub, "POLL_SECONDS", 60.0)
    monkeypatch.setattr(hub, "READ_SECONDS", 60.0)


async def poll(client: Any, headers: dict[str, str] = FLAG, **parameters: Any) -> dict[str, Any]:
    response = await client.get("/v1/changes", params=parameters, headers=headers)
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


def names(body: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(each["operation"], each["kind"], each["record_id"]) for each in body["data"]]


async def rename(database: Any, kind: str, key: str) -> None:
    await database[kind].update_one({"_id": key}, {"$set": {"name": "renamed"}})


async def test_a_poll_has_what_was_written_before_it(own_world: World) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        start = await poll(client)
        assert (start["data"], start["has_more"]) == ([], False)
        async with open_database(own_world) as database:
            await rename(database, "units", UNIT)
        body = await poll(client, after=start["cursor"])
        assert names(body) == [("updated", "units", UNIT)]
        assert body["data"][0]["asset_id"] == SEEN
        some = await poll(client, after=start["cursor"], fields="record_id")
        # The cursor of a poll that has all changes moves on with MongoDB's own writes.
        assert some == body | {"data": [{"record_id": UNIT}], "cursor": some["cursor"]}
        assert (await poll(client, after=body["cursor"]))["data"] == []


async def test_a_key_is_told_of_its_own_assets_only(own_world: World) -> None:
    async with (
        gateway_client(own_world.settings(), own_world.keys.full) as full,
        gateway_client(own_world.settings(), own_world.keys.restricted) as limited,
        open_database(own_world) as database,
    ):
        start = (await poll(full))["cursor"]
        await rename(database, "assets", HIDDEN)
        await rename(database, "assets", SEEN)
        seen = await poll(limited, after=start)
        assert names(seen) == [("updated", "assets", SEEN)]
        assert len((await poll(full, after=start))["data"]) == 2
        assert names(await poll(full, after=start, asset=HIDDEN)) == [("updated", "assets", HIDDEN)]
        assert (await poll(limited, after=start, asset=HIDDEN))["data"] == []


async def test_a_kind_needs_its_flag_and_permission(own_world: World) -> None:
    async with (
        gateway_client(own_world.settings(), own_world.keys.full) as client,
        open_database(own_world) as database,
    ):
        start = (await poll(client))["cursor"]
        await rename(database, "locations", "loc-1")
        assert (await poll(client, after=start))["data"] == []
        assert names(await poll(client, ALL_FLAGS, after=start)) == [
            ("updated", "locations", "loc-1")
        ]
        refused = await client.get(
            "/v1/changes", params={"after": start, "kinds": "locations"}, headers=FLAG
        )
        assert refused.status_code == 400
        assert "locations-resource" in refused.text


async def test_a_change_has_its_record_and_the_id_by_which_a_client_keeps_it(
    own_world: World,
) -> None:
    identified = "kind recordId recordNodeId"
    query = f"""query($after: String) {{
      changes(after: $after) {{ data {{ operation {identified} node {{ nodeId __typename }} }} }}
      removals {{ data {{ {identified} }} }}
    }}"""
    remove = """mutation { removeRecords(input: { kind: units, ids: ["unit-2"] }) { refusal } }"""
    async with (
        gateway_client(own_world.settings(), own_world.keys.full) as client,
        open_database(own_world) as database,
    ):
        start = (await poll(client))["cursor"]
        for kind in ("units", "level_tags", "attribute_groups", "backgrounds"):
            await database[kind].update_one({}, {"$set": {"name": "renamed", "group_name": "x"}})
        await data_of(client, remove)
        found = await data_of(client, query, {"after": start})
        updated = [each for each in found["changes"]["data"] if each["operation"] == "updated"]
        assert {each["kind"]: each["node"]["__typename"] for each in updated} == {
            "units": "Unit",
            "level_tags": "LevelTag",
            "attribute_groups": "AttributeGroup",
            "backgrounds": "Background",
        }
        assert all(each["recordNodeId"] == each["node"]["nodeId"] for each in updated)
        (removed,) = [each for each in found["changes"]["data"] if each["recordId"] == "unit-2"]
        assert (removed["operation"], removed["node"]) == ("removed", None)
        assert parse_node_id(removed["recordNodeId"])[1] == ("unit-2",)
        assert {name: removed[name] for name in identified.split()} in found["removals"]["data"]


async def test_pages_of_one_change_lose_none(own_world: World) -> None:
    async with (
        gateway_client(own_world.settings(), own_world.keys.full) as client,
        open_database(own_world) as database,
    ):
        cursor = (await poll(client))["cursor"]
        await database["units"].update_many({}, {"$set": {"name": "renamed"}})
        found, has_more = [], True
        while has_more:
            body = await poll(client, after=cursor, limit=1)
            found += [each["record_id"] for each in body["data"]]
            cursor, has_more = body["cursor"], body["has_more"]
        assert sorted(found) == sorted(await database["units"].distinct("_id"))


async def test_responses_without_changes_lead_to_those_that_come_later(
    own_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "MAX_EVENTS_PER_READ", 10)
    monkeypatch.setattr(hub, "POLL_SECONDS", 0)
    async with (
        gateway_client(own_world.settings(), own_world.keys.full) as full,
        gateway_client(own_world.settings(), own_world.keys.restricted) as limited,
        open_database(own_world) as database,
    ):
        start = (await poll(full))["cursor"]
        await database["staging.x.units"].insert_many([{} for _ in range(1_000)])
        for number in range(30):
            await database["assets"].update_one({"_id": HIDDEN}, {"$set": {"name": f"{number}"}})
        await rename(database, "assets", SEEN)
        for client, assets in ((full, [HIDDEN] * 30 + [SEEN]), (limited, [SEEN])):
            bodies, after = list[dict[str, Any]](), start
            while not bodies or bodies[-1]["has_more"]:
                bodies.append(await poll(client, after=after))
                after = bodies[-1]["cursor"]
            assert [each["record_id"] for body in bodies for each in body["data"]] == assets
            assert bodies[0] == {"data": [], "cursor": bodies[0]["cursor"], "has_more": True}


async def test_fields_that_no_client_sees_are_no_changes(own_world: World) -> None:
    async with (
        gateway_client(own_world.settings(), own_world.keys.full) as client,
        open_database(own_world) as database,
    ):
        start = (await poll(client))["cursor"]
        await database["locations"].update_many({}, {"$set": {"words": ["other"]}})
        await database["maps"].update_many({}, {"$set": {"network_state": {"levels": []}}})
        assert (await poll(client, ALL_FLAGS, after=start))["data"] == []


@pytest.mark.parametrize("cursor", ["x", "A" * 23, "é" * 23, ""])
async def test_what_is_no_cursor_is_invalid(client: httpx.AsyncClient, cursor: str) -> None:
    response = await client.get("/v1/changes", params={"after": cursor}, headers=FLAG)
    assert response.status_code == 422
    assert [*response.json()["fields"]] == ["after"]


async def test_a_cursor_of_another_database_has_expired(own_world: World) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        mine = ChangeCursor.parse((await poll(client))["cursor"])
        for cursor in (mine._replace(epoch=b"else"), mine._replace(position=ChangePosition(1, 1))):
            response = await client.get("/v1/changes", params={"after": str(cursor)}, headers=FLAG)
            # The oplog of a new server is whole, so that it accepts any older time.
            if cursor.epoch != mine.epoch:
                assert response.status_code == 410
                assert "copy the directory again" in response.json()["message"]


async def test_a_replaced_collection_is_a_reset(own_world: World) -> None:
    async with (
        gateway_client(own_world.settings(), own_world.keys.full) as client,
        open_database(own_world) as database,
    ):
        start = (await poll(client))["cursor"]
        await database["staged"].insert_one({"_id": "none"})
        await rename_collection(database, "staged", "units")
        body = await poll(client, after=start)
        assert names(body)[-1] == ("reset", "units", None)
