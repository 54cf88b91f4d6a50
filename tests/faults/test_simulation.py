"""Plans of the simulation: those of fixed seeds break no promise, and planted faults are found.

`make simulate` plays others. What a plan shows depends on the machine in part, so a failure names
the events of a smaller plan that has failed too.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pymongo.database
import pytest

from gateway.server.admission import Permit
from storage.cache.change_feed import ChangeTable
from storage.changes.hub import Tail
from storage.mongo import topology
from storage.setup import database
from tests.faults.checking.verdict import Verdict
from tests.faults.simulation.plan import Act, Break, Interrupt, Plan, draw
from tests.faults.simulation.play import Bounds, Site, open_site
from tests.faults.simulation.running import try_seed
from tests.faults.wire import Fault

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("simulation")]

PATIENT = Bounds(recovery_seconds=30, request_seconds=600)
"""For a busy machine. MongoDB itself ends a transaction after a minute."""
HASTY = Bounds(recovery_seconds=3, request_seconds=600)
"""For what would last too long."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with open_site(tmp_path_factory.mktemp("simulation")) as site:
        yield site


@pytest.mark.parametrize("seed", [7, 9, 11, 13, 25, 27])
def test_plans_of_fixed_seeds_break_no_promise(site: Site, seed: int) -> None:
    outcome = try_seed(site, seed, range(len(draw(seed))), PATIENT, shrink_seconds=120)
    assert outcome.verdict.violations == [], "\n".join(outcome.describe())
    assert outcome.verdict.counts["faults met"] > 0


def forget_transactions(patch: pytest.MonkeyPatch) -> None:
    """Leave a transaction open whose commit was not answered."""

    async def wait(*_: Any) -> None:
        await asyncio.Event().wait()

    def end_nothing(*_: Any) -> asyncio.Task[None]:
        return asyncio.create_task(asyncio.sleep(0))

    patch.setattr(topology, "end_in_background", end_nothing)
    patch.setattr(database, "end_abandoned_transactions", wait)


def keep_entries(patch: pytest.MonkeyPatch) -> None:
    """Keep what is cached, whatever changes."""
    patch.setattr(ChangeTable, "has_changed", lambda *_: False)


def lose_event(patch: pytest.MonkeyPatch) -> None:
    """Lose the first event of a change stream that was resumed."""
    hand_over, resumed = Tail._hand_over, set[Tail]()

    def lose(tail: Tail, take: Callable[..., None], *values: Any) -> None:
        if take == tail._begin and getattr(tail, "has_begun", False):
            resumed.add(tail)
        tail.has_begun = True  # type: ignore[attr-defined]
        if take == tail._publish and values[0].events and tail in resumed:
            resumed.discard(tail)
            values = (values[0]._replace(events=values[0].events[1:]),)
        hand_over(tail, take, *values)

    patch.setattr(Tail, "_hand_over", lose)


def keep_permit(patch: pytest.MonkeyPatch) -> None:
    """Do not release a permit of all."""
    release, kept = Permit.release, list[Permit]()

    def forget(permit: Permit) -> None:
        if not kept:
            kept.append(permit)
        if permit not in kept:
            release(permit)

    patch.setattr(Permit, "release", forget)


def keep_cursors(patch: pytest.MonkeyPatch) -> None:
    """Do not end the session of a change stream that nobody reads any more, nor its cursor."""
    command = pymongo.database.Database.command

    def leave(self: Any, name: str, *values: Any, **options: Any) -> Any:
        return None if name == "killSessions" else command(self, name, *values, **options)

    patch.setattr(pymongo.database.Database, "command", leave)


WRITES = [Act(0, 0, "write", "block 0", value) for value in range(1, 9)]


@pytest.mark.parametrize(
    ("plant", "plan", "sentence"),
    [
        (
            forget_transactions,
            [Break(0, Fault.HELD, "commitTransaction"), *WRITES[:2]],
            ("block 0 could not be written for", "transactions are open after 3 s"),
        ),
        (
            keep_entries,
            [Act(0, 0, "read"), WRITES[0], Act(0, 0, "read")],
            "what gateway 0 shows is not stored after 3 s",
        ),
        (
            lose_event,
            [Break(0, Fault.CLOSED, "getMore the change stream", times=6), *WRITES],
            "changes did not reach the EventStreamFollower after 3 s",
        ),
        (keep_permit, [Act(0, 0, "read")], "permits are not released after 3 s: 1"),
        (
            keep_cursors,
            [Break(0, Fault.LOST, "find"), Act(0, 0, "read"), Interrupt(0, "restart")],
            "cursors are open in MongoDB after 3 s",
        ),
    ],
)
def test_a_planted_fault_is_found(
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    plant: Callable[[pytest.MonkeyPatch], None],
    plan: Plan,
    sentence: str | tuple[str, ...],
) -> None:
    plant(monkeypatch)
    breaks = any(isinstance(each, Break) for each in plan)
    verdict = site.play(plan, HASTY)
    # The deadline may come before the command.
    while breaks and not verdict.violations and not verdict.counts["faults met"]:
        verdict = site.play(plan, HASTY)
    assert any(each.startswith(sentence) for each in verdict.violations), verdict.violations


def test_a_plan_that_fails_is_shrunk_to_the_events_that_matter() -> None:
    """The first restart and what a client does after it are enough here."""

    class Broken(Site):
        def __init__(self) -> None: ...

        def play(self, plan: Plan, bounds: Bounds = PATIENT) -> Verdict:
            kinds = [each.kind for each in plan if not isinstance(each, Break)]
            after = kinds[kinds.index("restart") :] if "restart" in kinds else []
            return Verdict(["half batches"] if "write" in after else [])

    plan, numbers = draw(1), range(len(draw(1)))
    *_, second, command = try_seed(Broken(), 1, numbers, PATIENT, shrink_seconds=600).describe()
    assert ": write " in second
    seed, only = command.split()[-3], command.split()[-1].split(",")
    kept = [plan[int(number)] for number in only]
    assert (seed, [type(each) for each in kept]) == ("1", [Interrupt, Act])
