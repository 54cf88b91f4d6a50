"""Reading lists through either driver, also in many replies, and collections as BSON."""

import asyncio
import time
from pathlib import Path
from typing import Any

import bson
import pytest
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient, ReadPreference

from storage.attribute_assignments import assign_attributes
from storage.catalog import UNITS, WHEELCHAIR_ROUTING, Assignment
from storage.changes.hub import ChangeHub
from storage.errors import BackupError, UnavailableError
from storage.importing.import_bundles import import_bundles
from storage.mongo import driver, raw_documents, topology
from storage.mongo.connection import DriverName
from storage.mongo.driver import iter_batches
from storage.networks import publish_network
from storage.publication import Publication
from storage.records.paging import PageRequest
from storage.records.visibility import ALL_ASSETS
from storage.store import Store
from tests.storage.catalogs import ARCHIVE
from tests.storage.mongo.replica_set_of_three import list_cursors
from tests.waiting import TIMEOUT_SECONDS

DRIVERS: tuple[DriverName, ...] = ("motor", "pymongo")


async def test_the_first_documents_in_an_order_are_found(database: Any) -> None:
    await database["things"].insert_many([{"_id": n, "even": n % 2 == 0} for n in range(300)])
    found = await driver.find_documents(
        database, "things", {"even": True}, {"_id": 1}, limit=120, skip=10, sort={"_id": -1}
    )
    assert [each["_id"] for each in found] == [*range(278, 39, -2)]
    assert (
        await driver.find_documents(database, "things", {"even": None}, {"_id": 1}, limit=0) == []
    )


async def test_results_larger_than_one_reply_are_read_completely(database: Any) -> None:
    text = "x" * 1_000_000
    await database["things"].insert_many([{"_id": number, "text": text} for number in range(20)])
    found = await driver.find_documents(
        database, "things", {}, {"text": 1}, limit=20, sort={"_id": 1}
    )
    assert [(each["_id"], len(each["text"])) for each in found] == [
        (number, len(text)) for number in range(20)
    ]


@pytest.mark.parametrize("name", DRIVERS)
async def test_a_whole_result_is_read_with_one_command(
    mongo_url: str, fresh_database_name: str, name: DriverName
) -> None:
    """Were there a second one, a lost reply would leave a cursor open in MongoDB."""
    told = list[str]()
    client = driver.connect(mongo_url, name, 30, observe=lambda command: told.append(command.name))
    things = client[fresh_database_name]["things"]
    await things.insert_many([{"_id": number} for number in range(300)])
    told.clear()
    assert len(await driver.read_all(things.find({}).sort("_id", 1))) == 300
    assert told == ["find things"]
    await client.drop_database(fresh_database_name)
    await driver.close(client)


@pytest.mark.parametrize("name", DRIVERS)
async def test_a_snapshot_leaves_no_cursor_open(
    mongo_url: str, fresh_database_name: str, name: DriverName
) -> None:
    client = driver.connect(mongo_url, name, 30)
    things = client[fresh_database_name]["things"]
    await things.insert_many([{"_id": number} for number in range(3)])
    with MongoClient[dict[str, Any]](mongo_url) as admin:
        async with driver.open_snapshot_session(client) as session:
            cursor = things.find({}, session=session, batch_size=2)  # as if its reply were lost
            assert await anext(cursor) == {"_id": 0}
            left = cursor.cursor_id
            assert left in dict(list_cursors(admin))
        await driver.close(client)
        assert left not in dict(list_cursors(admin))
        admin.drop_database(fresh_database_name)


async def test_a_loss_that_is_over_is_no_cause(client: driver.Client) -> None:
    """The driver tells of changes up to a second later."""
    await driver.ping(client, TIMEOUT_SECONDS)
    topology.of(client).listener.lost_at = time.monotonic()
    assert driver.find_loss(client) is None


@pytest.mark.parametrize("name", DRIVERS)
async def test_an_address_cannot_ask_for_reads_from_secondaries(
    anyio_backend: str, name: DriverName
) -> None:
    wish = "readPreference=secondary&readPreferenceTags=dc:east&maxStalenessSeconds=90"
    url = f"mongodb://127.0.0.1:9/?{wish}"
    client = driver.connect(url, name)
    assert client["any"]["things"].read_preference == ReadPreference.PRIMARY
    await driver.close(client)


async def test_documents_whose_key_is_taken_are_returned(database: Any) -> None:
    await database["things"].insert_one({"_id": 2, "old": True})
    taken = await driver.insert_absent(
        database["things"], [{"_id": number, "old": False} for number in (1, 2, 3)]
    )
    assert taken == [{"_id": 2, "old": False}]
    assert [found["old"] async for found in database["things"].find().sort("_id", 1)] == [
        False,
        True,
        False,
    ]


async def test_a_collection_that_exists_is_no_error(database: Any) -> None:
    for _ in range(2):
        await driver.create_collection(database, "things", validator={"name": {"$type": "string"}})
    await asyncio.gather(*(driver.create_collection(database, "others") for _ in range(5)))
    assert {"others", "things"} <= {*await database.list_collection_names()}


async def test_transactions_that_conflict_when_they_commit_are_run_again(database: Any) -> None:
    """Each creates the collection, which MongoDB finds out only when the second one commits."""
    both_have_written = asyncio.Barrier(2)
    runs = 0

    async def insert(session: driver.Session) -> None:
        nonlocal runs
        runs += 1
        await database["made"].update_one(
            {"_id": "counter"}, {"$inc": {"count": 1}}, upsert=True, session=session
        )
        if runs <= 2:
            await both_have_written.wait()

    await asyncio.gather(
        driver.run_in_transaction(database.client, insert),
        driver.run_in_transaction(database.client, insert),
    )
    assert await database["made"].find_one() == {"_id": "counter", "count": 2}
    assert runs > 2


SLOW = {"$size": {"$filter": {"input": {"$range": [0, 100_000]}, "cond": {"$eq": ["$$this", -1]}}}}
FOREVER = {"$expr": {"$eq": [SLOW, 1]}}
"""A condition that takes minutes for the documents that `insert_many` made."""
MANY = [{"_id": number} for number in range(10_000)]


async def test_mongodb_ends_a_command_that_takes_too_long(database: Any, mongo_url: str) -> None:
    await database["things"].insert_many(MANY)
    patient = driver.connect(mongo_url, timeout_seconds=600)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        with pytest.raises(UnavailableError), driver.limit_time(0.2), driver.translate_errors():
            await patient[database.name]["things"].find_one(FOREVER)
        await _wait_until_idle(database)
    await driver.close(patient)


async def test_reads_that_met_a_new_primary_are_made_again(
    mongo_url: str, database_name: str
) -> None:
    client = driver.connect(mongo_url, timeout_seconds=30)
    listener = topology.of(client).listener
    primaries: list[Any] = []

    async def work() -> int:
        primaries.append(listener.primary)
        if len(primaries) == 1:  # as if another had been elected in between
            listener.primary = None
        return len(primaries)

    assert await driver.run_on_one_primary(client[database_name], "assets", work) >= 2
    assert primaries[0] is not None
    await driver.close(client)


def pooled_connections(client: Any) -> list[Any]:
    servers = vars(client).get("delegate", client)._topology._servers
    return [each for server in servers.values() for each in server.pool.conns]


@pytest.mark.parametrize("name", DRIVERS)
async def test_a_connection_from_when_a_member_was_starting_is_replaced(
    mongo_url: str, database_name: str, name: DriverName
) -> None:
    client = driver.connect(mongo_url, name, timeout_seconds=30)
    collection = client[database_name]["things"]

    async def insert(session: Any) -> None:
        await collection.insert_one({}, session=session)

    await driver.run_in_transaction(client, insert)
    for connection in pooled_connections(client):
        connection.supports_sessions = False  # as its handshake then says
    with pytest.raises(UnavailableError):
        await driver.run_in_transaction(client, insert)
    await driver.run_in_transaction(client, insert)
    assert await collection.count_documents({}) == 2
    await driver.close(client)


async def test_a_transaction_that_takes_too_long_is_rolled_back(database: Any) -> None:
    await database["things"].insert_many(MANY)

    async def work(session: driver.Session) -> None:
        await database["things"].insert_one({"_id": "new"}, session=session)
        await database["things"].find_one(FOREVER, session=session)

    with pytest.raises(UnavailableError), driver.limit_time(0.5), driver.translate_errors():
        await driver.run_in_transaction(database.client, work)
    assert await database["things"].count_documents({}) == len(MANY)


async def _wait_until_idle(database: Any) -> None:
    """Wait until MongoDB runs no command on `things`."""
    namespace = f"{database.name}.things"
    while (await database.client.admin.command("currentOp", ns=namespace))["inprog"]:
        await asyncio.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("client", ["pymongo"], indirect=True)
async def test_a_catalog_is_imported_read_changed_and_followed_with_the_other_driver(
    client: Any, database: Any, bundle: Path
) -> None:
    """Other tests of storage use the default driver."""
    async with ChangeHub(database).run() as hub:
        cursor = await hub.get_cursor()
        for _ in range(2):
            summary = await import_bundles(database, [bundle])
        assert summary.total.written == 0
        given = [Assignment(group_id="extras", attribute_id="view", asset_id="a", unit_id="u2")]
        await assign_attributes(database, ALL_ASSETS, "extras", given)
        await publish_network(database, Publication("bm", ARCHIVE, WHEELCHAIR_ROUTING, {}, []))
        store, page = Store(client, database.name), PageRequest(1, 2)
        wheres: list[Any] = [{"asset_id": asset} for asset in ("a", "b")]
        listed = await store.load_pages(UNITS, ALL_ASSETS, wheres, page)
        assert [[unit.id for unit in each.data] for each in listed] == [["u1", "u2"], ["v1"]]
        assert await store.count_many(UNITS, wheres, 100) == [2, 1]
        stretch, _ = await hub.read(cursor, 1_000, bool)
        assert {"units", "attribute_assignments", "maps"} <= {each.kind for each in stretch.events}


@pytest.fixture(autouse=True)
def batches_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "BATCH_DOCUMENTS", 2)


@pytest.mark.parametrize(
    ("count", "expected"), [(0, []), (1, [[0]]), (2, [[0, 1]]), (5, [[0, 1], [2, 3], [4]])]
)
async def test_all_documents_come_once_and_in_order(
    database: Any, count: int, expected: list[list[int]]
) -> None:
    if count:
        await database["all"].insert_many([{"_id": number} for number in reversed(range(count))])
    batches = [
        [document["_id"] for document in batch] async for batch in iter_batches(database["all"])
    ]
    assert batches == expected


async def test_condition_projection_and_order_apply_to_every_batch(database: Any) -> None:
    await database["all"].insert_many(
        [{"_id": number, "rank": -number, "even": number % 2 == 0} for number in range(8)]
    )
    batches = iter_batches(database["all"], {"even": True}, {"_id": 0, "rank": 1}, None, "rank")
    assert [batch async for batch in batches] == [
        [{"rank": -6}, {"rank": -4}],
        [{"rank": -2}, {"rank": 0}],
    ]


async def test_documents_inserted_behind_the_reader_are_not_seen(database: Any) -> None:
    await database["all"].insert_many([{"_id": number} for number in (10, 20, 30)])
    batches = iter_batches(database["all"])
    await anext(batches)
    await database["all"].insert_many([{"_id": 5}, {"_id": 25}])
    assert [batch async for batch in batches] == [[{"_id": 25}, {"_id": 30}]]


@pytest.mark.parametrize("batch_bytes", [1, 5_000, 1 << 20])
async def test_batches_hold_all_documents_in_order(
    database: Any, batch_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw_documents, "_QUERY_DOCUMENTS", 300)
    documents = [{"_id": f"{number:04}", "text": "a" * 50} for number in range(1000)]
    await database["any"].insert_many(documents[::-1])
    batches = [
        batch async for batch in raw_documents.iter_raw_batches(database["any"], batch_bytes)
    ]
    found = [document for batch in batches for document in bson.decode_all(batch.content)]
    assert found == documents
    assert [batch.documents for batch in batches] == [
        raw_documents.count_documents(batch.content) for batch in batches
    ]
    assert all(len(batch.content) >= batch_bytes for batch in batches[:-1])


async def test_an_empty_collection_has_no_batches(database: Any) -> None:
    assert [each async for each in raw_documents.iter_raw_batches(database["none"], 1)] == []


async def test_a_collection_that_has_been_renamed_is_left_alone(database: Any) -> None:
    await database["new"].insert_one({"_id": 1})
    await database["old"].insert_one({"_id": 2})
    for _ in range(2):
        await raw_documents.rename_collection(database, "new", "old")
        assert await database["old"].find().to_list(None) == [{"_id": 1}]


async def test_an_error_says_which_document_mongodb_rejects(database: Any) -> None:
    documents = [RawBSONDocument(bson.encode({"_id": "unit-1"}))] * 2
    with pytest.raises(BackupError, match=r"of the archive: E11000 .*unit-1"):
        await raw_documents.insert_raw(database["any"], documents)
