"""A MongoDB that cannot be used is refused with one sentence that says what to do."""

import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from pymongo import MongoClient

from storage.embedded import mongod
from storage.errors import MongoUnusableError
from storage.mongo import unavailable
from storage.mongo.connection import ConnectionSettings
from storage.setup.database import open_database
from tests.drivers import EACH_DRIVER
from tests.storage.mongo.replica_set_of_three import Member, ReplicaSet, find_free_ports

pytestmark = pytest.mark.anyio


@pytest.fixture(params=EACH_DRIVER)
def driver_name(request: pytest.FixtureRequest) -> Any:
    return request.param


async def refusal(url: str, driver_name: Any = "motor", database: str = "floorgate") -> str:
    """Why a database cannot be opened."""
    settings = ConnectionSettings(Path("unused"), url, driver_name, database)
    with pytest.raises(MongoUnusableError) as caught:
        async with open_database(settings, 30):
            pass
    return str(caught.value)


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a mongod without replica set."""
    (port,) = find_free_ports(1)
    home = tmp_path_factory.mktemp("standalone")
    options = ("--dbpath", str(home), "--port", str(port), "--bind_ip", "127.0.0.1")
    command = [str(mongod.find_binary()), *options]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command], stdout=log)
    try:
        with MongoClient[dict[str, Any]](port=port, serverSelectionTimeoutMS=60_000) as client:
            client.admin.command("ping")
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


async def test_a_standalone_mongodb_is_refused(standalone: str, driver_name: Any) -> None:
    sentence = await refusal(f"mongodb://{standalone}/", driver_name)
    assert sentence.startswith("MongoDB is standalone, and transactions need a replica set")
    assert "--replSet" in sentence


async def test_a_replica_set_that_was_never_initiated_is_refused(uninitiated: Member) -> None:
    sentence = await refusal(f"mongodb://{uninitiated.address}/")
    assert sentence.startswith("The replica set has no configuration: call rs.initiate()")


async def test_an_older_release_is_refused(mongo_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unavailable, "MIN_WIRE_VERSION", 1000)
    assert await refusal(mongo_url) == "MongoDB is too old: it must be 6.0 or newer"


async def test_an_address_where_nothing_listens_is_named_with_the_time_waited(
    driver_name: Any,
) -> None:
    sentence = await refusal("mongodb://127.0.0.1:9/", driver_name)
    assert sentence.startswith(
        "MongoDB cannot be reached: is it running, and is --mongo-url right?"
    )
    assert "127.0.0.1:9" in sentence
    assert "waited" in sentence


async def test_a_name_that_dns_does_not_have_is_named(driver_name: Any) -> None:
    sentence = await refusal("mongodb+srv://mongo.invalid/", driver_name)
    assert sentence.startswith("MongoDB cannot be used as --mongo-url says: ")
    assert "mongo.invalid" in sentence


async def test_a_wrong_password_is_refused(mongo_url: str, driver_name: Any) -> None:
    password = urlsplit(mongo_url).password
    assert password
    sentence = await refusal(mongo_url.replace(password, "wrong"), driver_name)
    assert sentence.startswith("MongoDB refuses the user name or the password in --mongo-url")


@contextmanager
def user_with_role(mongo_url: str, database: str, role: str) -> Iterator[str]:
    """The address of the database for a user of its own with one role."""
    name, parts = uuid.uuid4().hex, urlsplit(mongo_url)
    with MongoClient[dict[str, Any]](mongo_url) as client:
        client[database].command("createUser", name, pwd="secret", roles=[role])
        try:
            host = parts.netloc.rpartition("@")[2]
            yield f"mongodb://{name}:{quote('secret')}@{host}/?authSource={database}"
        finally:
            client[database].command("dropUser", name)


async def test_a_user_that_may_not_write_is_told_the_roles(
    mongo_url: str, database_name: str, driver_name: Any
) -> None:
    with user_with_role(mongo_url, database_name, "read") as url:
        sentence = await refusal(url, driver_name, database_name)
    assert sentence.startswith(
        "MongoDB refuses the user of --mongo-url: it needs the roles readWrite and dbAdmin on the"
        f" database {database_name} (not authorized"
    )


async def test_an_address_without_user_is_refused(mongo_url: str, driver_name: Any) -> None:
    host = urlsplit(mongo_url).netloc.rpartition("@")[2]
    assert "MongoDB refuses the user" in await refusal(f"mongodb://{host}/", driver_name)


@pytest.mark.slow
@pytest.mark.xdist_group("three")
async def test_a_replica_set_without_majority_is_refused(
    three: ReplicaSet, driver_name: Any
) -> None:
    three.lose_majority()
    sentence = await refusal(three.url, driver_name)
    assert sentence.startswith("MongoDB has no primary: a majority of its members must run")
    assert all(member.address in sentence for member in three.members[1:])
