"""The whole server in processes of its own: start, several workers, signals, and the end."""

import contextlib
import os
import signal
import socket
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from gateway.errors import StartError
from gateway.server import tls
from gateway.server.config import EXIT_FORCED, ServerConfig
from gateway.server.server import open_listeners, security_headers
from gateway.server.supervisor import Supervisor
from tests.gateway import small_app
from tests.gateway.server.processes import (
    ServerProcess,
    Start,
    find_workers,
    get,
    is_alive,
    is_in_flight,
    pid,
    refuses_connections,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("server")

# A service of two workers, which tests only read


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("server")
    certificate, key = tls.ensure_certificate(folder)
    service = {
        "certificate": (str(certificate), str(key)),
        "headers": [*security_headers(use_hsts=True), ("x-secret", "hunter2")],
        "limits": {"max_url_bytes": 30},
    }
    environment = {"SMALL_APP_SETTING": "given"}
    running = ServerProcess(
        folder / "log", service=service, environment=environment, workers=2, host="localhost"
    )
    yield running
    running.stop()


def test_https_is_served_with_the_certificate(server: ServerProcess) -> None:
    assert server.address.startswith("https://localhost:")
    certificate = server.log.with_name("tls") / "cert.pem"
    trusting = ssl.create_default_context(cafile=str(certificate))
    assert httpx.get(f"{server.address}/pid", verify=trusting).status_code == 200


def test_headers_of_the_service_are_in_every_response(server: ServerProcess) -> None:
    for path, status in (("/pid", 200), (f"/pid?{'x' * 25}", 200), (f"/{'x' * 30}", 414)):
        response = get(server.address + path)
        assert response.status_code == status
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["strict-transport-security"] == "max-age=31536000"


def test_every_worker_has_the_environment_and_the_limits(server: ServerProcess) -> None:
    answers = [get(f"{server.address}/pid").json() for _ in range(20)]
    assert {answer["setting"] for answer in answers} == {"given"}
    rejections = [get(f"{server.address}/pid?{'x' * 30}") for _ in range(4)]
    assert ["30 bytes" in each.text for each in rejections] == [True] * 4


def test_settings_are_not_visible_in_the_list_of_processes(server: ServerProcess) -> None:
    assert get(f"{server.address}/pid").headers["x-secret"] == "hunter2"
    for worker in find_workers(server.address):
        for name in ("cmdline", "environ"):
            assert b"hunter2" not in Path(f"/proc/{worker}/{name}").read_bytes()


def test_an_interrupt_from_the_terminal_reaches_the_supervisor_alone(
    server: ServerProcess,
) -> None:
    for worker in find_workers(server.address):
        assert os.getsid(worker) == worker != os.getsid(server.process.pid)


def test_workers_see_the_writes_of_one_another(server: ServerProcess) -> None:
    before = {get(f"{server.address}/pid").json()["writes"] for _ in range(20)}
    after = get(f"{server.address}/write").json()["writes"]
    assert before != {after}
    seen = [get(f"{server.address}/pid").json() for _ in range(20)]
    assert {answer["writes"] for answer in seen} == {after}


# The start


def test_the_service_is_ready_when_every_worker_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also that the supervisor leaves this process's signal handlers as they were."""
    monkeypatch.setenv("SMALL_APP_PIDS", str(tmp_path))
    handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    [listener] = open_listeners("127.0.0.1", 0)
    address = "http://{}:{}".format(*listener.getsockname())
    found = list[tuple[int, int]]()

    def ready() -> None:
        found.append((len([*tmp_path.iterdir()]), get(f"{address}/pid").status_code))
        os.kill(os.getpid(), signal.SIGTERM)

    config = ServerConfig(small_app.create)
    assert Supervisor(config, [listener], workers=3, on_ready=ready).run() == 0
    assert found == [(3, 200)]
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == handlers


def test_clients_are_refused_until_a_worker_serves(start: Start, tmp_path: Path) -> None:
    """So proxies send their requests to another gateway, instead of waiting."""
    starting, slow = tmp_path / "starting", tmp_path / "slow"
    slow.touch()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    running = start(
        port=port,
        environment={"SMALL_APP_STARTING": str(starting), "SMALL_APP_SLOW_START": str(slow)},
    )
    wait_until(starting.exists)
    with pytest.raises(ConnectionRefusedError):  # a request would wait for its answer
        socket.create_connection(("127.0.0.1", port)).close()
    slow.unlink()
    assert pid(running.address)


def test_of_two_gateways_that_start_at_once_on_one_port_one_says_that_it_cannot_listen(
    start: Start, tmp_path: Path
) -> None:
    slow = tmp_path / "slow"
    slow.touch()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    late = start(
        port=port,
        environment={
            "SMALL_APP_STARTING": str(tmp_path / "late"),
            "SMALL_APP_SLOW_START": str(slow),
        },
    )
    wait_until((tmp_path / "late").exists)
    assert pid(start(port=port).address)
    slow.unlink()
    status, output, errors = late.wait_for_exit()
    assert (status, output) == (1, "")
    assert (
        errors.splitlines()[-1]
        == "Error: Cannot listen: Address already in use. Choose another --port"
    )


@pytest.mark.parametrize(
    ("application", "sentence"),
    [
        ("create_expected_failure", "MongoDB is not there: give another --mongo-url"),
        ("create_exit", "A worker exited with status 7 before it served"),
    ],
)
def test_a_service_that_cannot_start_says_why_in_one_sentence(
    start: Start, application: str, sentence: str
) -> None:
    status, output, errors = start(application, workers=2).wait_for_exit()
    assert (status, output) == (1, "")
    assert errors.splitlines()[-1] == f"Error: {sentence}"
    assert "Traceback" not in errors


def test_no_worker_is_left_of_a_start_that_failed(start: Start, tmp_path: Path) -> None:
    """One worker still starts when the other has failed."""
    started = tmp_path / "pids"
    started.mkdir()
    waiting = {"SMALL_APP_START_SECONDS": "3600", "SMALL_APP_PIDS": str(started)}
    running = start("create_second_fails", workers=2, environment=waiting)
    assert running.wait_for_exit()[0] == 1
    workers = [int(path.name) for path in started.iterdir()]
    assert len(workers) == 2
    assert not any(is_alive(worker) for worker in workers)


def test_a_signal_during_the_start_ends_it(start: Start, tmp_path: Path) -> None:
    starting = tmp_path / "starting"
    waiting = {"SMALL_APP_START_SECONDS": "3600", "SMALL_APP_STARTING": str(starting)}
    running = start(workers=2, environment=waiting)
    wait_until(starting.exists)
    status, output, errors = running.stop()
    assert (status, output) == (0, "")
    assert "Traceback" not in errors


def test_an_ipv6_address_is_printed_in_brackets(start: Start) -> None:
    address = start(host="::1").address
    assert address.startswith("http://[::1]:")
    assert pid(address)


def test_a_port_in_use_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartError) as raised:
            open_listeners("127.0.0.1", port)
    assert str(raised.value) == (
        f"Cannot listen on 127.0.0.1:{port}: the port is in use; "
        f"stop what listens there, or choose another: --port {port + 1}, or"
        f" FLOORGATE_PORT={port + 1}"
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


# The end


@pytest.mark.parametrize(("number", "workers"), [(signal.SIGTERM, 2), (signal.SIGINT, 1)])
def test_a_signal_lets_requests_in_flight_end(
    start: Start, tmp_path: Path, number: int, workers: int
) -> None:
    gate = tmp_path / "gate"
    running = start(
        workers=workers,
        service={"drain_seconds": 3600},
        environment={"SMALL_APP_GATE": str(gate)},
    )
    serving = find_workers(running.address, workers)
    get(f"{running.address}/say")
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(get, f"{running.address}/wait")
        wait_until(lambda: is_in_flight(running.address))
        running.process.send_signal(number)
        wait_until(lambda: refuses_connections(running.address))
        gate.touch()
        assert slow.result().status_code == 200
    status, output, errors = running.wait_for_exit()
    assert (status, output) == (0, "")  # what a worker prints is in the log
    assert "said" in errors.splitlines()
    assert errors.count("application stopped") == workers
    assert not any(is_alive(worker) for worker in serving)


def test_what_does_not_end_in_time_is_cut_off(start: Start) -> None:
    running = start(workers=2, service={"drain_seconds": 1})
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(get, f"{running.address}/sleep/3600")
        wait_until(lambda: is_in_flight(running.address))
        assert running.stop()[0] == 0
        assert slow.result().status_code == 503


def test_a_second_interrupt_does_not_wait(start: Start) -> None:
    running = start(workers=2, service={"drain_seconds": 3600})
    workers = find_workers(running.address)
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(get, f"{running.address}/sleep/3600")
        wait_until(lambda: is_in_flight(running.address))
        running.process.send_signal(signal.SIGINT)
        wait_until(lambda: refuses_connections(running.address))
        assert running.stop(signal.SIGINT)[0] == EXIT_FORCED
        assert not any(is_alive(worker) for worker in workers)
        with contextlib.suppress(httpx.TransportError):
            slow.result()
