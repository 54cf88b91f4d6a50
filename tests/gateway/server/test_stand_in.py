"""Who answers while no worker serves: 503 in the form of all errors, within bounds, for a while."""

import os
import signal
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from gateway.server import tls
from gateway.server.stand_in import MAX_CONNECTIONS, build_body
from rest.errors import ErrorSource, service_unavailable_error
from storage.errors import UnavailableCause
from tests.gateway.server.processes import ServerProcess, Start, get, pid
from tests.gateway.server.test_metrics_server import ADDRESS, scrape
from tests.waiting import TIMEOUT_SECONDS, wait_until

NO_WORKER = "No worker is left"


def start_without_workers(start: Start, broken: Path, **options: object) -> ServerProcess:
    """A service whose only worker was killed, and cannot be replaced while `broken` exists."""
    running = start(environment={"SMALL_APP_BROKEN": str(broken)}, **options)
    worker = pid(running.address)
    broken.touch()
    os.kill(worker, signal.SIGKILL)
    running.wait_for(NO_WORKER)
    return running


def connect(running: ServerProcess, sent: bytes = b"") -> socket.socket:
    client = socket.create_connection(("127.0.0.1", running.port), TIMEOUT_SECONDS)
    client.sendall(sent)
    return client


def read_all(client: socket.socket) -> bytes:
    received = b""
    while piece := client.recv(65536):
        received += piece
    return received


@pytest.mark.parametrize("is_encrypted", [False, True])
def test_requests_are_answered_503_until_a_worker_serves(
    start: Start, tmp_path: Path, is_encrypted: bool
) -> None:
    broken = tmp_path / "broken"
    certificate = tuple(map(str, tls.ensure_certificate(tmp_path))) if is_encrypted else None
    service = {"certificate": certificate, "headers": [("x-service", "floorgate")]}
    running = start_without_workers(start, broken, metrics_address=ADDRESS, service=service)
    served = len(running.lines("request"))
    for count, path in enumerate(("/v1/units", "/health/live", "/health/ready"), served + 1):
        response = get(running.address + path)
        request_id = response.headers["x-request-id"]
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")
        assert response.headers["content-type"] == "application/json"
        assert response.headers["connection"] == "close"
        assert response.headers["x-service"] == "floorgate"
        error = service_unavailable_error(UnavailableCause.RESTARTING)
        assert response.content == error.build_body(ErrorSource(request_id))
        line = running.wait_for("request", count)[-1]
        assert (line["request_id"], line["status"]) == (request_id, 503)
        assert line["errors"] == ["RESTARTING"]
    assert scrape(running)["floorgate_requests_total", "RESTARTING", "none", "503"] == 3
    broken.unlink()
    wait_until(lambda: get(f"{running.address}/pid").status_code == 200)
    running.wait_for("A worker serves again")
    assert running.stop()[0] == 0


def test_a_request_with_a_body_and_one_for_the_head_alone_are_answered(
    start: Start, tmp_path: Path
) -> None:
    running = start_without_workers(start, tmp_path / "broken")
    address = f"{running.address}/pid"
    assert httpx.post(address, content=bytes(1 << 20)).json()["message"] == "Service unavailable"
    response = httpx.head(address)
    assert (response.status_code, response.content) == (503, b"")
    assert int(response.headers["content-length"]) == len(build_body("0" * 32))


def test_a_connection_that_waits_when_a_worker_serves_again_is_answered(
    start: Start, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    running = start_without_workers(start, broken, service={"limits": {"header_seconds": 3600}})
    with connect(running, b"GET /pid HTTP/1.1\r\n") as begun:
        get(f"{running.address}/pid")  # so the one before has been accepted
        broken.unlink()
        wait_until(lambda: get(f"{running.address}/pid").status_code == 200)
        begun.sendall(b"\r\n")
        assert read_all(begun).startswith(b"HTTP/1.1 503 ")


def test_connections_are_bounded_in_number_and_the_service_goes_on(
    start: Start, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    running = start_without_workers(start, broken, service={"limits": {"header_seconds": 1}})
    with ExitStack() as stack:
        silent = [stack.enter_context(connect(running)) for _ in range(2 * MAX_CONNECTIONS)]
        with connect(running, b"GET /pid HTTP/1.1\r\n\r\n") as client:
            assert read_all(client).startswith(b"HTTP/1.1 503 ")  # when silent ones were closed
        assert [each.recv(1) for each in silent[:MAX_CONNECTIONS]] == [b""] * MAX_CONNECTIONS
        broken.unlink()
        wait_until(lambda: get(f"{running.address}/pid").status_code == 200)
    assert running.stop()[0] == 0


@pytest.mark.parametrize(
    "sent", [b"x" * 100_000, b"\x16\x03\x01" + bytes(100)], ids=["endless", "TLS"]
)
def test_what_is_no_request_is_closed(start: Start, tmp_path: Path, sent: bytes) -> None:
    running = start_without_workers(start, tmp_path / "broken")
    with connect(running, sent) as client:
        client.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            assert read_all(client) == b""
    assert get(f"{running.address}/pid").status_code == 503


def test_a_reload_and_a_stop_work_without_workers(start: Start, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    running = start_without_workers(start, broken)
    running.process.send_signal(signal.SIGHUP)
    running.wait_for(NO_WORKER, 2)  # of the new program
    assert get(f"{running.address}/pid").status_code == 503
    assert running.stop()[0] == 0


def test_a_certificate_that_is_gone_is_logged_and_workers_are_tried_on(
    start: Start, tmp_path: Path
) -> None:
    certificate, key = tls.ensure_certificate(tmp_path)
    broken = tmp_path / "broken"
    service = {"certificate": (str(certificate), str(key))}
    running = start(service=service, environment={"SMALL_APP_BROKEN": str(broken)})
    worker = pid(running.address)
    away = certificate.rename(tmp_path / "away")
    os.kill(worker, signal.SIGKILL)
    line = running.wait_for("Requests cannot be answered")[0]  # one for each try
    assert str(certificate) in line["message"]
    running.wait_for("A worker could not be started")
    away.rename(certificate)
    wait_until(lambda: can_be_asked(running))
    assert running.stop()[0] == 0


def can_be_asked(running: ServerProcess) -> bool:
    try:
        return get(f"{running.address}/pid").status_code == 200
    except httpx.TransportError:
        return False
