"""A database is prepared: its validators accept what records hold, however often it is done."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from motor.motor_asyncio import AsyncIOMotorClient
from pymongo import AsyncMongoClient
from pymongo.errors import InvalidOperation, WriteError

from storage.bundles.json_bundles import parse_member
from storage.catalog import (
    FOOT_ROUTING,
    NO_ROUTING,
    RECORD_TYPES,
    RECORD_TYPES_BY_NAME,
    UNITS,
    WHEELCHAIR_ROUTING,
)
from storage.errors import MigrationRunningError
from storage.importing.import_bundles import ImportCounts, import_bundles
from storage.mongo import lease
from storage.mongo.connection import ConnectionSettings, DriverName
from storage.mongo.lease import Lease
from storage.networks import publish_network
from storage.publication import Publication
from storage.routing_inputs import NETWORK_FORMAT, OTHER_FORMAT, list_stale_networks
from storage.setup import preparation
from storage.setup.database import open_database
from storage.setup.preparation import (
    DROPPED,
    MIGRATIONS,
    MIGRATIONS_COLLECTION,
    Migration,
    build_validator,
    prepare_database,
    run_pending,
)
from tests.storage.catalogs import ARCHIVE, SMALL, contents, small, write_arrays


async def shape(database: Any) -> dict[str, Any]:
    """The validator and indexes of every collection."""
    found = {}
    for name in sorted(await database.list_collection_names()):
        info = (await database.command("listCollections", filter={"name": name}))["cursor"]
        indexes = await database[name].index_information()
        found[name] = (
            info["firstBatch"][0]["options"].get("validator"),
            {index: keys["key"] for index, keys in indexes.items()},
        )
    return found


@pytest.fixture
async def prepared(database: Any) -> Any:
    await prepare_database(database)
    return database


def document(kind_name: str) -> dict[str, Any]:
    kind = RECORD_TYPES_BY_NAME[kind_name]
    return parse_member(kind, SMALL[kind_name][0])


async def test_every_kind_gets_its_validator_and_indexes(prepared: Any) -> None:
    found = await shape(prepared)
    for kind in RECORD_TYPES:
        rule, indexes = found[kind.name]
        assert rule == build_validator(kind)
        wanted = [[("_id", 1)], *([(field, 1) for field in index] for index in kind.indexes)]
        assert sorted(indexes.values()) == sorted(wanted)
        await prepared[kind.name].insert_one(document(kind.name))
    await prepare_database(prepared)
    assert await shape(prepared) == found


async def test_documents_of_another_shape_are_rejected(prepared: Any) -> None:
    """But fields may be added to those of the record."""
    await prepared["units"].insert_one(document("units") | {"added": 1})
    changes: list[tuple[str, dict[str, Any]]] = [
        ("assets", {"name": 3}),
        ("assets", {"name": None}),
        ("assets", {"_id": ""}),
        ("units", {"asset_id": "x" * 256}),
        ("units", {"map_ids": [3]}),
        ("floors", {"sort": 1.5}),
        ("maps", {"feet_per_unit": "1"}),
        ("attribute_groups", {"one_attribute_per_unit": 1}),
        ("attribute_groups", {"attributes": [{"attribute_id": "a"}]}),
        ("locations", {"x": None}),
        ("locations", {"tags": [{"key": "k", "value": 1, "created_at": "", "updated_at": ""}]}),
    ]
    wrong = [(kind, document(kind) | change) for kind, change in changes]
    for field in ("asset_id", "floor_id", "name"):  # are required
        complete = document("units") | {"_id": field}
        wrong.append(("units", {name: complete[name] for name in complete if name != field}))
    for kind, each in wrong:
        with pytest.raises(WriteError, match="failed validation"):
            await prepared[kind].insert_one(each)


async def test_an_older_validator_is_replaced(database: Any) -> None:
    await database.create_collection("assets", validator={"name": {"$type": "string"}})
    await prepare_database(database)
    assert (await shape(database))["assets"][0] == build_validator(RECORD_TYPES[0])


async def test_what_a_database_in_use_has_lost_is_created_and_named(prepared: Any) -> None:
    """But what another release has set stays: gateways would change it back all the time."""
    await prepared.command("collMod", "maps", validator={"name": {"$type": "string"}})
    before = await shape(prepared)
    await prepared["floors"].rename("floors_before")
    await prepared["api_keys"].drop()
    await prepared["units"].drop_index("floor_id_1__id_1")
    await prepared.command("collMod", "assets", validator={})
    await prepared.command("collMod", "units", changeStreamPreAndPostImages={"enabled": False})
    lost: list[tuple[str, str]] = []
    await prepare_database(prepared, lambda *each: lost.append(each))
    await prepared["floors_before"].drop()
    assert await shape(prepared) == before
    assert sorted(lost) == [
        ("api_keys", DROPPED),
        ("assets", "validator"),
        ("floors", DROPPED),
        ("units", f"1 of {len(UNITS.indexes)} indexes"),
        ("units", "changeStreamPreAndPostImages"),
    ]
    lost.clear()
    await prepare_database(prepared, lambda *each: lost.append(each))
    assert not lost


async def test_what_a_newer_release_has_dropped_stays_dropped_while_gateways_are_replaced(
    prepared: Any,
) -> None:
    """But gateways of this release that start, as after a rollback, need it."""
    newer = {"$set": {"number": MIGRATIONS[-1].number + 1}}
    await prepared[MIGRATIONS_COLLECTION].update_one({}, newer)
    await prepared["api_keys"].drop()
    await prepared["units"].drop_index("floor_id_1__id_1")
    dropped = await shape(prepared)
    lost: list[tuple[str, str]] = []
    await prepare_database(prepared, lambda *each: lost.append(each))
    assert (lost, await shape(prepared)) == ([], dropped)
    await prepare_database(prepared)
    assert (await shape(prepared)).keys() - dropped.keys() == {"api_keys"}


async def test_gateways_that_start_at_once_prepare_what_one_does(database: Any) -> None:
    await asyncio.gather(*(prepare_database(database) for _ in range(6)))
    before = await shape(database)
    await prepare_database(database)
    assert await shape(database) == before


class Recorder:
    """Makes migrations that record their runs."""

    def __init__(self) -> None:
        self.runs: list[int] = []

    def migration(self, number: int, error: Exception | None = None) -> Migration:
        async def run(database: Any) -> str:
            self.runs.append(number)
            await asyncio.sleep(0.01)
            if error is not None:
                raise error
            return f"{number} things"

        return Migration(number, f"number {number}", run)


def migration_lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.message for each in caplog.records if each.name == "floorgate.migrations"]


async def test_each_runs_once_and_logs_a_line(
    database: Any, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder()
    first, second = recorder.migration(1), recorder.migration(2)
    with caplog.at_level(logging.INFO, "floorgate.migrations"):
        await run_pending(database, [first])
        await run_pending(database, [first, second])
        await run_pending(database, [first, second])
    assert recorder.runs == [1, 2]
    assert migration_lines(caplog) == [
        "migration 1, number 1: 1 things",
        "migration 2, number 2: 2 things",
    ]


async def test_gateways_starting_together_run_each_once(database: Any) -> None:
    recorder = Recorder()
    migrations = [recorder.migration(1), recorder.migration(2)]
    await asyncio.gather(*(run_pending(database, migrations) for _ in range(5)))
    assert recorder.runs == [1, 2]


async def test_one_that_fails_runs_again_and_those_before_it_do_not(database: Any) -> None:
    recorder = Recorder()
    first, failing = recorder.migration(1), recorder.migration(2, OSError("disk"))
    with pytest.raises(OSError, match="disk"):
        await run_pending(database, [first, failing])
    await run_pending(database, [first, recorder.migration(2)])
    assert recorder.runs == [1, 2, 2]


async def test_one_whose_gateway_was_killed_runs_again(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "LEASE_SECONDS", 0.5)
    dead = lease.Lease(database[MIGRATIONS_COLLECTION])
    assert await dead.try_acquire()  # and never renewed, released or advanced
    recorder = Recorder()
    await run_pending(database, [recorder.migration(1)])
    assert recorder.runs == [1]


async def test_an_older_release_ignores_newer_migrations(database: Any) -> None:
    recorder = Recorder()
    first, second = recorder.migration(1), recorder.migration(2)
    await run_pending(database, [first, second])
    await run_pending(database, [first])
    state = await database[MIGRATIONS_COLLECTION].find_one()
    assert (recorder.runs, state["number"]) == ([1, 2], 2)


async def test_a_new_database_needs_none(database: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "floorgate.migrations"):
        await prepare_database(database)
    state = await database[MIGRATIONS_COLLECTION].find_one()
    assert (state["number"], migration_lines(caplog)) == (MIGRATIONS[-1].number, [])


EARLIER: dict[str, Any] = {"asset_id": "a", "name": "Plates", "network": "digest"}
EARLIER |= {"routing_tier": FOOT_ROUTING, "tags": ["ils", "pathfinding"]}
EARLIER |= {"updated_at": "2020-01-31T12:00:00+00:00"}
"""A routable map of an earlier release."""


async def test_networks_that_cannot_be_loaded_are_withdrawn(
    database: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await prepare_database(database)
    states: dict[str, dict[str, Any]] = {
        "earlier": {},  # the release before recorded no format
        "later": {"network_format": NETWORK_FORMAT + 1},
        "current": {"network_format": NETWORK_FORMAT},
    }
    documents = [{"_id": key, **EARLIER, "network_state": state} for key, state in states.items()]
    await database["maps"].insert_many(documents)
    await database[MIGRATIONS_COLLECTION].update_one({}, {"$set": {"number": 4}})
    with caplog.at_level(logging.INFO, "floorgate.migrations"):
        await prepare_database(database)
    assert migration_lines(caplog) == [
        "migration 5, networks of other formats: 2 maps no longer routable until"
        " `floorgate maps process --stale`"
    ]
    maps = {found["_id"]: found async for found in database["maps"].find()}
    for key in ("earlier", "later"):
        assert (maps[key]["network"], maps[key]["tags"]) == (None, ["ils"])
        assert maps[key]["routing_tier"] == NO_ROUTING
        assert maps[key]["updated_at"] > EARLIER["updated_at"]
    assert {name: maps["current"][name] for name in EARLIER} == EARLIER
    stale = await list_stale_networks(database)
    assert [(each.map_id, each.reason) for each in stale] == [
        ("earlier", OTHER_FORMAT),
        ("later", OTHER_FORMAT),
    ]


LATER_FIELDS = {
    "units": ("map_ids",),
    "maps": ("feet_per_unit", "routing_tier"),
    "floors": ("short_label", "updated_at"),
    "attribute_groups": ("one_attribute_per_unit",),
}
"""Optional fields that the earlier release did not have."""


def earlier_validator(kind: Any) -> dict[str, Any]:
    """The validator of release 1.0.0, which required all the fields that it knew."""
    validator = build_validator(kind)
    schema = validator["$jsonSchema"]
    for field in LATER_FIELDS.get(kind.name, ()):
        schema["properties"].pop(field, None)
    schema["required"] = [*schema["properties"]]
    return validator


@pytest.fixture
async def earlier(database: Any, bundle: Path) -> Any:
    """The small catalog as the earlier release has left it, with one map that is published."""
    await import_bundles(database, [bundle])
    for name, fields in LATER_FIELDS.items():
        await database[name].update_many(
            {}, {"$unset": dict.fromkeys(fields, "")}, bypass_document_validation=True
        )
    await database["maps"].update_one({"_id": "am"}, {"$set": {"network": "digest"}})
    for kind in RECORD_TYPES:
        await database.command("collMod", kind.name, validator=earlier_validator(kind))
    await database.drop_collection("migrations")
    return database


async def test_the_catalog_can_be_updated_after_a_start(
    earlier: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "floorgate.migrations"):
        await prepare_database(earlier)
        await prepare_database(earlier)
    assert caplog.messages == [
        "migration 5, networks of other formats: 1 maps no longer routable until"
        " `floorgate maps process --stale`",
    ]
    for kind in RECORD_TYPES:
        result = await earlier[kind.name].update_many({}, {"$set": {"note": "x"}})
        assert result.modified_count == len(SMALL[kind.name])
    await publish_network(earlier, Publication("bm", ARCHIVE, WHEELCHAIR_ROUTING, {}, []))
    published = await earlier["maps"].find_one({"_id": "bm"})
    assert published["routing_tier"] == WHEELCHAIR_ROUTING


async def test_importing_the_same_bundle_adds_the_fields_that_it_gives(
    earlier: Any, tmp_path: Path
) -> None:
    """Members are unchanged if their later fields have the defaults."""
    given = small()
    for group in given["attribute_groups"]:
        group.pop("one_attribute_per_unit", None)
    del given["attribute_assignments"]
    summary = await import_bundles(earlier, [write_arrays(tmp_path / "again.json", given)])
    assert summary.kinds["attribute_groups"] == ImportCounts(unchanged=2)
    assert summary.kinds["units"] == ImportCounts(updated=1, unchanged=2)  # u1 has map_ids
    floors = (await contents(earlier))["floors"]
    assert json.dumps(floors).count("short_label") == len(SMALL["floors"])


@pytest.mark.parametrize(
    ("driver", "client_type"), [("motor", AsyncIOMotorClient), ("pymongo", AsyncMongoClient)]
)
async def test_a_database_is_prepared_and_its_client_closed_at_the_end(
    mongo_url: str, database_name: str, tmp_path: Path, driver: DriverName, client_type: type
) -> None:
    settings = ConnectionSettings(tmp_path, mongo_url, driver, database_name)
    async with open_database(settings, 30) as client:
        assert isinstance(client, client_type)
        names = await client[database_name].list_collection_names()
        assert {kind.name for kind in RECORD_TYPES} <= {*names}
    with pytest.raises(InvalidOperation, match="after close"):
        await client[database_name].list_collection_names()
    assert not [*tmp_path.iterdir()]  # another MongoDB needs no data directory


async def test_migrations_that_do_not_end_are_an_error(
    database: Any, mongo_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ConnectionSettings(tmp_path, mongo_url, database=database.name)
    monkeypatch.setattr(preparation, "WAIT_SECONDS", 0.0)
    await database.create_collection("assets")  # not a new database, which has none to run
    assert await Lease(
        database[preparation.MIGRATIONS_COLLECTION], preparation.STATE_ID
    ).try_acquire()
    with pytest.raises(MigrationRunningError):
        async with open_database(settings, 30):
            pass


async def test_without_an_address_the_embedded_mongodb_is_started_in_the_data_directory(
    tmp_path: Path,
) -> None:
    settings = ConnectionSettings(tmp_path)
    async with open_database(settings, 30) as first, open_database(settings, 30) as second:
        await first["floorgate"]["notes"].insert_one({"_id": 1})
        assert await second["floorgate"]["notes"].find_one({}) == {"_id": 1}
    assert (tmp_path / "mongod").is_dir()
