"""A MongoDB that is not the embedded one: it has no room on its disk, or no old changes."""

import json
import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, AsyncExitStack, aclosing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gateway.settings import Settings
from storage.changes import hub
from storage.importing.import_bundles import COMMITTED
from storage.mongo.unavailable import DISK_FULL
from tests.fixtures import gateway_client, open_client, run_gateway
from tests.gateway.cli.commands import floorgate, output_of
from tests.gateway.floorgate_process import storage_options
from tests.gateway.log_lines import capture_log_lines
from tests.storage.mongo.replica_set_of_three import (
    NAME,
    Member,
    ReplicaSet,
    find_free_ports,
    start_member,
    until_done,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.anyio

BUNDLE = json.dumps({"assets": [{"id": "lark", "name": "Lark"}]})
IMPORT = "mutation ($bundle: String!) { importCatalog(input: { bundle: $bundle }) { notes } }"
OUT_OF_DISK_SPACE = 14031
CHANGE_STREAM_HISTORY_LOST = 286
CAPPED_POSITION_LOST = 136
READ_MILLISECONDS = 3_500
"""Longer than other commands may take."""
READS = ("find", "aggregate")
CREATE = 'mutation { createApiKey(input: { name: "till", allAssets: true }) { key } }'
CAUSES: list[tuple[tuple[str, ...], dict[str, Any], str]] = [
    (READS, {"errorCode": 11602}, "no_primary"),
    (READS, {"errorCode": 11601}, "interrupted"),
    (READS, {"errorCode": 134}, "no_majority"),
    (READS, {"closeConnection": True}, "unreachable"),
    (READS, {"blockConnection": True, "blockTimeMS": 5_000}, "deadline"),
    (("insert",), {"errorCode": OUT_OF_DISK_SPACE}, "disk_full"),
    # With its label, it would be tried again until the deadline, which might be the cause then.
    (("insert",), {"errorCode": 112, "errorLabels": []}, "write_conflict"),
]
"""Commands that fail, how they fail, and the cause that is logged."""
CHANGES = "subscription ($after: String) { changes(after: $after) { cursor } }"
CHANGES_NOW = "query ($after: String) { changes(after: $after) { cursor } }"
CHANGES_FLAG = {"Experimental-Flags": "changes"}


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


@pytest.fixture
def key(storage: list[str]) -> str:
    """A key that may do everything."""
    permission = ("--permission", "service.admin", "--all-assets")
    created = floorgate("keys", "create", "--name", "till", *permission, "--json", *storage)
    key: str = output_of(created)["key"]
    return key


def refused(
    member: Member, error_code: int, *commands: str, **where: str
) -> AbstractContextManager[None]:
    """Refuse some commands."""
    return failing(member, *commands, errorCode=error_code, **where)


@contextmanager
def failing(member: Member, *commands: str, **how: Any) -> Iterator[None]:
    """Have some commands fail."""
    failing = {"failCommands": commands, **how}
    member.command("configureFailPoint", "failCommand", mode="alwaysOn", data=failing)
    try:
        yield
    finally:
        member.command("configureFailPoint", "failCommand", mode="off")


def full_disk(member: Member, **where: str) -> AbstractContextManager[None]:
    """Refuse to write, as MongoDB does before its disk is full to the last byte."""
    return refused(member, OUT_OF_DISK_SPACE, "insert", "bulkWrite", **where)


def list_assets(storage: list[str]) -> Any:
    return output_of(floorgate("export", *storage))["assets"]


def test_an_import_says_that_the_disk_is_full_and_applies_nothing(
    replica_set: ReplicaSet, storage: list[str]
) -> None:
    assert list_assets(storage) == []
    with full_disk(replica_set.members[0]):
        failed = floorgate("import", "-", *storage, stdin=BUNDLE)
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert failed.stderr == f"Error: {DISK_FULL}\n"
    assert list_assets(storage) == []
    assert floorgate("import", "-", *storage, stdin=BUNDLE).exit_code == 0


def test_an_import_that_is_committed_says_so_and_is_finished_once_there_is_room(
    replica_set: ReplicaSet, storage: list[str], tmp_path: Path
) -> None:
    assert list_assets(storage) == []
    with full_disk(replica_set.members[0], namespace=f"{tmp_path.name}.assets"):
        failed = floorgate("import", "-", *storage, stdin=BUNDLE)
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert failed.stderr == f"Error: {DISK_FULL}; {COMMITTED}\n"
    assert [each["name"] for each in list_assets(storage)] == ["Lark"]


async def test_a_client_is_told_that_the_service_is_unavailable(
    replica_set: ReplicaSet, key: str, tmp_path: Path, caplog: Any
) -> None:
    settings = Settings(mongo_url=replica_set.url, database=tmp_path.name)
    body = {"query": IMPORT, "variables": {"bundle": BUNDLE}}
    async with gateway_client(settings, key) as client:
        with full_disk(replica_set.members[0]):
            response = await client.post("/graphql", json=body)
        assert response.status_code == 503
        assert "Retry-After" in response.headers
        [error] = response.json()["errors"]
        assert error["extensions"]["code"] == "SERVICE_UNAVAILABLE"
        assert not [record for record in caplog.records if record.exc_info]
        assert (await client.post("/graphql", json=body)).status_code == 200


@pytest.mark.slow
async def test_the_log_says_why_a_request_is_503_and_the_client_does_not_learn_it(
    replica_set: ReplicaSet, key: str, tmp_path: Path
) -> None:
    settings = Settings(
        mongo_url=replica_set.url, database=tmp_path.name, request_seconds=4, cache_mb=0
    )
    access = logging.getLogger("floorgate.access")
    async with gateway_client(settings, key) as client:
        assert (await client.get("/v1/assets")).status_code == 200
        for commands, how, cause in CAUSES:
            with (
                failing(replica_set.members[0], *commands, **how),
                capture_log_lines(access, logging.INFO) as lines,
            ):
                query = "{ assets { data { id } } }" if commands is READS else CREATE
                responses = [await client.post("/graphql", json={"query": query})]
                if commands is READS:
                    responses.append(await client.get("/v1/assets"))
            for response, text in zip(responses, lines.texts, strict=True):
                line = json.loads(text)
                assert (response.status_code, line["status"], line["cause"]) == (503, 503, cause)
                assert cause not in response.text


async def test_who_asks_for_changes_that_are_gone_is_told_to_copy_the_directory_again(
    replica_set: ReplicaSet, key: str, tmp_path: Path
) -> None:
    settings = Settings(mongo_url=replica_set.url, database=tmp_path.name)
    async with AsyncExitStack() as stack:
        gateway = await stack.enter_async_context(run_gateway(settings))
        client = await stack.enter_async_context(open_client(gateway, key))
        client.headers.update(CHANGES_FLAG)
        cursor = (await client.get("/v1/changes")).json()["cursor"]
        replica_set.members[0].command("appendOplogNote", data={"later": True})
        assert gateway.state is not None
        parts = gateway.state.change_hub.follow(None, wake_seconds=0.1)
        await anext(await stack.enter_async_context(aclosing(parts)))  # it begins after the cursor
        for error_code in (CHANGE_STREAM_HISTORY_LOST, CAPPED_POSITION_LOST):
            with refused(replica_set.members[0], error_code, "aggregate"):
                response = await client.get("/v1/changes", params={"after": cursor})
            assert (response.status_code, response.json()["code"]) == (410, "CHANGES_EXPIRED")
        with refused(replica_set.members[0], CHANGE_STREAM_HISTORY_LOST, "aggregate"):
            for query, accepted in ((CHANGES_NOW, "*/*"), (CHANGES, "text/event-stream")):
                response = await client.post(
                    "/graphql",
                    json={"query": query, "variables": {"after": cursor}},
                    headers={"Accept": accepted},
                )
                assert '"code":"CHANGES_EXPIRED"' in response.text
        response = await client.get("/v1/changes", params={"after": cursor})
        assert response.status_code == 200


@pytest.mark.slow
async def test_a_poll_is_answered_while_mongod_searches_and_a_later_one_with_what_it_found(
    replica_set: ReplicaSet, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "READ_SECONDS", 0.5)
    settings = Settings(mongo_url=replica_set.url, database=tmp_path.name)
    async with gateway_client(settings, key) as client:
        client.headers.update(CHANGES_FLAG)
        cursor = (await client.get("/v1/changes")).json()["cursor"]
        body = {"query": IMPORT, "variables": {"bundle": BUNDLE}}
        assert "errors" not in (await client.post("/graphql", json=body)).json()
        searching = {
            "failCommands": ["aggregate"],
            "blockConnection": True,
            "blockTimeMS": READ_MILLISECONDS,
        }
        replica_set.members[0].command(
            "configureFailPoint", "failCommand", mode={"times": 1}, data=searching
        )
        bodies = list[Any]()
        while not bodies or bodies[-1]["has_more"]:
            response = await client.get("/v1/changes", params={"after": cursor})
            assert response.status_code == 200, response.text
            bodies.append(response.json())
            cursor = bodies[-1]["cursor"]
        assert bodies[0]["has_more"]
        found = [each["record_id"] for body in bodies for each in body["data"]]
        assert found == ["lark"]
