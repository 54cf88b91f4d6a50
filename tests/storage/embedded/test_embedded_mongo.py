"""The embedded MongoDB with real processes: who starts it, joins it, is killed, is left behind."""

import os
import signal
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from pymongo import MongoClient

from storage.embedded import mongod
from storage.embedded.embedded_mongo import run_embedded_mongo
from storage.errors import EmbeddedServerError
from tests.storage.embedded.servers import mongods, nothing_left, read, supervisors, user, write
from tests.waiting import TIMEOUT_SECONDS, wait_until


@pytest.mark.slow
def test_it_is_the_primary_of_a_replica_set_on_loopback(data_dir: Path) -> None:
    with run_embedded_mongo(data_dir) as url, MongoClient[dict[str, Any]](url) as client:
        hello = client.admin.command("hello")
        options = client.admin.command("getCmdLineOpts")["parsed"]
        limit = client.admin.command("getParameter", transactionLifetimeLimitSeconds=1)
    assert hello["isWritablePrimary"]
    assert hello["hosts"] == [hello["me"]]
    assert options["net"]["bindIp"] == "127.0.0.1"
    assert options["net"]["compression"] == {"compressors": "disabled"}
    assert limit["transactionLifetimeLimitSeconds"] == 5
    assert not list(Path("/tmp").glob(f"mongodb-{options['net']['port']}.sock"))


def test_the_last_user_who_leaves_stops_it_and_the_data_stays(data_dir: Path) -> None:
    with run_embedded_mongo(data_dir) as first:
        with user(data_dir) as (_, second):
            assert second == first
            write(second, 1)
        write(first, 2)
        assert len(mongods(data_dir)) == 1
    wait_until(lambda: nothing_left(data_dir))
    with run_embedded_mongo(data_dir) as again:
        assert again == first
        assert read(again) == [1, 2]


@pytest.mark.slow
def test_starters_in_the_same_instant_end_with_one_server(data_dir: Path) -> None:
    everybody = Barrier(8, timeout=TIMEOUT_SECONDS)

    def start(_: int) -> tuple[str, list[int]]:
        with user(data_dir) as (_process, url):
            everybody.wait()
            servers = mongods(data_dir)
            everybody.wait()
            return url, servers

    with ThreadPoolExecutor(8) as starters:
        seen = list(starters.map(start, range(8)))
    url, servers = seen[0]
    assert url.startswith("mongodb://")
    assert len(servers) == 1
    assert seen == [(url, servers)] * 8


@pytest.mark.slow
def test_it_stops_when_its_only_user_is_killed(data_dir: Path) -> None:
    with user(data_dir) as (process, url):
        write(url, 1)
        process.kill()
    wait_until(lambda: nothing_left(data_dir))


@pytest.mark.parametrize("victim", [mongods, supervisors])
def test_a_user_brings_it_back_when_it_is_killed(
    data_dir: Path, victim: Callable[[Path], list[int]]
) -> None:
    with run_embedded_mongo(data_dir) as url:
        write(url, 1)
        (before,) = mongods(data_dir)
        os.kill(victim(data_dir)[0], signal.SIGKILL)
        wait_until(lambda: mongods(data_dir) not in ([], [before]))
        with run_embedded_mongo(data_dir) as joined:  # waits until it is primary
            assert joined == url
        assert read(url) == [1]
        assert len(mongods(data_dir)) == 1


@pytest.mark.slow
def test_what_was_acknowledged_survives_the_death_of_everything(data_dir: Path) -> None:
    with user(data_dir) as (process, url):
        write(url, 1)
        everything = [process.pid, *supervisors(data_dir), *mongods(data_dir)]
        for victim in everything:
            os.kill(victim, signal.SIGKILL)
    with run_embedded_mongo(data_dir) as again:
        assert again == url
        assert read(again) == [1]


@pytest.mark.slow
def test_it_moves_to_another_port_when_its_own_is_taken(data_dir: Path) -> None:
    with run_embedded_mongo(data_dir) as first:
        write(first, 1)
    wait_until(lambda: nothing_left(data_dir))
    with socket.socket() as other:
        other.bind(("127.0.0.1", int((data_dir / "mongod" / "port").read_text())))
        with run_embedded_mongo(data_dir) as moved:
            assert moved != first
            assert read(moved) == [1]
            write(moved, 2)


@pytest.mark.slow
@pytest.mark.parametrize("content", ["not a port", "22"])
def test_a_corrupt_port_file_loses_no_data(data_dir: Path, content: str) -> None:
    with run_embedded_mongo(data_dir) as url:
        write(url, 1)
    wait_until(lambda: nothing_left(data_dir))
    (data_dir / "mongod" / "port").write_text(content)
    with run_embedded_mongo(data_dir) as again:
        assert read(again) == [1]


def test_a_server_that_does_not_start_is_reported_in_its_own_words(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "mongod"
    script.write_text("#!/bin/sh\necho 'libcurl.so.4: cannot open shared object file'; exit 127\n")
    script.chmod(0o700)
    monkeypatch.setattr(mongod, "find_binary", lambda: script)
    message = r"libcurl.*status 127.*apt-get install libcurl4"
    with pytest.raises(EmbeddedServerError, match=message), run_embedded_mongo(data_dir):
        pass
