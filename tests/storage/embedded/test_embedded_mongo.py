"""The embedded MongoDB with real processes: who starts it, joins it, is killed, is left behind."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from typing import Any
from urllib.parse import urlsplit

import pytest
from pymongo import MongoClient
from pymongo.errors import OperationFailure

from storage.embedded import embedded_mongo, mongod
from storage.embedded.embedded_mongo import EXCLUSIVE, SHARED, run_embedded_mongo
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


ROOT = Path(__file__).parents[3]

HOLDER = """
import sys
from pathlib import Path
from storage.embedded import embedded_mongo as locks

with locks.open_lock_file(Path(sys.argv[1])) as descriptor:
    print(locks.try_lock(descriptor, int(sys.argv[2])), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "users.lock"


@contextmanager
def lock_in_another_process(path: Path, mode: int) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until its input ends or it is killed."""
    command = [sys.executable, "-c", HOLDER, str(path), str(mode)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stdout.readline() == "True\n"
        yield process


def leave(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.close()


def wait_for_a_waiter(path: Path) -> None:
    """Wait until the kernel lists a process that waits for a lock on the file."""
    file = f":{path.stat().st_ino} "
    while not any("->" in line and file in line for line in _kernel_locks()):
        time.sleep(0.01)


def _kernel_locks() -> list[str]:
    return Path("/proc/locks").read_text().splitlines()


@pytest.mark.parametrize(
    ("held", "wanted", "is_granted"),
    [
        (SHARED, SHARED, True),
        (SHARED, EXCLUSIVE, False),
        (EXCLUSIVE, SHARED, False),
        (EXCLUSIVE, EXCLUSIVE, False),
    ],
)
def test_an_exclusive_lock_excludes_all_others(
    path: Path, held: int, wanted: int, is_granted: bool
) -> None:
    with lock_in_another_process(path, held), embedded_mongo.open_lock_file(path) as descriptor:
        assert embedded_mongo.try_lock(descriptor, wanted) == is_granted


@pytest.mark.parametrize("end", [leave, subprocess.Popen.kill], ids=["leave", "kill"])
def test_a_lock_is_released_when_its_holder_ends_in_any_way(
    path: Path, end: Callable[[subprocess.Popen[str]], None]
) -> None:
    with (
        lock_in_another_process(path, EXCLUSIVE) as process,
        embedded_mongo.open_lock_file(path) as descriptor,
    ):
        assert not embedded_mongo.try_lock(descriptor, SHARED)
        end(process)
        process.wait()
        assert embedded_mongo.try_lock(descriptor, EXCLUSIVE)


def test_waiting_for_a_lock_ends_at_the_deadline(path: Path) -> None:
    with (
        lock_in_another_process(path, EXCLUSIVE),
        embedded_mongo.open_lock_file(path) as descriptor,
    ):
        assert not embedded_mongo.wait_for_lock(descriptor, EXCLUSIVE, time.monotonic())


def test_a_free_lock_is_taken_also_after_the_deadline(path: Path) -> None:
    with embedded_mongo.open_lock_file(path) as descriptor:
        assert embedded_mongo.wait_for_lock(descriptor, EXCLUSIVE, time.monotonic() - 1)


def test_a_release_is_waited_for_until_the_holder_dies(path: Path) -> None:
    waiter = threading.Thread(target=embedded_mongo.wait_for_release, args=(path,), daemon=True)
    with lock_in_another_process(path, EXCLUSIVE) as process:
        waiter.start()
        wait_for_a_waiter(path)
        process.kill()
        waiter.join(TIMEOUT_SECONDS)
        assert not waiter.is_alive()
    with embedded_mongo.open_lock_file(path) as descriptor:
        assert embedded_mongo.try_lock(descriptor, EXCLUSIVE)  # who waited holds nothing


def test_a_release_is_not_waited_for_where_no_exclusive_lock_is_held(path: Path) -> None:
    embedded_mongo.wait_for_release(path)
    with lock_in_another_process(path, SHARED):
        embedded_mongo.wait_for_release(path)


def test_a_lock_file_is_readable_by_its_owner_only_and_keeps_its_content(path: Path) -> None:
    with embedded_mongo.open_lock_file(path):
        pass
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("kept")
    with embedded_mongo.open_lock_file(path):
        assert path.read_text() == "kept"


UNAUTHORIZED = 13
AUTHENTICATION_FAILED = 18

STRANGER = """
import json, os, sys
from pathlib import Path
from pymongo import MongoClient
from pymongo.errors import OperationFailure

port, home, data, *uid = sys.argv[1:]
for number in map(int, uid):
    os.setgroups([])
    os.setgid(number)
    os.setuid(number)

def attempt(action):
    try:
        action()
    except OperationFailure as failure:
        return failure.code
    except OSError as error:
        return type(error).__name__
    return "done"

plain = MongoClient("127.0.0.1", int(port), directConnection=True)
guess = MongoClient("127.0.0.1", int(port), username="floorgate", password="floorgate")
keys = plain["floorgate"]["api_keys"]
admin = {"_id": "key_0", "permissions": ["service.admin"], "asset_ids": None}
print(json.dumps({
    "list": attempt(plain.list_database_names),
    "read": attempt(keys.find_one),
    "write": attempt(lambda: keys.insert_one(admin)),
    "drop": attempt(lambda: plain.drop_database("floorgate")),
    "configure": attempt(lambda: plain.admin.command("setParameter", 1, logLevel=5)),
    "become a user": attempt(lambda: plain.admin.command("createUser", "x", pwd="x", roles=[])),
    "stop": attempt(lambda: plain.admin.command("shutdown", force=True)),
    "guess": attempt(guess.list_database_names),
    "list files": attempt(lambda: os.listdir(home)),
    "read the password": attempt(Path(home, "password").read_text),
    "read the data": attempt(Path(data).read_bytes),
}))
"""


def attack(url: str, data_dir: Path, *uid: int) -> dict[str, Any]:
    """Return what someone who knows the port and the directory achieves, as another user."""
    home = data_dir / "mongod"
    data = next(home.glob("*/collection*.wt"))
    arguments = [urlsplit(url).port, home, data, *uid]
    run = subprocess.run(
        [sys.executable, "-c", STRANGER, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        timeout=TIMEOUT_SECONDS,
    )
    results: dict[str, Any] = json.loads(run.stdout)
    return results


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A data directory on a path that every user may pass; pytest's own is private."""
    with tempfile.TemporaryDirectory(prefix="floorgate-test-") as path:
        Path(path).chmod(0o755)
        yield Path(path) / "data"
        wait_until(lambda: nothing_left(Path(path)))


@pytest.mark.slow
def test_without_the_password_nothing_is_read_written_or_stopped(open_dir: Path) -> None:
    """Root acts as another user, who reads no file of the server either."""
    is_root = os.geteuid() == 0
    with run_embedded_mongo(open_dir) as url:
        write(url, 1)
        results = attack(url, open_dir, *([65534] if is_root else []))
        files = [results.pop(name) for name in [*results] if "the " in name or "files" in name]
        assert not is_root or {*files} == {"PermissionError"}
        assert results.pop("guess") == AUTHENTICATION_FAILED
        assert {*results.values()} == {UNAUTHORIZED}
        assert read(url) == [1]


@pytest.mark.slow
def test_the_password_is_in_no_command_line_environment_or_log(data_dir: Path) -> None:
    with run_embedded_mongo(data_dir) as url, user(data_dir) as (joined, same):
        assert same == url
        secret = embedded_mongo.read_password(data_dir / "mongod")
        assert urlsplit(url).password == secret
        processes = [joined.pid, *supervisors(data_dir), *mongods(data_dir)]
        assert len(processes) == 3
        for process in processes:
            assert secret.encode() not in Path(f"/proc/{process}/cmdline").read_bytes()
            assert secret.encode() not in Path(f"/proc/{process}/environ").read_bytes()
        with MongoClient[dict[str, Any]](url) as client:
            client.admin.command("setParameter", 1, logLevel=5)  # logs every command
            write(url, 1)
            shown = repr(client) + repr(client.admin.command("getCmdLineOpts"))
            shown += repr(client.admin.command("currentOp", {"$all": True}))
    assert secret not in shown
    wait_until(lambda: nothing_left(data_dir))
    with_secret = {
        path.name
        for path in (data_dir / "mongod").iterdir()
        if path.is_file() and secret in path.read_text(errors="replace")
    }
    assert with_secret == {"password"}


@pytest.mark.slow
def test_a_lost_password_is_replaced_at_the_next_start_and_the_data_stays(data_dir: Path) -> None:
    with run_embedded_mongo(data_dir) as first:
        write(first, 1)
    wait_until(lambda: nothing_left(data_dir))
    (data_dir / "mongod" / "password").unlink()
    with run_embedded_mongo(data_dir) as url:
        assert urlsplit(url).password != urlsplit(first).password
        assert read(url) == [1]
        with pytest.raises(OperationFailure, match="Authentication failed"):
            read(first)


def test_a_password_is_random_private_and_created_once(tmp_path: Path) -> None:
    created = []
    for name in ("a", "b"):
        home = tmp_path / name
        home.mkdir()
        (home / "password.new").touch(0o644)  # of a process that was killed
        embedded_mongo.ensure_password(home)
        created.append(embedded_mongo.read_password(home))
        embedded_mongo.ensure_password(home)
        assert embedded_mongo.read_password(home) == created[-1]
        assert (home / "password").stat().st_mode & 0o777 == 0o600
        assert [path.name for path in home.iterdir()] == ["password"]
    assert len({*created}) == 2
    assert {len(each) for each in created} == {64}
