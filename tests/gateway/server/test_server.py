"""The whole server in processes of its own: start, several workers, signals, and the end."""

import contextlib
import signal
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from gateway.errors import StartError
from gateway.server import tls
from gateway.server.server import open_listeners, security_headers
from gateway.server.supervision.orders import EXIT_FORCED
from tests.gateway.server.processes import (
    Start,
    get,
    is_in_flight,
    pid,
    refuses_connections,
    wait_until,
)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("workers", [1, 2])
def test_one_line_says_that_requests_are_served(workers: int, start: Start) -> None:
    running = start(workers=workers)
    assert pid(running.address())
    status, output, errors = running.stop()
    assert (status, output) == (0, "")
    assert errors.count("application stopped") == workers


def test_headers_of_the_service_are_in_every_response(start: Start) -> None:
    headers = security_headers(use_hsts=True)
    address = start(service={"headers": headers}).address()
    wait_until(lambda: "strict-transport-security" in get(f"{address}/pid").headers)
    assert get(f"{address}/pid").headers["x-content-type-options"] == "nosniff"
    with socket.create_connection(("127.0.0.1", httpx.URL(address).port or 0)) as connection:
        connection.sendall(b"nonsense\r\n\r\n")
        assert b"x-content-type-options: nosniff" in connection.recv(4096)


def test_a_certificate_of_our_own_pins_no_browser_to_https() -> None:
    assert "strict-transport-security" not in dict(security_headers(use_hsts=False))


@pytest.mark.parametrize("workers", [1, 2])
def test_https_is_served_with_the_certificate(workers: int, start: Start, tmp_path: Path) -> None:
    certificate, key = tls.ensure_certificate(tmp_path)
    address = start(
        workers=workers, host="localhost", service={"certificate": (str(certificate), str(key))}
    ).address()
    assert address.startswith("https://localhost:")
    trusting = ssl.create_default_context(cafile=str(certificate))
    assert httpx.get(f"{address}/pid", verify=trusting).status_code == 200


def test_an_ipv6_address_is_printed_in_brackets(start: Start) -> None:
    address = start(host="::1").address()
    assert address.startswith("http://[::1]:")
    assert pid(address)


def test_the_host_is_printed_as_given(start: Start) -> None:
    assert start(host="0.0.0.0").address().startswith("http://0.0.0.0:")


@pytest.mark.parametrize("workers", [1, 2])
def test_the_environment_reaches_the_application(workers: int, start: Start) -> None:
    running = start(workers=workers, environment={"SMALL_APP_SETTING": "given"})
    assert get(f"{running.address()}/pid").json()["setting"] == "given"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_signal_lets_requests_in_flight_end(workers: int, number: int, start: Start) -> None:
    running = start(workers=workers, service={"drain_seconds": 300})
    address = running.address()
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(get, f"{address}/sleep/1.5")
        wait_until(lambda: is_in_flight(address))
        running.process.send_signal(number)
        wait_until(lambda: refuses_connections(address))
        assert slow.result().status_code == 200
    assert running.wait_for_exit()[0] == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_what_does_not_end_in_time_is_cut_off(workers: int, start: Start) -> None:
    running = start(workers=workers, service={"drain_seconds": 1})
    address = running.address()
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(get, f"{address}/sleep/300")
        wait_until(lambda: is_in_flight(address))
        assert running.stop()[0] == 0
        assert slow.result().status_code == 503


@pytest.mark.parametrize("workers", [1, 2])
def test_a_second_interrupt_does_not_wait(workers: int, start: Start) -> None:
    running = start(workers=workers, service={"drain_seconds": 300})
    address = running.address()
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(get, f"{address}/sleep/300")
        wait_until(lambda: is_in_flight(address))
        running.process.send_signal(signal.SIGINT)
        wait_until(lambda: refuses_connections(address))
        assert running.stop(signal.SIGINT)[0] == EXIT_FORCED
        with contextlib.suppress(httpx.TransportError):
            slow.result()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_signal_during_the_start_ends_it(workers: int, start: Start, tmp_path: Path) -> None:
    starting = tmp_path / "starting"
    waiting = {"SMALL_APP_START_SECONDS": "300", "SMALL_APP_STARTING": str(starting)}
    running = start(workers=workers, environment=waiting)
    wait_until(starting.exists)
    status, output, errors = running.stop()
    assert (status, output) == (0, "")
    assert "Traceback" not in errors


@pytest.mark.parametrize("workers", [1, 2])
def test_an_application_that_cannot_start_is_one_sentence(workers: int, start: Start) -> None:
    status, output, errors = start("create_expected_failure", workers=workers).wait_for_exit()
    assert (status, output) == (1, "")
    assert errors.splitlines()[-1] == "Error: MongoDB is not there: give another --mongo-url"
    assert "Traceback" not in errors


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_at_startup_ends_the_service(workers: int, start: Start) -> None:
    status, output, errors = start("create_fault", workers=workers).wait_for_exit()
    assert (status, output) == (1, "")
    assert errors.splitlines()[-1] == (
        "Error: The service cannot start: RuntimeError: a fault of ours"
    )


def test_a_port_in_use_is_one_sentence(start: Start) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        status, output, errors = start(port=port).wait_for_exit()
    assert (status, output) == (1, "")
    assert errors == (
        f"Error: Cannot listen on 127.0.0.1:{port}: the port is in use; "
        f"stop what listens there, or choose another: --port {port + 1}, or"
        f" FLOORGATE_PORT={port + 1} make serve\n"
    )


@pytest.mark.parametrize(
    ("host", "cause"),
    [
        ("no.such.host.invalid", "is unknown"),
        ("a" * 70, "is unknown"),
        ("192.0.2.1", "this machine does not have that address"),  # TEST-NET-1
    ],
)
def test_a_host_that_cannot_be_had_is_named(host: str, cause: str) -> None:
    with pytest.raises(StartError, match=cause):
        open_listeners(host, 0)


def test_all_addresses_of_a_host_share_the_port() -> None:
    listeners = open_listeners("localhost", 0)
    assert len({listener.getsockname()[1] for listener in listeners}) == 1
    for listener in listeners:
        listener.close()
