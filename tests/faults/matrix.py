"""Each command of each operation fails in each way, and everything that is promised is checked.

For each operation its commands to MongoDB are recorded. Then, one after the other, each of them
fails in each way, and `Matrix.try_cell` looks what came of it.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

import httpx

from storage.administration.import_lease import LEASE_COLLECTION
from storage.errors import UnavailableCause
from storage.mongo.tasks import cancel_and_wait, run_in_background
from tests.faults.operations import Operation, list_operations
from tests.faults.service import (
    ENDED_SECONDS,
    UNIT,
    Answer,
    Change,
    Held,
    ServiceHere,
    State,
    describe,
    read_change,
)
from tests.faults.wire import Fault, Injection, Sent, Wire
from tests.following.failover import Follower
from tests.storage.mongo.replica_set_of_three import list_cursors

_POLL_SECONDS = 0.02
OTHER_SECONDS = 5.0
"""Within which another client is answered twice: the machine may be busy."""
STALE_SECONDS = 1.0
"""A gateway that does not know whether it has written may answer from its cache for so long."""
MAX_TRIES = 5
LASTING_SECONDS = 3.0
"""How long commands go on to fail while there is no answer: imports have no deadline."""
BACKGROUND = {"getMore the change stream", "update api_key_uses", "aggregate", "explain"}
"""The gateway sends these now and then, also while it carries an operation out."""
_IDLE_SECONDS = 6.0
"""Within which a gateway does all that it does by itself."""
_READS = ("find ", "aggregate ", "getMore ", "listCollections", "distinct ", "count ")
"""The names of commands that change nothing; `findAndModify` does."""
READS = (
    "/v1/assets?per-page=77",
    "/v1/assets/alder-court/floors?per-page=77",
    "/v1/units?per-page=77",
    f"/v1/units/{UNIT}?fields=id,name",
    "/v1/maps?per-page=77",
    "/v1/maps/plates/route?from=plates-room-1&to=plates-room-2",
    "/v1/maps/alder-court-floor-plates/closures?fields=connectors",
    "/v1/units/attribute-groups/apartment-type/assignments?per-page=477",
    "/v1/units/attribute-groups/views-and-features/assignments?per-page=477",
    "/v1/x/units-on-map?fields=id,location",
)
"""A gateway that caches and one that does not must answer these alike. Operations ask for other
responses, which are not in the cache yet."""


class Way(NamedTuple):
    """A way of failing: one command meets the fault, or all like it do until there is an answer.

    Imports have no deadline: there it lasts for LASTING_SECONDS at most.
    """

    fault: Fault
    causes: frozenset[UnavailableCause]
    """The codes of a 503 that it may lead to."""
    is_lasting: bool = False

    @property
    def name(self) -> str:
        """Its name in tables and on the command line."""
        return f"{self.fault.value}-again" if self.is_lasting else self.fault.value


_CAUSE = UnavailableCause
_LOST = frozenset({_CAUSE.DATABASE_UNREACHABLE, _CAUSE.DEADLINE_EXCEEDED})
_LOST_AGAIN = _LOST | {_CAUSE.NO_PRIMARY, _CAUSE.QUEUE_FULL}
"""The driver takes the primary for lost, and new connections wait for each other."""
_NO_PRIMARY = frozenset({_CAUSE.NO_PRIMARY})
_CONFLICT = frozenset({_CAUSE.WRITE_CONFLICT, _CAUSE.INTERRUPTED})
WAYS = (
    Way(Fault.LATE, frozenset({_CAUSE.DEADLINE_EXCEEDED})),
    Way(Fault.HELD, frozenset({_CAUSE.DEADLINE_EXCEEDED})),
    Way(Fault.CLOSED, _LOST),
    Way(Fault.CLOSED, _LOST_AGAIN, is_lasting=True),
    Way(Fault.LOST, _LOST),
    Way(Fault.CUT, _LOST),
    Way(Fault.NOT_PRIMARY, _NO_PRIMARY),
    Way(Fault.WRITE_CONFLICT, _CONFLICT),
    Way(Fault.WRITE_CONFLICT, _CONFLICT, is_lasting=True),
    Way(Fault.MAX_TIME, frozenset({_CAUSE.DEADLINE_EXCEEDED})),
    Way(Fault.MEMORY, frozenset({_CAUSE.DATABASE_REFUSED})),
    Way(Fault.UNAUTHORIZED, frozenset({_CAUSE.DATABASE_REFUSED})),
)


_LAST = " (last)"


class Command(NamedTuple):
    """One of the commands of an operation."""

    label: str
    is_last: bool = False
    """Whether it is the last one with this label, and not the first."""

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return f"{self.label}{_LAST}" if self.is_last else self.label


class Cell(NamedTuple):
    """A command of an operation that fails in a way."""

    operation: Operation
    command: Command
    way: Way

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return f"{self.operation.name}/{self.way.name}/{self.command.name}"


OPERATIONS = {each.name: each for each in list_operations()}
_WAYS = {each.name: each for each in WAYS}


def parse_cell(name: str) -> Cell:
    """Return the cell with this name."""
    operation, way, command = name.split("/", 2)
    label = command.removesuffix(_LAST)
    return Cell(OPERATIONS[operation], Command(label, label != command), _WAYS[way])


@dataclass
class Verdict:
    """What came of a cell."""

    cell: str
    answer: str = "not met"
    """How the operation was answered: `done`, `503`, or `not met` if the command was not sent."""
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class _Recording:
    """An operation without a fault."""

    states: list[State]
    """Before it, after it, and after it was done again."""
    answers: list[Answer]
    """The first one succeeds; done again, some are an error of the client."""
    counts: Counter[str]
    """How often it sends which command."""


class Matrix:
    """The cells of one service."""

    def __init__(self, service: ServiceHere) -> None:
        self.service = service
        self._own_work: Counter[str] = Counter()
        """The commands that the gateway sends without a request."""
        self._recordings: dict[str, _Recording] = {}
        self._held: Held | None = None
        self._per_page = count(1000)
        """It gives page sizes that no request has had, so that no cache has the page."""

    async def list_cells(self, operation: Operation) -> list[Cell]:
        """Record an operation, and return the cells of its commands."""
        recording = await self._record(operation)
        commands = [Command(label) for label in recording.counts]
        commands += [
            Command(label, is_last=True)
            for label, number in recording.counts.items()
            if number > 1 and label not in self._own_work and not label.startswith(_READS)
        ]
        return [
            Cell(operation, command, way)
            for command in commands
            for way in WAYS
            if can_fail(command.label, way)
        ]

    async def try_cell(self, cell: Cell) -> Verdict:
        """Let the command fail, and check everything that is promised.

        The other gateway sends commands, too. If MongoDB's error has met one of them, or the
        command was not sent, the cell has not been tried.
        """
        for _ in range(MAX_TRIES):
            verdict, injection = await self._try(cell)
            if injection.hits and not injection.missed:
                return verdict
        return Verdict(cell.name, problems=["the command has never met the fault"])

    async def _try(self, cell: Cell) -> tuple[Verdict, Injection]:
        service, operation = self.service, cell.operation
        recording = self._recordings.get(operation.name) or await self._record(operation)
        verdict = Verdict(cell.name)
        began = time.monotonic()
        await self._begin()
        service.forget()
        for path in READS:
            await service.request("GET", path)
        async with service.follow() as followers:
            service.forget(keep_responses=True)
            try:
                injection = self._inject(cell)
                answer = await self._send(cell, injection, verdict)
                verdict.problems += _judge_answer(answer, recording.answers[0], cell.way)
                found = await self._find_state()
                verdict.problems += _judge_state(answer, found, recording)
                if found == recording.states[1]:
                    patience = 0.0 if answer.is_success else STALE_SECONDS
                    verdict.problems += await self._compare_reads(patience)
                verdict.problems += await self._send_again(operation, recording)
                verdict.problems += await self._compare_reads()
            finally:
                service.clear_faults()
            if cell.way.fault is Fault.LATE:
                while injection.arrived < len(injection.hits):
                    await asyncio.sleep(_POLL_SECONDS)
                verdict.problems += await self._compare_reads(STALE_SECONDS)
            verdict.problems += _judge_last_state(await self._find_state(), found, recording, cell)
            verdict.problems += await self._compare_changes(followers)
        verdict.problems += await self._find_left()
        verdict.seconds = time.monotonic() - began
        return verdict, injection

    async def _send(self, cell: Cell, injection: Injection, verdict: Verdict) -> Answer:
        """Carry the operation out, while the command fails and another client asks, too."""
        others = asyncio.create_task(self._ask_as_another(injection, cell))
        async with run_in_background(_end_in_time(injection)):
            answer = await cell.operation.send(self.service)
            if cell.operation.is_work:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_IDLE_SECONDS):
                        while not injection.hits:
                            await asyncio.sleep(_POLL_SECONDS)
        if cell.way.is_lasting:
            injection.end()
        if injection.hits:
            verdict.answer = "done" if answer.is_success else str(answer.status)
            verdict.problems += await others
        else:
            await cancel_and_wait(others)
        return answer

    async def _begin(self) -> None:
        """Put everything back, and remember what is there before the operation."""
        service = self.service
        # The gateway runs in this event loop, and has to go on while MongoDB lets these wait.
        await asyncio.to_thread(service.restore)
        service.cursor = await service.read_cursor()
        if self._held is None:
            async with service.follow():  # from then on, the gateway has a stream
                pass
        while self._held is None:
            held = service.look()
            await asyncio.sleep(_POLL_SECONDS)
            self._held = held if held == service.look() else None

    async def _record(self, operation: Operation) -> _Recording:
        service, wire = self.service, self.service.get_wire(operation.is_command)
        if not self._own_work:
            await self.service.request("GET", READS[0])
            with self._recording(self.service.wire) as own:
                await asyncio.sleep(_IDLE_SECONDS)
            self._own_work = Counter(each.label for each in own)
        await self._begin()
        states, answers, sent = [service.read_state()], [], list[list[Sent]]()
        for _ in range(2):
            status, end = 503, time.monotonic() + ENDED_SECONDS
            while status == 503 and time.monotonic() < end:  # a busy machine needs longer
                service.forget()
                with self._recording(wire) as recorded:
                    answer = await operation.send(service)
                status = answer.status
            answers.append(answer)
            sent.append(recorded)
            states.append(service.read_state())
            if not answers[0].is_success:
                raise AssertionError(f"{operation.name} is answered {answers[-1]}")
        if operation.is_mutation and states[0] == states[1]:
            raise AssertionError(f"{operation.name} has written nothing")
        counts = Counter(each.label for each in sent[0] if each.label not in BACKGROUND)
        if operation.is_work:
            counts, chosen = self._own_work, {*self._own_work}
        elif operation.is_command:
            chosen = {*{_find_kind(label): label for label in counts}.values()}
        else:
            # What was sent once may be the gateway's own work, or a write that is not done twice.
            once = set() if states[0] == states[1] else counts.keys() - self._own_work.keys()
            chosen = once | {each.label for each in sent[1]}
        counts = Counter({label: counts[label] for label in counts if label in chosen})
        recording = _Recording(states, answers, counts)
        self._recordings[operation.name] = recording
        return recording

    @staticmethod
    @contextmanager
    def _recording(wire: Wire) -> Iterator[list[Sent]]:
        """Yield a list that has the commands which were sent in the block, once it has ended."""
        wire.sent.clear()
        sent = list[Sent]()
        yield sent
        sent += wire.sent

    def _inject(self, cell: Cell) -> Injection:
        wire = self.service.get_wire(cell.operation.is_command)
        counts = self._recordings[cell.operation.name].counts
        skipped = counts[cell.command.label] - 1 if cell.command.is_last else 0
        met = 0

        def is_chosen(sent: Sent) -> bool:
            nonlocal met
            met += sent.label == cell.command.label
            return sent.label == cell.command.label and met > skipped

        return wire.inject(cell.way.fault, is_chosen, math.inf if cell.way.is_lasting else 1)

    async def _ask_as_another(self, injection: Injection, cell: Cell) -> list[str]:
        """Read and write as another client once a command has failed; return what was wrong.

        It must be answered although a command fails once; during a restore it may not write. What
        was meant for a command on the command line may meet it instead.
        """
        while not injection.hits:
            await asyncio.sleep(_POLL_SECONDS)
        began = time.monotonic()
        path = f"/v1/units?per-page={next(self._per_page)}"
        answers = await self.service.request("GET", path), await self.service.write_unchanged()
        seconds = time.monotonic() - began
        if cell.operation.is_command and not cell.way.is_lasting:
            injection.missed += any(_is_allowed(each, cell.way) for each in answers)
        problems = [
            f"another client is answered {_show(each)}"
            for each in answers
            if each.status != 200
            and not (cell.way.is_lasting and _is_allowed(each, cell.way))
            and not (cell.operation.is_command and each.codes == {_CAUSE.IMPORT_RUNNING})
        ]
        if seconds > OTHER_SECONDS:
            problems.append(f"another client waits {seconds:.1f} s")
        return problems

    async def _find_state(self) -> State:
        """Return what is stored once no import is under way."""
        await self._wait_for_imports()
        return await asyncio.to_thread(self.service.read_state)

    async def _wait_for_imports(self) -> None:
        leases = self.service.database[LEASE_COLLECTION]
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDED_SECONDS):
                while (leases.find_one({}) or {}).get("state", "idle") != "idle":
                    await asyncio.sleep(_POLL_SECONDS)

    async def _send_again(self, operation: Operation, recording: _Recording) -> list[str]:
        """Send the request until it succeeds; return what was wrong about that."""
        began, answer = time.monotonic(), None
        while True:
            answer = await operation.send(self.service)
            if answer.status != 503 or time.monotonic() > began + ENDED_SECONDS:
                break
            await asyncio.sleep(_POLL_SECONDS)
        if answer.status == 503:
            return [
                f"the same request is still answered {_show(answer)} after {ENDED_SECONDS:.0f} s"
            ]
        expected = {each.content for each in recording.answers}
        return [] if answer.content in expected else [f"sent again: {_show(answer)}"]

    async def _compare_reads(self, patience: float = 0.0) -> list[str]:
        """Return what the cache answers otherwise than the database, after so many seconds."""
        end = time.monotonic() + patience
        while True:
            wrong = []
            for path in READS:
                cached, truth = await asyncio.gather(
                    self._request_until_answered(path), self.service.ask_truth(path)
                )
                if cached != truth or truth.status not in (200, 404):
                    wrong.append(f"{path} is answered {_show(cached)}, and not {_show(truth)}")
            if not wrong or time.monotonic() > end:
                return wrong
            await asyncio.sleep(_POLL_SECONDS)

    async def _request_until_answered(self, path: str) -> Answer:
        end = time.monotonic() + ENDED_SECONDS
        while True:
            answer = await self.service.request("GET", path)
            if answer.status != 503 or time.monotonic() > end:
                return answer

    async def _find_left(self) -> list[str]:
        """Return what is still open when it should have ended."""
        assert self._held is not None
        end = time.monotonic() + ENDED_SECONDS
        while left := self.service.look().find_left(self._held):
            if time.monotonic() > end:
                self._held = None  # what is left is of this cell only
                cursors = [text for _, text in list_cursors(self.service.mongo)]
                return [*(f"still open: {each}" for each in left), f"idle cursors: {cursors}"]
            await asyncio.sleep(_POLL_SECONDS)
        return []

    async def _compare_changes(self, followers: Sequence[Follower]) -> list[str]:
        """Return which changes clients that follow them do not get, or get twice."""
        service = self.service
        try:
            expected = await service.list_changes(service.truth, service.cursor)
        except httpx.HTTPStatusError as error:
            if error.response.status_code == 410:  # a restore has made all cursors invalid
                return []
            raise
        problems = []
        if await service.list_changes(service.client, service.cursor) != expected:
            problems.append("GET /v1/changes lists other changes")
        end = time.monotonic() + ENDED_SECONDS
        for follower in followers:
            while (received := _read_received(follower)) != expected and time.monotonic() < end:
                await asyncio.sleep(_POLL_SECONDS)
            if received != expected:
                name = type(follower).__name__
                problems.append(f"{name} got {received}, and not {expected}")
        return problems


async def _end_in_time(injection: Injection) -> None:
    """End a fault some time after it has met the first command."""
    while not injection.hits:
        await asyncio.sleep(_POLL_SECONDS)
    await asyncio.sleep(LASTING_SECONDS)
    injection.end()


def _read_received(follower: Follower) -> list[Change]:
    received = zip(follower.cursors, follower.received, strict=True)
    return [read_change(cursor, write.operation) for cursor, write in received]


def _find_kind(label: str) -> str:
    """Return what commands on the command line do alike: they read all collections in turn."""
    name, *_ = label.split()
    is_in_transaction = label.endswith("in a transaction")
    return f"{name} {is_in_transaction}" if label.startswith(_READS) else label


def can_fail(label: str, way: Way) -> bool:
    """Return whether a command can fail in a way at all."""
    is_read = label.startswith(_READS)
    is_in_transaction = label.endswith("in a transaction") or "Transaction" in label
    if way.fault in (Fault.CUT, Fault.MEMORY):
        return is_read
    if way.fault is Fault.WRITE_CONFLICT:
        return is_in_transaction or not is_read
    return True


def _judge_answer(answer: Answer, expected: Answer, way: Way) -> list[str]:
    """Return what is wrong about an answer."""
    if answer.is_success:
        return [] if answer.content == expected.content else [f"answered {_show(answer)}"]
    return [] if _is_allowed(answer, way) else [f"answered {_show(answer)}"]


def _is_allowed(answer: Answer, way: Way) -> bool:
    """Return whether an answer says that the fault was in the way; commands say it in words."""
    is_known = answer.codes <= way.causes and (answer.codes or not answer.is_http)
    return bool(answer.status == 503 and is_known and answer.has_retry_after)


def _judge_state(answer: Answer, found: State, recording: _Recording) -> list[str]:
    """Return what is written by half, or against what the client was told."""
    before, after, _ = recording.states
    if found == after or (found == before and not answer.is_success):
        return []
    told = "done" if answer.is_success else answer.status
    return [f"answered {told}, it has written {describe(found, after)}"]


def _judge_last_state(last: State, found: State, recording: _Recording, cell: Cell) -> list[str]:
    """Return what is not written after the request was sent again; `found` was there before that.

    A command that is late may be carried out after that.
    """
    _, once, twice = recording.states
    expected = twice if found == once else once
    if last == expected or (cell.way.fault is Fault.LATE and last == twice):
        return []
    return [f"sent again, it has written {describe(last, expected)}"]


def _show(answer: Answer) -> str:
    return f"{answer.status} {' '.join(sorted(answer.codes))} {answer.content[:200]}".strip()
