"""Connection settings are checked; a MongoDB that cannot be used is refused in one sentence."""

import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from pymongo import MongoClient
from pymongo.errors import (
    AutoReconnect,
    BulkWriteError,
    ConnectionFailure,
    NetworkTimeout,
    NotPrimaryError,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
    WTimeoutError,
)

from storage.embedded import mongod
from storage.errors import MongoUnusableError
from storage.mongo import unavailable
from storage.mongo.connection import ConnectionSettings, validate_database_name, validate_mongo_url
from storage.mongo.unavailable import find_cause
from storage.setup.database import open_database
from tests.databases import EACH_DRIVER
from tests.storage.mongo.replica_set_of_three import Member, ReplicaSet, find_free_ports


@pytest.mark.parametrize(
    "url",
    [
        "mongodb://db.example",
        "mongodb://a.example:27017,b.example:27018,[::1]:27019/?replicaSet=rs",
        "mongodb://user:p%40ss%2Fword@db.example/admin?authSource=admin",
        f"mongodb://db.example/?tls=true&tlsCAFile={Path(__file__)}",
        "mongodb://%2Ftmp%2Fmongodb-27017.sock",
        "mongodb+srv://db.example/?replicaSet=rs",
    ],
)
def test_what_the_driver_understands_is_used_as_it_is(url: str) -> None:
    assert validate_mongo_url(url) == url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "scheme"),
        ("https://db.example", "scheme"),
        ("mongodb://", "at least one hostname"),
        ("mongodb://db.example:70000", "Port must be an integer"),
        ("mongodb://db.example/?replicasets=rs", "Unknown option: replicasets"),
        ("mongodb://db.example/?tls=maybe", "'true' or 'false'"),
        ("mongodb://db.example/?tls=true&ssl=false", "conflicting values"),
        ("mongodb://db.example/?tls=true&tlsCAFile=/missing.pem", "No such file.*missing.pem"),
        ("mongodb://a.example,b.example/?directConnection=true", "multiple hosts"),
    ],
)
def test_an_invalid_url_is_rejected_with_the_reason_and_an_example(url: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"{reason}.*such as mongodb://host:27017/"):
        validate_mongo_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "mongodb://user:secret@db.example:port",
        "mongodb://user:secret",
        "mongodb://user:a/secret@localhost/db",
        "mongodb://user:a?secret=1@db.example",
        "mongodb://user:secret@db.example/?tls=maybe",
    ],
)
def test_an_error_never_shows_a_password(url: str) -> None:
    with pytest.raises(ValueError) as raised:
        validate_mongo_url(url)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("name", ["floorgate", "A-1_b", "x" * 63])
def test_a_database_may_be_named(name: str) -> None:
    assert validate_database_name(name) == name


@pytest.mark.parametrize("name", ["", "x" * 64, "a b", "a.b", "a/b", "$a", "a\n", "\u00e9"])
def test_a_name_that_mongodb_or_a_file_system_rejects_is_rejected(name: str) -> None:
    with pytest.raises(ValueError, match="1 to 63 letters, digits, hyphens or underscores"):
        validate_database_name(name)


CONFLICT, DUPLICATE = {"code": 112}, {"code": 11000}


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ServerSelectionTimeoutError("No primary available for writes"), "NO_PRIMARY"),
        (ServerSelectionTimeoutError("No replica set members match selector"), "NO_PRIMARY"),
        (
            ServerSelectionTimeoutError("a:1: [Errno 111] Connection refused"),
            "DATABASE_UNREACHABLE",
        ),
        (NotPrimaryError("not primary"), "NO_PRIMARY"),
        (WaitQueueTimeoutError("no connection within 3 s"), "QUEUE_FULL"),
        (NetworkTimeout("timed out"), "DEADLINE_EXCEEDED"),
        (AutoReconnect("connection closed"), "DATABASE_UNREACHABLE"),
        (ConnectionFailure("refused"), "DATABASE_UNREACHABLE"),
        (WTimeoutError("no majority in time", 64), "NO_MAJORITY"),
        (OperationFailure("conflict", 112), "WRITE_CONFLICT"),
        (OperationFailure("its cache is full", 365), "WRITE_CONFLICT"),
        (OperationFailure("it sheds load", 462), "QUEUE_FULL"),
        (OperationFailure("new", 99999, {"errorLabels": ["RetryableWriteError"]}), "INTERRUPTED"),
        (OperationFailure("duplicate key", 11000), None),
        (BulkWriteError({"writeErrors": [CONFLICT, CONFLICT]}), "WRITE_CONFLICT"),
        (BulkWriteError({"writeErrors": [CONFLICT, DUPLICATE]}), None),
        (BulkWriteError({}), None),
        (PyMongoError("something else"), None),
    ],
)
def test_an_error_has_the_cause_that_operators_look_for(
    error: PyMongoError, cause: str | None
) -> None:
    assert find_cause(error) == cause


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
