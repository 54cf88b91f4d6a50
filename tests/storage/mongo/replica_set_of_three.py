"""A replica set of three mongods, for what one alone cannot show: lag, and the loss of a primary.

The first member is elected. After that there is no election unless a test asks for one, so that a
member can be frozen for as long as the test needs.
"""

import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from storage.embedded import mongod
from storage.embedded.replica_set import HOST

NAME = "three"
PASSWORD = "a1" * 32

_USER = f"__system:{PASSWORD}"
_OPTIONS = "authSource=local&authMechanism=SCRAM-SHA-256"
_TIMEOUT_SECONDS = 60
_POLL_SECONDS = 0.05
_NEVER_SECONDS = 3600
_DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")


@dataclass(frozen=True)
class Member:
    port: int
    process: subprocess.Popen[bytes]

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def command(self, name: str, value: Any = 1, **options: Any) -> dict[str, Any]:
        """Return the reply of this very member to an administrator's command."""
        url = f"mongodb://{_USER}@{self.address}/?{_OPTIONS}&directConnection=true"
        with MongoClient[dict[str, Any]](url) as client:
            return client.admin.command(name, value, **options)

    def elect(self) -> None:
        """Make this member the primary, as soon as the others vote for it."""
        _until_done(partial(self.command, "replSetStepUp"))

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


@dataclass(frozen=True)
class ReplicaSet:
    members: list[Member]

    @property
    def url(self) -> str:
        hosts = ",".join(member.address for member in self.members)
        return f"mongodb://{_USER}@{hosts}/?{_OPTIONS}&replicaSet={NAME}"

    @contextmanager
    def without_majority(self) -> Iterator[None]:
        """Freeze all but the first: what is written to that one in the block stays on it alone."""
        with ExitStack() as held:
            for member in self.members[1:]:
                held.enter_context(member.frozen())
            yield


@contextmanager
def run_replica_set(directory: Path) -> Iterator[ReplicaSet]:
    """Start three members on free ports, the first of them primary; kill them afterwards."""
    with ExitStack() as held:
        members = []
        for port in find_free_ports(3):
            members.append(start_member(directory / str(port), port))
            held.callback(members[-1].kill)
        _initiate(members)
        yield ReplicaSet(members)


def start_member(home: Path, port: int) -> Member:
    """Start a mongod that has no configuration of its replica set, unless `home` has one."""
    home.mkdir(exist_ok=True)
    key_file = home / "password"
    key_file.touch(0o600)
    key_file.write_text(PASSWORD)
    with (home / "log").open("wb") as log:
        command = [*_DIES_WITH_US, *mongod.build_command(home, port, NAME, key_file)]
        return Member(port, subprocess.Popen(command, stdout=log, stderr=log))


def _initiate(members: list[Member]) -> None:
    hosts = [{"_id": number, "host": member.address} for number, member in enumerate(members)]
    settings = {
        "electionTimeoutMillis": _NEVER_SECONDS * 1000,
        "heartbeatTimeoutSecs": _NEVER_SECONDS,
    }
    for member in members:
        _until_done(partial(member.command, "ping"))
    config = {"_id": NAME, "members": hosts, "settings": settings}
    members[0].command("replSetInitiate", config)
    members[0].elect()
    _until_done(partial(_check_states, members[0]))


def _check_states(member: Member) -> None:
    states = [each["stateStr"] for each in member.command("replSetGetStatus")["members"]]
    if sorted(states) != ["PRIMARY", "SECONDARY", "SECONDARY"]:
        raise PyMongoError(f"The members are still {states}.")


def _until_done(attempt: Callable[[], object]) -> None:
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


def find_free_ports(count: int) -> list[int]:
    """Choose ports below those of outgoing connections and of embedded servers."""
    candidates = random.sample(range(10_000, 20_000), 1_000)
    return list(islice(filter(_is_free, candidates), count))


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        return listener.connect_ex((HOST, port)) != 0
