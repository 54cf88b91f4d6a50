"""What is wrong with a database is found, named with a remedy, and left as it is."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from storage import inspection
from storage.administration.api_keys import KEYS_COLLECTION
from storage.administration.import_lease import LEASE_COLLECTION, LEASE_ID
from storage.catalog import MAPS
from storage.embedded.embedded_mongo import run_embedded_mongo
from storage.inspection import Finding, inspect_database
from storage.mongo import files
from storage.mongo.connection import ConnectionSettings
from storage.mongo.lease import Lease
from storage.routing_inputs import NETWORK_FORMAT
from storage.setup.preparation import MIGRATIONS_COLLECTION, STATE_ID, prepare_database
from tests.storage.mongo.replica_set_of_three import ReplicaSet, run_replica_set


@pytest.fixture
def connection(mongo_url: str, database: Any, tmp_path: Path) -> ConnectionSettings:
    return ConnectionSettings(tmp_path, mongo_url, database=database.name)


async def find(connection: ConnectionSettings) -> dict[str, Finding]:
    """What is not well, by check."""
    found = await inspect_database(connection)
    assert all(bool(each.remedy) == (each.status != "ok") for each in found)
    return {each.check: each for each in found if each.status != "ok"}


async def test_nothing_is_wrong_with_a_database_that_is_prepared(
    database: Any, connection: ConnectionSettings
) -> None:
    assert await find(connection) == {}
    assert "indexes" in {each.check for each in await inspect_database(connection)}


async def test_a_database_that_does_not_exist_is_left_so(
    client: Any, mongo_url: str, tmp_path: Path, fresh_database_name: str
) -> None:
    assert await find(ConnectionSettings(tmp_path, mongo_url, database=fresh_database_name)) == {}
    assert await client[fresh_database_name].list_collection_names() == []


async def test_what_is_missing_is_named(database: Any, connection: ConnectionSettings) -> None:
    await database["units"].drop_index("floor_id_1__id_1")
    await database["floors"].drop()
    await database.command("collMod", "assets", validator={})
    found = await find(connection)
    assert {*found} == {"collections", "indexes"}
    assert found["collections"].message == "missing: floors"
    assert "units.floor_id+_id" in found["indexes"].message
    await prepare_database(database)
    assert await find(connection) == {}


async def test_validators_of_another_release_are_a_warning(
    database: Any, connection: ConnectionSettings
) -> None:
    await database.command("collMod", "assets", validator={})
    [found] = (await find(connection)).values()
    assert (found.status, found.message) == ("warning", "validators of another release: assets")


@pytest.mark.parametrize(("change", "which"), [(-1, "have not run"), (1, "of a newer release")])
async def test_migrations_of_another_release_are_a_warning(
    database: Any, connection: ConnectionSettings, change: int, which: str
) -> None:
    await database[MIGRATIONS_COLLECTION].update_one(
        {"_id": STATE_ID}, {"$inc": {"number": change}}
    )
    [found] = (await find(connection)).values()
    assert (found.check, found.status) == ("migrations", "warning")
    assert which in found.message


@pytest.mark.parametrize("is_running", [True, False])
async def test_an_import_is_interrupted_if_nobody_holds_its_lease(
    database: Any, connection: ConnectionSettings, is_running: bool
) -> None:
    expires = datetime.now(UTC) + timedelta(hours=1) if is_running else Lease.EXPIRED_AT
    lease = {"_id": LEASE_ID, "state": "applying", "expires": expires, "import_id": "i7"}
    await database[LEASE_COLLECTION].insert_one(lease | {"started_by": {"actor": "ann"}})
    found = await find(connection)
    assert [*found] == ([] if is_running else ["import"])
    assert is_running or found["import"].message.endswith("not finished: i7, begun by ann")


async def test_networks_and_keys_that_need_attention_are_named(
    database: Any, connection: ConnectionSettings
) -> None:
    state = {"is_stale": True, "withdrawn": "its drawing has changed"}
    withdrawn = {"_id": "m", "asset_id": "a", "network_state": state}
    await database[MAPS.name].insert_one(withdrawn, bypass_document_validation=True)
    expires = datetime.now(UTC) + timedelta(days=3)
    for name, until in (("kiosk", expires), ("web", expires + timedelta(days=90))):
        key = {"_id": f"key_{name}", "name": name, "digest": name, "permissions": []}
        dates = {"created_at": expires, "expires_at": until, "revoked_at": None}
        await database[KEYS_COLLECTION].insert_one({**key, **dates, "asset_ids": None})
    found = await find(connection)
    assert {*found} == {"networks", "keys"}
    assert found["networks"].message == "outdated: m (its drawing has changed)"
    assert found["networks"].remedy == "floorgate maps process --stale"
    assert found["keys"].message == "expire within 14 days: key_kiosk (kiosk)"


async def test_maps_whose_files_are_missing_or_incomplete_are_named(
    database: Any, connection: ConnectionSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", 3)
    whole = await files.write_file(database, b"the whole")
    part = await files.write_file(database, b"only a part")
    await database[files.COLLECTION].delete_one({"_id": f"{part}/000001"})
    for map_id, fields in (
        ("whole", {"source": whole, "parsed": whole}),
        ("gone", {"source": whole, "parsed": "0" * 64, "network": "1" * 64}),
        ("part", {"source": part}),
        ("none", {"source": None}),
    ):
        state: dict[str, Any] = {"source": fields["source"], "network_format": NETWORK_FORMAT}
        unit_map = {"_id": map_id, "asset_id": "a", "network_state": state, **fields}
        await database[MAPS.name].insert_one(unit_map, bypass_document_validation=True)
    found = await find(connection)
    assert {*found} == {"files"}
    message = "missing or incomplete, of maps: gone (network, parsed), part (source)"
    assert found["files"].message == message


@pytest.fixture(scope="module")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A MongoDB of these tests alone: parameters and transactions are those of all databases."""
    with run_embedded_mongo(tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest.fixture
def server(server_url: str) -> Iterator[MongoClient[dict[str, Any]]]:
    with MongoClient[dict[str, Any]](server_url) as client:
        yield client


@pytest.fixture
def server_connection(server_url: str, tmp_path: Path) -> ConnectionSettings:
    return ConnectionSettings(tmp_path, server_url, database="inspected")


@pytest.mark.parametrize(
    ("name", "wrong", "expected"),
    [
        ("transactionLifetimeLimitSeconds", 600, "is 600 and should be 5 to 60:"),
        ("minSnapshotHistoryWindowInSeconds", 30, "is 30 and should be 60 or more:"),
    ],
)
async def test_parameters_that_a_gateway_cannot_do_with_are_named(
    server: Any, server_connection: ConnectionSettings, name: str, wrong: int, expected: str
) -> None:
    before = server.admin.command("setParameter", **{name: wrong})["was"]
    try:
        [found] = (await find(server_connection)).values()
    finally:
        server.admin.command("setParameter", **{name: before})
    assert (found.check, found.status) == ("parameters", "warning")
    assert f"{name} {expected}" in found.message


async def test_a_release_whose_upgrade_is_not_finished_is_a_warning(
    connection: ConnectionSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read_release(_: Any) -> str:
        return "99.0.1"

    monkeypatch.setattr(inspection, "_read_release", read_release)
    [found] = (await find(connection)).values()
    assert (found.check, found.status) == ("parameters", "warning")
    assert "of an earlier release than 99.0.1" in found.message


async def test_transactions_that_stay_open_are_a_warning(
    server: Any, server_connection: ConnectionSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "OPEN_WARNING_SECONDS", 0)
    with server.start_session() as session, session.start_transaction():
        server["inspected"]["units"].delete_one({"_id": "u"}, session=session)
        [found] = (await find(server_connection)).values()
        session.abort_transaction()
    assert (found.check, found.status) == ("transactions", "warning")
    assert found.message.startswith("1 open for over 0 s")
    assert await find(server_connection) == {}


async def test_an_oplog_that_is_full_within_a_day_is_a_warning(
    connection: ConnectionSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "FULL_OPLOG_SHARE", 0.0)
    [found] = (await find(connection)).values()
    assert (found.check, found.status) == ("oplog", "warning")
    assert found.message.startswith("it goes back 0.")


async def test_what_a_user_may_not_see_is_skipped_without_a_warning(
    server: Any, mongo_url: str, database: Any, tmp_path: Path
) -> None:
    name, password = database.name, "secret"
    server[name].command("createUser", name, pwd=password, roles=["readWrite", "dbAdmin"])
    try:
        host = f"{server.address[0]}:{server.address[1]}"
        url = f"mongodb://{name}:{password}@{host}/?authSource={name}"
        found = await inspect_database(ConnectionSettings(tmp_path, url, database=name))
    finally:
        server[name].command("dropUser", name)
    assert {each.status for each in found} == {"ok", "skipped"}
    hidden = [each.check for each in found if each.status == "skipped"]
    assert hidden == ["members", "elections", "oplog", "parameters"]


@pytest.mark.slow
async def test_an_election_because_a_primary_was_lost_is_a_warning(tmp_path: Path) -> None:
    with run_replica_set(tmp_path, election_timeout_ms=1_000) as three:
        primary = three.wait_for_primary()
        primary.kill()
        three.wait_for_primary(primary)
        found = await find(ConnectionSettings(tmp_path, three.url))
    assert {*found} == {"members", "elections"}
    assert "the last one 0.0 hours ago (electionTimeout)" in found["elections"].message


@pytest.mark.slow
@pytest.mark.xdist_group("three")
async def test_members_that_are_down_are_a_warning_until_there_is_no_majority(
    three: ReplicaSet, tmp_path: Path
) -> None:
    connection = ConnectionSettings(tmp_path, three.url)
    _, one, _ = three.members
    assert await find(connection) == {}
    one.kill()
    while not (found := await find(connection)):
        pass
    assert [*found] == ["members"]
    assert one.address in found["members"].message
    three.lose_majority()
    [found_down] = (await find(connection)).values()
    assert (found_down.check, found_down.status) == ("MongoDB", "error")
    assert found_down.message.startswith("MongoDB has no primary")
