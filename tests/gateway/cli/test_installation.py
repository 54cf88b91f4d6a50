"""A gateway as installed: a reload leaves no process behind, and a role of MongoDB is enough."""

import asyncio
import json
import re
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from gateway.server.tls import ensure_certificate
from storage.mongo import driver
from tests.doc_pages import page, section
from tests.gateway.floorgate_process import CHECKOUT, floorgate, run_serve_command, storage_options
from tests.resolvers.worlds import SVG
from tests.storage.mongo.replica_set_of_three import (
    NAME,
    PASSWORD,
    Member,
    find_free_ports,
    start_member,
)
from tests.storage.mongo.test_consistent_reads import read_directly_read_connections
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


SAMPLES = CHECKOUT / "samples"
ACCESS = section(page("runbook.md"), "## MongoDB with authentication and TLS")
DATABASE, USER_PASSWORD = "floorgate", "secret"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return ensure_certificate(tmp_path)[0]


@pytest.fixture
def member(certificate: Path, tmp_path: Path) -> Iterator[Member]:
    """A replica set of one that offers TLS, with the role of the runbook and a user who has it."""
    both = tmp_path / "both.pem"
    both.write_text(certificate.read_text() + ensure_certificate(tmp_path)[1].read_text())
    (port,) = find_free_ports(1)
    member = start_member(
        tmp_path / "mongod",
        port,
        "--tlsMode=allowTLS",
        f"--tlsCertificateKeyFile={both}",
        f"--tlsCAFile={certificate}",
        "--tlsAllowConnectionsWithoutCertificates",
    )
    try:
        wait_until(partial(answers, member), "mongod answers")
        config = {"_id": NAME, "members": [{"_id": 0, "host": member.address}]}
        member.command("replSetInitiate", config)
        wait_until(member.is_writable, "there is a primary")
        found = re.search(r"createRole\((\{.*?\n\})\)", ACCESS, re.S)
        assert found is not None
        role = json.loads(found[1])
        member.command("createRole", role.pop("role"), **role)
        member.command("createUser", "floorgate", pwd=USER_PASSWORD, roles=["floorgate"])
        yield member
    finally:
        member.kill()


def answers(member: Member) -> bool:
    try:
        return bool(member.command("ping")["ok"])
    except PyMongoError:
        return False


@pytest.fixture
def url(member: Member, certificate: Path) -> str:
    """The connection string of the runbook, for this member."""
    found = re.search(r"^mongodb://\S+$", ACCESS, re.M)
    assert found is not None
    changes = {
        "PASSWORD": USER_PASSWORD,
        "db1.example,db2.example,db3.example": member.address,
        "=rs0": f"={NAME}",
        "/etc/floorgate/mongo-ca.pem": str(certificate),
    }
    url = found[0]
    for example, here in changes.items():
        assert example in url
        url = url.replace(example, here)
    return url


def test_everything_works_with_the_role_of_the_runbook(
    member: Member, url: str, tmp_path: Path
) -> None:
    storage = storage_options(url, DATABASE, tmp_path)
    archive = tmp_path / "floorgate.tar"

    def run(*arguments: Any) -> str:
        ended = floorgate(*arguments, *storage)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    run("import", SAMPLES / "demo" / "bundle.json")
    run("maps", "process", "alder-court-floor-plates")
    key = json.loads(run("keys", "create", "--name", "all", "--all-assets", "--json"))
    run("doctor")
    run("backup", archive)
    run("restore", "--yes", archive)
    # Validators of an earlier release are replaced by the next start.
    administrator = f"mongodb://__system:{PASSWORD}@{member.address}/?authSource=local"
    with MongoClient[dict[str, Any]](administrator, directConnection=True) as mongo:
        mongo[DATABASE].command("collMod", "assets", validator={})
    with run_serve_command(tmp_path / "gateway", *storage, "--log-level", "warning") as server:
        with server.client(key["key"]) as client:
            assert client.get("/v1/assets").status_code == 200
            run("keys", "revoke", key["id"])
            wait_until(lambda: client.get("/v1/assets").status_code == 403, "the key has ended")
        assert server.end() == (0, "", "")  # a change stream that is refused is logged


def test_the_event_loop_reads_over_tls_as_the_user_of_the_url(url: str) -> None:
    async def read() -> Any:
        client = driver.connect(url)
        try:
            await client.admin.command("ping")  # the driver finds the primary
            async with driver.open_read_connections(client):
                return await read_directly_read_connections(
                    client[DATABASE], {"connectionStatus": 1}
                )
        finally:
            await driver.close(client)

    users = asyncio.run(read())["authInfo"]["authenticatedUsers"]
    assert [user["user"] for user in users] == ["floorgate"]


def test_a_mongodb_whose_certificate_is_not_trusted_is_not_used(url: str, tmp_path: Path) -> None:
    untrusted = re.sub(r"&tlsCAFile=[^&]*", "", url)
    ended = floorgate("keys", "list", *storage_options(untrusted, DATABASE, tmp_path))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("Error: MongoDB ")
