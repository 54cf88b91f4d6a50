"""The proxy passes what is sent, and lets a chosen command fail as it is told."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import AutoReconnect, NotPrimaryError, OperationFailure

from storage.mongo.topology import APPLICATION
from tests.faults.wire import ERROR_CODES, Fault, Sent, Wire
from tests.storage.mongo.replica_set_of_three import Member, run_primary
from tests.waiting import TIMEOUT_SECONDS, wait_until

pytestmark = pytest.mark.xdist_group("wire")


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Member]:
    with run_primary(tmp_path_factory.mktemp("member")) as member:
        yield member


@pytest.fixture
def wire(member: Member) -> Iterator[Wire]:
    with Wire(member).run() as wire:
        yield wire


@pytest.fixture
def things(wire: Wire) -> Iterator[Any]:
    """A collection with one document, by way of the proxy; the driver tries nothing twice."""
    with connect(wire, retryReads=False, retryWrites=False) as client:
        client["own"]["things"].replace_one({"_id": 1}, {"count": 0}, upsert=True)
        wire.sent.clear()
        yield client["own"]["things"]


def connect(wire: Wire, **options: Any) -> MongoClient[Any]:
    return MongoClient(wire.url, appname=APPLICATION, **options)


def is_update(sent: Sent) -> bool:
    return sent.label == "update things"


def increment(things: Any) -> None:
    things.update_one({"_id": 1}, {"$inc": {"count": 1}})


def count(things: Any) -> int:
    found: int = things.find_one()["count"]
    return found


def test_commands_are_seen_by_name_and_collection(wire: Wire, things: Any) -> None:
    increment(things)
    things.insert_one({"_id": 2})
    [*things.find(batch_size=1), *things.aggregate([{"$match": {}}])]
    with things.database.watch() as stream:
        stream.try_next()
    labels = [*dict.fromkeys(each.label for each in wire.sent)]
    assert labels[:7] == [
        *("update things", "insert things", "find things", "getMore things", "aggregate things"),
        *("aggregate the change stream", "getMore the change stream"),
    ]
    things.delete_one({"_id": 2})


@pytest.mark.parametrize(
    ("fault", "is_done"), [(Fault.CLOSED, False), (Fault.LOST, True), (Fault.CUT, True)]
)
def test_a_connection_is_closed_before_or_after_the_command(
    wire: Wire, things: Any, fault: Fault, is_done: bool
) -> None:
    injection = wire.inject(fault, is_update)
    with pytest.raises(AutoReconnect):
        increment(things)
    assert injection.hits
    assert count(things) == is_done
    increment(things)
    assert count(things) == is_done + 1


@pytest.mark.parametrize("fault", ERROR_CODES)
def test_an_error_of_mongodb_meets_the_chosen_command_alone(
    wire: Wire, things: Any, fault: Fault
) -> None:
    injection = wire.inject(fault, is_update)
    increment(things.database["others"])
    with pytest.raises((OperationFailure, NotPrimaryError)) as raised:
        increment(things)
    error: Any = raised.value
    assert error.details["code"] == ERROR_CODES[fault]
    assert not injection.missed
    assert count(things) == 0


def test_a_late_command_arrives_although_nobody_waits_for_it(wire: Wire, things: Any) -> None:
    wire.inject(Fault.LATE, is_update)
    with connect(wire, timeoutMS=500) as client, pytest.raises(AutoReconnect):
        increment(client["own"]["things"])
    assert count(things) == 0
    wait_until(lambda: count(things) == 1, "the command has arrived")


@pytest.mark.parametrize(("fault", "is_done"), [(Fault.HELD, False), (Fault.REPLY_HELD, True)])
def test_what_is_held_waits_until_it_is_let_go(
    wire: Wire, things: Any, fault: Fault, is_done: bool
) -> None:
    injection = wire.inject(fault, is_update)
    changing = threading.Thread(target=increment, args=[things])
    changing.start()
    assert injection.hit.wait(TIMEOUT_SECONDS)
    wait_until(lambda: count(things) == is_done, "the command is where it is held")
    assert changing.is_alive()
    injection.released.set()
    changing.join(TIMEOUT_SECONDS)
    assert count(things) == 1


def test_what_is_held_is_forgotten_when_its_sender_is_gone(wire: Wire, things: Any) -> None:
    injection = wire.inject(Fault.HELD, is_update)
    with connect(wire, timeoutMS=500) as client, pytest.raises(AutoReconnect):
        increment(client["own"]["things"])
    injection.released.set()
    increment(things)
    assert count(things) == 1
