"""The embedded MongoDB: one mongod for everybody who names the same data directory.

Below `<data directory>/mongod` lie three locks, all held by the kernel on behalf of processes:

| file          | held                                                                      |
|---------------|---------------------------------------------------------------------------|
| `users.lock`  | shared by every user; exclusively by the keeper while it stops the server |
| `start.lock`  | exclusively by the one who starts the server or looks whether it runs     |
| `server.lock` | exclusively for as long as a keeper or its mongod lives                   |

There is no other state to go stale: nothing counts users, and no process id is written down. The
database lies in a directory named after its replica set; `port` remembers where it listened last.
"""

import logging
import os
import random
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from storage.embedded import locks, mongod, replica_set, supervisor
from storage.errors import EmbeddedServerError

_START_LOCK = "start.lock"
_PORT_FILE = "port"

_READY_TIMEOUT_SECONDS = 90
_POLL_SECONDS = 0.01
_RETRY_SECONDS = 5
_MAX_STARTS = 2
# Below the range from which Linux lends ports to outgoing connections, so that ours stays free.
_PORT_RANGE = range(20_000, 30_000)

logger = logging.getLogger(__name__)


@contextmanager
def run_embedded_mongo(data_dir: Path) -> Iterator[str]:
    """The address of the MongoDB that serves `data_dir`, started if it does not run yet.

    The last user to leave stops it. Should the server die while in use, a thread of one of its
    users starts it again, at the same address. A process forked inside the context, and not yet
    replaced by exec, is a user too for as long as it lives.

    Raises EmbeddedServerError when the directory cannot be used or mongod does not start.
    """
    with ExitStack() as held:
        with _explain_os_errors(data_dir):
            home = data_dir.resolve() / "mongod"
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            users = held.enter_context(locks.open_lock_file(home / supervisor.USERS_LOCK))
            deadline = time.monotonic() + _READY_TIMEOUT_SECONDS
            _lock_or_raise(deadline, users, locks.SHARED, f"The MongoDB in {home} does not stop")
            url = _ensure_primary(home, deadline)
        closed = threading.Event()
        held.callback(closed.set)
        threading.Thread(target=_restart_when_down, args=(home, closed), daemon=True).start()
        yield url


@contextmanager
def _explain_os_errors(data_dir: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EmbeddedServerError(
            f"{error.filename or data_dir}: {error.strerror}; the data directory must be one that"
            " this user may write to, on a disk with room."
        ) from error


def _lock_or_raise(deadline: float, descriptor: int, kind: int, message: str) -> None:
    if not locks.wait_for_lock(descriptor, kind, deadline):
        raise EmbeddedServerError(f"{message}: waited {_READY_TIMEOUT_SECONDS} seconds.")


def _ensure_primary(home: Path, deadline: float) -> str:
    """Wait for the server to be primary, one caller at a time; start it if nobody has yet."""
    with locks.open_lock_file(home / _START_LOCK) as starting:
        _lock_or_raise(
            deadline, starting, locks.EXCLUSIVE, f"Others in {home} do not get it started"
        )
        database_dir = _ensure_database_dir(home)
        starts = 0
        while time.monotonic() < deadline:
            with locks.open_lock_file(home / supervisor.SERVER_LOCK) as server:
                if locks.try_lock(server, locks.EXCLUSIVE):  # no keeper lives, and no mongod
                    if starts == _MAX_STARTS:
                        raise EmbeddedServerError(_describe_failure(home))
                    _start_supervisor(home, database_dir, server)
                    starts += 1
            port = _read_port(home)
            if port and replica_set.make_primary(database_dir.name, port, deadline):
                return f"mongodb://{replica_set.HOST}:{port}/?replicaSet={database_dir.name}"
            time.sleep(_POLL_SECONDS)
    raise EmbeddedServerError(
        f"The MongoDB in {home} does not answer: waited {_READY_TIMEOUT_SECONDS} seconds; see"
        f" {home / supervisor.LOG_NAME}."
    )


def _ensure_database_dir(home: Path) -> Path:
    """Where the files of the database are; a name of its own keeps two sets from being mixed up."""
    found = sorted(home.glob("floorgate-*"))
    database_dir = found[0] if found else home / f"floorgate-{uuid.uuid4().hex[:12]}"
    database_dir.mkdir(exist_ok=True)
    return database_dir


def _start_supervisor(home: Path, database_dir: Path, server_lock: int) -> None:
    """Leave a keeper behind that runs mongod; it inherits the lock, and nothing else of ours."""
    port = _pick_free_port(_read_port(home))
    _write_port(home, port)
    subprocess.run(
        [
            *(sys.executable, "-I", "-S", supervisor.__file__, str(home), str(server_lock)),
            *mongod.build_command(database_dir, port, database_dir.name),
        ],
        check=False,  # the lock tells whether it lives
        cwd="/",
        env=os.environ | {"LC_ALL": "C"},  # mongod refuses to start under an unknown locale
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # out of reach of Ctrl-C at the terminal
        pass_fds=[server_lock],
        umask=0o077,
    )


def _describe_failure(home: Path) -> str:
    log = home / supervisor.LOG_NAME
    return (
        f"The MongoDB in {home} does not start: {mongod.describe_failure(log)} (its log is {log})."
    )


def _read_port(home: Path) -> int | None:
    try:
        port = int((home / _PORT_FILE).read_text())
    except (FileNotFoundError, ValueError):
        return None
    return port if port in _PORT_RANGE else None


def _write_port(home: Path, port: int) -> None:
    draft = home / f"{_PORT_FILE}.new"
    draft.write_text(f"{port}\n")
    draft.replace(home / _PORT_FILE)


def _pick_free_port(preferred: int | None) -> int:
    candidates = iter(random.sample(_PORT_RANGE, len(_PORT_RANGE)))
    if preferred and _is_free(preferred):
        return preferred
    return next(port for port in candidates if _is_free(port))


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as mongod itself does
        try:
            listener.bind((replica_set.HOST, port))
        except OSError:
            return False
    return True


def _restart_when_down(home: Path, closed: threading.Event) -> None:
    """Start the server again whenever it dies before we have left."""
    while True:
        try:
            locks.wait_for_release(home / supervisor.SERVER_LOCK)
            if closed.is_set():
                return
            _ensure_primary(home, time.monotonic() + _READY_TIMEOUT_SECONDS)
        except (EmbeddedServerError, OSError) as error:
            logger.error("%s", error)
            closed.wait(_RETRY_SECONDS)
