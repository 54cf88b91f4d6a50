"""Migrations run once, in order, whatever starts at the same time or dies in the middle."""

import asyncio
import logging
from typing import Any

import pytest

from storage.maps import FOOT_ROUTING, NO_ROUTING
from storage.mongo import files, lease
from storage.routing_inputs import NETWORK_FORMAT, OTHER_FORMAT, list_stale_networks
from storage.setup.migrations import (
    MIGRATIONS,
    MIGRATIONS_COLLECTION,
    Migration,
    index_names,
    record_georeferences,
    record_given_scales,
    run_pending,
)
from storage.setup.preparation import prepare_database

pytestmark = pytest.mark.anyio


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


async def test_names_written_without_words_get_them(database: Any) -> None:
    old = {"asset_id": "a", "name": "Café 2", "updated_at": "2020-01-31T12:00:00+00:00"}
    old |= {"floor_id": "f"}
    await database["units"].insert_many([{"_id": str(number), **old} for number in range(1500)])
    await database["units"].insert_one({"_id": "new", **old, "name_words": ["kept"]})
    await database["units"].insert_one({"_id": "damaged", "name": "No asset"})
    await prepare_database(database)
    assert await index_names(database) == "0 records changed"  # all of them had been
    units = await database["units"].find({"asset_id": "a", "_id": {"$ne": "new"}}).to_list(None)
    assert {tuple(unit["name_words"]) for unit in units} == {("2", "c", "ca", "caf", "cafe")}
    assert {unit["updated_at"] for unit in units} == {old["updated_at"]}
    new = await database["units"].find_one({"_id": "new"})
    assert new is not None and new["name_words"] == ["kept"]


EARLIER: dict[str, Any] = {"asset_id": "a", "name": "Plates", "network": "digest"}
EARLIER |= {"routing_tier": FOOT_ROUTING, "tags": ["ils", "pathfinding"]}
EARLIER |= {"updated_at": "2020-01-31T12:00:00+00:00"}
"""A routable map of an earlier release."""


async def test_maps_of_the_first_release_keep_the_scale_that_they_were_processed_with(
    database: Any,
) -> None:
    report = {"feet_per_unit": 12.0}
    given: dict[str, dict[str, Any]] = {
        "drawn": {"source": "svg", "feet_per_unit": 1.0, "routing_report": report},
        "given": {"source": "svg", "feet_per_unit": None, "routing_report": report},
        "plan": {"source": None, "feet_per_unit": 1.0, "routing_report": {}},
        "unknown": {"source": "svg", "feet_per_unit": None, "routing_report": None},
    }
    documents = [{"_id": key, **EARLIER, **fields} for key, fields in given.items()]
    await database["maps"].insert_many(documents)
    await prepare_database(database)
    maps = {found["_id"]: found async for found in database["maps"].find()}
    scales = {key: found["feet_per_unit"] for key, found in maps.items()}
    assert scales == {"drawn": 1.0, "given": 12.0, "plan": 1.0, "unknown": None}
    assert maps["given"]["network_state"]["is_scale_given"]
    assert {*map(str, (found["network"] for found in maps.values()))} == {"None"}
    commands = {each.map_id: each.command for each in await list_stale_networks(database)}
    assert commands == {
        key: f"floorgate maps process {key}{' SOURCE' * (key == 'plan')}" for key in given
    }
    assert await record_given_scales(database) == "0 maps changed"  # killed and run again


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


async def test_georeferences_of_stored_drawings_are_recorded(database: Any) -> None:
    place = b'{"elements":[{"type":"Georeference","uid":"u1","latitude":56,"longitude":10}]}'
    parsed = {
        "placed": await files.write_file(database, place),
        "plain": await files.write_file(database, b'{"elements":[]}'),
        "lost": "0" * 64,
        "blank": None,
    }
    documents = [{"_id": key, "parsed": digest} for key, digest in parsed.items()]
    await database["maps"].insert_many(documents)
    assert [await record_georeferences(database) for _ in range(2)] == [
        "1 maps changed",
        "0 maps changed",
    ]
    found = {each["_id"]: each.get("georeference") async for each in database["maps"].find()}
    georeference = {"latitude": 56.0, "longitude": 10.0, "zoom": 0.0, "bearing": 0.0}
    assert found == {"placed": georeference, "plain": None, "lost": None, "blank": None}
