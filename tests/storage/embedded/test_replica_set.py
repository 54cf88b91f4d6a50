"""A mongod becomes the primary of a set of its own, once, and at whichever port it is."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from pymongo.errors import OperationFailure

from storage.embedded.replica_set import HOST, make_primary
from storage.mongo import direct
from storage.mongo.direct import PyMongoError, connect_directly
from tests.storage.mongo.replica_set_of_three import (
    NAME,
    PASSWORD,
    Member,
    find_free_ports,
    start_member,
)
from tests.waiting import TIMEOUT_SECONDS


@contextmanager
def run_member(home: Path) -> Iterator[Member]:
    """A mongod with the data in `home`, at another port each time."""
    (port,) = find_free_ports(1)
    member = start_member(home, port)
    try:
        member.command("ping")
        yield member
    finally:
        member.kill()


def deadline() -> float:
    return time.monotonic() + TIMEOUT_SECONDS


def config_of(member: Member) -> dict[str, Any]:
    config: dict[str, Any] = member.command("replSetGetConfig")["config"]
    return config


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may need longer than a starter waits before it tries again."""
    monkeypatch.setattr(direct, "_SERVER_SELECTION_TIMEOUT_MS", 30_000)


def assert_primary(member: Member) -> None:
    hello = member.command("hello")
    assert hello["isWritablePrimary"]
    assert (hello["setName"], hello["hosts"]) == (NAME, [member.address])


@pytest.mark.usefixtures("patient")
def test_starters_at_once_make_one_set_and_later_ones_leave_it_as_it_is(tmp_path: Path) -> None:
    together = Barrier(4, timeout=TIMEOUT_SECONDS)

    def start(_: int) -> bool:
        together.wait()
        return make_primary(NAME, member.port, PASSWORD, deadline())

    with run_member(tmp_path / "home") as member:
        with ThreadPoolExecutor(4) as starters:
            assert [*starters.map(start, range(4))] == [True] * 4
        assert_primary(member)
        config, term = config_of(member), member.command("replSetGetStatus")["term"]
        assert [each["host"] for each in config["members"]] == [member.address]
        assert make_primary(NAME, member.port, PASSWORD, deadline())
        assert config_of(member) == config
        assert member.command("replSetGetStatus")["term"] == term
        assert not make_primary("another", member.port, PASSWORD, deadline())
        assert not make_primary(NAME, member.port, "another password", deadline())


@pytest.mark.usefixtures("patient")
def test_a_member_at_another_port_stays_in_its_set(tmp_path: Path) -> None:
    with run_member(tmp_path / "home") as member:
        assert make_primary(NAME, member.port, PASSWORD, deadline())
        before = config_of(member)
    with run_member(tmp_path / "home") as moved:
        assert moved.port != member.port
        assert make_primary(NAME, moved.port, PASSWORD, deadline())
        assert_primary(moved)
        after = config_of(moved)
    assert after["settings"]["replicaSetId"] == before["settings"]["replicaSetId"]
    assert after["version"] > before["version"]


@pytest.mark.parametrize(
    ("name", "seconds_left"), [("another", TIMEOUT_SECONDS), (NAME, -1)], ids=["name", "deadline"]
)
def test_a_member_is_not_configured_by_another_name_or_after_the_deadline(
    uninitiated: Member, name: str, seconds_left: int
) -> None:
    assert not make_primary(name, uninitiated.port, PASSWORD, time.monotonic() + seconds_left)
    with pytest.raises(OperationFailure, match="no replset config"):
        config_of(uninitiated)


@pytest.mark.parametrize("is_listening", [True, False])
def test_another_program_at_the_port_or_none_is_no_primary(is_listening: bool) -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
        if not is_listening:
            listener.close()
        assert not make_primary(NAME, port, PASSWORD, deadline())


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server that accepts connections and never answers."""
    with socket.create_server((HOST, 0)) as listener:
        yield listener


def test_a_server_that_never_answers_is_given_up_within_a_second(listener: socket.socket) -> None:
    with (
        connect_directly(HOST, listener.getsockname()[1], PASSWORD) as client,
        pytest.raises(PyMongoError, match=r"Timeout: 0\.5s"),
    ):
        client.admin.command("ping")
