"""A MongoDB that has no room left on its disk, where it is not the embedded one."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gateway.settings import Settings
from storage.bundles.importing.import_bundles import COMMITTED
from storage.mongo.unavailable import DISK_FULL
from tests.fixtures import gateway_client
from tests.gateway.floorgate_process import floorgate, storage_options
from tests.storage.embedded.servers import wait_until
from tests.storage.mongo.replica_set_of_three import (
    NAME,
    Member,
    ReplicaSet,
    find_free_ports,
    start_member,
    until_done,
)

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

BUNDLE = json.dumps({"assets": [{"id": "lark", "name": "Lark"}]})
IMPORT = "mutation ($bundle: String!) { importCatalog(bundle: $bundle) { notes } }"
OUT_OF_DISK_SPACE = 14031


@pytest.fixture(scope="module")
def replica_set(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplicaSet]:
    """A mongod that fails commands as a test wants."""
    (port,) = find_free_ports(1)
    home = tmp_path_factory.mktemp("member")
    member = start_member(home, port, "--setParameter=enableTestCommands=1")
    try:
        until_done(partial(member.command, "ping"))
        members = [{"_id": 0, "host": member.address}]
        member.command("replSetInitiate", {"_id": NAME, "members": members})
        wait_until(member.is_writable)
        yield ReplicaSet([member])
    finally:
        member.kill()


@pytest.fixture
def storage(replica_set: ReplicaSet, tmp_path: Path) -> list[str]:
    return storage_options(replica_set.url, tmp_path.name, tmp_path)


@contextmanager
def full_disk(member: Member, **where: str) -> Iterator[None]:
    """Refuse to write, as MongoDB does before its disk is full to the last byte."""
    failing = {"failCommands": ["insert", "bulkWrite"], "errorCode": OUT_OF_DISK_SPACE, **where}
    member.command("configureFailPoint", "failCommand", mode="alwaysOn", data=failing)
    try:
        yield
    finally:
        member.command("configureFailPoint", "failCommand", mode="off")


def list_assets(storage: list[str]) -> Any:
    return json.loads(floorgate("export", *storage).stdout)["assets"]


def test_an_import_says_that_the_disk_is_full_and_applies_nothing(
    replica_set: ReplicaSet, storage: list[str]
) -> None:
    assert list_assets(storage) == []
    with full_disk(replica_set.members[0]):
        failed = floorgate("import", "-", *storage, stdin=BUNDLE)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == f"Error: {DISK_FULL}\n"
    assert list_assets(storage) == []
    assert floorgate("import", "-", *storage, stdin=BUNDLE).returncode == 0


def test_an_import_that_is_committed_says_so_and_is_finished_once_there_is_room(
    replica_set: ReplicaSet, storage: list[str], tmp_path: Path
) -> None:
    assert list_assets(storage) == []
    with full_disk(replica_set.members[0], namespace=f"{tmp_path.name}.assets"):
        failed = floorgate("import", "-", *storage, stdin=BUNDLE)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == f"Error: {DISK_FULL}; {COMMITTED}\n"
    assert [each["name"] for each in list_assets(storage)] == ["Lark"]


async def test_a_client_is_told_that_the_service_is_unavailable(
    replica_set: ReplicaSet, storage: list[str], tmp_path: Path, caplog: Any
) -> None:
    created = floorgate(
        *("keys", "create", "--name", "till", "--permission", "service.admin", "--all-assets"),
        *("--json", *storage),
    )
    settings = Settings(mongo_url=replica_set.url, database=tmp_path.name)
    body = {"query": IMPORT, "variables": {"bundle": BUNDLE}}
    async with gateway_client(settings, json.loads(created.stdout)["key"]) as client:
        with full_disk(replica_set.members[0]):
            response = await client.post("/graphql", json=body)
        assert response.status_code == 503
        assert "Retry-After" in response.headers
        [error] = response.json()["errors"]
        assert error["extensions"]["code"] == "SERVICE_UNAVAILABLE"
        assert not [record for record in caplog.records if record.exc_info]
        assert (await client.post("/graphql", json=body)).status_code == 200
