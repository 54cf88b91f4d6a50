"""Applications that the server tests serve in processes of their own."""

import asyncio
import atexit
import contextlib
import logging
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.errors import StartError
from gateway.middleware import RequestMiddleware
from gateway.rate_limits import RateLimiter
from gateway.server.admission import SCOPE_ADMISSION, Admission, Rejection
from gateway.server.config import Application, SharedMemory


@contextlib.asynccontextmanager
async def _run() -> AsyncIterator[None]:
    if marker := os.environ.get("SMALL_APP_STARTING"):
        Path(marker).touch()
    if broken := os.environ.get("SMALL_APP_BROKEN"):
        with contextlib.suppress(FileNotFoundError), Path(broken).open("r+") as attempts:
            attempts.seek(0, os.SEEK_END)
            attempts.write("x")
            raise StartError("the application is broken")
    await asyncio.sleep(float(os.environ.get("SMALL_APP_START_SECONDS", "0")))
    while (slow := os.environ.get("SMALL_APP_SLOW_START")) and Path(slow).exists():
        await asyncio.sleep(0.05)
    if started := os.environ.get("SMALL_APP_PIDS"):
        (Path(started) / str(os.getpid())).touch()
    yield
    if last := os.environ.get("SMALL_APP_END"):
        atexit.register(_log_at_the_end, Path(last))
    sys.stderr.write("application stopped\n")
    sys.stderr.flush()


def _log_at_the_end(folder: Path) -> None:
    """Say in `folder` that this process ends, wait until that file is removed, and log a line."""
    waiting = folder / f"{os.getpid()}.waits"
    waiting.touch()
    while waiting.exists():
        time.sleep(0.05)
    logging.getLogger("floorgate.server").info("The process ends")


def admitting(app: ASGIApp, admission: Admission) -> ASGIApp:
    """Ask an admission about each request, as the protocol does."""

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        decision = admission.admit(scope)
        if isinstance(decision, Rejection):
            admission.count_rejection(decision, "")
        await app({**scope, SCOPE_ADMISSION: decision}, receive, send)

    return ask


class PlainApplication(Application):
    """An ASGI application, with attributes and methods as given, that admits every request."""

    def __init__(self, app: ASGIApp, **given: Any) -> None:
        self._app = app
        self.admission = Admission(100_000, 100_000)
        vars(self).update(given)

    def build_app(self) -> ASGIApp:
        return self._app


def create(shared: SharedMemory) -> Application:
    """`/pid` says which process answers; `/sleep/0.5` takes its time; `/wait` waits for
    the file `SMALL_APP_GATE`; `/exit` ends the process;
    `/write` counts a write; `/say` writes to standard output. `remaining` counts all requests.
    `/long` is a long task, which waits for that file too;
    `/health/ready` is 503 once the process is about to stop.
    """
    sleeping = 0
    is_stopping = False
    long_tasks = set[asyncio.Task[Any]]()
    limiter = RateLimiter(1 / 3600, 1000, shared.arrivals.keys)

    def announce_stop() -> None:
        nonlocal is_stopping
        is_stopping = True

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal sleeping
        word, _, seconds = scope["path"][1:].partition("/")
        if word == "exit":
            os._exit(7)
        if word == "say":
            sys.stdout.write("said\n")
            sys.stdout.flush()
        if word == "write":
            shared.write_counter.increment()
        sleeping += word in ("sleep", "wait", "long")
        if word == "long" and (task := asyncio.current_task()):
            long_tasks.add(task)
        while word in ("wait", "long") and not Path(os.environ["SMALL_APP_GATE"]).exists():
            await asyncio.sleep(0.05)
        await asyncio.sleep(float(seconds) if word == "sleep" else 0)
        body = orjson.dumps(
            {
                "pid": os.getpid(),
                "setting": os.environ.get("SMALL_APP_SETTING"),
                "sleeping": sleeping,
                "remaining": limiter.check("key", time.monotonic()).remaining,
                "writes": shared.write_counter.read().hex(),
            }
        )
        headers = [(b"content-length", str(len(body)).encode())]
        status = 503 if is_stopping and word == "health" else 200
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return PlainApplication(
        RequestMiddleware(app),
        run=_run,
        announce_stop=announce_stop,
        get_long_tasks=lambda: frozenset(long_tasks),
    )


def create_expected_failure(shared: SharedMemory) -> Application:
    """Its start fails with a sentence, as it does without MongoDB."""

    raise StartError("MongoDB is not there: give another --mongo-url")


def create_fault(shared: SharedMemory) -> Application:
    raise RuntimeError("a fault of ours")


def create_exit(shared: SharedMemory) -> Application:
    """The process ends without a word."""
    os._exit(7)


def create_second_fails(shared: SharedMemory) -> Application:
    """The first process takes as long to start as it is configured to; the second one cannot start.

    Each leaves its process id in a directory.
    """
    started = Path(os.environ["SMALL_APP_PIDS"])
    (started / str(os.getpid())).touch()
    try:
        (started.parent / "first").mkdir()
    except FileExistsError as error:
        raise StartError("one of us is enough") from error
    return create(shared)
