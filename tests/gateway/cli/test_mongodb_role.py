"""The role and the connection string of the runbook are enough for everything, over TLS."""

import asyncio
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from gateway.server.tls import ensure_certificate
from storage.mongo import driver
from tests.doc_pages import page, section
from tests.gateway.floorgate_process import (
    CHECKOUT,
    floorgate,
    run_serve_command,
    storage_options,
)
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
