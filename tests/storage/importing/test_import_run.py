"""An import that ends anywhere leaves all of it or nothing, and readers never see a loose end."""

import json
from typing import Any

import pytest
from pymongo import MongoClient, monitoring

from storage.administration.import_lease import STAGING_PREFIX
from storage.bundles.drawings import to_data_url
from storage.catalog import FOOT_ROUTING, RECORD_TYPES, Location
from storage.importing.change_plan import ChangeRequest
from storage.importing.import_bundles import finish_interrupted_import, import_bundles
from storage.importing.import_run import ParsedSource
from storage.importing.planning import values_at
from storage.mongo import driver
from storage.publication import Publication
from storage.records.kinds import TIMESTAMP_FIELDS
from tests.storage.catalogs import ARCHIVE, SMALL, Bundle, contents, expire_lease, small
from tests.storage.importing.killing import Killed, kill_before_write, open_with_listener

pytestmark = [
    pytest.mark.anyio,
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
        if lease["state"] in ("applying", "merging"):
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
