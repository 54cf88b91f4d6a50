"""Imports and processing that are killed half-way, while gateways serve."""

import json
import random
import subprocess
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

import orjson

from storage.administration.import_lease import LEASE_COLLECTION
from storage.embedded.replica_set import HOST
from storage.importing.import_bundles import COMMITTED
from tests.faults.catalog import ASSET, FLOOR, OTHER_ASSET
from tests.faults.deployment import Deployment
from tests.faults.gateways import GatewayProcess
from tests.faults.network import Fault
from tests.waiting import wait_until

Command: TypeAlias = subprocess.Popen[str]
BULK_UNITS = 5_000
COMMAND_DELAY_SECONDS, TRANSACTION_DELAY_SECONDS = 0.05, 0.5
"""Of each answer to a command that is killed in a transaction: at first, and when it is near."""
MAX_ATTEMPTS = 5
"""Until a command has been killed in its transaction."""
MAX_MIRROR_ATTEMPTS = 10
MIRRORED_ASSET = "mirrored"
MAP = "plates"
_SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 200">
<g data-type="Level" data-tags="floor=storey-1">
  <polygon points="0,40 400,40 400,60 0,60" data-tags="indoor=corridor"/>
  <rect x="{door}" y="38" width="4" height="4" data-tags="door=yes;width=0.9"/>{other_door}
  <g data-type="UnitLayer"><polygon id="room-1" points="0,0 100,0 100,40 0,40"/>{other_room}</g>
</g></svg>"""


class Plan(NamedTuple):
    """A plan of the map, its scale, and the distance in feet that is measured."""

    svg: str
    scale: float
    feet: float


OLD = Plan(_SVG.format(door=48, other_door="", other_room=""), 0.5, 134.151)
LARGER = Plan(OLD.svg, 1.0, 268.302)
REBUILT = Plan(
    _SVG.format(
        door=8,
        other_door='<rect x="248" y="58" width="4" height="4" data-tags="door=yes;width=0.9"/>',
        other_room='<polygon id="room-2" points="200,60 300,60 300,100 200,100"/>',
    ),
    0.5,
    165.584,
)
"""Its door is elsewhere, and it has another room."""
_MEASURED = {
    "data": {
        "sources": [{"id": f"{MAP}-room-1"}],
        "targets": [{"x": 300, "y": 50, "floor_id": f"{MAP}-level-storey-1"}],
    }
}


def kill_import(deployment: Deployment) -> None:
    """Kill an import while it writes the catalog, and then a merge; running gateways must finish
    them."""
    with deployment.open_database() as database:
        leases = database[LEASE_COLLECTION]

        def wait_and_kill(run: Command) -> bool:
            wait_until(
                lambda: (
                    run.poll() is not None or leases.find_one({"state": "applying"}) is not None
                ),
                "the import writes",
            )
            time.sleep(random.random() / 10)
            is_hit = run.poll() is None
            run.kill()
            return is_hit

        for options in ((), ("--merge",)):
            if not any(
                _import_until(deployment, wait_and_kill, *options) for _ in range(MAX_ATTEMPTS)
            ):
                raise AssertionError(f"no import {options} was killed while it wrote")


def kill_mirror(deployment: Deployment) -> None:
    """Kill an import that removes what its source lacks, until it is killed while it removes.

    It is finished, or has changed nothing; removals are listed if there are any, and then there is
    a file that undoes them.
    """
    for number in range(MAX_MIRROR_ATTEMPTS):
        if _mirror_until_killed(deployment, number):
            return
    raise AssertionError("no import was killed while it removed")


def _mirror_until_killed(deployment: Deployment, number: int) -> bool:
    """Return whether the import was killed while it removed."""
    before = {f"mirrored-{each}" for each in range(BULK_UNITS)}
    after = {f"mirrored-{each}" for each in range(BULK_UNITS - 100, BULK_UNITS + 100)}
    undo = deployment.directory / f"undo-{time.time_ns()}.ndjson"
    with _start_mirror(deployment, before, undo.with_suffix(".first")) as run:
        output, _ = run.communicate(timeout=120)
        # On a busy machine it may end before the gateway that writes the rest.
        assert not run.returncode or COMMITTED in output, output
    deployment.await_no_import()
    with deployment.open_database() as database:
        leases, where = database[LEASE_COLLECTION], {"asset_id": MIRRORED_ASSET}

        def get_state() -> str:
            lease = leases.find_one({}) or {}
            return str(lease.get("state"))

        with _start_mirror(deployment, after, undo) as run:
            if number:  # the first is killed at any moment
                wait_until(
                    lambda: run.poll() is not None or get_state() == "removing", "it removes"
                )
            time.sleep(random.random() * (0.5 if number else 4))
            is_hit = run.poll() is None and get_state() == "removing"
            run.kill()
        deployment.await_no_import()
        found = {unit["_id"] for unit in database["units"].find(where)}
        listed = {each["key"] for each in database["tombstones"].find({**where, "kind": "units"})}
    if found not in (before, after) or listed & before != before - found or listed & found:
        deployment.problems.append(
            f"half a mirror: {len(found & before - after)} units of {len(before - after)} are left,"
            f" {len(found & after - before)} of 100 are new, {len(listed)} removals are listed"
        )
    if found == after and not undo.exists():
        deployment.problems.append("nothing undoes a mirror that was killed")
    return is_hit


def _start_mirror(deployment: Deployment, units: set[str], undo: Path) -> Command:
    owner = {"asset_id": MIRRORED_ASSET}
    floor = {**owner, "id": "mirrored-floor", "name": "1"}
    source = {
        "assets": [{"id": MIRRORED_ASSET, "name": "Mirrored"}],
        "floors": [floor],
        "units": [
            {**owner, "id": unit, "floor_id": floor["id"], "name": unit} for unit in sorted(units)
        ],
    }
    bundle = deployment.directory / "mirrored.json"
    bundle.write_text(json.dumps(source))
    return deployment.start_command(
        *("import", bundle, "--sync", "--asset", MIRRORED_ASSET, "--yes"),
        *("--max-removals", "100%", "--undo", undo),
    )


def kill_publishing_import(deployment: Deployment) -> None:
    """Kill an import in the transaction that commits it: all or nothing may have happened."""
    for _ in range(MAX_ATTEMPTS):
        if _import_until(deployment, lambda run: _kill_in_transaction(deployment, run, "staging")):
            return
    raise AssertionError("no import was killed in its transaction")


def _import_until(deployment: Deployment, kill: Callable[[Command], bool], *options: str) -> bool:
    others = {} if "--merge" in options else {"asset_id": ASSET, "floor_id": FLOOR}
    units = [f"bulk-{number}" for number in range(BULK_UNITS)]
    version = f"version {time.time_ns()}"
    bundle = deployment.directory / "bulk.json"
    bundle.write_text(
        json.dumps({"units": [{"id": unit, "name": version, **others} for unit in units]})
    )
    with (
        deployment.open_database() as database,
        deployment.start_command("import", bundle, *options) as run,
    ):
        is_hit = kill(run)
        killed = time.monotonic()
        bulk = {"_id": {"$in": units}, "asset_id": ASSET, "floor_id": FLOOR}
        deployment.await_no_import()
        found = [unit["name"] for unit in database["units"].find(bulk)]
        versions = {*found}
        if len(versions) > 1 or len(found) not in (0, len(units)):
            deployment.problems.append(
                f"half an import after {time.monotonic() - killed:.1f} s:"
                f" {len(found)} of {len(units)} units, {sorted(versions)}"
            )
        return is_hit


def _kill_in_transaction(deployment: Deployment, run: Command, state: str) -> bool:
    """Kill a command in its first transaction since its import has a state; return if it was.

    Slow answers prolong it.
    """
    network = deployment.network
    delay = partial(network.set_fault, Fault.NONE, [network.command])
    delay(delay_back=COMMAND_DELAY_SECONDS)
    try:
        with (
            deployment.open_database() as database,
            deployment.watch_transactions() as has_open_transaction,
        ):
            leases = database[LEASE_COLLECTION]
            wait_until(
                lambda: run.poll() is not None or leases.find_one({"state": state}) is not None,
                f"the import of the command is {state}",
            )
            delay(delay_back=TRANSACTION_DELAY_SECONDS)
            wait_until(
                lambda: run.poll() is not None or has_open_transaction(),
                "the command has a transaction",
            )
            run.kill()
            return has_open_transaction()  # MongoDB keeps it for seconds
    finally:
        network.heal()


def kill_processing(deployment: Deployment) -> None:
    """Kill the processing of a map: its distances stay, or become the new ones, everywhere.

    Once its plan is replaced it has none, until a gateway has published the network.
    """
    took = _process(deployment, OLD)
    new = random.choice((LARGER, REBUILT))
    with _start_processing(deployment, new) as run:
        time.sleep(random.random() * took)
        run.kill()
    _check_distances(deployment, new)


def kill_publishing_processing(deployment: Deployment) -> None:
    """Kill the processing of a map in each of its transactions: that which commits its plan, and
    that which publishes its network once the plan is written."""
    for state, new in (("staging", LARGER), ("applying", REBUILT)):
        for _ in range(MAX_ATTEMPTS):
            _process(deployment, OLD)
            with _start_processing(deployment, new) as run:
                is_hit = _kill_in_transaction(deployment, run, state)
            _check_distances(deployment, new)
            if is_hit:
                break
        else:
            raise AssertionError(f"no processing was killed in its transaction while {state}")


def _start_processing(deployment: Deployment, plan: Plan) -> Command:
    file = deployment.directory / "plan.svg"
    file.write_text(plan.svg)
    return deployment.start_command(
        *("maps", "process", MAP, file, "--asset", OTHER_ASSET, "--feet-per-unit", plan.scale)
    )


def _process(deployment: Deployment, plan: Plan) -> float:
    """Process the map to the end; return the seconds that it took."""
    began = time.monotonic()
    with _start_processing(deployment, plan) as run:
        output, _ = run.communicate(timeout=120)
    if run.returncode:
        raise AssertionError(f"the map was not processed: {output}")
    took = time.monotonic() - began
    _await_distance(deployment, plan)
    return took


def _check_distances(deployment: Deployment, new: Plan) -> None:
    """Check that all distances are the old or the new ones: none is another, also in the first
    moment, and soon none is missing. Then have the new ones."""
    for feet in map(_measure, deployment.gateways):
        if feet is not None and not any(_is_of(plan, feet) for plan in (OLD, new)):
            deployment.problems.append(f"a distance of {feet} ft is served")
    deployment.await_no_import()
    wait_until(
        lambda: all(_measure(each) is not None for each in deployment.gateways),
        "the map is routable again",
    )
    _process(deployment, new)


def _await_distance(deployment: Deployment, plan: Plan) -> None:
    wait_until(
        lambda: all(_is_of(plan, _measure(each)) for each in deployment.gateways),
        f"a distance of {plan.feet} ft is served",
    )


def _is_of(plan: Plan, feet: float | None) -> bool:
    return feet is not None and abs(feet - plan.feet) < 0.01 * plan.feet


def _measure(gateway: GatewayProcess) -> float | None:
    """Return a distance in feet, or None if the map is not routable."""
    request = urllib.request.Request(
        f"http://{HOST}:{gateway.port}/v1/maps/{MAP}/distance-matrix",
        orjson.dumps(_MEASURED),
        {
            "API-Key": gateway.key,
            "X-Forwarded-Proto": "https",
            "Content-Type": "application/json",
            "Experimental-Flags": "distances",
        },
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        data = orjson.loads(response.read())["data"]
    if data["distance_method"] != "pathfinding":
        return None
    distance: float = data["sources"][0]["targets"][0]["distance"]
    return distance
