"""Imports and removals that end anywhere leave all or nothing, and no loose end."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from pymongo import MongoClient, monitoring

from storage.administration.import_lease import STAGING_PREFIX
from storage.attribute_assignments import assign_attributes, unassign_attributes
from storage.bundles.drawings import ParsedSource, to_data_url
from storage.catalog import (
    BACKGROUNDS,
    FOOT_ROUTING,
    RECORD_TYPES,
    RECORD_TYPES_BY_NAME,
    UNITS,
    Assignment,
    Location,
)
from storage.errors import UnavailableError
from storage.importing import removals
from storage.importing.change_plan import ChangeRequest
from storage.importing.import_bundles import finish_interrupted_import, import_bundles
from storage.importing.planning import values_at
from storage.importing.removals import RemovalLimit
from storage.mongo import driver
from storage.publication import Publication
from storage.records.kinds import TIMESTAMP_FIELDS, stored_name
from storage.records.visibility import ALL_ASSETS
from storage.setup.preparation import prepare_database
from storage.tombstones import OVERLAP_MINUTES, TOMBSTONES, add_tombstones, first_id_at
from tests.storage.catalogs import ARCHIVE, SMALL, Bundle, contents, expire_lease, small
from tests.storage.importing.killing import Killed, kill_before_write, open_with_listener

pytestmark = [
    pytest.mark.parametrize("client", ["pymongo"], indirect=True),
]

Catalog = dict[str, list[dict[str, Any]]]


def drawn(text: str) -> dict[str, Any]:
    return {"source": to_data_url(f"<svg>{text}</svg>".encode())}


BEFORE: Bundle = {
    "assets": [{"id": "a", "name": "Alder Court"}],
    "floors": [{"id": "a1", "asset_id": "a", "name": "First"}],
    "maps": [
        {"id": "am", "asset_id": "a", "name": "Plates", "feet_per_unit": 1, **drawn("before")}
    ],
}
AFTER: Bundle = {
    "assets": [{"id": "a", "name": "Renamed"}, {"id": "b", "name": "Birch House"}],
    "floors": [*BEFORE["floors"], {"id": "b1", "asset_id": "b", "name": "First"}],
    "maps": [
        {"id": "am", "asset_id": "a", "name": "Plates", "feet_per_unit": 2, **drawn("after")},
        {"id": "bm", "asset_id": "b", "name": "Plates"},
    ],
    "units": [
        {"id": "u", "asset_id": "a", "floor_id": "a1", "name": "101", "map_ids": ["am"]},
        {"id": "v", "asset_id": "b", "floor_id": "b1", "name": "101", "map_ids": ["bm"]},
    ],
}
"""Some members of it are new, some changed and one unchanged."""


async def parse(source: bytes) -> ParsedSource:
    return ParsedSource(source.upper())


def publication_of(bundle: Bundle) -> Publication:
    """The network of the first map of a bundle, with a location."""
    x = len(bundle["assets"])
    place = Location(id="gym", asset_id="a", unit_map_id="am", name="Gym", x=x, y=0)
    report = {"feet_per_unit": bundle["maps"][0]["feet_per_unit"]}
    return Publication("am", ARCHIVE + str(x).encode(), FOOT_ROUTING, report, [place])


async def import_bundle(
    database: driver.Database,
    bundle: Bundle,
    publication: Publication | None = None,
    *,
    merge: bool = False,
) -> None:
    await import_bundles(
        database,
        [json.dumps(bundle).encode()],
        parse_source=parse,
        publication=publication,
        changes=ChangeRequest(merges=merge),
    )


KEPT: Bundle = {
    "units": [{"id": "u", "asset_id": "a", "floor_id": "a1", "name": "101", "map_ids": ["am"]}]
}
MERGED: Bundle = {
    "assets": [{"id": "a", "name": "Renamed"}, {"id": "b", "name": "Birch House"}],
    "floors": [{"id": "b1", "asset_id": "b", "name": "First"}],
    "maps": [{"id": "am", "tags": ["ils"]}, {"id": "bm", "asset_id": "b", "name": "Plates"}],
    "units": [
        {"id": "u", "map_ids": None},
        {"id": "v", "asset_id": "b", "floor_id": "b1", "name": "101", "map_ids": ["bm"]},
    ],
}
"""Some fields of records that exist, and new records."""


async def catalog_of(database: Any) -> Catalog:
    """The catalog without timestamps."""
    kinds = {kind.name for kind in RECORD_TYPES}
    return {
        name: [
            {field: value for field, value in each.items() if field not in TIMESTAMP_FIELDS}
            for each in documents
        ]
        for name, documents in (await contents(database)).items()
        if name in kinds
    }


def find_missing_owners(catalog: Catalog) -> list[str]:
    """The references of records in the catalog to records that are not in it."""
    keys = {name: {each["_id"] for each in documents} for name, documents in catalog.items()}
    return [
        f"{kind.name} {document['_id']}: no {owner.kind} {key}"
        for kind in RECORD_TYPES
        for owner in kind.foreign_keys
        for document in catalog.get(kind.name, ())
        for key in values_at(document, owner.field)
        if key not in keys.get(owner.kind, set())
    ]


def split_network(catalog: Catalog) -> tuple[str | None, Catalog]:
    """The network of the first map, and the catalog without what is published with it."""
    [network, *_] = [each["network"] for each in catalog["maps"]]
    published = {"network", "network_state", "routing_report", "routing_tier", "tags"}
    without = {
        name: [{key: each[key] for key in each.keys() - published} for each in documents]
        for name, documents in catalog.items()
        if name != "locations"
    }
    return network, without


async def assert_nothing_is_left_over(database: Any) -> None:
    """Assert that nothing is staged, and that the files are those that maps refer to."""
    names = await database.list_collection_names()
    assert not [name for name in names if name.startswith(STAGING_PREFIX)]
    used = {
        digest
        for field in ("source", "parsed", "network")
        for digest in await database["maps"].distinct(field)
    }
    assert {*await database["files"].distinct("file")} == used - {None}


@pytest.mark.slow
@pytest.mark.parametrize("merge", [False, True])
async def test_an_import_that_ends_before_any_of_its_writes_leaves_all_or_nothing(
    database: Any, mongo_url: str, merge: bool
) -> None:
    """A network that is published with a plan is beside what it was published with, or absent."""

    async def put(target: Any, bundle: Bundle, *, is_merged: bool = False) -> None:
        publication = None if merge else publication_of(bundle)
        await import_bundle(target, bundle, publication, merge=is_merged)

    old, new = (BEFORE | KEPT, MERGED) if merge else (BEFORE, AFTER)
    before: Catalog = {}
    after: Catalog = {}
    outcomes: list[bool] = []
    is_complete = False
    while not is_complete:
        if not before or await catalog_of(database) != before:
            for kind in RECORD_TYPES:
                await database[kind.name].delete_many({})
            await put(database, old)
            before = await catalog_of(database)
        async with open_with_listener(mongo_url, kill_before_write(len(outcomes))) as doomed:
            try:
                await put(doomed[database.name], new, is_merged=merge)
                is_complete = True
            except Killed:
                pass
        lease = await database["imports"].find_one({})
        interrupted = await catalog_of(database)
        assert find_missing_owners(interrupted) == []
        # Until the lease of a killed process expires, no other process can acquire it.
        await expire_lease(database)
        assert await finish_interrupted_import(database)
        finished = await catalog_of(database)
        if lease["state"] == "applying":
            after = after or finished
        else:
            assert finished == interrupted
        assert finished in (before, after)
        network, catalog = split_network(interrupted)
        wholes = [split_network(each) for each in (before, after) if each]
        assert network is None or (network, catalog) in wholes
        outcomes.append(finished == after)
        await assert_nothing_is_left_over(database)
    assert outcomes == sorted(outcomes)  # once it applies, it is no longer discarded
    assert min(outcomes.count(False), outcomes.count(True)) >= 4


async def test_a_record_that_is_created_in_the_same_instant_is_updated(
    database: Any, mongo_url: str
) -> None:
    """Requests assign attributes without the import lease."""
    bundle = small()
    assignments = bundle.pop("attribute_assignments")
    await import_bundle(database, bundle)
    key = {"_id": "plan\0u1"}
    rival = {"group_id": "plan", "attribute_id": "t", "asset_id": "a", "unit_id": "u1"}

    def assign(event: monitoring.CommandStartedEvent) -> None:
        if event.command.get("insert") == "attribute_assignments":
            with MongoClient[dict[str, Any]](mongo_url) as client:
                collection = client[database.name]["attribute_assignments"]
                collection.insert_one({**key, **rival, "one_attribute_per_unit": True})

    async with open_with_listener(mongo_url, assign) as client:
        await import_bundle(client[database.name], {"attribute_assignments": assignments})
    assert (await database["attribute_assignments"].find_one(key))["attribute_id"] == "s"
    assert await database["attribute_assignments"].count_documents({}) == len(assignments)


async def test_owners_are_imported_before_what_they_own(database: Any, mongo_url: str) -> None:
    collections: list[str] = []

    def note(event: monitoring.CommandStartedEvent) -> None:
        collections.append(str(event.command.get("insert", "")))

    async with open_with_listener(mongo_url, note) as client:
        await import_bundle(client[database.name], SMALL)
    kinds = [kind.name for kind in RECORD_TYPES]
    assert [name for name in collections if name in kinds] == kinds


NO_LIMIT = RemovalLimit(None)
AFTER_REMOVALS = {
    **small(),
    "floors": [*SMALL["floors"], {"id": "a2", "asset_id": "a", "name": "Second"}],
    "units": [
        {**SMALL["units"][1], "floor_id": "a2"},
        {**SMALL["units"][0], "id": "u9", "map_ids": None},
    ],
    "maps": SMALL["maps"][1:],
    "backgrounds": SMALL["backgrounds"][1:],
    "level_tags": [],
    "unit_references": [],
    "attribute_assignments": [],
    "locations": [],
}
"""Some members of it are new, some moved; a map, units and what hangs on them are gone."""


async def fill(database: Any) -> None:
    await import_bundles(database, [json.dumps(SMALL).encode()])


async def mirror(database: driver.Database) -> None:
    request = ChangeRequest(mirrors=True, limit=NO_LIMIT)
    await import_bundles(database, [json.dumps(AFTER_REMOVALS).encode()], changes=request)


def remove(kind: str, *keys: str) -> ChangeRequest:
    return ChangeRequest(removed_kind=kind, removed_keys=keys, limit=NO_LIMIT)


async def ids_of(database: Any) -> dict[str, list[str]]:
    """The records of the catalog, and what is removed of it."""
    stored = await contents(database)
    names = (*(kind.name for kind in RECORD_TYPES), TOMBSTONES.name)
    fields = {TOMBSTONES.name: "key"}
    return {
        name: sorted(each[fields.get(name, "_id")] for each in stored.get(name, []))
        for name in names
    }


def find_loose_ends(database: Any) -> list[str]:
    """Records whose owners are missing, but for backgrounds, which only their maps lead to."""
    return [
        f"{kind.name} {document['_id']}: {owner.field} {key}"
        for kind in RECORD_TYPES
        for document in database[kind.name].find()
        for owner in kind.foreign_keys
        if kind is not BACKGROUNDS
        for key in values_at(document, owner.field)
        if database[owner.kind].find_one({"_id": key}) is None
    ]


@pytest.mark.slow
async def test_a_removal_killed_before_any_write_is_complete_or_has_not_begun(
    database: Any, mongo_url: str
) -> None:
    await fill(database)
    before = await ids_of(database)
    await mirror(database)
    after = await ids_of(database)
    seen: list[bool] = []
    number = 0
    while True:
        if await ids_of(database) != before:
            for name in before:
                await database[name].delete_many({})
            await fill(database)
        async with open_with_listener(mongo_url, kill_before_write(number)) as killed:
            try:
                await mirror(killed[database.name])
                break
            except Killed:
                pass
        await expire_lease(database)
        while not await finish_interrupted_import(database):
            await asyncio.sleep(0.05)
        found = await ids_of(database)
        assert found in (before, after), number
        seen.append(found == after)
        names = await database.list_collection_names()
        assert not [name for name in names if name.startswith(STAGING_PREFIX)]
        with MongoClient[dict[str, Any]](mongo_url) as blocking:
            assert find_loose_ends(blocking[database.name]) == []
        number += 1
    assert seen == sorted(seen)  # first it never happens, then always
    assert {*seen} == {False, True}
    assert await ids_of(database) == after


async def test_readers_never_see_a_loose_end_nor_what_has_a_tombstone(
    database: Any, mongo_url: str
) -> None:
    await fill(database)
    found: list[Any] = []
    with MongoClient[dict[str, Any]](mongo_url) as blocking:
        here = blocking[database.name]

        def look(event: monitoring.CommandStartedEvent) -> None:
            if event.command_name not in ("update", "delete", "insert"):
                return
            found.extend(find_loose_ends(here))
            for each in here[TOMBSTONES.name].find():
                names = map(stored_name, RECORD_TYPES_BY_NAME[each["kind"]].key_fields)
                found.extend(here[each["kind"]].find(dict(zip(names, each["values"], strict=True))))

        async with open_with_listener(mongo_url, look) as watched:
            await mirror(watched[database.name])
    assert found == []


async def test_tombstones_say_what_was_removed_until_it_is_inserted_again(database: Any) -> None:
    await fill(database)
    await import_bundles(database, [], changes=remove("units", "u1"))
    tombstones = await database[TOMBSTONES.name].find().to_list(None)
    assert sorted((each["kind"], each["values"], each["asset_id"]) for each in tombstones) == [
        ("attribute_assignments", ["extras", "u1", "quiet"], "a"),
        ("attribute_assignments", ["extras", "u1", "view"], "a"),
        ("attribute_assignments", ["plan", "u1", "s"], "a"),
        ("unit_references", ["u1", "keyring"], "a"),
        ("units", ["u1"], "a"),
    ]
    await import_bundles(database, [json.dumps(SMALL).encode()])
    assert await database[TOMBSTONES.name].find().to_list(None) == []


async def test_an_import_finished_late_lists_its_removals_last(
    database: Any, mongo_url: str
) -> None:
    """A client that has read what requests removed meanwhile still finds them after it."""

    def kill(event: monitoring.CommandStartedEvent) -> None:
        if event.command_name == "delete":
            raise Killed

    await fill(database)
    async with open_with_listener(mongo_url, kill) as killed:
        with pytest.raises(Killed):
            await import_bundles(killed[database.name], [], changes=remove("units", "u1"))
    v1 = [Assignment(group_id="plan", attribute_id="s", asset_id="b", unit_id="v1")]
    await assign_attributes(database, ALL_ASSETS, "plan", v1)
    await unassign_attributes(database, ALL_ASSETS, "plan", v1)
    await expire_lease(database)
    while not await finish_interrupted_import(database):
        await asyncio.sleep(0.05)
    first, *later = await database[TOMBSTONES.name].find(sort=[("_id", 1)]).to_list(None)
    assert first["values"] == ["plan", "v1", "s"]
    assert "units" in {each["kind"] for each in later}


async def test_what_is_committed_late_is_found_by_reading_some_minutes_again(
    database: Any,
) -> None:
    await fill(database)
    first, second = await database["units"].find(sort=[("_id", 1)], limit=2).to_list(None)
    has_stamped, may_commit = asyncio.Event(), asyncio.Event()

    async def commit_late(session: driver.Session) -> None:
        await add_tombstones(database, UNITS, [first], session)
        has_stamped.set()
        await may_commit.wait()

    async def read(since: datetime) -> list[Any]:
        where = {"_id": {"$gte": first_id_at(since)}}
        found = await database[TOMBSTONES.name].find(where, sort=[("_id", 1)]).to_list(None)
        return [(each["key"], each["removed_at"]) for each in found]

    late = asyncio.create_task(driver.run_in_transaction(database.client, commit_late))
    await has_stamped.wait()
    await asyncio.sleep(0.01)
    add_second = partial(add_tombstones, database, UNITS, [second])
    await driver.run_in_transaction(database.client, add_second)
    long_ago = datetime.now(UTC) - timedelta(days=1)
    *_, (key, removed_at) = await read(long_ago)
    assert key == second["_id"]
    may_commit.set()
    await late
    removed_at = removed_at.replace(tzinfo=UTC)
    assert first["_id"] not in dict(await read(removed_at))
    assert first["_id"] in dict(await read(removed_at - timedelta(minutes=OVERLAP_MINUTES)))


async def test_tombstones_follow_assignments_through_the_api(database: Any) -> None:
    await fill(database)
    quiet = [Assignment(group_id="extras", attribute_id="quiet", asset_id="a", unit_id="u1")]
    await unassign_attributes(database, ALL_ASSETS, "extras", quiet)
    await unassign_attributes(database, ALL_ASSETS, "extras", quiet)  # nothing is left to remove
    [tombstone] = await database[TOMBSTONES.name].find().to_list(None)
    assert tombstone["values"] == ["extras", "u1", "quiet"]
    await assign_attributes(database, ALL_ASSETS, "extras", quiet)
    assert await database[TOMBSTONES.name].find().to_list(None) == []


async def tombstones_and_attribute(database: Any) -> tuple[list[list[str]], str]:
    """What is listed as removed, and the attribute of a unit in a group that allows one."""
    tombstones = await database[TOMBSTONES.name].find().to_list(None)
    assignment = await database["attribute_assignments"].find_one({"_id": "plan\0u1"})
    return [each["values"] for each in tombstones], assignment["attribute_id"]


async def test_an_assignment_that_another_replaces_has_a_tombstone(database: Any) -> None:
    await fill(database)
    given = {"group_id": "plan", "asset_id": "a", "unit_id": "u1"}
    for attribute, replaced in (("t", "s"), ("t", "s"), ("s", "t")):
        assigned = Assignment(attribute_id=attribute, **given)
        await assign_attributes(database, ALL_ASSETS, "plan", [assigned])
        assert await tombstones_and_attribute(database) == ([["plan", "u1", replaced]], attribute)
    bundle = {"attribute_assignments": [{**given, "attribute_id": "t"}]}
    await import_bundles(database, [json.dumps(bundle).encode()])
    assert await tombstones_and_attribute(database) == ([["plan", "u1", "s"]], "t")


VIEW = [Assignment(group_id="extras", attribute_id="view", asset_id="a", unit_id="u2")]


async def test_what_is_being_removed_is_assigned_nothing(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(database)
    refused = []

    async def try_to_assign(database: driver.Database) -> None:
        for unit_id in ("u2", "v1"):
            asset_id = "a" if unit_id == "u2" else "b"
            each = [
                Assignment(
                    group_id="extras", attribute_id="view", asset_id=asset_id, unit_id=unit_id
                )
            ]
            try:
                await assign_attributes(database, ALL_ASSETS, "extras", each)
            except UnavailableError as error:
                refused.append(str(error))

    monkeypatch.setattr(removals, "end_earlier_writes", try_to_assign)
    await import_bundles(database, [], changes=remove("units", "u2"))
    assert refused == ["some of these units are being removed"]
    assert await database["attribute_assignments"].find_one({"unit_id": "v1"}) is not None
    assert await database["attribute_assignments"].find_one({"unit_id": "u2"}) is None


async def test_what_was_assigned_after_removals_were_staged_is_removed_too(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(database)
    made = await database["attribute_assignments"].find({"unit_id": "u1"}).to_list(None)
    await database["attribute_assignments"].delete_many({"unit_id": "u1"})

    async def commit(database: driver.Database) -> None:
        await database["attribute_assignments"].insert_many(made)

    monkeypatch.setattr(removals, "end_earlier_writes", commit)
    await import_bundles(database, [], changes=remove("units", "u1"))
    assert await database["attribute_assignments"].find_one({"unit_id": "u1"}) is None


async def test_an_assignment_that_began_before_leaves_no_orphan(database: Any) -> None:
    """A transaction has read the unit, and commits while the import removes it: either the import
    removes the assignment too, or the transaction runs again and finds no unit."""
    await fill(database)
    await prepare_database(database)
    has_read, may_write = asyncio.Event(), asyncio.Event()

    async def wait(session: driver.Session) -> None:
        has_read.set()
        await may_write.wait()

    async def assign() -> str:
        try:
            await assign_attributes(database, ALL_ASSETS, "extras", VIEW, precondition=wait)
        except Exception as error:
            return str(error)
        return "assigned"

    for is_early in (True, False):
        has_read.clear()
        may_write.clear()
        await fill(database)
        assigning = asyncio.create_task(assign())
        await has_read.wait()
        if is_early:
            may_write.set()
            await asyncio.sleep(0)
        removing = asyncio.create_task(import_bundles(database, [], changes=remove("units", "u2")))
        if not is_early:
            while await database["units"].find_one({"_id": "u2"}) is not None:
                await asyncio.sleep(0.01)
            may_write.set()
        await removing
        await assigning
        assert await database["units"].find_one({"_id": "u2"}) is None
        assert await database["attribute_assignments"].find_one({"unit_id": "u2"}) is None
        if not is_early:
            assert assigning.result() != "assigned"
