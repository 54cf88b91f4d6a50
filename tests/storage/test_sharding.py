"""What a sharded cluster would do with the commands: docs/decisions/storage/sharding.md.

There is no `mongos` here. So the commands of every endpoint and of every way through the graph, as
mongod notes them, are compared with the shard keys. One without a value of its shard key goes to
all shards, and must be in the list of those.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from pymongo import MongoClient

from rest.endpoint_table import ENDPOINTS, Endpoint
from storage.catalog import RECORD_TYPES
from storage.records.kinds import Document
from tests.doc_pages import page, rows, section
from tests.fixtures import ALL_FLAGS, FLOOR, MAP, SEEN, UNIT, World, gateway_client, post_graphql
from tests.test_rest_and_graphql_agree import LISTS, address
from tests.test_visibility import QUERY, paths

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PAGE = page("decisions/storage/sharding.md")
_, *_SHARD_KEYS = rows(section(PAGE, "## Shard keys"))
SHARD_KEYS = {name: row[1] for row in _SHARD_KEYS for name in row[0].split(", ")}
"""The first field of the shard key of each collection that is sharded."""
_, *_TO_ALL = rows(section(PAGE, "## Commands to all shards"))
TO_ALL_SHARDS = {
    (name, fields)
    for row in _TO_ALL
    for name in row[0].split(", ")
    for fields in row[1].split("; ")
}
"""Collections, and the fields in the conditions of commands that go to all shards."""

SINCE = "updated_since=2020-01-01T00:00:00Z"
FILTERS = {
    "/v1/assets": ["ids=north", "search=no", SINCE],
    "/v1/assets/references": [f"asset={SEEN}", "key=crm", "value=N", "key=crm&value=N", SINCE],
    "/v1/units": [
        *(f"asset={SEEN}", f"floor={FLOOR}", f"map={MAP}", f"ids={UNIT}", "search=a", SINCE),
        *("order-by=name", f"order-by=name&asset={SEEN}", "attribute=view/sea"),
        *("reference=crm:3", f"attribute=view/sea&asset={SEEN}", f"floor={FLOOR}&search=a"),
    ],
    "/v1/units/references": [f"asset={SEEN}", "key=crm", "value=3", SINCE],
    "/v1/maps": [f"asset={SEEN}", "tags=ils", "ids=plan-two", "search=second", SINCE],
    "/v1/maps/{map}/locations": ["tags=svc:amenity", "search=pool", SINCE],
    "/v1/units/attribute-groups/{group-id}/assignments": [f"asset={SEEN}"],
}
"""Queries of lists; page numbers and cursors are tried with each list."""
WAYPOINTS = [{"id": "loc-1"}, {"unit_id": UNIT}, {"x": 1.0, "y": 2.0, "floor_id": FLOOR}]
ASSIGNMENT = {"group_id": "view", "attribute_id": "yard", "asset_id": SEEN, "unit_id": UNIT}
BODIES: dict[str, Any] = {
    "E18": {"data": {"sources": WAYPOINTS, "targets": WAYPOINTS}},
    "E21": {"data": [ASSIGNMENT]},
    "E22": {"data": [ASSIGNMENT]},
}
FIELDS = (
    "units { data { id } totalCount }",
    "assets { data { units(perPage: 1) { data { id } totalCount } floors { totalCount } } }",
    'assets { data { units(search: "1", orderBy: NAME) { data { id } } maps { totalCount } } }',
    "units { data { location { id } attributes: assignments { data { attributeId } } } }",
    f'map(id: "{MAP}") {{ locations(tags: "svc:amenity") {{ data {{ id }} totalCount }} }}',
    f'floor(id: "{FLOOR}") {{ units(page: 2, perPage: 1) {{ data {{ id }} totalCount }} }}',
)


@asynccontextmanager
async def note_commands(world: World) -> AsyncIterator[list[tuple[str, Document]]]:
    """Yield a list that afterwards has the conditions of all commands, by collection."""
    noted: list[tuple[str, Document]] = []
    with MongoClient[Document](world.mongo_url) as client:
        database = client[world.database]
        database.create_collection("system.profile", capped=True, size=256 << 20)
        database.command("profile", 2)
        yield noted
        database.command("profile", 0)
        for note in database["system.profile"].find():
            collection = note["ns"].partition(".")[2]
            noted += _list_conditions(collection, note["command"])


def _list_conditions(collection: str, command: Document) -> Iterator[tuple[str, Document]]:
    if "find" in command:
        yield collection, command.get("filter", {})
    elif "aggregate" in command and "$cmd" not in collection:
        yield from _list_pipeline_conditions(collection, command["pipeline"])
    elif "q" in command:  # of an update or a removal
        yield collection, command["q"]


def _list_pipeline_conditions(
    collection: str, pipeline: list[Document]
) -> Iterator[tuple[str, Document]]:
    yield collection, next((stage["$match"] for stage in pipeline if "$match" in stage), {})
    for stage in pipeline:
        if union := stage.get("$unionWith"):
            yield from _list_pipeline_conditions(union["coll"], union["pipeline"])


def list_fields(where: Document) -> dict[str, bool]:
    """The fields in a condition, and whether it names their values."""
    fields: dict[str, bool] = {}
    for name, value in where.items():
        if name == "$and":
            for part in value:
                for field, names_values in list_fields(part).items():
                    fields[field] = fields.get(field, False) or names_values
        else:
            operators = value.keys() if isinstance(value, dict) else {"$eq"}
            fields[name] = fields.get(name, False) or bool(operators & {"$eq", "$in"})
    return fields


async def _send_all(client: httpx.AsyncClient) -> None:
    """Send a request of every kind."""
    for row in ENDPOINTS:
        if row.body is None:
            await client.get(address(row), headers=ALL_FLAGS)
        elif row.spec_id in BODIES:
            await client.request(
                row.method, address(row), json=BODIES[row.spec_id], headers=ALL_FLAGS
            )
    for row in LISTS:
        await _send_pages(client, row)
    assert QUERY is not None
    for path in sorted({*paths(QUERY, 2)}):
        await post_graphql(client, f"{{ {path} }}")
    for field in FIELDS:
        await post_graphql(client, f"{{ {field} }}")


async def _send_pages(client: httpx.AsyncClient, row: Endpoint) -> None:
    for filters in ("", *FILTERS.get(row.path, ())):
        url = f"{address(row)}?per-page=1&{filters}"
        first = await client.get(url, headers=ALL_FLAGS)
        assert first.status_code in (200, 403), first.text
        await client.get(f"{url}&page=2", headers=ALL_FLAGS)
        paging = first.json().get("paging", {})
        if following := paging.get("next_url"):
            assert (await client.get(following, headers=ALL_FLAGS)).status_code == 200


async def test_commands_go_to_the_shards_that_the_page_says(own_world: World) -> None:
    async with note_commands(own_world) as noted:
        for key in (own_world.keys.full, own_world.keys.restricted):
            async with gateway_client(own_world.settings(cache_mb=0), key) as client:
                await _send_all(client)
    read = {collection for collection, _ in noted}
    assert read >= SHARD_KEYS.keys()
    to_all = set()
    for collection, where in noted:
        fields = list_fields(where)
        if collection in SHARD_KEYS and not fields.get(SHARD_KEYS[collection]):
            to_all.add((collection, " and ".join(sorted(fields)) or "none"))
    assert to_all == TO_ALL_SHARDS


def test_every_kind_that_belongs_to_assets_is_sharded_by_them() -> None:
    for kind in RECORD_TYPES:
        assert SHARD_KEYS.get(kind.name, "") == kind.scope_field
