"""Reads of a catalog, and random writes through a gateway and past it."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from itertools import permutations
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from bson import Timestamp

from gateway.app import Gateway
from resolvers.request.caller import PERMISSIONS
from storage.cache import change_feed
from storage.cache.change_feed import ChangeFeed
from storage.mongo import unavailable
from storage.mongo.shared_memory import to_integer
from storage.store import Store
from tests.fixtures import (
    ALL_FLAGS,
    BASE_URL,
    FLOOR,
    HIDDEN,
    HIDDEN_MAP,
    MAP,
    OTHER_MAP,
    SEEN,
    UNIT,
    World,
    data_of,
    make_key,
    open_client,
    open_database,
    run_following_gateway,
)
from tests.storage.cache.test_change_feed import kill_streams
from tests.waiting import TIMEOUT_SECONDS

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


# A write ends the cached responses that it concerns, all of them and no others.


Write_precise_invalidation = Callable[[], Awaitable[object]]


class Reader:
    """Clients of a gateway, with one key each."""

    def __init__(self, gateway: Gateway, clients: dict[str, httpx.AsyncClient]) -> None:
        self.gateway = gateway
        self.clients = clients

    @property
    def feed(self) -> ChangeFeed:
        assert self.gateway.state is not None
        return self.gateway.state.change_feed

    @property
    def misses(self) -> int:
        assert self.gateway.state is not None
        return self.gateway.state.response_cache.counters.misses

    async def read(self, key: str, path: str) -> tuple[int, bytes]:
        response = await self.clients[key].get(path, headers=ALL_FLAGS)
        # Errors have the number of the request.
        return response.status_code, response.content if response.is_success else b""

    async def misses_of(self, key: str, path: str) -> int:
        """Read and return how many misses that was."""
        before = self.misses
        await self.read(key, path)
        return self.misses - before


async def make_keys(database: Any, world: World) -> dict[str, str]:
    """Return a key for all assets, and three with all permissions for some."""
    keys = {"full": world.keys.full}
    for name, assets in {"north": [SEEN], "south": [HIDDEN], "both": [SEEN, HIDDEN]}.items():
        _, keys[name] = await make_key(database, name, permissions=PERMISSIONS, asset_ids=assets)
    return keys


async def open_reader(
    stack: AsyncExitStack, world: World, keys: dict[str, str], cache_mb: int
) -> Reader:
    gateway = await stack.enter_async_context(
        run_following_gateway(world.settings(cache_mb=cache_mb))
    )
    clients = {
        name: await stack.enter_async_context(open_client(gateway, key))
        for name, key in keys.items()
    }
    return Reader(gateway, clients)


async def read_time(database: Any) -> Timestamp:
    """Return the cluster time of the newest write."""
    hello = await database.client.admin.command("hello")
    time: Timestamp = hello["lastWrite"]["majorityOpTime"]["ts"]
    return time


async def wait_until_reported(feed: ChangeFeed, time: Timestamp) -> None:
    """Wait until a gateway has counted all changes up to a cluster time, or caches nothing."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not feed._write_counter.reported.have_reached(to_integer(time)):
            await asyncio.sleep(0.005)


@pytest.mark.usefixtures("never_expire")
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
async def test_cached_responses_are_those_that_a_gateway_without_cache_gives(
    own_world: World, seed: int
) -> None:
    """Random writes through two gateways and past them, lost streams, and readers of four keys."""
    chance = random.Random(seed)
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_database(own_world))
        keys = await make_keys(database, own_world)
        cached = [await open_reader(stack, own_world, keys, 64) for _ in range(2)]
        truth = await open_reader(stack, own_world, keys, 0)
        for write in chance.sample(2 * WRITES, 2 * len(WRITES)):
            sample = [(chance.choice([*keys]), chance.choice(READS)) for _ in range(16)]
            for reader in cached:
                for key, path in sample:
                    await reader.read(key, path)
            writer, other = chance.sample(cached, 2)
            await write(database, writer.clients["full"], chance)
            expected = [await truth.read(key, path) for key, path in sample]
            if write in (assign, unassign, import_unit):
                # At once through the gateway that has written.
                assert [await writer.read(key, path) for key, path in sample] == expected
            time = await read_time(database)
            for reader in (writer, other):
                await wait_until_reported(reader.feed, time)
                assert [await reader.read(key, path) for key, path in sample] == expected


@pytest.fixture
async def reader(never_expire: None, own_world: World) -> AsyncIterator[Reader]:
    """A gateway with a cache, and its clients."""
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_database(own_world))
        keys = await make_keys(database, own_world)
        yield await open_reader(stack, own_world, keys, 64)


async def find_ended(
    reader: Reader, reads: Sequence[tuple[str, str]], write: Write_precise_invalidation
) -> list[int]:
    """Read, write, and return the numbers of the reads that were not cached any longer."""
    for key, path in reads:
        assert await reader.misses_of(key, path) == 1, path
        assert await reader.misses_of(key, path) == 0, path
    await write()
    return [number for number, read in enumerate(reads) if await reader.misses_of(*read)]


async def test_an_assignment_ends_the_lists_that_could_show_it(reader: Reader) -> None:
    variables = {"attribute": "yard", "asset": HIDDEN, "unit": "unit-s"}
    shown = [
        ("full", ASSIGNMENTS),
        ("full", build_path(ASSIGNMENTS + "?asset={}", HIDDEN)),
        ("full", ask_nested(HIDDEN)),
    ]
    others = [
        ("full", build_path(ASSIGNMENTS + "?asset={}", SEEN)),
        ("north", ASSIGNMENTS),
        ("full", ask_nested(SEEN)),
        ("full", "/v1/units/unit-s"),
        ("full", "/v1/units"),
        ("full", "/v1/units/attribute-groups"),
    ]
    assign = partial(data_of, reader.clients["full"], ASSIGN, variables)
    assert await find_ended(reader, shown + others, assign) == [0, 1, 2]


@pytest.mark.parametrize(
    "others",
    [
        "units(perPage: 2) { data { name } totalCount }",
        'units(perPage: 2) { data { name } } asset(id: "south/ %") { units { data { name } } }',
        'units(perPage: 2) { data { name } } floor(id: "s-1") { units { data { name } } }',
        "units(perPage: 2) { data { floor { units { data { name } } } } }",
    ],
)
async def test_a_page_beside_other_reads_of_its_kind_is_ended_by_what_those_depend_on(
    reader: Reader, own_world: World, others: str
) -> None:
    path = ask(f"{{ {others} }}")
    before = await reader.read("full", path)
    async with open_database(own_world) as database:
        unit = {"_id": "zzz", "asset_id": HIDDEN, "floor_id": "s-1", "name": "After the page"}
        await database["units"].insert_one({**unit, **STAMPS})
        await wait_until_reported(reader.feed, await read_time(database))
    assert await reader.read("full", path) != before


async def test_a_unit_that_moves_ends_the_lists_of_both_floors(
    reader: Reader, own_world: World
) -> None:
    shown = [
        ("full", "/v1/units/unit-1"),
        ("full", ask_units_of_floor(FLOOR)),
        ("full", ask_units_of_floor("n-2")),
        ("full", ask_units_of_asset(SEEN)),
        ("full", build_path("/v1/maps/{}/units", MAP)),
        ("north", "/v1/units"),
        ("full", "/v1/units"),
    ]
    others = [
        ("full", "/v1/units/unit-s"),
        ("full", ask_units_of_floor("s-1")),
        ("full", ask_units_of_asset(HIDDEN)),
        ("full", build_path("/v1/maps/{}/units", HIDDEN_MAP)),
        ("full", build_path("/v1/assets/{}/floors", SEEN)),
        ("full", "/v1/assets"),
    ]

    async def move() -> None:
        async with open_database(own_world) as database:
            await database["units"].update_one({"_id": UNIT}, {"$set": {"floor_id": "n-2"}})
            await wait_until_reported(reader.feed, await read_time(database))

    assert await find_ended(reader, shown + others, move) == [*range(len(shown))]


async def test_a_record_deleted_by_any_tool_ends_the_lists_that_it_was_in(
    reader: Reader, own_world: World
) -> None:
    reads = [
        ("full", build_path("/v1/maps/{}/locations", HIDDEN_MAP)),
        ("full", ask('{ location(id: "loc-s") { name } }')),
        ("full", build_path("/v1/maps/{}/locations", MAP)),
        ("full", ask('{ location(id: "loc-1") { name } }')),
    ]

    async def delete() -> None:
        async with open_database(own_world) as database:
            await database["locations"].delete_one({"_id": "loc-s"})
            await wait_until_reported(reader.feed, await read_time(database))

    assert await find_ended(reader, reads, delete) == [0, 1]


@pytest.mark.parametrize(("changed", "ended"), [(0, [0]), (2, [0, 1]), (3, [1]), (5, [])])
async def test_a_page_of_a_long_list_is_ended_by_the_records_that_it_depends_on(
    reader: Reader, own_world: World, changed: int, ended: list[int]
) -> None:
    """Two pages of two units: each depends on the one that follows it too."""
    other = reader.clients["both"]  # which shares no cached responses with "full"
    everything = (await other.get("/v1/units")).json()["data"]
    first = (await other.get("/v1/units?per-page=2")).json()
    pages = ["/v1/units?per-page=2", first["paging"]["next_url"].removeprefix(BASE_URL)]

    async def rename() -> None:
        async with open_database(own_world) as database:
            renamed = {"_id": everything[changed]["id"]}
            await database["units"].update_one(renamed, {"$set": {"name": "Changed"}})
            await wait_until_reported(reader.feed, await read_time(database))

    assert await find_ended(reader, [("full", page) for page in pages], rename) == ended


async def test_a_write_that_is_reported_late_ends_everything(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_feed, "REPORT_SECONDS", 0.0)
    path = build_path("/v1/maps/{}/units", MAP)
    await reader.misses_of("full", path)
    monkeypatch.setattr(reader.feed._write_counter.reported, "have_reached", lambda _: False)
    variables = {"attribute": "yard", "asset": HIDDEN, "unit": "unit-s"}
    await data_of(reader.clients["full"], ASSIGN, variables)
    assert await reader.misses_of("full", path) == 1


async def test_what_a_long_operation_read_at_first_is_not_cached_after_a_change(
    reader: Reader, own_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unavailable, "SNAPSHOT_SECONDS", 0.0)  # each read is of another snapshot
    load_pages = Store.load_pages
    async with open_database(own_world) as database:

        async def change_after(self: Store, *arguments: Any, **options: Any) -> Any:
            pages = await load_pages(self, *arguments, **options)
            await database["maps"].update_one({"_id": MAP}, {"$set": {"name": "Renamed"}})
            await wait_until_reported(reader.feed, await read_time(database))
            return pages

        monkeypatch.setattr(Store, "load_pages", change_after)
        units = 'units(perPage: 1) { data { shape(map: "plan/one") { d } } }'
        await reader.read("full", ask(f'{{ location(id: "loc-1") {{ map {{ {units} }} }} }}'))
    _, content = await reader.read("full", build_path("/v1/maps/{}", MAP))
    assert b"Renamed" in content
