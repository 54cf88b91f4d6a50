"""A replica set of three mongods, for what one alone cannot show: lag, and the loss of a primary.

The first member is elected. After that there is no election unless a test asks for one, so that a
member can be frozen for as long as the test needs. With `election_timeout_ms` the members elect a
primary by themselves, as those of a real one do.
"""

import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice, zip_longest
from pathlib import Path
from typing import Any

import pymongo
import pytest
from pymongo import MongoClient, WriteConcern
from pymongo.errors import PyMongoError

from storage.embedded import mongod
from storage.embedded.replica_set import HOST
from storage.mongo import driver
from storage.mongo.topology import APPLICATION
from tests.waiting import wait_until

NAME = "three"
PASSWORD = "a1" * 32
MAX_SILENCE_MS = 2_000
"""Clients of these members notice soon that one no longer answers."""
SILENCE_SECONDS = 1
"""How much longer than announced a member waits for writes of one that is silent."""

_USER = f"__system:{PASSWORD}"
_OPTIONS = "authSource=local&authMechanism=SCRAM-SHA-256"
_TIMEOUT_SECONDS = 60
_POLL_SECONDS = 0.05
_ANSWER_SECONDS = 3.0
_NEVER_SECONDS = 3600
_DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")


@dataclass
class Member:
    port: int
    home: Path
    process: subprocess.Popen[bytes]
    proxy_port: int | None = None
    """Where the others and clients find it, if not at its own port."""

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def pid_file(self) -> Path:
        """The file with the id of its process, also after a restart."""
        return self.home / "pid"

    @property
    def known_address(self) -> str:
        """Its address in the configuration of the replica set."""
        return f"{HOST}:{self.proxy_port or self.port}"

    def connect_url(self, port: int | None = None) -> str:
        """Return the address of this very member for an administrator, perhaps of a proxy of it."""
        return f"mongodb://{_USER}@{HOST}:{port or self.port}/?{_OPTIONS}&directConnection=true"

    def connect(self) -> MongoClient[dict[str, Any]]:
        """Connect to this very member as an administrator."""
        return MongoClient(self.connect_url())

    def command(self, name: str, value: Any = 1, **options: Any) -> dict[str, Any]:
        """Return the reply of this very member to an administrator's command."""
        with self.connect() as client:
            return client.admin.command(name, value, **options)

    def elect(self) -> None:
        """Make this member the primary, as soon as the others vote for it."""
        until_done(partial(self.command, "replSetStepUp"))

    def step_down(self, seconds: int = 10, **options: Any) -> None:
        """Make this primary a secondary that is not elected again for that long."""
        self.command("replSetStepDown", seconds, **options)

    def is_writable(self) -> bool:
        """Return whether this member answers soon, and as the primary."""
        try:
            with pymongo.timeout(_ANSWER_SECONDS):
                return bool(self.command("hello")["isWritablePrimary"])
        except PyMongoError:
            return False

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Suspend the process in the block: its connections stay open, and nothing is answered."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End the process at once, also while it is frozen."""
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        """Start the process again after `kill`, with its data. The thread must outlive it."""
        self.process = start_member(self.home, self.port).process


def list_transactions(client: MongoClient[dict[str, Any]]) -> set[tuple[bytes, int]]:
    """Return the session and number of each open transaction of gateways and commands."""
    query: list[dict[str, Any]] = [
        {"$currentOp": {"allUsers": True, "idleSessions": True}},
        {"$match": {"appName": APPLICATION, "transaction.parameters.autocommit": False}},
    ]
    return {
        (each["lsid"]["id"], each["transaction"]["parameters"]["txnNumber"])
        for each in client.admin.aggregate(query)
    }


def list_cursors(client: MongoClient[dict[str, Any]]) -> set[tuple[int, str]]:
    """Return the cursors that are open and idle: id, and what they are of."""
    query: list[dict[str, Any]] = [
        {"$currentOp": {"allUsers": True, "idleCursors": True}},
        {"$match": {"type": "idleCursor"}},
    ]
    return {
        (each["cursor"]["cursorId"], str(each["cursor"]["originatingCommand"])[:100])
        for each in client.admin.aggregate(query)
    }


@dataclass(frozen=True)
class ReplicaSet:
    members: list[Member]

    @property
    def url(self) -> str:
        hosts = ",".join(member.known_address for member in self.members)
        return f"mongodb://{_USER}@{hosts}/?{_OPTIONS}&replicaSet={NAME}"

    def wait_for_primary(self, *others: Member) -> Member:
        """Wait until a member that still runs and is not one of these is the primary."""
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            for member in self.members:
                is_running = member not in others and member.process.poll() is None
                if is_running and member.is_writable():
                    return member
            time.sleep(_POLL_SECONDS)
        raise AssertionError("No member became the primary.")

    def wait_until_whole(self) -> Member:
        """Wait until all members are a primary and two secondaries; return the primary."""
        primary = self.wait_for_primary()
        until_done(partial(_check_states, primary))
        return primary

    def wait_until_committed(self) -> None:
        """Wait until all members know that a majority has what the first one has written.

        They learn it from the first one, and read nothing newer when it is gone.
        """
        written = _read_committed_time(self.members[0])
        for member in self.members:
            until_done(partial(_check_committed, member, written))

    def lose_majority(self) -> None:
        """Kill all but the first, which is no primary from then on."""
        for member in self.members[1:]:
            member.kill()
        with suppress(PyMongoError):  # it may close the connection
            self.members[0].step_down(1, secondaryCatchUpPeriodSecs=0, force=True)
        assert not self.members[0].is_writable()

    def restore(self) -> None:
        """Start members that were killed, make the first one the primary again, and empty all."""
        for member in self.members:
            if member.process.poll() is not None:
                member.restart()
        for member in self.members:
            until_done(partial(member.command, "ping"))
        first = self.members[0]
        if not first.is_writable():
            first.elect()
        until_done(partial(_check_states, first))
        everywhere = WriteConcern(len(self.members), wtimeout=5_000)
        for name in ("floorgate", "lagging"):
            until_done(partial(_drop_database, first, name, everywhere))

    @contextmanager
    def without_majority(self) -> Iterator[None]:
        """Freeze all but the first: what is written to that one in the block stays on it alone."""
        with ExitStack() as held:
            for member in self.members[1:]:
                held.enter_context(member.frozen())
            yield


@contextmanager
def run_replica_set(
    directory: Path,
    *,
    election_timeout_ms: int | None = None,
    chaining: bool = True,
    ports: Sequence[int] = (),
    proxy_ports: Sequence[int] = (),
    on_started: Callable[[Sequence[Member]], None] = lambda members: None,
) -> Iterator[ReplicaSet]:
    """Start three members, on free ports by default; kill them afterwards.

    The first is elected. Where there are proxies, members and clients find each member at its own.
    Without `chaining`, each secondary copies from the primary itself, so that one can be frozen
    without the other. `on_started` gets the members before they connect to each other.
    """
    with ExitStack() as held:
        patch = held.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(driver, "MAX_SILENCE_MS", MAX_SILENCE_MS)
        members = []
        for port, proxy_port in zip_longest(ports or find_free_ports(3), proxy_ports):
            member = start_member(directory / str(port), port)
            member.proxy_port = proxy_port
            held.callback(member.kill)
            members.append(member)
        on_started(members)
        _initiate(members, election_timeout_ms, chaining=chaining)
        yield ReplicaSet(members)


def start_member(home: Path, port: int, *options: str) -> Member:
    """Start a mongod that has no configuration of its replica set, unless `home` has one.

    `options` are more ones of mongod. A transaction may stay open for as long as by default, and
    there are fail points. No write comes by itself, which the members might not all get.
    """
    home.mkdir(exist_ok=True)
    key_file = home / "password"
    key_file.touch(0o600)
    key_file.write_text(PASSWORD)
    with (home / "log").open("ab") as log:
        embedded = mongod.build_command(home, port, NAME, key_file)
        command = [
            *_DIES_WITH_US,
            *(each for each in embedded if "transactionLifetimeLimitSeconds" not in each),
            *("--setParameter", f"oplogNetworkTimeoutBufferSeconds={SILENCE_SECONDS}"),
            *("--setParameter", "enableTestCommands=1"),
            *("--setParameter", "writePeriodicNoops=false"),
            *options,
        ]
        member = Member(port, home, subprocess.Popen(command, stdout=log, stderr=log))
    member.pid_file.write_text(str(member.process.pid))
    return member


@contextmanager
def run_primary(home: Path, *options: str) -> Iterator[Member]:
    """Start a mongod that is the only member of its replica set; kill it afterwards."""
    (port,) = find_free_ports(1)
    member = start_member(home, port, *options)
    try:
        until_done(partial(member.command, "ping"))
        hosts = [{"_id": 0, "host": member.address}]
        member.command("replSetInitiate", {"_id": NAME, "members": hosts})
        member.elect()
        wait_until(member.is_writable, "the elected member takes writes")
        yield member
    finally:
        member.kill()


def _initiate(members: list[Member], election_timeout_ms: int | None, *, chaining: bool) -> None:
    hosts = [{"_id": number, "host": each.known_address} for number, each in enumerate(members)]
    if election_timeout_ms is not None:
        # By default members look for each other each two seconds.
        interval_ms = min(2_000, election_timeout_ms // 4)
        settings = {
            "electionTimeoutMillis": election_timeout_ms,
            "heartbeatIntervalMillis": interval_ms,
        }
    else:
        settings = {
            "electionTimeoutMillis": _NEVER_SECONDS * 1000,
            "heartbeatTimeoutSecs": _NEVER_SECONDS,
        }
    for member in members:
        until_done(partial(member.command, "ping"))
    config = {"_id": NAME, "members": hosts, "settings": settings | {"chainingAllowed": chaining}}
    members[0].command("replSetInitiate", config)
    members[0].elect()
    until_done(partial(_check_states, members[0]))


def _check_states(member: Member) -> None:
    states = [each["stateStr"] for each in member.command("replSetGetStatus")["members"]]
    if sorted(states) != ["PRIMARY", "SECONDARY", "SECONDARY"]:
        raise PyMongoError(f"The members are still {states}.")


def _read_committed_time(member: Member) -> Any:
    return member.command("replSetGetStatus")["optimes"]["lastCommittedOpTime"]["ts"]


def _check_committed(member: Member, written: Any) -> None:
    if _read_committed_time(member) < written:
        raise PyMongoError("The member does not know yet what is committed.")


def _drop_database(member: Member, name: str, everywhere: WriteConcern) -> None:
    with member.connect() as client:
        client[name].command("dropDatabase", writeConcern=everywhere.document)


def until_done(attempt: Callable[[], object]) -> None:
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        try:
            attempt()
        except PyMongoError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_POLL_SECONDS)
        else:
            return


_candidates = cycle(random.sample(range(10_000, 20_000), 10_000))


def find_free_ports(count: int) -> list[int]:
    """Choose ports below those of outgoing connections and of embedded servers.

    A port is not chosen again soon, as a server that a test kills may still want it.
    """
    return list(islice(filter(_is_free, _candidates), count))


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        return listener.connect_ex((HOST, port)) != 0
