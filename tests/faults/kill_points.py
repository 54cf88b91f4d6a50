"""A worker that is killed wherever a write waits for MongoDB: all of the write is done, or nothing.

`python -m tests.faults.kill_points` kills it at each such point of each kind of write, and prints a
line for each. The reply to a command is held, the worker that waits for it is killed, and its
supervisor starts another one. That is also the death before the next command, and before the first
one nothing has begun.
"""

import argparse
import asyncio
import itertools
import json
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import bson
import httpx
from pymongo import MongoClient

from bench.load.machine import list_process_tree
from storage.administration.import_lease import LEASE_COLLECTION, STAGING_PREFIX
from storage.catalog import MAP_FILE_FIELDS
from storage.embedded.replica_set import HOST
from tests.databases import Documents, read_documents
from tests.faults.gateways import GatewayProcess, running
from tests.faults.wire import Fault, Sent, Wire
from tests.fixtures import ALL_FLAGS, SEEN, UNSTABLE, create_world
from tests.resolvers.worlds import tower
from tests.storage.mongo.replica_set_of_three import find_free_ports, run_primary
from tests.test_audit_log import ASSIGNED, ASSIGNMENT, MUTATIONS
from tests.waiting import TIMEOUT_SECONDS, wait_until

RECOVERY_SECONDS = 10.0
"""Within so many seconds of a death, the same write succeeds."""
_WRITING = {"insert", "update", "delete", "findAndModify", "drop", "commitTransaction"}
_BACKGROUND = {"update api_key_uses", "find imports", "aggregate"}
"""A gateway sends these by itself, whether or not there are requests."""
_ENDPOINT = """query Own @endpoint(path: "/v1/x/own", summary: "own") { assets { data { id } } }"""
_RANDOM = re.compile(r"(?<=_)[A-Za-z0-9_-]{10,}|[0-9a-f]{24,}|\d{4}-\d\d-\d\dT[\d:.+Z]+")
"""What differs in each run: ids of keys and files, and times."""
_BUNDLE = {
    "assets": [{"id": SEEN, "name": "New"}, {"id": "new", "name": "New"}],
    "floors": [{"id": "new", "asset_id": "new", "name": "New"}],
    "units": [
        {"id": f"new-{number}", "asset_id": "new", "floor_id": "new", "name": "New"}
        for number in range(3)
    ],
}
Answer: TypeAlias = tuple[int, tuple[str, ...]]
"""The status and the codes of errors."""
State: TypeAlias = Mapping[str, Sequence[str]]


class Write(NamedTuple):
    """A request that writes."""

    method: str
    path: str
    body: dict[str, Any]


def _mutate(name: str, arguments: dict[str, Any]) -> Write:
    type = f"{name[0].upper()}{name[1:]}Input!"
    query = f"mutation($input: {type}) {{ {name}(input: $input) {{ __typename }} }}"
    return Write("POST", "/graphql", {"query": query, "variables": {"input": arguments}})


_ASSIGNMENTS = "/v1/units/attribute-groups/view/assignments"
_BLOCK = [ASSIGNMENT, {**ASSIGNED, "attribute_id": "yard"}]
SAVE = Write(
    "POST",
    "/graphql",
    {
        "query": "mutation($d: [String!]!) { saveEndpoints(documents: $d) { added } }",
        "variables": {"d": [_ENDPOINT]},
    },
)
WRITES = {
    **{name: _mutate(name, write.arguments) for name, write in MUTATIONS.items()},
    "assignUnitAttributes": Write("PUT", _ASSIGNMENTS, {"data": _BLOCK}),
    "unassignUnitAttributes": Write("POST", f"{_ASSIGNMENTS}/remove", {"data": [ASSIGNED]}),
    "importCatalog": _mutate("importCatalog", {"bundle": json.dumps(_BUNDLE)}),
    "saveEndpoints": SAVE,
    "removeEndpoints": Write(
        "POST", "/graphql", {"query": 'mutation { removeEndpoints(names: ["Own"]) { removed } }'}
    ),
}
"""Each kind of write that a gateway serves, by its mutation."""


class Point(NamedTuple):
    """The outcome at one point where a worker was killed; it has no problem if all is right."""

    command: str
    seconds: float
    """Until the same write had succeeded, less what it takes by itself."""
    problems: list[str]


@dataclass
class Service:
    """A gateway of one worker, and its database."""

    gateway: GatewayProcess
    wire: Wire
    mongo: MongoClient[dict[str, Any]]
    base: Documents

    def send(self, write: Write) -> Answer:
        """Send a request once."""
        response = httpx.request(
            write.method,
            f"http://{HOST}:{self.gateway.port}{write.path}",
            json=write.body,
            headers={**ALL_FLAGS, "API-Key": self.gateway.key, "X-Forwarded-Proto": "https"},
            timeout=TIMEOUT_SECONDS,
        )
        body = response.json() if response.content else {}
        errors = [each["extensions"]["code"] for each in body.get("errors", ())]
        return response.status_code, (*errors, *filter(None, [body.get("code")]))

    def send_until_done(self, write: Write) -> Answer:
        """Send a request until the service can carry it out."""
        answers: list[Answer] = []

        def is_answered() -> bool:
            try:
                answers.append(self.send(write))
            except httpx.TransportError:
                return False
            return answers[-1][0] != 503

        wait_until(is_answered, "the service answers")
        return answers[-1]

    def read(self) -> State:
        """Return all documents but what differs in each run."""
        documents = dict(read_documents(self.mongo, self.gateway.database))
        used = {each.get(field) for each in documents["maps"] for field in MAP_FILE_FIELDS}
        # The next import deletes the others.
        documents["files"] = [each for each in documents["files"] if each["file"] in used]
        return {
            name: sorted(repr(_simplify(each)) for each in found)
            for name, found in documents.items()
            if name not in UNSTABLE
        }

    def restore(self) -> None:
        """Make the database what it was at first."""
        database = self.mongo[self.gateway.database]
        found = read_documents(self.mongo, self.gateway.database)
        for name in found.keys() - UNSTABLE:
            if name not in self.base:
                database.drop_collection(name)
            elif found[name] != self.base[name]:
                database[name].delete_many({})
                if self.base[name]:
                    database[name].insert_many(self.base[name])

    def is_settled(self) -> bool:
        """Return whether no transaction and no import is open."""
        database = self.mongo[self.gateway.database]
        lease = database[LEASE_COLLECTION].find_one() or {}
        sessions: list[dict[str, Any]] = [
            {"$currentOp": {"allUsers": True, "idleSessions": True}},
            {"$match": {"transaction": {"$exists": True}}},
        ]
        return (
            lease.get("state", "idle") == "idle"
            and not any(self.mongo.admin.aggregate(sessions))
            and not any(n.startswith(STAGING_PREFIX) for n in database.list_collection_names())
        )

    def kill_worker(self) -> list[int]:
        """Kill the worker alone; return it and its children."""
        assert self.gateway.process is not None
        _, worker, *others = list_process_tree(self.gateway.process.pid)
        os.kill(worker, signal.SIGKILL)
        return [worker, *others]


def _simplify(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _simplify(each) for name, each in value.items()}
    if isinstance(value, list):
        return [*map(_simplify, value)]
    if isinstance(value, str):
        return _RANDOM.sub("*", value)
    if isinstance(value, datetime | bson.ObjectId | bytes):
        return type(value)
    return value


@contextmanager
def run_service(directory: Path) -> Iterator[Service]:
    """Run a gateway with the catalog of the fixtures, a map, a key and an endpoint of its own."""
    with (
        run_primary(directory / "mongo") as member,
        member.connect() as mongo,
        Wire(member).run() as wire,
    ):
        world = asyncio.run(create_world(member.connect_url(), "points", directory / "bundle.json"))

        async def add_tower() -> None:
            async with tower(world, directory):
                pass

        asyncio.run(add_tower())
        key: dict[str, Any] = {
            "_id": "key_1",
            "name": "old",
            "asset_ids": [SEEN],
            "permissions": [],
        }
        key |= {"digest": b"d", "revoked_at": None, "created_at": datetime(2026, 1, 31)}
        mongo["points"]["api_keys"].insert_one(key)
        shut = {"$set": {"closures": {"doors": ["shut"]}}}
        mongo["points"]["maps"].update_one({"_id": "tower"}, shut)
        (port,) = find_free_ports(1)
        gateway = GatewayProcess(1, port, directory, wire.url, "points", world.keys.full)
        gateway.workers = 1
        with running(gateway):
            service = Service(gateway, wire, mongo, {})
            assert service.send(SAVE) == (200, ())
            service.base = read_documents(mongo, "points")
            yield service


def kill_at_points(
    service: Service, name: str, *, at_once: bool, at_reads: bool = False
) -> Iterator[Point]:
    """Kill the worker at each point of a kind of write, and send that again: `at_once`, or after
    the database has been looked at. A death while it reads is one after the write before it."""
    write = WRITES[name]
    if name == "saveEndpoints":
        service.send(WRITES["removeEndpoints"])
    service.base, base = read_documents(service.mongo, service.gateway.database), service.base
    before = service.read()
    began = time.monotonic()
    first = service.send(write)
    own_seconds, once = time.monotonic() - began, service.read()
    second, twice = service.send(write), service.read()
    assert first in ((200, ()), (204, ())), first
    assert before != once
    service.restore()
    number = 0
    while (held := _kill_at(service, write, number, at_reads)) is not None:
        command, answer = held
        began, problems = time.monotonic(), []
        states = [once, twice]
        if not at_once:
            wait_until(service.is_settled, "all is ended or undone")
            found = service.read()
            states = [twice if found == once else once]
            if found not in (before, once):
                problems.append(f"half a write: {_compare(found, before, once)}")
            if answer is not None and answer[0] < 300 and found != once:
                problems.append(f"a false answer: {answer}")
        retried = service.send_until_done(write)
        seconds = time.monotonic() - began - own_seconds
        if retried not in (first, second):
            problems.append(f"again, it is answered {retried}")
        wait_until(service.is_settled, "all is ended")
        if (found := service.read()) not in states:
            problems.append(f"again, it is half a write: {_compare(found, *states)}")
        service.restore()
        yield Point(command, seconds, problems)
        number += 1
    service.base = base
    service.restore()


def _kill_at(
    service: Service, write: Write, number: int, at_reads: bool
) -> tuple[str, Answer | None] | None:
    """Kill the worker at the point with a number; return the command that it waited for, and what
    the client was answered. Return None if the write has ended before."""
    injection = service.wire.inject(Fault.REPLY_HELD, _choose(number, at_reads))
    with ThreadPoolExecutor(1) as clients:
        answer = clients.submit(service.send, write)
        wait_until(lambda: injection.held.is_set() or answer.done(), "the write is held")
        if not injection.held.is_set():
            service.wire.clear()
            return None
        killed = service.kill_worker()
        service.wire.clear()
        is_answered = answer.exception() is None
    wait_until(lambda: not any(map(is_alive, killed)), "the worker and its children have ended")
    return injection.hits[0].label, answer.result() if is_answered else None


def _choose(number: int, at_reads: bool) -> Callable[[Sent], bool]:
    left = number

    def is_chosen(sent: Sent) -> bool:
        nonlocal left
        is_background = sent.is_of_stream or sent.label in _BACKGROUND
        if not is_background and (at_reads or sent.name in _WRITING):
            left -= 1
            return left < 0
        return False

    return is_chosen


def is_alive(pid: int) -> bool:
    """Return whether a process has not ended."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def _compare(found: State, *expected: State) -> str:
    return " or ".join(
        ", ".join(
            f"{name}: {sorted({*found.get(name, ())} ^ {*each.get(name, ())})}"[:500]
            for name in found.keys() | each.keys()
            if found.get(name) != each.get(name)
        )
        for each in expected
    )


def main() -> None:
    """Kill workers at all points, and exit with 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--only", choices=WRITES, nargs="+", default=[*WRITES])
    parser.add_argument("--reads", action="store_true", help="kill it also while it reads")
    given = parser.parse_args()
    points, broken = list[Point](), 0
    with (
        tempfile.TemporaryDirectory() as directory,
        run_service(Path(directory)) as service,
    ):
        for name, at_once in itertools.product(given.only, (False, True)):
            for point in kill_at_points(service, name, at_once=at_once, at_reads=given.reads):
                points.append(point)
                if point.seconds > RECOVERY_SECONDS:
                    point.problems.append("it takes too long")
                broken += bool(point.problems)
                words = [name, point.command, f"{point.seconds:.1f} s", *point.problems]
                print(*words, sep="; ", flush=True)  # noqa: T201
    longest = max(point.seconds for point in points)
    print(f"{len(points)} kills, {broken} broken, recovered within {longest:.1f} s")  # noqa: T201
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
