"""The faults that are tried. Each function breaks something, and mends it before it returns."""

import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from pymongo.errors import OperationFailure

from storage.mongo.topology import APPLICATION
from tests.faults.deployment import Deployment
from tests.faults.killed_commands import (
    kill_import,
    kill_mirror,
    kill_processing,
    kill_publishing_import,
    kill_publishing_processing,
)
from tests.faults.network import CLIENTS, Fault
from tests.storage.mongo.replica_set_of_three import Member, list_transactions
from tests.waiting import wait_until

STOPPED_SECONDS = 15.0
"""Longer than any request may take."""
NETWORK_FAULT_SECONDS = 8.0
DELAY_SECONDS, SLOW_SECONDS = 0.2, 2.0
UNCACHED_SECONDS = 0.05
"""Delay of each answer of MongoDB that shows what is not from the cache."""
QUIET_SECONDS = 3.0
"""Longer than a response may be cached that misses a write, if nothing else is written."""
UNLOCKED_SECONDS = 10.0
"""How long records may stay locked by what is late, or dead. MongoDB itself takes over a minute."""
LAG_SECONDS = 0.3
"""Of each message to and from a member that lags, also of those that elect."""


@dataclass(frozen=True)
class Scenario:
    """A fault with its name; `kills` counts what is killed in it."""

    name: str
    title: str
    inject: Callable[[Deployment], None]
    kills: int = 0
    with_importer: bool = True

    def __str__(self) -> str:
        return self.name


def kill_primary(deployment: Deployment) -> None:
    """Kill the primary, and restart it when another has been elected."""
    primary = deployment.replica_set.wait_for_primary()
    time.sleep(random.random() / 2)
    primary.kill()
    deployment.replica_set.wait_for_primary(primary)
    deployment.mark_recovered()
    _restart(deployment, primary)


def kill_primary_and_stop_a_secondary(deployment: Deployment) -> None:
    """As soon as a new primary is elected, stop the only other member, so that nothing commits."""
    primary = deployment.replica_set.wait_for_primary()
    primary.kill()
    _elect_without_commits(deployment, primary)
    _restart(deployment, primary)


def kill_primary_in_writes(deployment: Deployment) -> None:
    """Write nothing after the kill: no later change may end what was cached too early.

    The new primary commits the writes in flight, which were answered 503, only when the other
    member goes on; its change stream may begin after them.
    """
    primary = deployment.replica_set.wait_for_primary()
    time.sleep(random.random() / 2)
    primary.kill()
    with deployment.writes_paused():
        _elect_without_commits(deployment, primary)
        time.sleep(QUIET_SECONDS)
    _restart(deployment, primary)


def kill_primary_before_others_know(deployment: Deployment) -> None:
    """Kill the primary when it has acknowledged what no other member knows to be committed."""
    primary = deployment.replica_set.wait_for_primary()
    number = deployment.replica_set.members.index(primary)
    others = [other for other in range(3) if other != number]
    _delay_members(deployment, others, [number])
    time.sleep(2)
    with deployment.writes_paused():
        primary.kill()
        _elect_without_commits(deployment, primary)
        time.sleep(QUIET_SECONDS)
    deployment.network.heal()
    _restart(deployment, primary)


def kill_primary_while_a_secondary_lags(deployment: Deployment) -> None:
    """Commit by the primary and one secondary; the other learns all later."""
    primary = deployment.replica_set.wait_for_primary()
    lagging = next(
        number for number, each in enumerate(deployment.replica_set.members) if each is not primary
    )
    others = [number for number in range(3) if number != lagging]
    _delay_members(deployment, [lagging], others)
    _delay_members(deployment, others, [lagging])
    time.sleep(2)
    primary.kill()
    deployment.replica_set.wait_for_primary(primary)
    deployment.mark_recovered()
    time.sleep(3)
    deployment.network.heal()
    _restart(deployment, primary)


def _elect_without_commits(deployment: Deployment, killed: Member) -> None:
    elected = deployment.replica_set.wait_for_primary(killed)
    (other,) = [each for each in deployment.replica_set.members if each not in (killed, elected)]
    with other.frozen():
        time.sleep(5)
    deployment.mark_recovered()


def _delay_members(deployment: Deployment, origins: list[int], members: list[int]) -> None:
    deployment.network.set_fault(
        Fault.NONE, origins, members, delay_back=LAG_SECONDS, delay_there=LAG_SECONDS
    )


def _restart(deployment: Deployment, killed: Member) -> None:
    killed.restart()
    deployment.replica_set.wait_until_whole()


def stop_primary(deployment: Deployment) -> None:
    """Stop the primary for 15 seconds: it holds its connections and answers nothing."""
    primary = deployment.replica_set.wait_for_primary()
    with primary.frozen():
        began = time.monotonic()
        deployment.replica_set.wait_for_primary(primary)
        deployment.mark_recovered()
        time.sleep(max(0.0, STOPPED_SECONDS - (time.monotonic() - began)))
    deployment.replica_set.wait_until_whole()


def step_down(deployment: Deployment) -> None:
    """Have the primary hand over, as for maintenance."""
    primary = deployment.replica_set.wait_for_primary()
    with suppress(OperationFailure):  # it may have lost an election just before
        primary.step_down()
    deployment.replica_set.wait_for_primary(primary)
    deployment.mark_recovered()
    deployment.replica_set.wait_until_whole()


def isolate_primary(deployment: Deployment) -> None:
    """Cut the primary off from the others; clients still reach all."""
    primary = deployment.replica_set.wait_for_primary()
    with deployment.network.isolated(deployment.replica_set.members.index(primary)):
        deployment.replica_set.wait_for_primary(primary)
        deployment.mark_recovered()
        time.sleep(NETWORK_FAULT_SECONDS)
    deployment.replica_set.wait_until_whole()


def kill_secondaries(deployment: Deployment, count: int) -> None:
    """Kill so many for longer than a request may take; of both, there is no majority left."""
    primary = deployment.replica_set.wait_for_primary()
    secondaries = [each for each in deployment.replica_set.members if each is not primary][:count]
    for each in secondaries:
        each.kill()
    time.sleep(NETWORK_FAULT_SECONDS)
    for each in secondaries:
        each.restart()
    deployment.replica_set.wait_for_primary()
    deployment.mark_recovered()
    deployment.replica_set.wait_until_whole()


def kill_all(deployment: Deployment) -> None:
    """Kill all members at once, as a power cut does."""
    for each in deployment.replica_set.members:
        each.kill()
    time.sleep(2)
    for each in deployment.replica_set.members:
        each.restart()
    deployment.replica_set.wait_for_primary()
    deployment.mark_recovered()
    deployment.replica_set.wait_until_whole()


def delay_mongodb(deployment: Deployment) -> None:
    """Let each message take 0.2 seconds longer."""
    _break_network(deployment, Fault.NONE, DELAY_SECONDS)


def slow_mongodb(deployment: Deployment) -> None:
    """Let each answer take two seconds longer."""
    _break_network(deployment, Fault.NONE, SLOW_SECONDS)


def black_hole(deployment: Deployment) -> None:
    """Let nothing pass between the gateways and MongoDB, and no connection end."""
    _break_network(deployment, Fault.HOLE)


def reset_connections(deployment: Deployment) -> None:
    """Reset each connection when something is sent on it."""
    _break_network(deployment, Fault.RESET)


def refuse_connections(deployment: Deployment) -> None:
    """Reset all connections and accept no others."""
    _break_network(deployment, Fault.REFUSE)


def _break_network(deployment: Deployment, fault: Fault, delay: float = 0.0) -> None:
    deployment.network.set_fault(fault, delay_back=delay)
    time.sleep(NETWORK_FAULT_SECONDS)
    deployment.network.heal()


def recover_cache(deployment: Deployment) -> None:
    """Cut the gateways off, and measure when they answer from their caches again.

    Each answer of MongoDB is late, so a response that comes earlier was cached. The time counts
    from when a change stream can be followed.
    """
    with deployment.writes_paused():
        deployment.network.set_fault(Fault.REFUSE)
        time.sleep(NETWORK_FAULT_SECONDS / 2)
        deployment.network.set_fault(Fault.NONE, delay_back=UNCACHED_SECONDS)
        deployment.mark_recovered()
        healed = time.monotonic()
        with (
            deployment.open_database() as database,
            database.watch(max_await_time_ms=1) as changes,
        ):
            changes.try_next()
        followed = time.monotonic()

        def list_recovered() -> list[float]:
            found = (
                deployment.recorder.find_quick_read(each.number, healed, UNCACHED_SECONDS)
                for each in deployment.gateways
            )
            return [moment for moment in found if moment is not None]

        wait_until(lambda: len(list_recovered()) == len(deployment.gateways), "all caches serve")
        deployment.figures["cache recovery"] = max(0.0, max(list_recovered()) - followed)
        deployment.network.heal()


def kill_gateway(deployment: Deployment) -> None:
    """Kill a gateway at a random moment of its writes and imports, and start it again."""
    gateway = deployment.gateways[0]  # imports go through this one
    time.sleep(random.random())
    gateway.kill()
    deployment.await_no_import()
    gateway.start()
    gateway.wait_until_ready()


def kill_gateway_in_transactions(deployment: Deployment) -> None:
    """Kill a gateway between the writes of its transactions; the other one ends them."""
    primary = deployment.replica_set.wait_for_primary()
    gateway = deployment.gateways[0]
    _delay_inserts(primary, 1.0)  # of audit records, after other writes
    gateway.kill()
    primary.command("configureFailPoint", "failCommand", mode="off")
    _await_unlocked(primary, UNLOCKED_SECONDS)
    gateway.start()
    gateway.wait_until_ready()


def _delay_inserts(primary: Member, seconds: float) -> None:
    """Delay each insert of gateways, and wait for the first."""
    delay = {"blockConnection": True, "blockTimeMS": round(seconds * 1000)}
    data = {"failCommands": ["insert"], "appName": APPLICATION, **delay}
    before = primary.command("configureFailPoint", "failCommand", mode="alwaysOn", data=data)[
        "count"
    ]
    entered = {"timesEntered": before + 1, "maxTimeMS": 60_000}
    primary.command("waitForFailPoint", "failCommand", **entered)


def _await_unlocked(primary: Member, seconds: float) -> None:
    """Wait until all transactions have ended that are open now: none has its records locked."""
    with primary.connect() as client:
        if not (held := list_transactions(client)):
            raise AssertionError("no transaction was left open")
        what = "records can be written again"
        wait_until(lambda: not held & list_transactions(client), what, seconds)


def terminate_gateway(deployment: Deployment) -> None:
    """Stop a gateway as an operator does, and start it again."""
    gateway = deployment.gateways[1]
    status = gateway.terminate()
    if status:
        deployment.problems.append(f"the gateway ended with status {status}")
    gateway.start()
    gateway.wait_until_ready()


def start_without_mongodb(deployment: Deployment) -> None:
    """Start a gateway while MongoDB cannot be reached: it ends with one sentence, or waits."""
    gateway = deployment.gateways[1]
    gateway.terminate()
    log_before = gateway.log.stat().st_size
    deployment.network.set_fault(Fault.REFUSE, [CLIENTS])
    gateway.start()
    time.sleep(NETWORK_FAULT_SECONDS)
    deployment.network.heal()
    wait_until(
        lambda: gateway.is_ready() or not gateway.is_running(), "the gateway is ready, or ends"
    )
    if "Traceback" in gateway.log.read_text()[log_before:]:
        deployment.problems.append("a traceback says that MongoDB is absent")
    if not gateway.is_running():
        gateway.start()
        gateway.wait_until_ready()


def do_nothing(deployment: Deployment) -> None:
    """Serve without a fault, to show that what the others find comes from theirs."""
    time.sleep(3)


# fmt: off
SCENARIOS = [
    Scenario("none", "no fault", do_nothing),
    Scenario("kill-primary", "primary killed", kill_primary, 1),
    Scenario("kill-and-stop", "primary killed, then the other secondary stopped 5 s",
             kill_primary_and_stop_a_secondary, 1),
    Scenario("kill-in-writes", "primary killed in writes, none after it",
             kill_primary_in_writes, 1),
    Scenario("kill-unknown", "primary killed before others know what is committed",
             kill_primary_before_others_know, 1),
    Scenario("kill-and-lag", "primary killed while a secondary lags",
             kill_primary_while_a_secondary_lags, 1),
    Scenario("stop-primary", "primary stopped for 15 s", stop_primary),
    Scenario("step-down", "primary steps down", step_down),
    Scenario("isolate-primary", "primary cut off from the others", isolate_primary),
    Scenario("kill-secondary", "a secondary killed",
             partial(kill_secondaries, count=1), 1),
    Scenario("kill-secondaries", "both secondaries killed: no majority",
             partial(kill_secondaries, count=2), 2),
    Scenario("kill-all", "all three killed", kill_all, 3),
    Scenario("delay", "each answer of MongoDB 0.2 s late", delay_mongodb),
    Scenario("slow", "each answer of MongoDB 2 s late", slow_mongodb),
    Scenario("black-hole", "nothing passes to MongoDB", black_hole),
    Scenario("reset", "connections to MongoDB reset", reset_connections),
    Scenario("refuse", "connections to MongoDB refused", refuse_connections),
    Scenario("cache", "connections refused, then each answer 0.05 s late: the cache",
             recover_cache),
    Scenario("absent", "a gateway started without MongoDB", start_without_mongodb),
    Scenario("kill-gateway", "a gateway killed in its writes", kill_gateway, 1),
    Scenario("kill-in-transactions", "a gateway killed with transactions open",
             kill_gateway_in_transactions, 1, with_importer=False),
    Scenario("kill-import", "`floorgate import` killed", kill_import, 1, with_importer=False),
    Scenario("kill-mirror", "`floorgate import --sync` killed", kill_mirror, 1,
             with_importer=False),
    Scenario("kill-publishing-import", "`floorgate import` killed in its transaction",
             kill_publishing_import, 1, with_importer=False),
    Scenario("kill-processing", "`floorgate maps process` killed", kill_processing, 1),
    Scenario("kill-publishing-map", "`floorgate maps process` killed in its transactions",
             kill_publishing_processing, 2, with_importer=False),
    Scenario("terminate", "a gateway terminated (SIGTERM)", terminate_gateway),
]
# fmt: on
