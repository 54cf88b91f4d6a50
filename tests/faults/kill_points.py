"""A worker that is killed wherever a write waits for MongoDB: all of the write is done, or nothing.

`python -m tests.faults.kill_points` kills it at each such point of each kind of write, and prints a
line for each. The reply to a command is held, the worker that waits for it is killed, and its
supervisor starts another one. That is also the death before the next command, and before the first
one nothing has begun.
"""

import asyncio
import itertools
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click
import httpx

from bench.load.machine import list_process_tree
from storage.administration.import_lease import LEASE_COLLECTION, STAGING_PREFIX
from storage.catalog import MAP_FILE_FIELDS
from storage.embedded.replica_set import HOST
from tests.faults.gateways import GatewayProcess, running
from tests.faults.matrix import BACKGROUND
from tests.faults.operations import Operation, list_mutations
from tests.faults.service import DATABASE, Answer, Service, State, describe, load_property
from tests.faults.wire import Fault, Injection, Sent, Wire
from tests.gateway.server.served_application import wait_until
from tests.storage.mongo.replica_set_of_three import find_free_ports, list_transactions, run_primary
from tests.waiting import TIMEOUT_SECONDS

RECOVERY_SECONDS = 10.0
"""Within so many seconds of a death, the same write succeeds."""
_WRITING = {"insert", "update", "delete", "findAndModify", "drop", "commitTransaction"}
MUTATIONS = {each.name: each for each in list_mutations()}


class Point(NamedTuple):
    """The outcome at one point where a worker was killed; it has no problem if all is right."""

    command: str
    seconds: float
    """Until the same write had succeeded, less what it takes by itself."""
    problems: list[str]


@dataclass(kw_only=True)
class KillableService(Service):
    """Its gateway is a process with one worker."""

    process: GatewayProcess

    async def send_until_done(self, mutation: Operation) -> Answer:
        """Send a mutation until the service can carry it out."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while True:
                try:
                    if (answer := await mutation.send(self)).status != 503:
                        return answer
                except httpx.TransportError:
                    pass
                await asyncio.sleep(0.02)

    def read(self) -> State:
        """Return what is not as at first, without files that the next import deletes."""
        maps = [*self.database["maps"].find({}, MAP_FILE_FIELDS)]
        used = [each.get(field) for each in maps for field in MAP_FILE_FIELDS]
        self.database["files"].delete_many({"file": {"$nin": used}})
        return self.read_state()

    def is_settled(self) -> bool:
        """Return whether no transaction and no import is open."""
        lease = self.database[LEASE_COLLECTION].find_one() or {}
        names = self.database.list_collection_names()
        return (
            lease.get("state", "idle") == "idle"
            and not list_transactions(self.mongo)
            and not any(name.startswith(STAGING_PREFIX) for name in names)
        )

    async def hold(self, mutation: Operation, injection: Injection) -> "asyncio.Task[Answer]":
        """Send a mutation; return when it has ended, or its command is held."""
        answer = asyncio.create_task(mutation.send(self))
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await wait_until(lambda: injection.held.is_set() or answer.done())
        return answer

    def kill_worker(self) -> list[int]:
        """Kill the worker alone; return it and its children."""
        assert self.process.process is not None
        _, worker, *others = list_process_tree(self.process.process.pid)
        os.kill(worker, signal.SIGKILL)
        return [worker, *others]


@asynccontextmanager
async def run_killable_service(directory: Path) -> AsyncIterator[KillableService]:
    """Run a gateway of one worker with the demo property, a map, a key and an endpoint."""
    with (
        run_primary(directory / "mongo") as member,
        member.connect() as mongo,
        Wire(member).run() as wire,
    ):
        headers = await load_property(member)
        (port,) = find_free_ports(1)
        key = headers["API-Key"]
        process = GatewayProcess(1, port, directory, wire.url, DATABASE, key, workers=1)
        headers["X-Forwarded-Proto"] = "https"
        client = httpx.AsyncClient(
            base_url=f"http://{HOST}:{port}", headers=headers, timeout=TIMEOUT_SECONDS
        )
        with running(process):
            async with client:
                service = KillableService(
                    member=member,
                    wire=wire,
                    directory=directory,
                    client=client,
                    truth=client,
                    mongo=mongo,
                    process=process,
                )
                await service.prepare()
                yield service


async def kill_at_points(
    service: KillableService, mutation: Operation, *, at_once: bool, at_reads: bool = False
) -> AsyncIterator[Point]:
    """Kill the worker at each point of a mutation, and send that again: `at_once`, or after the
    database has been looked at. A death while it reads is one after the write before it."""
    before = service.read()
    began = time.monotonic()
    first = await mutation.send(service)
    own_seconds, once = time.monotonic() - began, service.read()
    second, twice = await mutation.send(service), service.read()
    assert first.is_success, first
    assert before != once
    service.restore()
    for number in itertools.count():
        command, answer = await _kill_at(service, mutation, number, at_reads)
        if command is None:
            assert answer == first
            break
        began, problems = time.monotonic(), []
        states = [once, twice]
        if not at_once:
            await wait_until(service.is_settled)
            found = service.read()
            states = [twice if found == once else once]
            if found not in (before, once):
                problems.append(f"half a write: {describe(found, once)}")
            if answer is not None and answer.is_success and found != once:
                problems.append(f"a false answer: {answer}")
        retried = await service.send_until_done(mutation)
        seconds = time.monotonic() - began - own_seconds
        if retried.content not in (first.content, second.content):
            problems.append(f"again, it is answered {retried}")
        await wait_until(service.is_settled)
        if (found := service.read()) not in states:
            problems.append(f"again, it is half a write: {describe(found, states[-1])}")
        service.restore()
        yield Point(command, seconds, problems)
    service.restore()


async def _kill_at(
    service: KillableService, mutation: Operation, number: int, at_reads: bool
) -> tuple[str | None, Answer | None]:
    """Kill the worker at the point with a number; return the command that it waited for, None if
    the mutation has ended before, and what the client was answered."""
    injection = service.wire.inject(Fault.REPLY_HELD, _choose(number, at_reads))
    answer = await service.hold(mutation, injection)
    killed = service.kill_worker() if injection.held.is_set() else None
    service.wire.clear()
    await asyncio.wait([answer])
    answered = None if answer.exception() else answer.result()
    if killed is None:
        return None, answered
    await wait_until(lambda: not any(map(is_alive, killed)))
    return injection.hits[0].label, answered


def _choose(number: int, at_reads: bool) -> Callable[[Sent], bool]:
    left = number

    def is_chosen(sent: Sent) -> bool:
        nonlocal left
        is_background = sent.is_of_stream or sent.label in {*BACKGROUND, "find imports"}
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


async def try_points(names: tuple[str, ...], at_reads: bool) -> bool:
    """Kill workers at all points of these mutations; return whether all promises were kept."""
    points, broken = list[Point](), 0
    with tempfile.TemporaryDirectory() as directory:
        async with run_killable_service(Path(directory)) as service:
            for name, at_once in itertools.product(names, (False, True)):
                found = kill_at_points(service, MUTATIONS[name], at_once=at_once, at_reads=at_reads)
                async for point in found:
                    points.append(point)
                    if point.seconds > RECOVERY_SECONDS:
                        point.problems.append("it takes too long")
                    broken += bool(point.problems)
                    words = [name, point.command, f"{point.seconds:.1f} s", *point.problems]
                    click.echo("; ".join(words))
    longest = max(point.seconds for point in points)
    click.echo(f"{len(points)} kills, {broken} broken, recovered within {longest:.1f} s")
    return not broken


@click.command()
@click.option("--only", multiple=True, type=click.Choice([*MUTATIONS]))
@click.option("--reads", is_flag=True, help="Kill it also while it reads.")
def main(only: tuple[str, ...], reads: bool) -> None:
    """Kill workers at all points, and exit with 1 if a promise is broken."""
    sys.exit(not asyncio.run(try_points(only or (*MUTATIONS,), reads)))


if __name__ == "__main__":
    main()
