"""SIGHUP: the program and its workers are replaced, and no client notices."""

import shutil
import signal
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gateway.server import tls
from tests.gateway.server.clients import clients
from tests.gateway.server.processes import (
    TIMEOUT_SECONDS,
    get,
    is_alive,
    is_in_flight,
    keeping_client,
    pid,
    wait_until,
)
from tests.gateway.server.supervision.services import Service

pytestmark = pytest.mark.slow

RELOADS = 3


@pytest.mark.parametrize("workers", [1, 2])
def test_no_client_notices_three_restarts(serve: Callable[..., Service], workers: int) -> None:
    service = serve(workers=workers)
    process = service.running.process.pid
    with clients(service.port) as load:
        for _ in range(RELOADS):
            before = load.answers
            service.reload()
            wait_until(lambda before=before: load.answers > before + 20)  # type: ignore[misc]
    assert load.failures == []
    assert len(load.pids) >= RELOADS  # not every worker needs to have answered
    assert service.running.process.pid == process
    assert is_alive(process)
    assert service.stop() == 0
    assert not any(is_alive(each) for each in load.pids)


def test_requests_in_progress_are_finished_by_the_workers_before(
    serve: Callable[..., Service], tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    service = serve(environment={"SMALL_APP_GATE": str(gate)}, service={"drain_seconds": 300})
    before = pid(service.address)
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(get, f"{service.address}/wait")
        wait_until(lambda: is_in_flight(service.address))
        service.reload()
        wait_until(lambda: pid(service.address) != before)
        gate.touch()
        response = slow.result()
    assert (response.status_code, response.json()["pid"]) == (200, before)
    assert response.headers["connection"] == "close"
    wait_until(lambda: not is_alive(before))


def test_a_long_task_ends_before_its_worker_does(
    serve: Callable[..., Service], tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    service = serve(environment={"SMALL_APP_GATE": str(gate)}, service={"drain_seconds": 1})
    before = pid(service.address)
    with ThreadPoolExecutor() as pool:
        long = pool.submit(get, f"{service.address}/long")
        other = pool.submit(get, f"{service.address}/wait")
        wait_until(lambda: get(f"{service.address}/pid").json()["sleeping"] == 2)
        service.reload()
        service.wait_for("Waiting for imports and maps")
        assert other.result().status_code == 503
        assert pid(service.address) != before
        service.send(signal.SIGHUP)
        service.wait_for("Another reload begins when")
        gate.touch()
        response = long.result()
    assert (response.status_code, response.json()["pid"]) == (200, before)
    assert response.headers["connection"] == "close"
    wait_until(lambda: not is_alive(before))
    service.wait_for("Reloaded", 2)
    assert service.stop() == 0


def test_a_service_that_stops_waits_for_no_long_task(
    serve: Callable[..., Service], tmp_path: Path
) -> None:
    environment = {"SMALL_APP_GATE": str(tmp_path / "never")}
    service = serve(environment=environment, service={"drain_seconds": 1})
    before = pid(service.address)
    with ThreadPoolExecutor() as pool:
        long = pool.submit(get, f"{service.address}/long")
        wait_until(lambda: is_in_flight(service.address))
        service.reload()
        service.wait_for("Waiting for imports and maps")
        assert service.stop() == 0
        assert long.result().status_code == 503
    assert not is_alive(before)
    assert service.lines("Killing") == []


def test_an_idle_connection_is_answered_once_more_and_told_to_close(
    serve: Callable[..., Service],
) -> None:
    service = serve(service={"drain_seconds": 300})
    with keeping_client() as client:
        before = client.get(f"{service.address}/pid").json()["pid"]
        service.reload()
        last = client.get(f"{service.address}/health/ready")
        while last.json()["pid"] == before and "connection" not in last.headers:
            last = client.get(f"{service.address}/health/ready")  # the signal is on its way
        assert (last.status_code, last.headers["connection"]) == (200, "close")
        assert last.json()["pid"] == before
        # The worker accepts connections until its next tick; then only the new one does.
        wait_until(lambda: client.get(f"{service.address}/pid").json()["pid"] != before)


def test_workers_before_and_after_see_the_writes_of_one_another(
    serve: Callable[..., Service],
) -> None:
    service = serve(service={"drain_seconds": 300})
    with keeping_client() as client:
        before = client.get(f"{service.address}/pid").json()
        service.reload()
        written = get(f"{service.address}/write").json()
        seen = client.get(f"{service.address}/pid").json()
    assert (seen["pid"], seen["writes"]) == (before["pid"], written["writes"])
    assert written["writes"] != before["writes"]
    assert seen["remaining"] < written["remaining"] < before["remaining"]  # rate limits go on


def test_a_program_that_cannot_start_does_not_replace_the_one_that_runs(
    serve: Callable[..., Service], tmp_path: Path
) -> None:
    certificate, key = tls.ensure_certificate(tmp_path)
    service = serve(service={"certificate": (str(certificate), str(key))})
    before = pid(service.address)
    certificate.write_text("nonsense")
    service.send(signal.SIGHUP)
    [line] = service.wait_for("The reload failed")
    assert line["reason"] == f"{certificate} holds no TLS certificate in PEM form"
    assert pid(service.address) == before
    assert service.stop() == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_the_workers_go_on_if_new_ones_cannot_start(
    serve: Callable[..., Service], tmp_path: Path, workers: int
) -> None:
    broken = tmp_path / "broken"
    service = serve(workers=workers, environment={"SMALL_APP_BROKEN": str(broken)})
    with clients(service.port) as load:
        wait_until(lambda: len(load.pids) == workers)
        broken.touch()
        service.send(signal.SIGHUP)
        [line] = service.wait_for("The reload failed")
        before = load.answers
        wait_until(lambda: load.answers > before + 20)
    assert line["reason"] == "the application is broken"
    assert (load.failures, len(load.pids)) == ([], workers)
    broken.unlink()
    service.reload()
    wait_until(lambda: pid(service.address) not in load.pids)
    assert service.stop() == 0


def test_a_new_certificate_is_shown_after_a_reload(
    serve: Callable[..., Service], tmp_path: Path
) -> None:
    certificate, key = tls.ensure_certificate(tmp_path)
    service = serve(service={"certificate": (str(certificate), str(key))})
    before = ssl.get_server_certificate(("127.0.0.1", service.port))
    assert before.strip() == certificate.read_text().strip()
    other, other_key = tls.ensure_certificate(tmp_path / "other")
    shutil.copy(other_key, key)
    shutil.copy(other, certificate)
    service.reload()
    new = other.read_text().strip()
    # The worker before may accept a moment longer.
    wait_until(lambda: ssl.get_server_certificate(("127.0.0.1", service.port)).strip() == new)


def test_a_client_that_has_not_begun_its_handshake_is_served_after_a_reload(
    serve: Callable[..., Service], tmp_path: Path
) -> None:
    certificate, key = tls.ensure_certificate(tmp_path)
    given = {"certificate": (str(certificate), str(key)), "drain_seconds": 300}
    limits = {"handshake_seconds": 300}  # a reload takes long on a busy machine
    service = serve(service={**given, "limits": limits})
    trusting = ssl.create_default_context(cafile=str(certificate))
    with socket.create_connection(("127.0.0.1", service.port)) as early:
        early.settimeout(TIMEOUT_SECONDS)
        before = pid(service.address)  # the worker has accepted the first connection too
        service.reload()
        wait_until(lambda: pid(service.address) != before)
        with trusting.wrap_socket(early, server_hostname="localhost") as client:
            client.sendall(b"GET /pid HTTP/1.1\r\nHost: a\r\n\r\n")
            response = client.recv(65536)
            while b"}" not in response:
                response += client.recv(65536)
    assert b"connection: close" in response
    assert b'"pid":%d,' % before in response
