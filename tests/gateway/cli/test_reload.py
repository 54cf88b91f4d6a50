"""A reload of `floorgate serve`: what operators have begun ends, and no process is left behind."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from tests.gateway.floorgate_process import floorgate, run_serve_command, storage_options
from tests.resolvers.tower import SVG
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

BUNDLE = json.dumps({"assets": [{"id": "tower", "name": "Tower"}]})
IMPORT = f"mutation {{ importCatalog(input: {{ bundle: {json.dumps(BUNDLE)} }}) {{ notes }} }}"
ANNEX = f'id: "annex", plan: {json.dumps(SVG)}, feetPerUnit: 2'
PROCESS = f"mutation {{ processMap(input: {{ {ANNEX} }}) {{ isRoutable }} }}"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutation", [IMPORT, PROCESS], ids=["importCatalog", "processMap"])
@pytest.mark.parametrize("ending", [signal.SIGHUP, signal.SIGTERM])
def test_work_of_operators_ends_before_the_old_worker(
    mongo_url: str, database_name: str, tmp_path: Path, mutation: str, ending: signal.Signals
) -> None:
    """Only SIGTERM cuts it short, after the drain seconds."""
    storage = storage_options(mongo_url, database_name, tmp_path)
    made = ("keys", "create", "--name", "n", "--all-assets", "--permission", "service.admin")
    key = json.loads(floorgate(*made, "--json", *storage).stdout)["key"]
    log = tmp_path / "log"
    options = ("--drain-seconds", "1", "--log-file", log, *storage)

    with (
        MongoClient[dict[str, Any]](mongo_url) as mongo,
        run_serve_command(tmp_path / "data", *options) as server,
        server.client(key) as client,
        ThreadPoolExecutor() as pool,
    ):
        database = mongo[database_name]
        lease, current = database["imports"], {"_id": "current"}
        held_until = datetime.now(UTC) + timedelta(hours=1)
        held = {"holder": "another", "expires": held_until, "state": "idle"}
        lease.update_one(current, {"$set": held}, upsert=True)

        def count_updates() -> int:
            """Count the attempts to get the lease: each updates it."""
            count: int = mongo.admin.command("top")["totals"][f"{database_name}.imports"]["update"][
                "count"
            ]
            return count

        before = count_updates()
        request = pool.submit(client.post, "/graphql", json={"query": mutation}, timeout=120)
        wait_until(lambda: count_updates() > before or request.done())
        assert not request.done(), request.result().text
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: has_logged(log, "Waiting for imports and maps"))
        if ending == signal.SIGTERM:
            assert server.end()[0] == 0
            assert request.result().status_code == 503
            return
        with server.client(key) as another:
            assert another.get("/health/ready").status_code == 200
        lease.update_one(current, {"$set": {"expires": datetime.fromtimestamp(0, UTC)}})
        response = request.result()
        assert response.status_code == 200, response.text
        assert "errors" not in response.json()
        assert server.end()[0] == 0


@pytest.mark.timeout(300)
def test_no_zombie_is_left(mongo_url: str, database_name: str, tmp_path: Path) -> None:
    """Such as of the processes that have loaded the demo."""
    storage, log = storage_options(mongo_url, database_name, tmp_path), tmp_path / "log"
    options = ("--demo", "--drain-seconds", "1", "--log-file", log, *storage)
    with run_serve_command(tmp_path / "data", *options) as server:
        number = server.process.pid
        before = children(number)
        assert all("gateway.server.worker" in command for command in before.values())
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: has_logged(log, "Reloaded"))
        wait_until(lambda: not before.keys() & children(number).keys())
        assert all("gateway.server.worker" in command for command in children(number).values())
        assert server.end()[0] == 0


def has_logged(log: Path, message: str) -> bool:
    return any(message in line for line in log.read_text().splitlines())


def children(number: int) -> dict[int, str]:
    """The command lines of the child processes of a process; zombies have empty ones."""
    found = map(int, Path(f"/proc/{number}/task/{number}/children").read_text().split())
    commands = {}
    for child in found:
        with suppress(OSError):  # it may have ended since
            commands[child] = Path(f"/proc/{child}/cmdline").read_text()
    return commands
