"""SIGTERM behind a balancer: the readiness probe first, then `Connection: close`, then the end."""

import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.gateway.server.balancer import balance
from tests.gateway.server.clients import clients
from tests.gateway.server.processes import (
    TIMEOUT_SECONDS,
    ServerProcess,
    Start,
    get,
    is_in_flight,
    keeping_client,
    refuses_connections,
    wait_until,
)

pytestmark = pytest.mark.slow

LONG = 300
"""Seconds that end long after the test."""


def port_of(running: ServerProcess) -> int:
    return httpx.URL(running.address()).port or 0


@pytest.mark.timeout(900)
def test_no_client_notices_that_two_gateways_restart_in_turn(start: Start) -> None:
    def run() -> tuple[ServerProcess, int]:
        running = start(workers=2, service={"drain_notice_seconds": 15})
        return running, port_of(running)

    with balance() as balancer:
        gateways = [run(), run()]
        balancer.ports = [port for _, port in gateways]
        wait_until(lambda: len(balancer.ready) == 2)
        with clients(balancer.port) as load:
            for running, port in gateways:
                others = balancer.ready - {port}
                running.process.send_signal(signal.SIGTERM)
                wait_until(lambda others=others: balancer.ready == others)  # type: ignore[misc]
                assert running.process.poll() is None  # it still serves
                assert running.process.wait(TIMEOUT_SECONDS) == 0
                _, new_port = run()
                balancer.ports = [*(balancer.ports), new_port]
                wait_until(lambda: len(balancer.ready) == 2)
                before = load.answers
                wait_until(lambda before=before: load.answers > before + 50)  # type: ignore[misc]
        assert load.failures == []
        assert len(load.pids) >= 4  # not every worker needs to have answered


def test_during_the_notice_everything_is_served_and_says_close(start: Start) -> None:
    running = start(service={"drain_notice_seconds": LONG})
    address = running.address()
    with keeping_client() as client:
        assert client.get(f"{address}/health/ready").status_code == 200
        running.process.send_signal(signal.SIGTERM)
        wait_until(lambda: get(f"{address}/health/ready").status_code == 503)
        kept = client.get(f"{address}/pid")
        fresh = get(f"{address}/pid")
    assert (kept.status_code, kept.headers["connection"]) == (200, "close")
    assert (fresh.status_code, fresh.headers["connection"]) == (200, "close")
    for _ in range(2):
        running.process.send_signal(signal.SIGINT)
    assert running.process.wait(TIMEOUT_SECONDS) == 130  # also during the notice


def test_what_a_terminal_stops_gives_no_notice(start: Start) -> None:
    running = start(service={"drain_notice_seconds": LONG}, workers=2)
    assert get(f"{running.address()}/health/ready").status_code == 200
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(TIMEOUT_SECONDS) == 0


def test_pipelined_requests_in_progress_at_the_signal_are_all_answered(
    start: Start, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    running = start(service={"drain_seconds": LONG}, environment={"SMALL_APP_GATE": str(gate)})
    address = running.address()
    with socket.create_connection(("127.0.0.1", httpx.URL(address).port or 0)) as connection:
        connection.settimeout(TIMEOUT_SECONDS)
        request = b"GET /%b HTTP/1.1\r\nHost: a\r\n\r\n"
        connection.sendall(request % b"wait" + request % b"pid" * 3)
        wait_until(lambda: is_in_flight(address))
        running.process.send_signal(signal.SIGTERM)
        wait_until(lambda: refuses_connections(address))
        gate.touch()
        received = b""
        while piece := connection.recv(65536):
            received += piece
    assert received.count(b"HTTP/1.1 200 OK") == 4
    assert received.count(b"connection: close") == 1
    assert running.wait_for_exit()[0] == 0


def test_a_request_on_an_idle_connection_is_answered_after_the_signal(
    start: Start, tmp_path: Path
) -> None:
    """The signal and the request are sent at the same time, by many clients."""
    gate = tmp_path / "gate"
    running = start(service={"drain_seconds": LONG}, environment={"SMALL_APP_GATE": str(gate)})
    address = running.address()
    with keeping_client() as client, ThreadPoolExecutor() as pool:
        client.get(f"{address}/pid")
        slow = pool.submit(get, f"{address}/wait")  # so that the service cannot have ended
        wait_until(lambda: is_in_flight(address))
        running.process.send_signal(signal.SIGTERM)
        response = client.get(f"{address}/pid")
        gate.touch()
        assert response.status_code == 200
        assert slow.result().status_code == 200
    assert running.wait_for_exit()[0] == 0
