"""Commands work on the database with all permissions, and leave no connection behind."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from gateway.cli import operator
from gateway.cli.operations import execute
from gateway.cli.operator import run_with_database
from gateway.settings import Settings
from storage.catalog import RECORD_TYPES
from storage.embedded import embedded_mongo
from storage.embedded.embedded_mongo import run_embedded_mongo
from storage.errors import EmbeddedServerError, MongoUnusableError, StorageError, UnavailableError
from storage.mongo import driver
from tests.databases import EACH_DRIVER
from tests.gateway.floorgate_process import floorgate, storage_options
from tests.storage.embedded.test_embedded_mongo import continue_when_logged
from tests.storage.mongo.replica_set_of_three import run_replica_set

UNKNOWN = "the change may or may not have been made: look with floorgate audit before you repeat it"
NOWHERE = Settings(mongo_url="mongodb://127.0.0.1:1/")
LIST_EVERYTHING = """{
    assets { data { id } }
    attributeGroups { data { assignments { data { unit_id: unitId } } } }
    apiKeys { data { id } }
    maps { data { locations { data { id } } } }
}"""
"""Operations that need a permission or an experimental flag over HTTP."""


@pytest.fixture
def settings(mongo_url: str, database_name: str) -> Settings:
    return Settings(mongo_url=mongo_url, mongo_driver="pymongo", database=database_name)


@pytest.mark.parametrize("driver_name", EACH_DRIVER)
def test_the_result_of_work_on_the_prepared_database_is_returned(
    mongo_url: str, database_name: str, driver_name: Any
) -> None:
    settings = Settings(mongo_url=mongo_url, mongo_driver=driver_name, database=database_name)

    async def work(database: driver.Database) -> tuple[str, set[str]]:
        return database.name, {*await database.list_collection_names()}

    name, collections = run_with_database(settings, work)
    assert name == database_name
    assert {kind.name for kind in RECORD_TYPES} <= collections


def open_sockets() -> set[str]:
    """The sockets of this process."""
    targets = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one that reads the directory
            targets.add(str(descriptor.readlink()))
    return {target for target in targets if target.startswith("socket:")}


@pytest.mark.parametrize("fails", [True, False])
def test_no_connection_stays_open_however_the_work_ends(settings: Settings, fails: bool) -> None:
    before = open_sockets()

    async def work(database: driver.Database) -> None:
        assert open_sockets() - before
        if fails:
            raise LookupError

    with pytest.raises(LookupError) if fails else nullcontext():
        run_with_database(settings, work)
    assert not open_sockets() - before


def test_a_document_is_run_with_every_permission_and_flag(settings: Settings) -> None:
    empty: dict[str, Any] = {"data": []}
    list_everything = partial(execute, document=LIST_EVERYTHING, variables={})
    assert run_with_database(settings, list_everything) == {
        name: empty for name in ("assets", "attributeGroups", "apiKeys", "maps")
    }


def test_a_database_that_is_not_there_is_a_storage_error(tmp_path: Path) -> None:
    async def work(database: driver.Database) -> None:
        raise AssertionError("there is no database to work on")

    with pytest.raises(UnavailableError):
        run_with_database(NOWHERE, work)
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="file/mongod: Not a directory"):
        run_with_database(Settings(data_dir=tmp_path / "file"), work)


@pytest.mark.parametrize("patience", [300, 0])
def test_an_embedded_mongodb_without_time_to_answer_is_waited_for(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    patience: int,
) -> None:
    """It has become primary, and then a machine under load leaves it no time."""
    settings = Settings(data_dir=tmp_path)

    @contextmanager
    def run_and_stop(*arguments: Any) -> Iterator[str]:
        with run_embedded_mongo(*arguments) as url:
            with MongoClient[dict[str, Any]](url) as client:
                server = client.admin.command("serverStatus")["pid"]
            os.kill(server, signal.SIGSTOP)
            try:
                continue_when_logged(monkeypatch, server)
                monkeypatch.setattr(embedded_mongo, "PATIENCE_SECONDS", patience)
                yield url
            finally:
                os.kill(server, signal.SIGCONT)

    async def work(database: driver.Database) -> int:
        return await database["assets"].count_documents({})

    monkeypatch.setattr(embedded_mongo, "run_embedded_mongo", run_and_stop)
    if patience:
        assert run_with_database(settings, work) == 0
        assert "is slow to answer: waiting for it, up to 300 seconds" in caplog.text
    else:
        sentence = (
            f"MongoDB in {tmp_path}/mongod runs, and did not answer for 0 seconds; its log is"
        )
        with pytest.raises(MongoUnusableError, match=sentence):
            run_with_database(settings, work)


@pytest.mark.slow
@pytest.mark.parametrize(("driver_name", "reads"), [("motor", True), ("pymongo", False)])
def test_work_ends_at_once_if_its_mongodb_dies_and_cannot_be_restarted(
    tmp_path: Path, driver_name: Any, reads: bool
) -> None:
    """A timeout of the commands would be far longer than that of this test."""

    async def work(database: driver.Database) -> None:
        hello = await database.client.admin.command("serverStatus")
        (tmp_path / "mongod" / "port.new").mkdir()  # which the restart would write
        os.kill(hello["pid"], signal.SIGKILL)
        while reads:
            await database["assets"].find_one({})
            await asyncio.sleep(0.01)
        await asyncio.Event().wait()

    with pytest.raises(EmbeddedServerError, match=r"port.new: Is a directory"):
        run_with_database(Settings(data_dir=tmp_path, mongo_driver=driver_name), work, 3600)


@pytest.mark.slow
@pytest.mark.parametrize("driver_name", ["motor", "pymongo"])
def test_work_ends_if_a_mongodb_of_ones_own_stays_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver_name: Any
) -> None:
    monkeypatch.setattr(operator, "PRIMARY_PATIENCE_SECONDS", 1.0)

    async def work(database: driver.Database) -> None:
        for member in members.members:
            member.kill()
        await database["assets"].insert_one({})

    with run_replica_set(tmp_path) as members:
        settings = Settings(mongo_url=members.url, mongo_driver=driver_name)
        with pytest.raises(UnavailableError, match="no primary for 1 seconds"):
            run_with_database(settings, work, 3600)


@pytest.mark.slow
def test_a_write_whose_outcome_is_unknown_says_so_and_why(tmp_path: Path) -> None:
    create = ("keys", "create", "--name", "till", "--all-assets")
    with run_replica_set(tmp_path) as members:
        storage = storage_options(members.url, "floorgate", tmp_path)
        assert json.loads(floorgate("keys", "list", "--json", *storage).stdout) == []
        secondaries = members.members[1:]
        for member in secondaries:
            member.kill()
        run = floorgate(*create, *storage)
        assert (run.returncode, run.stdout) == (1, "")
        missing = ", ".join(sorted(member.address for member in secondaries))
        assert run.stderr == (
            "Error: MongoDB has a primary, which did not complete a command: a majority of its"
            f" members must run and reach each other; {missing} cannot be reached; {UNKNOWN}\n"
        )
        for member in secondaries:
            member.restart()
        members.wait_until_whole()
        [key] = json.loads(floorgate("keys", "list", "--json", *storage).stdout)
        assert key["name"] == "till"
        assert key["id"] in floorgate("audit", *storage).stdout
