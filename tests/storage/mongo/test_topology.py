"""What may be read while there is no primary: what members say since it was lost."""

from types import SimpleNamespace
from typing import Any

import pytest
from bson import Timestamp

from storage.mongo.shared_memory import ClusterClock
from storage.mongo.topology import PrimaryListener

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
