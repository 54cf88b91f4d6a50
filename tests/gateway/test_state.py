"""What an application shares is opened in order and closed, also if MongoDB refuses something."""

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, AsyncExitStack, aclosing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gateway import state
from gateway.app import Gateway
from gateway.errors import StartError
from gateway.settings import Settings
from gateway.state import GatewayState, open_state
from storage.administration.import_lease import (
    LEASE_COLLECTION,
    STAGING_PREFIX,
    ImportLease,
    check_writable,
)
from storage.cache.change_feed import is_unchanged_since
from storage.cache.read_set import whole
from storage.catalog import RECORD_TYPES, UNITS
from storage.changes import hub
from storage.errors import UnavailableCause, UnavailableError
from storage.importing.import_bundles import COMMITTED
from storage.mongo import raw_documents
from storage.mongo.shared_memory import WriteCounter
from storage.mongo.unavailable import DISK_FULL
from storage.records.visibility import ALL_ASSETS
from storage.setup.preparation import prepare_database
from tests.databases import EACH_DRIVER
from tests.fixtures import gateway_client, open_client, run_gateway
from tests.gateway import floorgate_process
from tests.gateway.cli.commands import floorgate, output_of
from tests.gateway.floorgate_process import storage_options
from tests.gateway.log_lines import LogLines, capture_log_lines
from tests.storage.backup.archives import restore, save
from tests.storage.mongo.replica_set_of_three import (
    Member,
    ReplicaSet,
    run_primary,
)
from tests.waiting import TIMEOUT_SECONDS


@pytest.fixture(params=EACH_DRIVER)
def settings(mongo_url: str, database_name: str, request: pytest.FixtureRequest) -> Settings:
    return Settings(mongo_url=mongo_url, database=database_name, mongo_driver=request.param)


def open_gateway_state(settings: Settings, counter: WriteCounter | None = None) -> Any:
    """The context in which the state exists."""
    gateway, counter = Gateway(settings), counter or WriteCounter.for_single_process()
    return open_state(settings, counter, gateway.rate_limiter, gateway.cors)


def list_change_feeds() -> set[threading.Thread]:
    """Return the threads that follow a database, also those of other tests' gateways."""
    return {thread for thread in threading.enumerate() if thread.name == "change-feed"}


async def wait_until_ended(others: set[threading.Thread]) -> None:
    """Wait until no thread follows a database but these."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while list_change_feeds() - others:
            await asyncio.sleep(0.01)


async def wait_until_followed(opened: GatewayState) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while opened.change_feed.take_snapshot() is None:
            await asyncio.sleep(0.01)


async def test_the_database_is_prepared_and_followed_while_it_is_open(settings: Settings) -> None:
    async with open_gateway_state(settings) as opened:
        collections = await opened.store.database.list_collection_names()
        assert {kind.name for kind in RECORD_TYPES} <= {*collections}
        assert await opened.store.load_record(UNITS, ALL_ASSETS, "none") is None
        await wait_until_followed(opened)
    assert opened.change_feed.take_snapshot() is None


@pytest.mark.parametrize("fails", [True, False])
async def test_no_task_is_left_and_no_error_logged_however_it_closes(
    settings: Settings, fails: bool
) -> None:
    """The change stream ends before its connection does, else it would log an error."""
    before, threads = asyncio.all_tasks(), list_change_feeds()
    with capture_log_lines(logging.getLogger("floorgate"), logging.WARNING) as lines:
        try:
            async with open_gateway_state(settings) as opened:
                await wait_until_followed(opened)
                assert len(asyncio.all_tasks() - before) >= 2  # key uses, report
                if fails:
                    raise LookupError
        except LookupError:
            assert fails
    assert not asyncio.all_tasks() - before
    await wait_until_ended(threads)
    assert lines.texts == []


async def test_the_writes_of_other_processes_are_seen_through_the_shared_counter(
    settings: Settings,
) -> None:
    memory = bytearray(64)
    ours, theirs = WriteCounter(memory, 0), WriteCounter(memory, 1)
    async with open_gateway_state(settings, ours) as opened:
        await wait_until_followed(opened)
        before = opened.change_feed.take_snapshot()
        theirs.increment()
        after = opened.change_feed.take_snapshot()
        assert before is not None and after is not None
        assert not is_unchanged_since(before, after, whole("units"))


@pytest.mark.parametrize("cache_mb", [0, 1])
async def test_records_are_cached_unless_caching_is_off(settings: Settings, cache_mb: int) -> None:
    async with open_gateway_state(replace(settings, cache_mb=cache_mb)) as opened:
        assert (opened.record_cache is None) == (cache_mb == 0)


async def test_a_mongodb_that_does_not_answer_is_explained_with_its_setting() -> None:
    before, threads = asyncio.all_tasks(), list_change_feeds()
    settings = Settings(mongo_url="mongodb://127.0.0.1:1/")
    sentence = "^MongoDB cannot be reached: is it running, and is --mongo-url right\\?"
    with pytest.raises(StartError, match=sentence):
        async with open_gateway_state(settings):
            pytest.fail("it does not open")
    assert not asyncio.all_tasks() - before
    await wait_until_ended(threads)


async def test_a_data_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(StartError, match=f"^{file}.*: Not a directory; the data directory must"):
        async with open_gateway_state(Settings(data_dir=file)):
            pytest.fail("it does not open")


async def test_a_running_gateway_cleans_up_after_an_import_once_its_lease_is_free(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """While another process holds the lease, the import may just be slow."""
    monkeypatch.setattr(state, "IMPORT_POLL_SECONDS", 0.01)
    async with open_gateway_state(settings) as opened:
        await wait_until_followed(opened)
        database = opened.store.database
        for _ in range(2):  # the gateway goes on watching after the first
            dead = ImportLease(database)
            assert await dead.acquire(TIMEOUT_SECONDS)
            await dead.begin_staging(started_by={"actor": "$till"})
            staged = f"{STAGING_PREFIX}{dead.import_id}.units"
            await database[staged].insert_one({"_id": 0})
            await asyncio.sleep(0.1)
            assert staged in await database.list_collection_names()
            await dead.release()
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while staged in await database.list_collection_names():
                    await asyncio.sleep(0.01)
            fields = vars(caplog.records[-1])["fields"]
            expected = {"import_id": dead.import_id, "state": "staging", "actor": "$till"}
            assert fields == expected | {"started": dead.import_time}


@pytest.fixture
def preparation(monkeypatch: pytest.MonkeyPatch) -> Iterator[LogLines]:
    """What a gateway logs that looks all the time at what its database has lost."""
    monkeypatch.setattr(state, "PREPARATION_SECONDS", 0.002)
    with capture_log_lines(logging.getLogger("floorgate.preparation"), logging.ERROR) as lines:
        yield lines


async def until_counted(opened: GatewayState, outcome: str) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not opened.repairs[outcome]:
            await asyncio.sleep(0.01)


async def test_what_is_dropped_under_a_running_gateway_is_created_and_said(
    settings: Settings, preparation: LogLines
) -> None:
    async with open_gateway_state(settings) as opened:
        units = opened.store.database["units"]
        await units.drop_index("floor_id_1__id_1")
        await until_counted(opened, "created")
        assert "floor_id_1__id_1" in await units.index_information()
    assert (
        len(preparation.texts) == opened.read_metrics()["database_repairs_total"]["created",] == 1
    )
    line = preparation.last()
    assert line["message"] == "created what a collection had lost"
    assert (line["collection"], line["lacked"][:5]) == ("units", "1 of ")


async def test_why_something_lost_cannot_be_created_is_said(
    settings: Settings, preparation: LogLines
) -> None:
    async with open_gateway_state(settings) as opened:
        others = opened.store.database["others"]
        await others.insert_many([{"_id": key, "digest": "same"} for key in "ab"])
        await others.rename("api_keys", dropTarget=True)
        await until_counted(opened, "failed")
    line = preparation.last()
    assert line["message"] == "cannot prepare the database"
    assert "duplicate key" in line["reason"]
    assert "api_keys" in line["reason"]


async def test_a_restore_raises_no_alarm(
    settings: Settings, preparation: LogLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[bool] = []

    async def check(database: Any) -> None:
        looks.append(False)
        await check_writable(database)
        looks[-1] = True

    async def rename_collection(*given: Any) -> None:
        """Wait for a look before each collection is replaced."""
        looked = len(looks)
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while len(looks) < looked + 2:
                await asyncio.sleep(0.001)
        refused.append(looks[-2])
        await rename(*given)

    refused: list[bool] = []
    rename = raw_documents.rename_collection
    monkeypatch.setattr(state, "check_writable", check)
    async with open_gateway_state(settings) as opened:
        database = opened.store.database
        archive = await save(database)
        monkeypatch.setattr(raw_documents, "rename_collection", rename_collection)
        await restore(database, archive)
    assert refused
    assert not any(refused)
    assert preparation.texts == []


@pytest.mark.slow
async def test_a_start_waits_for_the_index_of_many_documents(
    replica_set: ReplicaSet, database_name: str
) -> None:
    slow = {"blockConnection": True, "blockTimeMS": READ_MILLISECONDS}
    settings = Settings(mongo_url=replica_set.url, database=database_name)
    with failing(
        replica_set.members[0], "createIndexes", namespace=f"{database_name}.units", **slow
    ):
        async with open_gateway_state(settings) as opened:
            assert "floor_id_1__id_1" in await opened.store.database["units"].index_information()


@pytest.mark.slow
async def test_looking_for_what_is_lost_does_not_wait_long_for_a_reply(
    replica_set: ReplicaSet,
    database_name: str,
    preparation: LogLines,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    causes: list[UnavailableCause | None] = []

    async def prepare(*given: Any) -> None:
        try:
            await prepare_database(*given)
        except UnavailableError as error:
            causes.append(error.cause)
            raise
        causes.append(None)

    monkeypatch.setattr(state, "prepare_database", prepare)
    settings = Settings(mongo_url=replica_set.url, database=database_name)
    slow = {"blockConnection": True, "blockTimeMS": READ_MILLISECONDS}
    async with open_gateway_state(settings) as opened:
        with failing(replica_set.members[0], "listCollections", **slow):
            looked = len(causes)
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while len(causes) < looked + 2:  # the first may have had its reply before
                    await asyncio.sleep(0.01)
        assert causes[looked + 1] is UnavailableCause.DEADLINE_EXCEEDED
        assert opened.repairs == {"created": 0, "failed": 0}


@pytest.mark.parametrize("command", ["createIndexes", "find"])
async def test_a_right_that_is_lost_is_said(
    replica_set: ReplicaSet, database_name: str, preparation: LogLines, command: str
) -> None:
    settings = Settings(mongo_url=replica_set.url, database=database_name)
    async with open_gateway_state(settings) as opened:
        where = f"{database_name}.{LEASE_COLLECTION if command == 'find' else 'units'}"
        with refused(replica_set.members[0], 13, command, namespace=where):
            await until_counted(opened, "failed")
    line = preparation.last()
    assert line["message"] == "cannot prepare the database"
    assert line["reason"].startswith("MongoDB refuses a command: ")


@pytest.mark.parametrize("command", ["listCollections", "find"])
async def test_an_outage_is_no_failed_repair(
    replica_set: ReplicaSet,
    database_name: str,
    preparation: LogLines,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    looks: list[None] = []

    async def check(database: Any) -> None:
        looks.append(None)
        await check_writable(database)

    monkeypatch.setattr(state, "check_writable", check)
    settings = Settings(mongo_url=replica_set.url, database=database_name)
    async with open_gateway_state(settings) as opened:
        with failing(replica_set.members[0], command, closeConnection=True):
            looked = len(looks)
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while len(looks) < looked + 4:  # the second has met the outage, and has ended
                    await asyncio.sleep(0.01)
            assert opened.repairs == {"created": 0, "failed": 0}
    assert preparation.texts == []


@pytest.mark.parametrize(("days", "kept"), [(2, ["day"]), (0, ["month", "day"])])
async def test_audit_records_are_deleted_after_some_days(
    settings: Settings, days: int, kept: list[str]
) -> None:
    async with open_gateway_state(settings) as opened:
        database = opened.store.database
        for name, age in (("month", 30), ("day", 1)):
            time = datetime.now(UTC) - timedelta(days=age)
            milliseconds = round(time.timestamp() * 1000)
            await database["audit_log"].insert_one(
                {"_id": f"aud_{milliseconds:012x}", "name": name}
            )
    async with open_gateway_state(replace(settings, audit_days=days)) as opened:
        database = opened.store.database
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while await database["audit_log"].count_documents({}) > len(kept):
                await asyncio.sleep(0.01)
        left = await database["audit_log"].find(sort=[("_id", 1)]).to_list(None)
        assert [record["name"] for record in left] == kept


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
    (READS, {"errorCode": 11602}, "NO_PRIMARY"),
    (READS, {"errorCode": 11601}, "INTERRUPTED"),
    (READS, {"errorCode": 134}, "NO_MAJORITY"),
    (READS, {"errorCode": 13}, "DATABASE_REFUSED"),
    (READS, {"errorCode": 292}, "DATABASE_REFUSED"),
    (READS, {"closeConnection": True}, "DATABASE_UNREACHABLE"),
    (READS, {"blockConnection": True, "blockTimeMS": 5_000}, "DEADLINE_EXCEEDED"),
    (("insert",), {"errorCode": OUT_OF_DISK_SPACE}, "DISK_FULL"),
    # With its label, it would be tried again until the deadline, which might be the code then.
    (("insert",), {"errorCode": 112, "errorLabels": []}, "WRITE_CONFLICT"),
]
"""Commands that fail, how they fail, and the code of the error."""
CHANGES = "subscription ($after: String) { changes(after: $after) { cursor } }"
CHANGES_NOW = "query ($after: String) { changes(after: $after) { cursor } }"
CHANGES_FLAG = {"Experimental-Flags": "changes"}


@pytest.fixture(scope="module")
def replica_set(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplicaSet]:
    """A mongod that fails commands as a test wants."""
    with run_primary(tmp_path_factory.mktemp("member")) as member:
        yield ReplicaSet([member])


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


@pytest.mark.parametrize(
    ("command", "fails"),
    [("keys list", "find"), ("keys create --name till --all-assets", "insert")],
)
def test_a_command_says_what_mongodb_refuses(
    replica_set: ReplicaSet, storage: list[str], tmp_path: Path, command: str, fails: str
) -> None:
    """And not that it may have been made."""
    assert floorgate("keys", "list", *storage).exit_code == 0  # it is prepared
    with refused(replica_set.members[0], 13, fails, namespace=f"{tmp_path.name}.api_keys"):
        failed = floorgate_process.floorgate(*command.split(), *storage)
    reason = "Failing command via 'failCommand' failpoint"
    assert failed.stderr == f"Error: MongoDB refuses a command: {reason}\n"
    assert (failed.returncode, failed.stdout) == (1, "")
    assert output_of(floorgate("keys", "list", "--json", *storage)) == []


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
        assert error["extensions"]["code"] == "DISK_FULL"
        assert not [record for record in caplog.records if record.exc_info]
        assert (await client.post("/graphql", json=body)).status_code == 200


@pytest.mark.slow
async def test_the_client_and_the_log_learn_why_a_request_is_503(
    replica_set: ReplicaSet, key: str, tmp_path: Path
) -> None:
    settings = Settings(
        mongo_url=replica_set.url, database=tmp_path.name, request_seconds=4, cache_mb=0
    )
    access = logging.getLogger("floorgate.access")
    async with gateway_client(settings, key) as client:
        assert (await client.get("/v1/assets")).status_code == 200
        for commands, how, code in CAUSES:
            with (
                failing(replica_set.members[0], *commands, **how),
                capture_log_lines(access, logging.INFO) as lines,
            ):
                query = "{ assets { data { id } } }" if commands is READS else CREATE
                responses = [await client.post("/graphql", json={"query": query})]
                if commands is READS:
                    responses.append(await client.get("/v1/assets"))
            for response, text in zip(responses, lines.texts, strict=True):
                line, body = json.loads(text), response.json()
                [told] = body.get("errors", [{"extensions": body}])
                assert (response.status_code, line["status"], line["errors"]) == (503, 503, [code])
                assert told["extensions"]["code"] == code


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


async def test_who_cannot_begin_to_follow_changes_is_told_why(
    replica_set: ReplicaSet, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "START_SECONDS", 1.0)
    settings = Settings(mongo_url=replica_set.url, database=tmp_path.name)
    headers = {**CHANGES_FLAG, "Accept": "text/event-stream"}
    async with gateway_client(settings, key) as client:
        with refused(replica_set.members[0], 11602, "aggregate"):
            response = await client.post("/graphql", json={"query": CHANGES}, headers=headers)
    assert '"code":"NO_PRIMARY"' in response.text


async def test_the_log_names_member_and_cause_when_the_change_stream_ends_and_when_it_goes_on(
    replica_set: ReplicaSet, tmp_path: Path
) -> None:
    """One line each, however many tries there are in between."""
    member, changes = replica_set.members[0], logging.getLogger("floorgate.changes")
    settings = Settings(mongo_url=replica_set.url, database=tmp_path.name)
    async with run_gateway(settings) as gateway:
        assert gateway.state is not None
        feed = gateway.state.change_feed
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while feed.take_snapshot() is None:
                await asyncio.sleep(0.01)
        with capture_log_lines(changes, logging.INFO) as lines:
            failing = {"failCommands": ["getMore", "aggregate"], "errorCode": 11602}
            three = {"times": 3}
            member.command("configureFailPoint", "failCommand", mode=three, data=failing)
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while len(lines.texts) < 2:
                    await asyncio.sleep(0.01)
        ended, goes_on = map(json.loads, lines.texts)
    assert (ended["thread"], ended["member"]) == ("change-feed", member.address)
    assert (ended["level"], ended["errors"]) == ("warning", ["NO_PRIMARY"])
    assert ended["reason"].startswith("Failing command via 'failCommand'")
    assert goes_on["member"] == member.address
    assert goes_on["seconds"] > 0
    assert feed.thread is not None
    assert feed.thread.interruptions == {"NO_PRIMARY": 1}


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
