"""The keeper: a small process that runs a server for as long as anybody uses it.

    python -I -S keeper.py DIRECTORY SERVER_LOCK_DESCRIPTOR COMMAND...

Users of the server hold a shared lock on `DIRECTORY/users.lock`. The keeper waits for an exclusive
one, which the kernel grants when the last user has left or was killed, and then stops the server;
a newcomer waits meanwhile. `DIRECTORY/server.lock`, taken by whoever starts the keeper, is handed
down as an open descriptor and stays taken until keeper and server are both gone.

What the server prints goes to `DIRECTORY/mongod.log`: a new file for every start, of bounded size.
The keeper is started in isolated mode, so it imports the standard library alone and stays small.
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
    """Run `command` until it ends by itself or until its last user has left."""
    log = _open_log(directory / LOG_NAME)
    try:
        # PDEATHSIG fires when the thread that forked ends: this is the main thread.
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
        log.error("%s ended with %s", Path(command[0]).name, _describe_status(status))


def _open_log(path: Path) -> logging.Logger:
    logging.raiseExceptions = False  # a full disk must not end the server
    handler = RotatingFileHandler(
        path, maxBytes=_MAX_LOG_BYTES, backupCount=_MAX_OLDER_LOGS, delay=True
    )
    if path.exists():
        handler.doRollover()
    log = logging.Logger("keeper")
    log.addHandler(handler)
    return log


def _stop_after_last_user(directory: Path, server: subprocess.Popen[str]) -> None:
    # Never closed: newcomers wait until this process has ended, and the server before it.
    users = os.open(directory / USERS_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(users, fcntl.LOCK_EX)
    server.terminate()
    try:
        server.wait(_STOP_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()  # loses nothing acknowledged: the journal is replayed on the next start


def _die_with_parent(parent: int) -> Callable[[], None]:
    """What the forked child calls before it becomes the server: ask to be stopped with `parent`."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it died before we could ask
            os._exit(1)

    return ask


def _describe_status(status: int) -> str:
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"


def main() -> None:
    """Leave the process that started us, so that it has no child to wait for, and keep."""
    if os.fork():
        os._exit(0)
    directory, server_lock, *command = sys.argv[1:]
    supervise(Path(directory), int(server_lock), command)


if __name__ == "__main__":
    main()
