"""Fixtures of all tests: one real mongod for the whole run, and a database for each worker."""

import os
import random
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from pymongo import MongoClient
from pymongo.periodic_executor import PeriodicExecutor

from storage.embedded.embedded_mongo import run_embedded_mongo
from storage.mongo import driver
from tests.databases import ReusedDatabase

pytest_plugins = [
    "tests.progress",
    "tests.fixtures",
    "tests.gateway.pages.browser",
    "tests.resolvers.directory",
]

EXAMPLES = os.environ.get("FLOORGATE_EXAMPLES")
"""`make fuzz` draws this many at random; without, tests draw the same few each time."""
settings.register_profile(
    "floorgate", deadline=None, derandomize=EXAMPLES is None, max_examples=int(EXAMPLES or 25)
)
settings.load_profile("floorgate")

driver.MAX_SILENCE_MS = 60_000
"""A busy machine may let a server wait, which is not lost; tests that lose one set it back."""

MEMORY = Path("/dev/shm")
MIN_MEMORY_BYTES = 4 << 30
"""A whole run takes a small part of it."""


def pytest_configure() -> None:
    """Keep temporary directories in memory if there is room, also those of databases.

    MongoDB waits for the disk for each collection and index that it creates, and a world has forty.
    """
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= MIN_MEMORY_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    PeriodicExecutor.join = _join_unless_of_events  # type: ignore[assignment,method-assign]


_join = PeriodicExecutor.join


def _join_unless_of_events(executor: PeriodicExecutor, timeout: int | None = None) -> None:
    """Close clients of MongoDB at once.

    The driver waits for its thread that publishes events, which sleeps half a second at a time, and
    publishes the rest itself.
    """
    if executor._name != "pymongo_events_thread":
        _join(executor, timeout)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Keep `--doctest-modules` from importing modules without tests, such as the fuzzers."""
    is_helper = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if is_helper else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that shuffles the tests; each worker does it in the same way."""
    parser.addoption("--order", type=int, metavar="SEED", help="run the tests in a random order")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the files and the tests of each, if a seed is given.

    The tests of a file stay together, so that its fixtures are made once.
    """
    if (seed := config.getoption("order")) is not None:
        drawn = random.Random(seed)
        places = {path: drawn.random() for path in dict.fromkeys(item.path for item in items)}
        items.sort(key=lambda item: (places[item.path], drawn.random()))


def pytest_make_parametrize_id(val: object) -> str | None:
    """Cut the ids of long values: the environment holds them, where Linux takes 128 KB at most."""
    return repr(val[:40]) if isinstance(val, (bytes, str)) and len(val) > 200 else None


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """One event loop for the whole session, so that session fixtures can use it."""
    return "asyncio"


@pytest.fixture(scope="session")
def mongo_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server of the whole run: every worker of pytest-xdist joins the same one.

    FLOORGATE_TEST_MONGO_URL names another one, a replica set that may be written to.
    """
    if elsewhere := os.environ.get("FLOORGATE_TEST_MONGO_URL"):
        yield elsewhere
        return
    run = tmp_path_factory.getbasetemp()
    with run_embedded_mongo(run.parent if "PYTEST_XDIST_WORKER" in os.environ else run) as url:
        _forget_quickly(url)
        yield url


def _forget_quickly(mongo_url: str) -> None:
    """Make mongod close the files of dropped databases within two minutes.

    MongoDB keeps them for five minutes of history, and those of thousands of tests are more than a
    process may have open.
    """
    with MongoClient[dict[str, Any]](mongo_url) as client:
        for name, value in {
            "minSnapshotHistoryWindowInSeconds": 120,
            "syncdelay": 5,
            "wiredTigerEngineRuntimeConfig": (
                "file_manager=(close_idle_time=5,close_scan_interval=2,close_handle_minimum=250)"
            ),
        }.items():
            client.admin.command({"setParameter": 1, name: value})


@pytest.fixture(scope="session")
def reused_database(mongo_url: str) -> Iterator[ReusedDatabase]:
    """The database of this worker; tests take `database_name` or `own_world`."""
    database = ReusedDatabase(mongo_url)
    yield database
    database.close()


@pytest.fixture
def database_name(reused_database: ReusedDatabase) -> str:
    """The name of a database for one test: prepared, and without a record."""
    reused_database.refill()
    return reused_database.name


@pytest.fixture
def fresh_database_name(mongo_url: str) -> Iterator[str]:
    """The name of a database that does not exist yet, dropped afterwards."""
    name = uuid.uuid4().hex
    yield name
    with MongoClient[dict[str, Any]](mongo_url) as client:
        client.drop_database(name)
