"""The embedded MongoDB: one mongod, shared by all processes that use the same data directory.

`<data directory>/mongod` contains three lock files. The kernel releases the lock of a process that
dies, so there is no other state (reference counts, pid files) that could become stale:

| file          | held                                                                       |
|---------------|----------------------------------------------------------------------------|
| `users.lock`  | shared by each user; exclusively by the supervisor while it stops mongod    |
| `start.lock`  | exclusively by the process that starts mongod or checks whether it runs     |
| `server.lock` | exclusively while the supervisor or mongod runs                             |

The database is in a directory named after its replica set; `port` holds the last port used and
`password` the password (`storage/embedded/embedded_mongo.py`).
See docs/decisions/storage/embedded-mongod.md.
"""

import fcntl
import logging
import os
import random
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from storage.embedded import mongod, mongod_supervisor
from storage.errors import EmbeddedServerError

# Advisory file locks (flock), which the kernel releases when a process ends in any manner.


SHARED = fcntl.LOCK_SH
EXCLUSIVE = fcntl.LOCK_EX

_POLL_SECONDS = 0.01


@contextmanager
def open_lock_file(path: Path) -> Iterator[int]:
    """Yield a descriptor of a lock file; leaving the context releases its lock."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(descriptor: int, mode: int) -> bool:
    """Lock the file in this mode unless another descriptor holds a conflicting lock."""
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(descriptor: int, mode: int, deadline: float, failure: str) -> None:
    """Wait for a lock. Raises EmbeddedServerError if `time.monotonic()` reaches `deadline` first.

    `failure` is the beginning of its message.
    """
    while not try_lock(descriptor, mode):
        if time.monotonic() > deadline:
            raise EmbeddedServerError(f"{failure} within {PATIENCE_SECONDS} seconds.")
        time.sleep(_POLL_SECONDS)


def wait_for_release(path: Path) -> None:
    """Block until no exclusive lock is held on the file."""
    with open_lock_file(path) as descriptor:
        fcntl.flock(descriptor, SHARED)


# The password of the embedded MongoDB: 256 random bits in a file that only its owner may read.
#
# The file is also the server's keyfile: MongoDB takes its content as the password of the internal
# user `__system`. With that user every start creates or updates the user of this release, so a lost
# file costs nothing but a new password.


FILE_NAME = "password"


def ensure_password(home: Path) -> None:
    """Create the file unless it exists. Call it while no server runs and none can be started."""
    path = home / FILE_NAME
    if path.exists():
        return
    unfinished = home / f"{FILE_NAME}.new"
    unfinished.unlink(missing_ok=True)  # of a process that was killed
    unfinished.touch(0o600)
    with unfinished.open("w") as file:
        file.write(f"{secrets.token_hex(32)}\n")
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def read_password(home: Path) -> str:
    """Return the password of the server that runs. Raises EmbeddedServerError without a file."""
    path = home / FILE_NAME
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        raise EmbeddedServerError(
            f"The MongoDB in {home} runs without its password file {path}: the file was removed,"
            " or an older release started MongoDB. Stop every floorgate process that uses this"
            " directory and start again: that creates a new password and keeps the data."
        ) from None


_START_LOCK = "start.lock"
_PORT_FILE = "port"

PATIENCE_SECONDS = 300
"""A machine under load may take minutes to start MongoDB, which may have a journal to replay."""
_NOTICE_SECONDS = 5
_REPLY_SECONDS = 0.5
"""A server that was just killed may accept connections and never answer."""
_MAX_REPLY_SECONDS = 10.0
_RETRY_SECONDS = 5
_MAX_STARTS = 2
# Below the ephemeral ports of Linux, so that no outgoing connection takes ours.
_PORT_RANGE = range(20_000, 30_000)
_PORT_RELEASE_SECONDS = 2.0

logger = logging.getLogger("floorgate.mongod")


def log_failure(error: EmbeddedServerError) -> None:
    """Log why MongoDB was not restarted; it is tried again."""
    logger.error("%s", error)


def log_slowness(home: Path, what: str) -> None:
    """Log what is waited for. In a command, the line appears on standard error."""
    message = "The MongoDB in %s is slow to %s: waiting for it, up to %s seconds (its log is %s)"
    logger.warning(message, home, what, PATIENCE_SECONDS, home / mongod_supervisor.LOG_NAME)


@contextmanager
def run_embedded_mongo(
    data_dir: Path, on_failure: Callable[[EmbeddedServerError], None] = log_failure
) -> Iterator[str]:
    """Yield the URL of the MongoDB that serves `data_dir`; start it if it is not running.

    The URL contains the password. Never print or log it, or pass it on a command line.
    It stops when the last user leaves this context. If it dies before, a thread of one of its
    users restarts it at the same address; `on_failure` is called in that thread each time this
    fails. A process forked inside the context counts as a user until it execs or ends.

    Raises EmbeddedServerError if the directory cannot be used or mongod does not start.
    """
    with ExitStack() as stack:
        with _explain_os_errors(data_dir):
            home = data_dir.resolve() / "mongod"
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            users = stack.enter_context(open_lock_file(home / mongod_supervisor.USERS_LOCK))
            deadline = time.monotonic() + PATIENCE_SECONDS
            wait_for_lock(users, SHARED, deadline, f"The MongoDB in {home} did not stop")
            url = _ensure_primary(home, deadline)
        closed = threading.Event()
        stack.callback(closed.set)
        restarting = (data_dir, home, closed, on_failure)
        threading.Thread(target=_restart_when_down, args=restarting, daemon=True).start()
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


def _ensure_primary(home: Path, deadline: float) -> str:
    """Start the server if it is not running and wait until it is primary; return its URL."""
    with ExitStack() as held:
        starting = held.enter_context(open_lock_file(home / _START_LOCK))
        failure = f"Another process holds the start lock in {home} and did not start MongoDB"
        wait_for_lock(starting, EXCLUSIVE, deadline, failure)
        database_dir = held.enter_context(_open_database_dir(home))
        starts, reply_seconds = 0, _REPLY_SECONDS
        notice = time.monotonic() + _NOTICE_SECONDS
        while time.monotonic() < deadline:
            with open_lock_file(home / mongod_supervisor.SERVER_LOCK) as server:
                if try_lock(server, EXCLUSIVE):  # nothing runs
                    if starts == _MAX_STARTS:
                        log = home / mongod_supervisor.LOG_NAME
                        reason = mongod.describe_failure(log)
                        raise EmbeddedServerError(
                            f"The MongoDB in {home} does not start: {reason} (its log is {log})."
                        )
                    ensure_password(home)
                    _start_supervisor(home, database_dir, server)
                    starts += 1
            # Here, because it imports the driver, which takes 0.1 s: meanwhile mongod starts.
            from storage.embedded import replica_set

            secret = read_password(home)
            port = _read_port(home)
            name = database_dir.name
            if port and replica_set.make_primary(name, port, secret, deadline, reply_seconds):
                return replica_set.build_url(name, port, secret)
            if time.monotonic() > notice:
                notice = deadline
                log_slowness(home, "start")
                reply_seconds = _MAX_REPLY_SECONDS
            time.sleep(_POLL_SECONDS)
    raise EmbeddedServerError(
        f"The MongoDB in {home} does not answer, or has another password than the one in"
        f" {home / FILE_NAME}: waited {PATIENCE_SECONDS} seconds; see"
        f" {home / mongod_supervisor.LOG_NAME}."
    )


@contextmanager
def _open_database_dir(home: Path) -> Iterator[Path]:
    """Yield the directory of the database, created with a random name at the first start.

    The name is that of the replica set, so that a server of another directory is not mistaken
    for ours. A new directory is removed if no server comes up in it: on a full disk, mongod leaves
    one in which it never starts.
    """
    existing = sorted(home.glob("floorgate-*"))
    database_dir = existing[0] if existing else home / f"floorgate-{uuid.uuid4().hex[:12]}"
    database_dir.mkdir(exist_ok=True)
    try:
        yield database_dir
    except (EmbeddedServerError, OSError):
        with open_lock_file(home / mongod_supervisor.SERVER_LOCK) as server:
            if not existing and try_lock(server, EXCLUSIVE):  # nothing runs
                shutil.rmtree(database_dir, ignore_errors=True)
        raise


def _start_supervisor(home: Path, database_dir: Path, server_lock: int) -> None:
    """Start a supervisor process that runs mongod and inherits the server lock."""
    port = _pick_free_port(_read_port(home))
    new_file = home / f"{_PORT_FILE}.new"
    new_file.write_text(f"{port}\n")
    new_file.replace(home / _PORT_FILE)
    subprocess.run(
        [
            *(sys.executable, "-I", "-S", mongod_supervisor.__file__, str(home), str(server_lock)),
            *mongod.build_command(database_dir, port, database_dir.name, home / FILE_NAME),
        ],
        check=False,  # whether it runs shows in the server lock
        cwd="/",
        env=os.environ | {"LC_ALL": "C"},  # mongod refuses to start under an unknown locale
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # not interrupted by Ctrl-C in the terminal
        pass_fds=[server_lock],
        umask=0o077,
    )


def _read_port(home: Path) -> int | None:
    try:
        port = int((home / _PORT_FILE).read_text())
    except (FileNotFoundError, ValueError):
        return None
    return port if port in _PORT_RANGE else None


def _pick_free_port(preferred: int | None) -> int:
    # The kernel closes the files of a process that dies one by one: our lock before its port.
    deadline = time.monotonic() + _PORT_RELEASE_SECONDS
    while preferred and time.monotonic() < deadline:
        if _is_free(preferred):
            return preferred
        time.sleep(_POLL_SECONDS)
    candidates = iter(random.sample(_PORT_RANGE, len(_PORT_RANGE)))
    return next(port for port in candidates if _is_free(port))


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as mongod itself does
        try:
            listener.bind((mongod.HOST, port))
        except OSError:
            return False
    return True


def _restart_when_down(
    data_dir: Path,
    home: Path,
    closed: threading.Event,
    on_failure: Callable[[EmbeddedServerError], None],
) -> None:
    """Restart the server whenever it dies before the context is left."""
    while True:
        try:
            with _explain_os_errors(data_dir):
                wait_for_release(home / mongod_supervisor.SERVER_LOCK)
                if closed.is_set():
                    return
                _ensure_primary(home, time.monotonic() + PATIENCE_SECONDS)
        except EmbeddedServerError as error:
            on_failure(error)
            closed.wait(_RETRY_SECONDS)
