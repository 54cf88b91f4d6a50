"""The embedded MongoDB refuses other users of the machine, who cannot read its password."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pymongo import MongoClient
from pymongo.errors import OperationFailure

from storage.embedded import password
from storage.embedded.embedded_mongo import run_embedded_mongo
from tests.storage.embedded.servers import mongods, nothing_left, read, supervisors, user, write
from tests.waiting import TIMEOUT_SECONDS, wait_until

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
        secret = password.read_password(data_dir / "mongod")
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
        password.ensure_password(home)
        created.append(password.read_password(home))
        password.ensure_password(home)
        assert password.read_password(home) == created[-1]
        assert (home / "password").stat().st_mode & 0o777 == 0o600
        assert [path.name for path in home.iterdir()] == ["password"]
    assert len({*created}) == 2
    assert {len(each) for each in created} == {64}
