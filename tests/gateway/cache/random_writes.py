"""Reads of a catalog, and random writes through a gateway and past it."""

import json
import random
from collections.abc import Awaitable, Callable
from itertools import permutations
from typing import Any
from urllib.parse import quote

import httpx

from tests.fixtures import (
    FLOOR,
    HIDDEN,
    HIDDEN_MAP,
    MAP,
    OTHER_MAP,
    SEEN,
    UNIT,
)
from tests.storage.cache.test_change_feed import kill_streams

STAMPS = {"created_at": "2026-01-31T12:00:00+00:00", "updated_at": "2026-01-31T12:00:00+00:00"}
ASSIGN = """mutation ($attribute: ID!, $asset: ID!, $unit: ID!) { assignUnitAttributes(input: {
    groupId: "view", assignments: [
        {groupId: "view", attributeId: $attribute, assetId: $asset, unitId: $unit}]
}) { __typename } }"""
UNASSIGN = ASSIGN.replace("assignUnitAttributes", "unassignUnitAttributes")
IMPORT = "mutation ($bundle: String!) { importCatalog(input: { bundle: $bundle }) { notes } }"
UNITS = {UNIT: SEEN, "a/b": SEEN, "unit-s": HIDDEN, "!unit-s": HIDDEN}


ASSIGNMENTS = "/v1/units/attribute-groups/view/assignments"


def build_path(template: str, *ids: str) -> str:
    """Fill ids into a path."""
    return template.format(*(quote(id, safe="") for id in ids))


def ask(query: str) -> str:
    """Return the address of a query."""
    return f"/graphql?query={quote(query)}"


def ask_nested(asset: str) -> str:
    """Return the address of a query with lists in lists."""
    return ask(NESTED.format(json.dumps(asset)))


def ask_units_of_asset(asset: str) -> str:
    """Return the address of a query for the units of an asset."""
    return ask(f"{{ asset(id: {json.dumps(asset)}) {{ units {{ data {{ name }} }} }} }}")


def ask_units_of_floor(floor: str) -> str:
    """Return the address of a query for the units of a floor."""
    return ask(f"{{ floor(id: {json.dumps(floor)}) {{ units {{ data {{ name }} }} }} }}")


NESTED = """{{ asset(id: {}) {{ name floors {{ data {{ name units {{ data {{ name
    references {{ data {{ value }} }} attributes {{ data {{ attributeId }} }} }} }} }} }} }} }}"""
LISTS_OF_UNITS = [
    "units(perPage: 2) { data { name } }",
    "units(perPage: 2, page: 2) { data { name } totalCount }",
    'units(asset: "north", perPage: 2) { data { name floor { name } } }',
    'unit(id: "unit-s") { name floor { units(perPage: 1) { data { name } } } }',
    'asset(id: "south/ %") { units { data { name references { data { value } } } } }',
    'map(id: "plan/one") { units(first: 3) { edges { node { name } } } }',
    "unitReferences(perPage: 2) { data { unit { name } } }",
]
READS = [
    *(
        build_path(template, id)
        for template, ids in {
            "/v1/assets/{}": (SEEN, HIDDEN),
            "/v1/assets/{}/floors": (SEEN, HIDDEN),
            "/v1/maps/{}": (MAP, OTHER_MAP, HIDDEN_MAP),
            "/v1/maps/{}/units": (MAP, OTHER_MAP, HIDDEN_MAP),
            "/v1/maps/{}/levels/tags": (MAP, HIDDEN_MAP),
            "/v1/maps/{}/backgrounds": (MAP, HIDDEN_MAP),
            "/v1/maps/{}/locations": (MAP, HIDDEN_MAP),
            "/v1/units/{}": tuple(UNITS),
            ASSIGNMENTS + "?asset={}": (SEEN, HIDDEN),
        }.items()
        for id in ids
    ),
    "/v1/assets",
    "/v1/units",
    "/v1/units?per-page=3",
    "/v1/maps",
    "/v1/units/references",
    "/v1/assets/references",
    "/v1/units/attribute-groups",
    ASSIGNMENTS,
    *map(ask_units_of_asset, (SEEN, HIDDEN)),
    *map(ask_units_of_floor, (FLOOR, "n-2", "s-1")),
    *map(ask_nested, (SEEN, HIDDEN)),
    ask("{ units(perPage: 2) { data { name } totalCount } }"),
    ask('{ units(search: "south") { data { name } } }'),
    *(ask(f"{{ a: {one} b: {other} }}") for one, other in permutations(LISTS_OF_UNITS, 2)),
]

Write = Callable[[Any, httpx.AsyncClient, random.Random], Awaitable[None]]
"""Changes something in a database directly, or through a gateway."""


async def assign(_: Any, client: httpx.AsyncClient, chance: random.Random) -> None:
    unit = chance.choice([*UNITS])
    variables = {"attribute": chance.choice(["sea", "yard"]), "asset": UNITS[unit], "unit": unit}
    await client.post("/graphql", json={"query": ASSIGN, "variables": variables})


async def unassign(_: Any, client: httpx.AsyncClient, chance: random.Random) -> None:
    unit = chance.choice([*UNITS])
    variables = {"attribute": chance.choice(["sea", "yard"]), "asset": UNITS[unit], "unit": unit}
    await client.post("/graphql", json={"query": UNASSIGN, "variables": variables})


async def import_unit(_: Any, client: httpx.AsyncClient, chance: random.Random) -> None:
    floor, asset = chance.choice([(FLOOR, SEEN), ("n-2", SEEN), ("s-1", HIDDEN)])
    unit = chance.choice(["new", *(id for id, owner in UNITS.items() if owner == asset)])
    id = f"{unit}-{asset[0]}" if unit == "new" else unit
    member = {"id": id, "asset_id": asset, "floor_id": floor, "name": f"Name {chance.random()}"}
    await client.post(
        "/graphql", json={"query": IMPORT, "variables": {"bundle": json.dumps({"units": [member]})}}
    )


async def move_unit(database: Any, _: httpx.AsyncClient, chance: random.Random) -> None:
    await database["units"].update_one(
        {"_id": chance.choice([UNIT, "a/b"])}, {"$set": {"floor_id": chance.choice([FLOOR, "n-2"])}}
    )


async def show_unit(database: Any, _: httpx.AsyncClient, chance: random.Random) -> None:
    shown = chance.choice([None, [MAP], [OTHER_MAP], [MAP, OTHER_MAP], []])
    await database["units"].update_one({"_id": UNIT}, {"$set": {"map_ids": shown}})


async def show_unit_on_one_more(database: Any, _: httpx.AsyncClient, chance: random.Random) -> None:
    # The change stream then names the item of the array, not the array.
    await database["units"].update_one({"_id": UNIT}, {"$set": {"map_ids": [MAP]}})
    await database["units"].update_one({"_id": UNIT}, {"$push": {"map_ids": OTHER_MAP}})


async def replace_unit(database: Any, _: httpx.AsyncClient, chance: random.Random) -> None:
    found = await database["units"].find_one({"_id": chance.choice([*UNITS])})
    if found:
        await database["units"].replace_one(
            {"_id": found["_id"]}, {**found, "name": f"Replaced {chance.random()}"}
        )


async def delete_record(database: Any, _: httpx.AsyncClient, chance: random.Random) -> None:
    kind = chance.choice(
        ["units", "locations", "unit_references", "attribute_assignments", "level_tags"]
    )
    found = await database[kind].find_one({}, skip=chance.randrange(2))
    if found:
        await database[kind].delete_one({"_id": found["_id"]})


async def change_assignments(database: Any, _: httpx.AsyncClient, chance: random.Random) -> None:
    await database["attribute_assignments"].update_many(
        {"asset_id": chance.choice([SEEN, HIDDEN])},
        {"$set": {"attribute_id": chance.choice(["sea", "yard"])}},
    )


async def rename_level_tag(database: Any, _: httpx.AsyncClient, chance: random.Random) -> None:
    await database["level_tags"].update_one(
        {"map_id": chance.choice([MAP, HIDDEN_MAP])}, {"$set": {"name": f"Tag {chance.random()}"}}
    )


async def end_streams(database: Any, _: httpx.AsyncClient, __: random.Random) -> None:
    await kill_streams(database.client.admin, database.name)


async def replace_collection(database: Any, _: httpx.AsyncClient, __: random.Random) -> None:
    await database["floors"].aggregate([{"$out": "staged_floors"}]).to_list(None)
    await database["staged_floors"].update_many({}, {"$set": {"name": "Staged"}})
    await database["staged_floors"].rename("floors", dropTarget=True)


WRITES: list[Write] = [
    assign,
    unassign,
    import_unit,
    move_unit,
    show_unit,
    show_unit_on_one_more,
    replace_unit,
    delete_record,
    change_assignments,
    rename_level_tag,
    end_streams,
    replace_collection,
]
