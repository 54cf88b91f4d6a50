"""What was written in a transaction that failed can be written again, without MongoDB's minute.

The mongod has MongoDB's own `transactionLifetimeLimitSeconds`, and fail points.
"""

import asyncio
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest
from pymongo import MongoClient

from storage.errors import StorageError
from storage.mongo import driver, topology
from storage.mongo.tasks import cancel_and_wait, run_in_background
from storage.mongo.topology import APPLICATION, LIST_IDLE, end_abandoned_transactions
from tests.storage.mongo.replica_set_of_three import (
    NAME,
    PASSWORD,
    Member,
    run_primary,
    until_done,
)

pytestmark = pytest.mark.xdist_group("open_transactions")

USER = "writer"
"""May read and write, but not see what others do, let alone end it."""
LIFETIME_SECONDS = 60
WRITABLE_SECONDS = 50
"""More than the promised ten, for busy machines. MongoDB itself takes 60 to 90 seconds."""
DEADLINE_SECONDS = 0.5
LATE = {"blockConnection": True, "blockTimeMS": 9_000}
CUT_OFF = {"closeConnection": True}

SetFailPoint: TypeAlias = Callable[..., int]


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Member]:
    with run_primary(tmp_path_factory.mktemp("member")) as member:
        roles = ["readWriteAnyDatabase", "dbAdminAnyDatabase"]
        until_done(lambda: member.command("createUser", USER, pwd=PASSWORD, roles=roles))
        name = "transactionLifetimeLimitSeconds"
        assert member.command("getParameter", **{name: 1})[name] == LIFETIME_SECONDS
        yield member


@pytest.fixture
def mongo_url(member: Member) -> str:
    return f"mongodb://{USER}:{PASSWORD}@{member.address}/?replicaSet={NAME}"


@pytest.fixture
def database_name() -> str:
    """The name of a database of this mongod, which ends with it."""
    return uuid.uuid4().hex


@pytest.fixture
def set_fail_point(member: Member) -> Iterator[SetFailPoint]:
    """Let commands of gateways fail; returns how many have failed before."""

    def set_fail_point(commands: list[str], mode: Any = "alwaysOn", **how: Any) -> int:
        data = {"failCommands": commands, "appName": APPLICATION, **how}
        before = member.command("configureFailPoint", "failCommand", mode=mode, data=data)
        count: int = before["count"]
        return count

    yield set_fail_point
    member.command("configureFailPoint", "failCommand", mode="off")


@pytest.fixture
def things(database: Any, mongo_url: str) -> Any:
    with MongoClient[dict[str, Any]](mongo_url) as other:
        other[database.name]["things"].insert_one({"_id": 1})
    return database["things"]


async def update(things: Any, session: Any = None) -> None:
    await things.update_one({"_id": 1}, {"$inc": {"count": 1}}, session=session)


async def write_again(mongo_url: str, things: Any) -> None:
    """Write as others do, who wait until no transaction has the record."""

    def write() -> None:
        with MongoClient[dict[str, Any]](mongo_url, timeoutMS=WRITABLE_SECONDS * 1000) as other:
            collection = other[things.database.name][things.name]
            assert collection.update_one({"_id": 1}, {"$set": {"again": True}}).modified_count

    await asyncio.to_thread(write)


@pytest.mark.parametrize(
    ("commands", "mode", "how"),
    [
        (["commitTransaction"], {"times": 1}, LATE),
        (["update"], {"skip": 1}, LATE),
        (["abortTransaction"], "alwaysOn", LATE),
    ],
    ids=["commit late", "write late", "abort late"],
)
async def test_what_a_failed_transaction_wrote_can_be_written_again(
    things: Any, set_fail_point: SetFailPoint, mongo_url: str, commands: Any, mode: Any, how: Any
) -> None:
    async def work(session: driver.Session) -> None:
        await update(things, session)
        await update(things, session)
        if commands == ["abortTransaction"]:
            raise StorageError("It is not to be")

    set_fail_point(commands, mode, **how)
    with (
        pytest.raises(StorageError),
        driver.limit_time(DEADLINE_SECONDS),
        driver.translate_errors(),
    ):
        await driver.run_in_transaction(things.database.client, work)
    await write_again(mongo_url, things)


@pytest.mark.slow
async def test_what_a_cancelled_transaction_wrote_can_be_written_again(
    things: Any, set_fail_point: SetFailPoint, mongo_url: str, member: Member
) -> None:
    async def work(session: driver.Session) -> None:
        await update(things, session)

    failed = set_fail_point(["commitTransaction", "abortTransaction"], **LATE)
    run = asyncio.create_task(driver.run_in_transaction(things.database.client, work))
    entered = {"timesEntered": failed + 1, "maxTimeMS": WRITABLE_SECONDS * 1000}
    await asyncio.to_thread(member.command, "waitForFailPoint", "failCommand", **entered)
    await cancel_and_wait(run)
    await write_again(mongo_url, things)


HOLDER = """
import asyncio, sys
from storage.mongo import driver

async def main(url, database):
    client = driver.connect(url)
    async def work(session):
        things = client[database]["things"]
        await things.update_one({"_id": 1}, {"$inc": {"count": 1}}, session=session)
        print("written", flush=True)
        await asyncio.sleep(3600)
    await driver.run_in_transaction(client, work)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_others_end_the_transaction_of_a_killed_process(things: Any, mongo_url: str) -> None:
    command = [sys.executable, "-c", HOLDER, mongo_url, things.database.name]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == b"written\n"
        process.kill()
    async with run_in_background(end_abandoned_transactions(things.database.client)):
        await write_again(mongo_url, things)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topology, "LOOK_SECONDS", 0.1)


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
async def test_what_could_not_be_ended_at_once_is_ended_later(
    things: Any, set_fail_point: SetFailPoint, mongo_url: str
) -> None:
    async def work(session: driver.Session) -> None:
        await update(things, session)

    client = things.database.client
    set_fail_point(["commitTransaction", "killSessions"], **CUT_OFF)
    with pytest.raises(StorageError), driver.limit_time(0.2), driver.translate_errors():
        await driver.run_in_transaction(client, work)
    await asyncio.wait(topology.of(client).endings)
    set_fail_point(["none"])
    async with run_in_background(end_abandoned_transactions(client)):
        await write_again(mongo_url, things)


SLOW = {"$size": {"$filter": {"input": {"$range": [0, 1_000_000]}, "cond": {"$eq": [1, 2]}}}}
"""Takes longer than several hasty looks."""


async def list_idle(client: Any) -> list[Any]:
    reply = await client.admin.command({**LIST_IDLE})
    idle: list[Any] = reply["cursor"]["firstBatch"]
    return idle


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
async def test_a_slow_transaction_is_run_again_and_a_slow_command_goes_on(things: Any) -> None:
    client, runs = things.database.client, 0

    async def work(session: driver.Session) -> None:
        nonlocal runs
        runs += 1
        await update(things, session)
        while runs == 1 and await list_idle(client):
            await asyncio.sleep(0.05)
        await things.find_one({"$expr": {"$eq": [SLOW, 0]}}, session=session)

    async with run_in_background(end_abandoned_transactions(client)):
        await driver.run_in_transaction(client, work)
    assert runs == 2
    assert (await things.find_one({"_id": 1}))["count"] == 1
