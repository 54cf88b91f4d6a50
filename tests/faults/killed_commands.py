"""Commands of the operator that are killed half-way, while gateways serve."""

import json
import random
import subprocess
import time
import urllib.request
from collections.abc import Callable
from typing import Any, TypeAlias

import orjson

from storage.administration.import_lease import LEASE_COLLECTION
from storage.embedded.replica_set import HOST
from tests.faults.catalog import ASSET, FLOOR, OTHER_ASSET
from tests.faults.deployment import Deployment
from tests.faults.gateways import GatewayProcess
from tests.faults.network import Fault, wait_until

Command: TypeAlias = subprocess.Popen[str]
BULK_UNITS = 5_000
COMMAND_DELAY_SECONDS = 0.3
"""Of each answer to a command that is killed in a transaction."""
MAX_ATTEMPTS = 5
"""Until a command has been killed in its transaction."""
MAP = "plates"
NEAR, FAR = 0.5, 1.0
"""Feet per unit of the drawing: what is measured is twice as far."""
NEAR_FEET = 134.151
FAR_FEET = NEAR_FEET * FAR / NEAR
_PLAN = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 200">
<g data-type="Level" data-tags="floor=storey-1">
  <polygon points="0,40 400,40 400,60 0,60" data-tags="indoor=corridor"/>
  <rect x="48" y="38" width="4" height="4" data-tags="door=yes;width=0.9"/>
  <g data-type="UnitLayer"><polygon id="room-1" points="0,0 100,0 100,40 0,40"/></g>
</g></svg>"""
_MEASURED = {
    "data": {
        "sources": [{"id": f"{MAP}-room-1"}],
        "targets": [{"x": 300, "y": 50, "floor_id": f"{MAP}-level-storey-1"}],
    }
}


def kill_import(deployment: Deployment) -> None:
    """Kill an import while it writes the catalog; running gateways must finish it."""
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

        for _ in range(MAX_ATTEMPTS):
            if _import_until(deployment, wait_and_kill):
                return
        raise AssertionError("no import was killed while it wrote")


def kill_publishing_import(deployment: Deployment) -> None:
    """Kill an import in the transaction that commits it: all or nothing may have happened."""
    for _ in range(MAX_ATTEMPTS):
        if _import_until(deployment, lambda run: _kill_in_transaction(deployment, run)):
            return
    raise AssertionError("no import was killed in its transaction")


def _import_until(deployment: Deployment, kill: Callable[[Command], bool]) -> bool:
    units = [f"bulk-{number}" for number in range(BULK_UNITS)]
    version = f"version {time.time_ns()}"
    bundle = deployment.directory / "bulk.json"
    bundle.write_text(
        json.dumps(
            {
                "units": [
                    {"id": unit, "asset_id": ASSET, "floor_id": FLOOR, "name": version}
                    for unit in units
                ]
            }
        )
    )
    with deployment.open_database() as database, deployment.start_command("import", bundle) as run:
        is_hit = kill(run)
        killed = time.monotonic()
        bulk = {"_id": {"$in": units}}
        deployment.await_no_import()
        found = [unit["name"] for unit in database["units"].find(bulk)]
        versions = {*found}
        if len(versions) > 1 or len(found) not in (0, len(units)):
            deployment.problems.append(
                f"half an import after {time.monotonic() - killed:.1f} s:"
                f" {len(found)} of {len(units)} units, {sorted(versions)}"
            )
        return is_hit


def _kill_in_transaction(deployment: Deployment, run: Command) -> bool:
    """Kill a command in its only transaction, which slow answers prolong; return if it was."""
    network = deployment.network
    network.set_fault(Fault.NONE, [network.command], delay_back=COMMAND_DELAY_SECONDS)
    try:
        wait_until(
            lambda: run.poll() is not None or deployment.has_open_transaction(),
            "the command has a transaction",
        )
        run.kill()
        return deployment.has_open_transaction()  # MongoDB keeps it for seconds
    finally:
        network.heal()


def kill_processing(deployment: Deployment) -> None:
    """Kill the processing of a map; distances must be the old or the new ones everywhere.

    Between the map's new scale and its new network there are none: it is not routable.
    """

    def wait_and_kill(run: Command, took: float) -> bool:
        time.sleep(random.random() * took)
        run.kill()
        return True

    _process_until(deployment, wait_and_kill)


def kill_publishing_processing(deployment: Deployment) -> None:
    """Kill the processing of a map in the transaction that publishes its network."""
    for _ in range(MAX_ATTEMPTS):
        if _process_until(deployment, lambda run, _: _kill_in_transaction(deployment, run)):
            return
    raise AssertionError("no processing was killed in its transaction")


def _process_until(deployment: Deployment, kill: Callable[[Command, float], bool]) -> bool:
    plan = deployment.directory / "plan.svg"
    plan.write_text(_PLAN)

    def start(scale: float) -> Command:
        return deployment.start_command(
            *("maps", "process", MAP, plan, "--asset", OTHER_ASSET, "--feet-per-unit", scale)
        )

    def finish(scale: float) -> float:
        with start(scale) as run:
            output, _ = run.communicate(timeout=120)
        if run.returncode:
            raise AssertionError(f"the map was not processed: {output}")
        return time.monotonic()

    began = time.monotonic()
    took = finish(NEAR) - began
    _await_distance(deployment, NEAR_FEET)
    with start(FAR) as run:
        is_hit = kill(run, took)
    measured = [_measure(gateway) for gateway in deployment.gateways]
    allowed = NEAR_FEET, FAR_FEET
    if any(each and not any(_is_close(each, feet) for feet in allowed) for each in measured):
        deployment.problems.append(f"{NEAR_FEET} or {FAR_FEET} ft has become {measured} ft")
    finish(FAR)
    _await_distance(deployment, FAR_FEET)
    return is_hit


def _await_distance(deployment: Deployment, feet: float) -> None:
    wait_until(
        lambda: all(_is_close(_measure(each), feet) for each in deployment.gateways),
        f"a distance of {feet} ft is served",
    )


def _is_close(one: float | None, other: float) -> bool:
    return one is not None and abs(one - other) < 0.01 * other


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
        data: dict[str, Any] = orjson.loads(response.read())["data"]
    if data["distance_method"] != "pathfinding":
        return None
    distance: float = data["sources"][0]["targets"][0]["distance"]
    return distance
