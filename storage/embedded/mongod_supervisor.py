"""The supervisor: a small process that runs a server as long as it has users.

    python -I -S mongod_supervisor.py DIRECTORY SERVER_LOCK_DESCRIPTOR COMMAND...

Users of the server hold a shared lock on `DIRECTORY/users.lock`. The supervisor waits for an
exclusive lock, which it gets once the last user has left or died, and then stops the server; new
users wait until it has stopped. The process that starts the supervisor locks
`DIRECTORY/server.lock` and passes the open descriptor on; the lock is held until both supervisor
and server have ended.

The server's output goes to `DIRECTORY/mongod.log`, a new file for each start, of bounded size.
The supervisor runs in isolated mode and imports only the standard library, to use little memory.
"""

import ctypes
import fcntl
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path

USERS_LOCK = "users.lock"
SERVER_LOCK = "server.lock"
LOG_NAME = "mongod.log"

_MAX_LOG_BYTES = 2_000_000
_MAX_OLDER_LOGS = 4
_STOP_TIMEOUT_SECONDS = 30
_PR_SET_PDEATHSIG = 1


def supervise(directory: Path, server_lock: int, command: list[str]) -> None:
    """Run `command` until it ends by itself or its last user has left."""
    log = _open_log(directory / LOG_NAME)
    try:
        # PDEATHSIG fires when the thread that forked ends, so fork from the main thread.
        server = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            pass_fds=[server_lock],
            preexec_fn=_die_with_parent(os.getpid()),
        )
    except OSError as error:
        log.error("%s: %s", command[0], error.strerror)
        return
    threading.Thread(target=_stop_after_last_user, args=(directory, server), daemon=True).start()
    assert server.stdout is not None
    for line in server.stdout:
        log.info("%s", line.rstrip("\n"))
    if status := server.wait():
        what = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
        log.error("%s ended with %s", Path(command[0]).name, what)


def _open_log(path: Path) -> logging.Logger:
    logging.raiseExceptions = False  # a full disk must not stop the server
    handler = RotatingFileHandler(
        path, maxBytes=_MAX_LOG_BYTES, backupCount=_MAX_OLDER_LOGS, delay=True
    )
    if path.exists():
        handler.doRollover()
    log = logging.Logger("supervisor")
    log.addHandler(handler)
    return log


def _stop_after_last_user(directory: Path, server: subprocess.Popen[str]) -> None:
    # Never closed: new users wait until this process, and the server before it, has ended.
    users = os.open(directory / USERS_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(users, fcntl.LOCK_EX)
    server.terminate()
    try:
        server.wait(_STOP_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()  # loses no acknowledged write: the next start replays the journal


def _die_with_parent(parent: int) -> Callable[[], None]:
    """Return a `preexec_fn` that has the kernel stop the server when `parent` dies."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def set_death_signal() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it died before the call
            os._exit(1)

    return set_death_signal


def main() -> None:
    """Detach from the starting process, so that it has no child to wait for, and supervise."""
    if os.fork():
        os._exit(0)
    directory, server_lock, *command = sys.argv[1:]
    supervise(Path(directory), int(server_lock), command)


if __name__ == "__main__":
    main()
