"""A map's network and its locations are published and withdrawn as one."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pymongo.errors import PyMongoError

from storage.administration import import_lease
from storage.administration.import_lease import ImportLease
from storage.bundles.json_bundles import parse_member
from storage.catalog import (
    FOOT_ROUTING,
    LOCATIONS,
    MAPS,
    NO_ROUTING,
    PROCESSED_FIELD,
    REPORT_FIELD,
    WHEELCHAIR_ROUTING,
    Location,
)
from storage.errors import ImportInterruptedError
from storage.importing.import_bundles import import_bundles
from storage.mongo import driver, files
from storage.networks import (
    find_network_digest,
    load_routing_reports,
    publish_network,
    withdraw_network,
)
from storage.publication import Publication
from storage.records.visibility import ALL_ASSETS, AssetScope
from storage.routing_inputs import list_stale_networks
from storage.store import Store
from tests.storage.catalogs import ARCHIVE, SMALL, contents, small, write_arrays

MAP = "am"
LONG_AGO = "2001-01-01T00:00:00+00:00"
FIRST, SECOND = ARCHIVE, ARCHIVE + b"the second network, which has more parts"


@pytest.fixture(autouse=True)
def many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Store files in parts of three bytes."""
    monkeypatch.setattr(files, "CHUNK_BYTES", 3)


@pytest.fixture
async def imported(database: Any) -> Any:
    """A database with two maps, of which the first has a location that was imported."""
    for kind in (MAPS, LOCATIONS):
        members = [parse_member(kind, member) for member in small()[kind.name]]
        await database[kind.name].insert_many(members)
    return database


def locations(*names: str) -> list[Location]:
    """Locations of the map, each with the id and name given."""
    member = {**SMALL["locations"][0], "tags": [{"key": "svc:id", "value": "u1"}]}
    return [msgspec.convert(member | {"id": name, "name": name}, Location) for name in names]


async def publish(
    database: Any, network: bytes, tier: str = FOOT_ROUTING, names: tuple[str, ...] = ()
) -> None:
    report = {"network": len(network)}
    await publish_network(database, Publication(MAP, network, tier, report, locations(*names)))


async def find_map(database: Any) -> dict[str, Any]:
    found: dict[str, Any] = await database["maps"].find_one({"_id": MAP})
    return found


async def names_of(database: Any) -> list[str]:
    return sorted([each["name"] async for each in database["locations"].find()])


async def make_long_ago(database: Any) -> None:
    """Make all that was written until now look old."""
    for name in ("maps", "locations"):
        await database[name].update_many({}, {"$set": {"updated_at": LONG_AGO}})


async def test_a_published_map_has_its_network_tier_tag_report_and_locations(imported: Any) -> None:
    await make_long_ago(imported)
    await publish(imported, FIRST, WHEELCHAIR_ROUTING, ("Gym", "Sauna"))
    digest = await find_network_digest(imported, ALL_ASSETS, MAP)
    assert digest is not None
    assert await files.read_file(imported, digest) == FIRST
    found = await find_map(imported)
    assert found["tags"] == ["ils", "pathfinding"]
    assert found["routing_tier"] == WHEELCHAIR_ROUTING
    assert found["routing_report"] == {"network": len(FIRST)}
    assert found["updated_at"] > LONG_AGO
    assert await names_of(imported) == ["Gym", "Pool", "Sauna"]
    stored = await imported["locations"].find_one({"_id": "Gym"})
    assert stored["words"]  # found by filters, as imported ones are
    assert stored["created_at"] == stored["updated_at"] == found["updated_at"]


async def test_another_network_replaces_the_locations_of_the_first_and_no_others(
    imported: Any,
) -> None:
    await publish(imported, FIRST, names=("Gym", "Sauna"))
    other = locations("Elsewhere")[0]
    document = LOCATIONS.to_document(other) | {"unit_map_id": "bm", PROCESSED_FIELD: True}
    await imported["locations"].insert_one(document)
    await publish(imported, SECOND, names=("Sauna", "Roof"))
    assert await names_of(imported) == ["Elsewhere", "Pool", "Roof", "Sauna"]
    digest = await find_network_digest(imported, ALL_ASSETS, MAP)
    assert digest is not None
    assert await files.read_file(imported, digest) == SECOND
    assert (await find_map(imported))["tags"] == ["ils", "pathfinding"]


@pytest.mark.parametrize(
    ("network", "tier", "names", "is_updated"),
    [
        (FIRST, FOOT_ROUTING, ("Gym", "Sauna"), False),
        (SECOND, FOOT_ROUTING, ("Gym", "Sauna"), True),
        (FIRST, WHEELCHAIR_ROUTING, ("Gym", "Sauna"), True),
        (FIRST, FOOT_ROUTING, ("Gym",), True),
        (FIRST, FOOT_ROUTING, ("Gym", "Sauna", "Roof"), True),
    ],
)
async def test_a_map_is_updated_if_what_is_published_differs(
    imported: Any, network: bytes, tier: str, names: tuple[str, ...], is_updated: bool
) -> None:
    await publish(imported, FIRST, names=("Gym", "Sauna"))
    await make_long_ago(imported)
    await publish(imported, network, tier, names)
    assert ((await find_map(imported))["updated_at"] > LONG_AGO) == is_updated
    assert (await imported["locations"].find_one({"_id": "Gym"}))["updated_at"] == LONG_AGO


async def test_a_changed_location_keeps_when_it_was_created(imported: Any) -> None:
    await publish(imported, FIRST, names=("Gym",))
    await imported["locations"].update_one({"_id": "Gym"}, {"$set": {"created_at": LONG_AGO}})
    (moved,) = locations("Gym")
    moved = msgspec.structs.replace(moved, x=99.0)
    await publish_network(imported, Publication(MAP, FIRST, FOOT_ROUTING, {}, [moved]))
    stored = await imported["locations"].find_one({"_id": "Gym"})
    assert (stored["x"], stored["created_at"]) == (99.0, LONG_AGO)
    assert stored["updated_at"] > LONG_AGO


async def test_readers_see_one_publication_or_the_other_and_never_parts_of_both(
    client: Any, imported: Any
) -> None:
    published = {FIRST: ["Gym", "Pool"], SECOND: ["Gym and sauna", "Pool", "Roof", "Sauna"]}
    await publish(imported, FIRST, names=("Gym",))
    seen: list[bytes] = []
    seen_enough = asyncio.Event()

    async def read() -> None:
        while not seen_enough.is_set():
            async with driver.open_snapshot_session(client) as session:
                found = await imported["maps"].find_one({"_id": MAP}, session=session)
                listed = imported["locations"].find({"unit_map_id": MAP}, session=session)
                names = sorted([each["name"] async for each in listed])
            # Outside of the snapshot: a file that was replaced can still be read.
            network = await files.read_file(imported, found["network"])
            assert network is not None
            assert published[network] == names
            seen.append(network)

    reader = asyncio.create_task(read())
    try:
        while len(seen) < 20 or {*seen} != {FIRST, SECOND}:
            await publish(imported, SECOND, names=("Gym and sauna", "Sauna", "Roof"))
            await publish(imported, FIRST, names=("Gym",))
            assert not reader.done() or reader.result() is None
    finally:
        seen_enough.set()
        await reader


async def test_a_publication_that_fails_changes_nothing(imported: Any) -> None:
    await publish(imported, FIRST, names=("Gym",))
    before = await contents(imported)
    good, bad = locations("Roof", "Sauna")
    bad = msgspec.structs.replace(bad, x="west")  # MongoDB's validator rejects it
    with pytest.raises(PyMongoError):
        await publish_network(
            imported, Publication(MAP, SECOND, WHEELCHAIR_ROUTING, {}, [good, bad])
        )
    after = await contents(imported)
    assert {**after, "files": before["files"]} == before
    # The next import deletes the file, which no map refers to.
    assert len(after["files"]) > len(before["files"])


async def test_a_process_that_has_lost_its_lease_publishes_nothing(
    imported: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await publish(imported, FIRST)
    before = await contents(imported)
    write = files.write_file

    async def stand_still(database: Any, content: bytes) -> str:
        digest = await write(database, content)
        await imported["imports"].update_many({}, {"$set": {"holder": "another process"}})
        return digest

    monkeypatch.setattr(files, "write_file", stand_still)
    with pytest.raises(ImportInterruptedError):
        await publish(imported, SECOND)
    after = await contents(imported)
    assert after["maps"] == before["maps"]


async def test_imports_keep_the_network_of_a_map_and_delete_former_ones(
    imported: Any, path: Path
) -> None:
    await publish(imported, FIRST)
    await publish(imported, SECOND)
    renamed = small()
    renamed["maps"][0]["name"] = "Renamed"
    await import_bundles(imported, [write_arrays(path, renamed)])
    digest = await find_network_digest(imported, ALL_ASSETS, MAP)
    assert await imported["files"].distinct("file") == [digest]
    assert (await find_map(imported))["routing_tier"] == FOOT_ROUTING


async def test_publishing_waits_for_an_import_that_would_delete_its_file(
    imported: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    importing = ImportLease(imported)
    assert await importing.try_acquire()
    refused = asyncio.Event()

    class WaitingLease(ImportLease):
        async def try_acquire(self) -> bool:
            is_acquired = await super().try_acquire()
            if not is_acquired:
                refused.set()
            return is_acquired

    monkeypatch.setattr(import_lease, "ImportLease", WaitingLease)
    publishing = asyncio.create_task(publish(imported, FIRST))
    publishing.add_done_callback(lambda _: refused.set())
    await refused.wait()
    assert not publishing.done()
    assert await imported["files"].count_documents({}) == 0
    await importing.release()
    await publishing
    assert await find_network_digest(imported, ALL_ASSETS, MAP)


async def test_a_withdrawn_network_leaves_its_locations(client: Any, imported: Any) -> None:
    before = await find_map(imported)
    await publish(imported, FIRST, names=("Gym",))
    assert await withdraw_network(imported, MAP, {"refusal": "no door"})
    found = await find_map(imported)
    assert found.pop("routing_report") == {"refusal": "no door"}
    state = found.pop("network_state")
    assert (state["withdrawn"], state["is_stale"]) == ("no two locations reach each other", False)
    assert found.pop("network") is None
    assert {**found, "updated_at": ""} == {**before, "routing_tier": NO_ROUTING, "updated_at": ""}
    assert await find_network_digest(imported, ALL_ASSETS, MAP) is None
    assert await names_of(imported) == ["Gym", "Pool"]
    (unit_map,) = (
        await Store(client, imported.name).load_records(MAPS, ALL_ASSETS, [MAP])
    ).values()
    assert (unit_map.tags, unit_map.routing_tier) == (["ils"], NO_ROUTING)


async def test_a_network_is_found_by_those_who_see_its_map(imported: Any) -> None:
    await publish(imported, FIRST)
    for asset_ids, is_found in ((["a"], True), (["b"], False), ([], False)):
        digest = await find_network_digest(imported, AssetScope(frozenset(asset_ids)), MAP)
        assert (digest is not None) == is_found
    assert await find_network_digest(imported, ALL_ASSETS, "bm") is None
    assert await find_network_digest(imported, ALL_ASSETS, "missing") is None


async def test_reports_of_several_maps_are_found_at_once(imported: Any) -> None:
    await publish(imported, FIRST)
    await imported["maps"].update_one({"_id": "bm"}, {"$set": {REPORT_FIELD: {"levels": []}}})
    found = await load_routing_reports(imported, ALL_ASSETS, ["bm", MAP])
    assert {*found} == {"bm", MAP}


async def test_a_network_that_an_earlier_release_has_published_is_not_used(imported: Any) -> None:
    await publish(imported, FIRST)
    earlier = {"$set": {"network": await files.write_file(imported, SECOND)}}
    await imported["maps"].update_one({"_id": MAP}, earlier)
    assert await find_network_digest(imported, ALL_ASSETS, MAP) is None
    [stale] = await list_stale_networks(imported)
    assert stale.reason == "it is not known what its network was built from"
    await publish(imported, SECOND)
    assert await find_network_digest(imported, ALL_ASSETS, MAP) is not None
