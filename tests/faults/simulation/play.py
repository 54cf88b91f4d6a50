"""Playing a plan: two gateways in this process, on one mongod, each behind a proxy of its own."""

import asyncio
import gc
import itertools
import logging
import re
import threading
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import (
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    closing,
    contextmanager,
    suppress,
)
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import orjson
import uvloop
from pymongo import MongoClient

from gateway.app import Gateway
from resolvers.request.context import count_without_deadline
from storage.administration.import_lease import LEASE_COLLECTION, STAGING_PREFIX
from storage.changes.events import PIPELINE, ChangeCursor, ChangeEvent, ChangePosition, EventReader
from storage.mongo import change_stream, driver
from tests.databases import ReusedDatabase, read_documents
from tests.faults import load
from tests.faults.catalog import (
    ATTRIBUTES,
    BLOCK_UNITS,
    GATEWAYS,
    MANY,
    ONE,
    build_catalog,
    find_home,
    read_extras,
    read_registers,
    read_stored,
)
from tests.faults.checking.liveness import find_unwritable, get_record
from tests.faults.checking.requests import Outage
from tests.faults.checking.verdict import Round, Verdict, judge
from tests.faults.http_client import NotSentError
from tests.faults.load import Client, Recorder
from tests.faults.simulation.plan import Act, Break, Event, Kind, Plan
from tests.faults.wire import Sent, Wire
from tests.fixtures import World, create_world, open_database
from tests.following.failover import KIND, EventStreamFollower, Follower, Poller
from tests.gateway.floorgate_process import serve_here
from tests.storage.mongo.replica_set_of_three import (
    Member,
    list_cursors,
    list_transactions,
    run_primary,
)
from tests.waiting import TIMEOUT_SECONDS

REQUEST_SECONDS = 1
IN_FLIGHT = 5
"""Acts at the same time."""
HELD_SECONDS = 3.0
"""After so long without an act that ends, all faults end: an import has no deadline."""
FIRST_NEW_VALUE = 100
VALUES = 300
"""Attributes in the catalog; those from FIRST_NEW_VALUE on are written after the plan."""
POLL_SECONDS = 0.02
LOGGED_CHARACTERS = 2_000
"""Of the end of a traceback."""
LEAVER, LEAVE_SECONDS = "leaver", 0.003
MAX_EVENTS = 1_000
CHANGES = "Experimental-Flags: changes\r\n"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What may take how long."""

    recovery_seconds: float = 10.0
    """From a failed write of a record to the next one that is acknowledged; for all that is left
    open, from the end of the plan."""
    request_seconds: float = 10.0
    """A request: far more than its deadline, as the gateways and their clients share a process."""


class Site:
    """A mongod with the catalog of the beginning."""

    def __init__(self, member: Member, directory: Path) -> None:
        self.member = member
        self.mongo = MongoClient[dict[str, Any]](member.connect_url())
        self.reused = ReusedDatabase(member.connect_url())
        bundle = directory / "bundle.json"
        self.world = asyncio.run(
            create_world(
                member.connect_url(), self.reused.name, bundle, build_catalog(ATTRIBUTES[:VALUES])
            )
        )
        self.database = self.mongo[self.reused.name]
        self._documents = read_documents(self.mongo, self.reused.name)

    def play(self, plan: Plan, bounds: Bounds = Bounds()) -> Verdict:
        """Play a plan and judge what its clients have seen."""
        self.mongo.admin.command("killAllSessions", [])  # of a plan before, which has failed
        self.reused.refill(self._documents)
        with ExitStack() as held:
            wires = [held.enter_context(Wire(self.member).run()) for _ in range(GATEWAYS)]
            runner = held.enter_context(asyncio.Runner(loop_factory=uvloop.new_event_loop))
            playing = Playing(self, wires, bounds)
            verdict = judge(runner.run(playing.play(plan)), bounds.request_seconds)
        verdict.counts.update(playing.counts)
        return verdict


@contextmanager
def open_site(directory: Path) -> Iterator[Site]:
    """Start a mongod in an empty directory; kill it afterwards."""
    with run_primary(directory / "mongod") as member:
        site = Site(member, directory)
        with site.mongo, closing(site.reused):
            yield site


class Place:
    """A gateway that serves on a socket, and can be restarted."""

    def __init__(self, world: World, wire: Wire) -> None:
        self.wire = wire
        self._settings = replace(world, mongo_url=wire.url).settings(
            request_seconds=REQUEST_SECONDS, rate_limit=0
        )
        self._held = AsyncExitStack()
        self.gateway: Gateway
        self.port = 0

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"http://127.0.0.1:{self.port}"

    async def open(self) -> None:
        """Start it, and wait until it follows the changes of its database."""
        self.gateway = Gateway(self._settings)
        self.port = await self._held.enter_async_context(serve_here(self.gateway))

    async def close(self) -> None:
        """Stop it: what has begun is answered."""
        self.wire.clear()
        await self._held.aclose()
        gc.unfreeze()  # a worker freezes its gateway, to keep it for ever


class Playing:
    """One run of a plan."""

    def __init__(self, site: Site, wires: list[Wire], bounds: Bounds) -> None:
        self._site, self._bounds = site, bounds
        self._places = [Place(site.world, wire) for wire in wires]
        self._recorder = Recorder()
        self._clients = dict[int, asyncio.Task[None]]()
        """What each client does, or has done last."""
        self._followers = list[Follower]()
        self._following = list[asyncio.Task[None]]()
        self._hits = list[tuple[int, float, Sent]]()
        """Commands that have met a fault: of which gateway, and when."""
        self._restarted = set[int]()
        self._new_values = itertools.count(FIRST_NEW_VALUE)
        self._problems = list[str]()
        self._log = _ErrorLog(self._problems)
        self.counts = Counter[str]()

    async def play(self, plan: Plan) -> Round:
        """Play it to its end, and return all that was recorded."""
        asyncio.get_running_loop().set_exception_handler(self._note_exception)
        logging.getLogger().addHandler(self._log)
        tasks, threads = asyncio.all_tasks(), {*threading.enumerate()}
        cursors = list_cursors(self._site.mongo)
        initial, *_ = read_stored(self._site.database)
        began = time.monotonic()
        try:
            async with self._open():
                for event in plan:
                    await self._begin(event)
                await self._end_acts()
                await self._write_again()
                await self._check_open_gateways()
        except Exception as error:
            self._problems.append(f"the plan did not end: {type(error).__name__}: {error}")
        await self._expect_none(lambda: asyncio.all_tasks() - tasks, "tasks are left")
        await self._expect_none(lambda: _list_threads(threads), "threads are left")
        await self._expect_none(lambda: self._find_left(cursors), "cursors are open in MongoDB")
        logging.getLogger().removeHandler(self._log)
        asyncio.get_running_loop().set_exception_handler(None)  # it would keep all of this alive
        self._recorder.read_lists()
        final, audited, half = read_stored(self._site.database)
        operations, ended = self._recorder.operations, time.monotonic()
        waited = [each for each in operations if not each.client.startswith(LEAVER)]
        unwritable = find_unwritable(waited, [hit[:2] for hit in self._hits])
        self._problems += half
        self._problems += [
            f"{record} could not be written for {seconds:.1f} s"
            for record, seconds in unwritable.items()
            if seconds > self._bounds.recovery_seconds
        ]
        self.counts["seeds"] += 1
        self.counts["faults met"] += len(self._hits)
        return Round(
            operations,
            self._recorder.extra_pages,
            self._recorder.requests,
            self._recorder.counts,
            Outage(began, ended, ended),
            {each.register: find_home(each.register) for each in operations},
            initial,
            final,
            audited,
            self._restarted,
            self._problems,
            {"unwritable": max(unwritable.values(), default=0.0)},
        )

    def _find_left(self, before: set[tuple[int, str]]) -> set[tuple[int, str]]:
        """Return the cursors that should not be open.

        MongoDB keeps the cursor of a change stream for minutes where a command of the stream has
        failed. Results are read with one command, which leaves none.
        """
        left = list_cursors(self._site.mongo) - before
        streams = {each for each in left if "$changeStream" in each[1]}
        broken = sum(sent.is_of_stream for *_, sent in self._hits)
        return left if len(streams) > broken else left - streams

    def _note_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        task = context.get("task", context.get("future"))
        self._problems.append(f"{context['message']}: {context.get('exception')!r} of {task!r}")

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[None]:
        try:
            for place in self._places:
                await place.open()
            await self._follow()
            yield
        finally:
            self._stop_following()
            for task in self._clients.values():
                task.cancel()
            for place in self._places:
                await place.close()

    async def _follow(self) -> None:
        key = self._site.world.keys.full
        client = self._connect("follower", 0)
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while True:  # until the gateway follows the changes of its database
                response = await client.connection.request("GET", "/v1/changes", headers=CHANGES)
                if response.status != 503:
                    break
                await asyncio.sleep(POLL_SECONDS)
        client.connection.close()
        cursor = response.json()["cursor"]
        self._start = ChangeCursor.parse(cursor).position
        self._followers = [
            *(EventStreamFollower(place.url, key, cursor) for place in self._places),
            Poller(self._places[-1].url, key, cursor),
        ]
        self._reconnect()

    def _reconnect(self) -> None:
        """Let each follower begin anew, after its last cursor."""
        self._stop_following()
        first, second = self._places
        for follower, place in zip(self._followers, (first, second, second), strict=True):
            follower.url = place.url
        self._following = [asyncio.create_task(each.run()) for each in self._followers]

    def _stop_following(self) -> None:
        for task in self._following:
            if task.done() and not task.cancelled() and (error := task.exception()):
                self._problems.append(f"a follower: {type(error).__name__}: {error}")
            task.cancel()

    def _connect(self, name: str, gateway: int) -> Client:
        port, key = self._places[gateway].port, self._site.world.keys.full
        return Client(name, gateway, port, key, self._recorder)

    async def _begin(self, event: Event) -> None:
        if isinstance(event, Act):
            await self._wait_for_client(event.client)
            self._clients[event.client] = asyncio.create_task(self._do(event))
            self.counts["acts"] += 1
            return
        place = self._places[event.gateway]
        if isinstance(event, Break):
            place.wire.inject(event.fault, self._choose(event), event.times)
        elif event.kind == "mend":
            place.wire.clear()
        elif event.kind == "reconnect":
            self._reconnect()
        else:
            self._restarted.add(event.gateway)
            self.counts["restarts"] += 1
            await place.close()
            await place.open()
            self._reconnect()

    async def _wait_for_client(self, client: int) -> None:
        """Wait until a client may begin."""
        while True:
            running = {task for task in self._clients.values() if not task.done()}
            own = self._clients.get(client)
            if own not in running and len(running) < IN_FLIGHT:
                return
            waiting = [own] if own in running else running
            done, _ = await asyncio.wait(
                [task for task in waiting if task],
                timeout=HELD_SECONDS,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not done:
                self._mend()

    def _choose(self, fault: Break) -> Callable[[Sent], bool]:
        """Return what chooses the commands of a fault, and notes them."""
        passed = itertools.count()

        def is_chosen(sent: Sent) -> bool:
            if not sent.label.startswith(fault.command) or next(passed) < fault.skip:
                return False
            self._hits.append((fault.gateway, time.monotonic(), sent))
            return True

        return is_chosen

    def _mend(self) -> None:
        for place in self._places:
            place.wire.clear()

    async def _do(self, act: Act) -> None:
        name = LEAVER if act.kind == "leave" else "client"
        client = self._connect(f"{name} {act.client}", act.gateway)
        try:
            with suppress(NotSentError):  # the gateway is being restarted
                await ACTS[act.kind](client, act)
        except Exception as error:
            self._problems.append(f"{act}: {type(error).__name__}: {error}")
        finally:
            client.connection.close()

    async def _end_acts(self) -> None:
        self._mend()
        if self._clients:
            await asyncio.wait(self._clients.values())

    async def _write_again(self) -> None:
        """Write each record that was written, until that is acknowledged."""
        operations = self._recorder.operations
        records = {get_record(each.register) for each in operations if each.action == "write"}
        deadline = time.monotonic() + 1.5 * self._bounds.recovery_seconds
        await asyncio.gather(*(self._write(record, deadline) for record in sorted(records)))

    async def _write(self, record: str, deadline: float) -> None:
        client = self._connect("last writer", find_home(record))
        kind: Kind = KINDS.get(record.split()[0], "write")
        is_written = False
        while not is_written and time.monotonic() < deadline:
            value = next(self._new_values)
            register = f"{record} v{value}" if kind == "add" else record
            is_written = bool(await ACTS[kind](client, Act(0, 0, kind, register, value)))
            await asyncio.sleep(0 if is_written else POLL_SECONDS)
        client.connection.close()

    async def _check_open_gateways(self) -> None:
        """Check what both gateways show and hold, when nothing is under way any more."""
        for gateway in range(GATEWAYS):
            differs = partial(self._find_differences, gateway)
            await self._expect_none_of(differs, f"what gateway {gateway} shows is not stored")
        await self._check_followers()
        self._stop_following()
        admissions = [place.gateway.admission for place in self._places]
        await self._expect_none(
            lambda: sum(each.in_flight for each in admissions), "permits are not released"
        )
        await self._expect_none(lambda: count_without_deadline("import"), "imports run")
        mongo, database = self._site.mongo, self._site.database
        await self._expect_none(lambda: list_transactions(mongo), "transactions are open")
        unfinished = {"state": {"$nin": [None, "idle"]}}
        lease = database[LEASE_COLLECTION]
        await self._expect_none(lambda: lease.find_one(unfinished), "an import is unfinished")
        staged = {"name": {"$regex": f"^{re.escape(STAGING_PREFIX)}"}}
        await self._expect_none(
            lambda: database.list_collection_names(filter=staged), "collections are left"
        )

    async def _find_differences(self, gateway: int) -> list[object]:
        """Read all lists, from the cache and not, and return what is not as it is stored."""
        stored, *_ = read_stored(self._site.database)
        client, seen = self._connect("last reader", gateway), len(self._recorder.lists)
        await load.read_one(client)
        await load.read_one_uncached(client)
        await load.read_many(client)
        await client.read_asset()
        client.connection.close()
        lists = self._recorder.lists[seen:]
        differences: list[object] = [] if len(lists) == 4 else ["a list could not be read"]
        if (asset := self._recorder.operations[-1].value) != stored.pop("asset"):
            differences.append(asset)
        for group, _, content in lists:
            read = read_registers if group == ONE else read_extras
            values, _ = read(orjson.loads(content)["data"])
            is_extra = group == MANY
            own = {k: v for k, v in stored.items() if k.startswith("extra") == is_extra}
            differences += {*values.items()} ^ {*own.items()}
        return differences

    async def _check_followers(self) -> None:
        """Wait until each follower has every change since the start, and check how they came."""
        required = {each.position for each in await self._list_changes()}
        for follower in self._followers:
            name = type(follower).__name__
            await self._expect_none(
                lambda: required - {*_list_positions(follower)},  # noqa: B023
                f"changes did not reach the {name}",
            )
            if any(later <= earlier for earlier, later in pairwise(_list_positions(follower))):
                self._problems.append(f"the {name} got a change twice or out of order")

    async def _list_changes(self) -> list[ChangeEvent]:
        """Return the changes of assignments that no follower may lack.

        An update may be skipped if the record was gone when it was looked up.
        """
        events, position = list[ChangeEvent](), self._start
        async with open_database(self._site.world) as database:
            clock, more = driver.get_clock(database.client), True
            while more:
                batch = await change_stream.read_changes(
                    database, clock, PIPELINE, position.time, MAX_EVENTS
                )
                found, position, _ = EventReader(position).read(batch)
                events += found
                more = len(batch.events) >= MAX_EVENTS
        own = [each for each in events if each.kind == KIND and each.record_id]
        removed = {_get_unit(each) for each in own if each.operation == "removed"}
        return [
            each for each in own if each.operation != "updated" or _get_unit(each) not in removed
        ]

    async def _expect_none(self, find: Callable[[], object], what: str) -> None:
        async def find_now() -> object:
            return find()

        await self._expect_none_of(find_now, what)

    async def _expect_none_of(self, find: Callable[[], Awaitable[object]], what: str) -> None:
        """Wait until nothing is found, or note what is found after the time for recovery."""
        deadline = time.monotonic() + self._bounds.recovery_seconds
        while found := await find():
            if time.monotonic() > deadline:
                seconds = self._bounds.recovery_seconds
                self._problems.append(f"{what} after {seconds:g} s: {str(found)[:300]}")
                return
            await asyncio.sleep(POLL_SECONDS)


class _ErrorLog(logging.Handler):
    """Notes exceptions that a gateway logs, because it expects none of them."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._problems = problems

    def emit(self, record: logging.LogRecord) -> None:
        """Note where an exception comes from."""
        if record.exc_info and record.exc_info[1]:
            trace = "".join(traceback.format_exception(record.exc_info[1]))
            self._problems.append(f"{record.getMessage()}: {trace[-LOGGED_CHARACTERS:]}")


def _list_threads(before: set[threading.Thread]) -> list[str]:
    """Return the names of new threads, except those of pools."""
    new = {*threading.enumerate()} - before
    return [each.name for each in new if not re.search(r"_\d+$|^pymongo", each.name)]


KINDS: dict[str, Kind] = {"asset": "import", "extra": "add"}
"""By which act a record of this kind is written; others by `write`."""


def _list_positions(follower: Follower) -> list[ChangePosition]:
    return [ChangeCursor.parse(cursor).position for cursor in follower.cursors]


def _get_unit(event: ChangeEvent) -> str:
    group, unit, *_ = str(event.record_id).split("/")
    return f"{group}/{unit}"


def _find_units(register: str) -> list[str]:
    kind, *block = register.split()
    return BLOCK_UNITS[int(block[0])] if block else [kind]


async def _write_one(client: Client, act: Act, leave_after: float | None = None) -> bool:
    units, attribute = _find_units(act.register), ATTRIBUTES[act.value]
    return await client.change("write", ONE, act.register, attribute, units, leave_after)


async def _change(client: Client, act: Act, action: Literal["write", "remove"], group: str) -> bool:
    units, attribute = _find_units(act.register), ATTRIBUTES[act.value]
    return await client.change(action, group, act.register, attribute, units)


ACTS: dict[Kind, Callable[[Client, Act], Awaitable[bool | None]]] = {
    "write": _write_one,
    "leave": partial(_write_one, leave_after=LEAVE_SECONDS),
    "swap": lambda client, act: client.swap(
        act.register, ATTRIBUTES[act.value], _find_units(act.register)
    ),
    "remove": partial(_change, action="remove", group=ONE),
    "add": partial(_change, action="write", group=MANY),
    "take": partial(_change, action="remove", group=MANY),
    "import": lambda client, act: client.import_version(act.value),
    "use keys": lambda client, act: load.use_keys(client),
    "read": lambda client, act: load.read_one(client),
    "read uncached": lambda client, act: load.read_one_uncached(client),
    "read many": lambda client, act: load.read_many(client),
    "read asset": lambda client, act: client.read_asset(),
}
