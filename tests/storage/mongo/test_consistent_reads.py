"""Reads see one snapshot of the database, never less than before, and outlive the primary."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pymongo
import pytest
from bson import Timestamp
from pymongo import WriteConcern
from pymongo.errors import ExecutionTimeout, OperationFailure

from storage.errors import UnavailableError
from storage.mongo import consistent_reads, driver, topology, unavailable
from storage.mongo.shared_memory import ClusterClock
from storage.mongo.topology import PrimaryListener
from tests.storage.mongo.replica_set_of_three import ReplicaSet
from tests.waiting import TIMEOUT_SECONDS

NUMBERS = {"$range": [0, {"$add": ["$value", 1_000_000]}]}
SLOW = {"$expr": {"$gte": [{"$sum": {"$map": {"input": NUMBERS, "in": "$$this"}}}, 0]}}
"""Takes 0.03 to 0.3 seconds for each document."""


async def read_directly_read_connections(database: Any, command: dict[str, Any]) -> dict[str, Any]:
    """Send a read as soon as there is a connection."""
    read = topology.of(database.client).read
    assert read is not None
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while (reply := await read(database.name, command)) is None:
            await asyncio.sleep(0.01)
    return reply


@pytest.fixture
async def direct(database: Any) -> AsyncIterator[Any]:
    """A database with a few documents, and a connection to it."""
    documents = [{"_id": key, "value": key, "text": "é" * 2_000} for key in range(500)]
    await database["things"].insert_many(documents)
    async with driver.open_read_connections(database.client):
        await read_directly_read_connections(database, {"ping": 1})
        yield database


async def find(database: Any, where: dict[str, Any], **options: Any) -> list[Any]:
    with driver.translate_errors():
        return await driver.find_documents(
            database, "things", where, {"value": 1, "text": 1}, limit=1_000, **options
        )


async def test_a_reply_is_what_the_driver_returns(direct: Any) -> None:
    for where in ({"_id": 7}, {"_id": {"$lt": 0}}, {}):
        command = {"find": "things", "filter": where, "batchSize": 1_000}
        reply = await read_directly_read_connections(direct, command)
        by_driver = await direct.command(command)
        assert reply["cursor"] == by_driver["cursor"]


async def test_an_error_is_what_the_driver_raises(direct: Any) -> None:
    command = {"find": "things", "filter": {"$no": 1}}
    with pytest.raises(OperationFailure) as by_driver:
        await direct.command(command)
    with pytest.raises(OperationFailure) as error:
        await read_directly_read_connections(direct, command)
    assert (type(error.value), error.value.code) == (type(by_driver.value), by_driver.value.code)


async def test_reads_at_the_same_time_receive_their_own_replies(direct: Any) -> None:
    keys = [*range(200)] * 2
    found = await asyncio.gather(*(find(direct, {"_id": key}) for key in keys))
    assert [each[0]["_id"] for each in found] == keys


async def test_the_reply_to_a_cancelled_read_is_given_to_no_other(direct: Any) -> None:
    cancelled = [asyncio.create_task(find(direct, {**SLOW, "_id": {"$lt": 3}})) for _ in range(3)]
    await asyncio.sleep(0.01)
    for task in cancelled:
        task.cancel()
    await asyncio.wait(cancelled)
    for key in range(50):
        assert [each["_id"] for each in await find(direct, {"_id": key})] == [key]


async def test_mongodb_ends_a_read_in_time(direct: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consistent_reads, "_GRACE_SECONDS", 60.0)  # MongoDB looks at times only
    with pymongo.timeout(1.0), pytest.raises(ExecutionTimeout):
        command = {"find": "things", "filter": SLOW, "batchSize": 1_000}
        await read_directly_read_connections(direct, command)
    with driver.limit_time(0.05), pytest.raises(UnavailableError):
        await find(direct, SLOW)
    assert len(await find(direct, {"_id": 1})) == 1


async def test_a_read_on_a_lost_connection_is_sent_by_the_driver(direct: Any) -> None:
    listener = topology.of(direct.client).listener
    reading = asyncio.create_task(find(direct, {**SLOW, "_id": {"$lt": 2}}))
    await asyncio.sleep(0.01)
    assert listener.on_loss is not None
    listener.on_loss()
    assert len(await reading) == 2


async def test_the_driver_reads_before_there_is_a_connection_and_after(database: Any) -> None:
    await database["things"].insert_one({"_id": 1})
    async with driver.open_read_connections(database.client):
        assert len(await find(database, {})) == 1
    assert topology.of(database.client).read is None
    assert len(await find(database, {})) == 1


async def test_a_connection_that_was_idle_for_too_long_is_replaced(mongo_url: str) -> None:
    client = driver.connect(f"{mongo_url}&maxIdleTimeMS=500")
    await client.admin.command("ping")
    async with driver.open_read_connections(client):
        database = client["admin"]
        first = await read_directly_read_connections(database, {"hello": 1})
        await asyncio.sleep(0.6)
        assert (await read_directly_read_connections(database, {"hello": 1}))[
            "connectionId"
        ] > first["connectionId"]
    await driver.close(client)


async def read(database: Any, collection: str = "things") -> list[Any]:
    """Read the values of `collection` as the store does."""
    with driver.translate_errors():
        found = await driver.find_documents(
            database, collection, {}, {"value": 1}, limit=driver.NO_LIMIT, sort={"_id": 1}
        )
    return [document["value"] for document in found]


async def aggregate(database: Any) -> list[Any]:
    found = await driver.aggregate_documents(database, "things", [{"$sort": {"_id": 1}}])
    return [document["value"] for document in found]


async def write(database: Any, value: int) -> None:
    """Write two documents, as a request does: in one transaction."""
    things = database["things"]

    async def update(session: driver.Session) -> None:
        for key in (1, 2):
            await things.update_one({"_id": key}, {"$set": {"value": value}}, session=session)

    with driver.translate_errors():
        await driver.run_in_transaction(database.client, update)


@pytest.fixture(
    params=[True, pytest.param(False, marks=pytest.mark.slow)],
    ids=["on read connections", "by the driver"],
)
def has_connections(request: pytest.FixtureRequest) -> bool:
    """Whether reads have connections of their own: what they see is the same."""
    return bool(request.param)


@asynccontextmanager
async def prepare(database: Any, *, has_connections: bool) -> AsyncIterator[Any]:
    """A database with two documents that always have the same value."""
    await database["things"].insert_many([{"_id": key, "value": 0} for key in (1, 2)])
    if not has_connections:
        yield database
        return
    async with driver.open_read_connections(database.client):
        await read_directly_read_connections(database, {"ping": 1})
        yield database


@pytest.fixture
async def things(database: Any, has_connections: bool) -> AsyncIterator[Any]:
    async with prepare(database, has_connections=has_connections) as prepared:
        yield prepared


async def test_an_operation_does_not_see_what_others_write_meanwhile(things: Any) -> None:
    with driver.limit_time(60):
        assert await read(things) == [0, 0]
        await things["things"].update_one({"_id": 1}, {"$set": {"value": 1}})
        assert await read(things) == await aggregate(things) == [0, 0]
    assert await read(things) == await aggregate(things) == [1, 0]


async def test_an_operation_sees_what_it_has_written_itself(things: Any) -> None:
    with driver.limit_time(60):
        assert await read(things) == [0, 0]
        await write(things, 1)
        assert await read(things) == await aggregate(things) == [1, 1]


async def test_an_operation_reads_anew_after_its_transaction_failed(things: Any) -> None:
    """It may have failed because of what others have written since."""

    async def fail(session: driver.Session) -> None:
        raise LookupError

    with driver.limit_time(60):
        assert await read(things) == [0, 0]
        await things["things"].update_one({"_id": 1}, {"$set": {"value": 1}})
        with pytest.raises(LookupError):
            await driver.run_in_transaction(things.client, fail)
        assert await read(things) == [1, 0]


@pytest.mark.slow
async def test_an_operation_whose_snapshot_is_no_longer_kept_reads_a_newer_one(
    forgetful_database: Any, has_connections: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unavailable, "SNAPSHOT_SECONDS", 3600.0)
    async with prepare(forgetful_database, has_connections=has_connections) as things:
        with driver.limit_time(TIMEOUT_SECONDS):
            while await read(things) == [0, 0]:
                await things["things"].update_one({"_id": 1}, {"$inc": {"value": 1}})


async def test_an_operation_that_reads_a_collection_replaced_since_reads_the_new_one(
    things: Any,
) -> None:
    await things["others"].insert_one({"_id": 1, "value": 7})
    rename = {"to": f"{things.name}.things", "dropTarget": True}
    with driver.limit_time(60):
        assert await read(things) == [0, 0]
        await things.client.admin.command("renameCollection", f"{things.name}.others", **rename)
        assert await read(things) == [7]


async def test_a_clock_of_another_database_is_started_anew(
    mongo_url: str, database_name: str, anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a restore of MongoDB's own files: it would never reach the time of the clock."""
    clock = driver.ClusterClock()
    client = driver.connect(mongo_url, clock=clock)
    assert await read(client[database_name]) == []
    monkeypatch.setattr(consistent_reads, "TIMEOUT_SECONDS", 0.0)
    clock.advance(Timestamp(2**32 - 1, 1))
    with pytest.raises(UnavailableError):
        await read(client[database_name])
    assert await read(client[database_name]) == []
    await driver.close(client)


with_three = pytest.mark.xdist_group("three")


@pytest.fixture
async def on_three(
    three: ReplicaSet, anyio_backend: str, has_connections: bool
) -> AsyncIterator[Any]:
    """The database with the two documents, on a replica set of three."""
    async with AsyncExitStack() as held:
        client = driver.connect(three.url)
        held.push_async_callback(driver.close, client)
        database = client["floorgate"]
        yield await held.enter_async_context(prepare(database, has_connections=has_connections))


async def wait_until_lost(database: Any) -> None:
    """Wait until the driver knows that there is no primary."""
    deployment = topology.of(database.client)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while deployment.listener.lost_at is None:
            await asyncio.sleep(0.05)


async def read_eventually(database: Any) -> list[Any]:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while True:
            try:
                return await read(database)
            except UnavailableError:
                await asyncio.sleep(0.05)


@with_three
async def test_secondaries_answer_while_there_is_no_primary(
    three: ReplicaSet, on_three: Any
) -> None:
    for value in range(1, 5):
        await write(on_three, value)
    three.wait_until_committed()
    three.members[0].kill()
    assert await read_eventually(on_three) == [4, 4]
    with pytest.raises(UnavailableError), driver.limit_time(0.5):
        await write(on_three, 5)


@with_three
async def test_secondaries_answer_while_the_primary_hangs(three: ReplicaSet, on_three: Any) -> None:
    await write(on_three, 1)
    three.wait_until_committed()
    with three.members[0].frozen():
        await wait_until_lost(on_three)
        assert await read_eventually(on_three) == [1, 1]


@with_three
async def test_nothing_answers_when_there_has_been_no_primary_for_long(
    three: ReplicaSet, on_three: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(on_three, 1)
    three.members[0].kill()
    await wait_until_lost(on_three)
    monkeypatch.setattr(topology, "MAX_SECONDS_WITHOUT_PRIMARY", 0.0)
    with pytest.raises(UnavailableError):
        await read(on_three)
    with pytest.raises(UnavailableError):
        await driver.ping(on_three.client, 1)


@with_three
async def test_a_member_that_lags_does_not_answer_with_what_it_has(
    three: ReplicaSet, on_three: Any
) -> None:
    """The write is acknowledged by the primary and one secondary; only the other one is left.

    It may have received the write before it was frozen, but not yet have looked at it.
    """
    lagging, other = three.members[1:]
    with lagging.frozen():
        await write(on_three, 1)
        three.members[0].kill()
        other.kill()
    await wait_until_lost(on_three)
    with suppress(UnavailableError):
        assert await read(on_three) == [1, 1]


@with_three
async def test_a_new_primary_answers_with_what_its_predecessor_acknowledged(
    three: ReplicaSet, on_three: Any
) -> None:
    """Another gateway, which did not make the write, does not know its time."""
    first, second, third = three.members
    with third.frozen():
        await write(on_three, 1)
        first.kill()
    other = driver.connect(three.url)
    second.elect()
    three.wait_for_primary(first)
    assert await read_eventually(other["floorgate"]) == [1, 1]
    await driver.close(other)


@with_three
@pytest.mark.slow
async def test_what_one_worker_has_written_is_seen_by_all(on_three: Any, three: ReplicaSet) -> None:
    memory = memoryview(bytearray(16))
    clocks = [driver.ClusterClock(memory, number) for number in range(2)]
    writer, reader = (driver.connect(three.url, clock=clock) for clock in clocks)
    for value in range(1, 10):
        await write(writer["floorgate"], value)
        assert clocks[0].now() == clocks[1].now() is not None
        assert await read(reader["floorgate"]) == [value, value]
    for client in (writer, reader):
        await driver.close(client)


@with_three
async def test_what_no_majority_has_is_not_shown(three: ReplicaSet, on_three: Any) -> None:
    with three.without_majority():
        hasty = on_three["things"].with_options(write_concern=WriteConcern(w=1))
        await hasty.update_one({"_id": 1}, {"$set": {"value": 9}})
        assert await read(on_three) == [0, 0]
    assert await read_eventually(on_three) in ([0, 0], [9, 0])


HOSTS = ("a:1", "b:1", "c:1")


class Members:
    """Replies of a replica set of three, as the driver reports them."""

    def __init__(self) -> None:
        self.listener: Any = PrimaryListener(ClusterClock())
        self.describe(has_primary=True)

    def ask(self, member: str) -> None:
        self.listener.started(SimpleNamespace(connection_id=member))

    def reply(self, member: str, second: int, term: int = 1, *, is_primary: bool = False) -> None:
        op_time = {"ts": Timestamp(second, 1), "t": term}
        document = {"me": member, "hosts": HOSTS, "lastWrite": {"opTime": op_time}}
        hello = SimpleNamespace(document=document, is_writable=is_primary, election_id=term)
        self.listener.succeeded(SimpleNamespace(connection_id=member, reply=hello))

    def report(self, member: str, second: int, term: int = 1, *, is_primary: bool = False) -> None:
        self.ask(member)
        self.reply(member, second, term, is_primary=is_primary)

    def describe(self, *, has_primary: bool) -> None:
        description = SimpleNamespace(has_writable_server=lambda: has_primary)
        self.listener.description_changed(SimpleNamespace(new_description=description))

    def safe_second(self) -> int | None:
        time = self.listener.get_safe_time()
        return None if time is None else time.time


@pytest.fixture
def members() -> Members:
    members = Members()
    members.report("a:1", 10, is_primary=True)
    members.report("b:1", 9)
    members.report("c:1", 8)
    return members


def test_the_primary_tells_while_there_is_one(members: Members) -> None:
    assert members.safe_second() is None


def test_what_members_said_before_the_loss_does_not_count(members: Members) -> None:
    members.ask("b:1")
    members.describe(has_primary=False)
    members.reply("b:1", 10)
    members.report("c:1", 10)
    assert members.safe_second() is None
    members.report("b:1", 10)
    assert members.safe_second() == 10


def test_what_a_majority_has_counts(members: Members) -> None:
    members.describe(has_primary=False)
    members.report("b:1", 12)
    members.report("c:1", 11)
    assert members.safe_second() is None  # the lost primary may have had it too, and acknowledged
    members.report("a:1", 10)
    assert members.safe_second() == 11
    members.report("c:1", 12)
    assert members.safe_second() == 12


def test_only_writes_of_the_newest_term_count(members: Members) -> None:
    members.describe(has_primary=False)
    members.report("a:1", 20, term=1)
    members.report("b:1", 11, term=2)
    members.report("c:1", 20, term=1)
    assert members.safe_second() is None
    members.report("c:1", 11, term=2)
    assert members.safe_second() == 11


def test_a_primary_that_does_not_know_its_successor_is_ignored(members: Members) -> None:
    members.report("b:1", 20, term=2, is_primary=True)
    members.report("a:1", 10, term=1, is_primary=True)
    assert members.listener.primary == ("b:1", 2)
    members.report("a:1", 30, term=3, is_primary=True)
    assert members.listener.primary == ("a:1", 3)
