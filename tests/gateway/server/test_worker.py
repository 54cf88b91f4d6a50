"""One serving process: it starts or says why not, drains on a signal, and serves as configured."""

import asyncio
import contextlib
import gc
import logging
import os
import resource
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.errors import StartError
from gateway.server.config import (
    EXIT_FORCED,
    Application,
    ConnectionLimits,
    ServerConfig,
    SharedMemory,
)
from gateway.server.server import open_listeners
from gateway.server.worker import STOP_SIGNALS, bound_by_open_files, run_worker
from tests.gateway import small_app
from tests.gateway.log_lines import capture_log_lines


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    [listener] = open_listeners("127.0.0.1", 0)
    with listener:
        listener.listen()  # as one of systemd does: clients may come before the worker
        yield listener


@pytest.fixture(autouse=True)
def process_as_before() -> Iterator[None]:
    """A worker tunes its process, which is that of the tests here."""
    open_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    handlers = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    resource.setrlimit(resource.RLIMIT_NOFILE, open_files)
    gc.unfreeze()


def run(
    listener: socket.socket,
    app: ASGIApp | None = None,
    on_ready: Callable[[], None] | None = None,
    run_app: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    **given: object,
) -> int:
    """Serves an application until it is ready, or until `on_ready` sends a signal."""
    if app is None and run_app is nullcontext:
        create: Callable[[SharedMemory], Application] = small_app.create
    else:
        create = lambda _: small_app.PlainApplication(app or send_nothing, run=run_app)  # noqa: E731
    config = ServerConfig(create, **given)  # type: ignore[arg-type]
    shared = SharedMemory.for_single_process()
    return run_worker(config, [listener], shared, on_ready or (lambda: send(signal.SIGTERM)))


async def send_nothing(scope: Scope, receive: Receive, send_message: Send) -> None:
    """An application without responses."""


def send(*signals: int) -> None:
    for number in signals:
        os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_signal_ends_the_service_with_status_0(listener: socket.socket, number: int) -> None:
    assert run(listener, on_ready=lambda: send(number)) == 0


def test_a_second_interrupt_is_an_exit_status_of_its_own(listener: socket.socket) -> None:
    assert run(listener, on_ready=lambda: send(signal.SIGINT, signal.SIGINT)) == EXIT_FORCED == 130


def test_as_many_files_may_be_open_as_the_system_allows(listener: socket.socket) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 1024), hard))
    run(listener)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)


@pytest.mark.parametrize(
    ("open_files", "is_bounded"), [(700, True), (resource.RLIM_INFINITY, False)]
)
def test_no_more_connections_are_accepted_than_files_may_be_open(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch, open_files: int, is_bounded: bool
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (open_files, open_files))
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    with capture_log_lines(logging.getLogger("floorgate.server"), logging.WARNING) as lines:
        assert run(listener, limits=ConnectionLimits(max_connections=500)) == 0
    assert bool(lines.texts) == is_bounded


@contextlib.asynccontextmanager
async def fail(
    at_start: Exception | None = None, at_stop: Exception | None = None
) -> AsyncIterator[None]:
    """Run an application that raises these exceptions."""
    if at_start is not None:
        raise at_start
    yield
    if at_stop is not None:
        raise at_stop


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (StartError("MongoDB is not there"), "MongoDB is not there"),
        (LookupError("a"), "The service cannot start: LookupError: a"),
    ],
)
def test_a_start_that_fails_says_why(
    listener: socket.socket, error: Exception, sentence: str
) -> None:
    with pytest.raises(StartError) as raised:
        run(
            listener,
            run_app=lambda: fail(error),
            on_ready=lambda: pytest.fail("it does not serve"),
        )
    assert str(raised.value) == sentence


@pytest.mark.parametrize(
    ("create", "sentence"),
    [
        (small_app.create_fault, "The service cannot start: RuntimeError: a fault of ours"),
        (small_app.create_expected_failure, "MongoDB is not there: give another --mongo-url"),
    ],
)
def test_an_application_that_cannot_be_created_says_why(
    listener: socket.socket, create: Callable[[SharedMemory], Application], sentence: str
) -> None:
    with pytest.raises(StartError) as raised:
        run_worker(
            ServerConfig(create), [listener], SharedMemory.for_single_process(), lambda: None
        )
    assert str(raised.value) == sentence


def test_a_service_collects_garbage_when_it_is_ready_and_serves_if_the_rest_cannot_be_prepared(
    listener: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    collects: list[bool] = []

    def check() -> None:
        collects.append(gc.isenabled())

    async def warm_up() -> None:
        check()
        send(signal.SIGTERM)
        raise RuntimeError("a fault of ours")

    config = ServerConfig(lambda _: small_app.PlainApplication(send_nothing, warm_up=warm_up))
    gc.disable()  # as in a worker that starts
    try:
        shared = SharedMemory.for_single_process()
        assert run_worker(config, [listener], shared, check) == 0
    finally:
        gc.enable()
    assert collects == [True, True]
    assert "What later requests need could not be prepared" in caplog.text


def test_a_certificate_that_cannot_be_read_prevents_the_start(
    listener: socket.socket, tmp_path: Path
) -> None:
    paths = (str(tmp_path / "cert.pem"), str(tmp_path / "key.pem"))
    with pytest.raises(StartError, match=r"The TLS certificate .*cert\.pem cannot be read"):
        run(listener, certificate=paths)


def test_an_application_that_stops_with_an_error_is_logged(listener: socket.socket) -> None:
    with capture_log_lines(logging.getLogger("floorgate.server"), logging.ERROR) as lines:
        assert run(listener, run_app=lambda: fail(at_stop=LookupError("a"))) == 0
    [_] = lines.texts
    assert lines.last()["message"] == "The application did not stop cleanly"


def test_a_signal_during_the_start_ends_it_without_serving(listener: socket.socket) -> None:
    @contextlib.asynccontextmanager
    async def start() -> AsyncIterator[None]:
        send(signal.SIGTERM)
        await asyncio.Event().wait()
        yield

    assert run(listener, run_app=start, on_ready=lambda: pytest.fail("it does not serve")) == 0


def test_responses_have_the_headers_of_the_service_and_none_of_uvicorn(
    listener: socket.socket,
) -> None:
    received = b""

    async def app(scope: Scope, receive: Receive, send_message: Send) -> None:
        await send_message({"type": "http.response.start", "status": 204, "headers": []})
        await send_message({"type": "http.response.body"})
        send(signal.SIGTERM)

    with socket.create_connection(listener.getsockname()) as client:
        # Forwarded headers and WebSockets are for the application: uvicorn must not act on them.
        client.sendall(
            b"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n"
            b"Connection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n"
        )
        assert run(listener, app, lambda: None, headers=(("x-service", "floorgate"),)) == 0
        with contextlib.suppress(ConnectionResetError):
            received = client.recv(4096)
    status, *headers = received.decode().lower().strip().split("\r\n")
    assert status == "http/1.1 204 no content"
    assert {header.partition(":")[0] for header in headers} <= {"x-service", "date", "connection"}
    assert "x-service: floorgate" in headers


def test_descriptors_are_left_for_the_database(listener: socket.socket) -> None:
    limits = ConnectionLimits(max_connections=500)
    assert bound_by_open_files(limits, 1024) is limits
    with capture_log_lines(logging.getLogger("floorgate.server"), logging.WARNING) as lines:
        assert bound_by_open_files(limits, 700).max_connections == 444
        assert bound_by_open_files(limits, 100).max_connections == 50
    assert (lines.last()["max_connections"], lines.last()["open_files"]) == (50, 100)


@pytest.mark.parametrize("raw", [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"\0", b""])
def test_each_response_has_the_headers_once(listener: socket.socket, raw: bytes) -> None:
    """One of the application, one of the protocol, and one to a connection too many."""
    received = b""

    async def app(scope: Scope, receive: Receive, send_message: Send) -> None:
        await send_message({"type": "http.response.start", "status": 204, "headers": []})
        await send_message({"type": "http.response.body"})

    def exchange() -> None:
        nonlocal received
        with socket.create_connection(listener.getsockname()) as client:
            client.sendall(raw)
            received = client.recv(4096)
        send(signal.SIGTERM)

    limits = ConnectionLimits(max_connections=4, max_connections_per_address=1 if not raw else 0)
    with socket.create_connection(listener.getsockname()):  # an address has one already
        client = threading.Thread(target=exchange)
        headers = (("x-content-type-options", "nosniff"),)
        assert run(listener, app, client.start, headers=headers, limits=limits) == 0
        client.join()
    assert received.startswith(b"HTTP/1.1 ")
    assert received.lower().count(b"x-content-type-options: nosniff\r\n") == 1
