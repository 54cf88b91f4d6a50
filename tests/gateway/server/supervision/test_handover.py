"""SIGHUP: the program and its workers are replaced, and no client notices."""

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from gateway.errors import StartError
from gateway.server import tls
from gateway.server.config import ServerConfig
from gateway.server.supervision.handover import Handover, WorkerState
from gateway.server.supervision.orders import (
    EXIT_FORCED,
    LONG_TASKS_MESSAGE,
    MAX_LONG_TASK_SECONDS,
    READY_MESSAGE,
)
from gateway.server.supervision.supervisor import Supervisor
from gateway.server.supervision.worker_process import AdoptedProcess, WorkerProcess
from tests.gateway import small_app
from tests.gateway.server.clients import clients
from tests.gateway.server.processes import (
    TIMEOUT_SECONDS,
    ServerProcess,
    Start,
    get,
    is_alive,
    is_in_flight,
    keeping_client,
    pid,
    wait_until,
)

pytestmark = pytest.mark.slow

RELOADS = 10


class Service:
    """A server process whose log can be read while it runs."""

    def __init__(self, start: Start, folder: Path, **given: Any) -> None:
        self.log = folder / "log"
        self.running: ServerProcess = start(log=self.log, **given)
        self.address = self.running.address()
        self.port = httpx.URL(self.address).port or 0

    def send(self, number: int) -> None:
        self.running.process.send_signal(number)

    def lines(self, message: str) -> list[dict[str, Any]]:
        complete, _, _ = self.log.read_text().rpartition("\n")  # a line may be half written
        logged = [orjson.loads(line) for line in complete.splitlines() if line[0] == "{"]
        return [line for line in logged if line["message"].startswith(message)]

    def wait_for(self, message: str, count: int = 1) -> list[dict[str, Any]]:
        wait_until(lambda: len(self.lines(message)) >= count)
        return self.lines(message)

    def reload(self) -> None:
        """Reload, and wait until new workers serve."""
        count = len(self.lines("Reloaded"))
        self.send(signal.SIGHUP)
        self.wait_for("Reloaded", count + 1)

    def stop(self) -> int:
        return self.running.stop()[0]


@pytest.fixture
def serve(start: Start, tmp_path: Path) -> Callable[..., Service]:
    return lambda **given: Service(start, tmp_path, **given)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("workers", [1, 2])
def test_no_client_notices_ten_restarts(serve: Callable[..., Service], workers: int) -> None:
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


def test_a_worker_that_says_so_is_given_time_for_its_long_task() -> None:
    config, before = ServerConfig(small_app.create), handover()
    before.workers = []
    supervisor = Supervisor(config, [], workers=1, on_ready=lambda: None, predecessor=before)
    theirs, ours = socket.socketpair()
    with theirs, ours:
        worker = WorkerProcess(AdoptedProcess(0), ours, 0, READY_MESSAGE)
        killed_at = supervisor._kill_time(worker)
        theirs.sendall(LONG_TASKS_MESSAGE)
        worker.read_channel()
        assert supervisor._kill_time(worker) == killed_at + MAX_LONG_TASK_SECONDS


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
    service = serve(service=given)
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


def test_a_second_reload_begins_when_the_first_has_ended(serve: Callable[..., Service]) -> None:
    service = serve()
    with clients(service.port) as load:
        service.send(signal.SIGHUP)
        service.wait_for("Reloading")
        service.wait_for("Reloaded")  # its old worker may still drain
        service.send(signal.SIGHUP)
        service.send(signal.SIGHUP)  # as good as one
        service.wait_for("Reloaded", 2)
    assert load.failures == []
    assert service.stop() == 0


def test_signals_that_arrive_while_the_program_is_replaced_are_not_lost(
    serve: Callable[..., Service],
) -> None:
    """They are sent as fast as possible: some find no handler in place."""
    service = serve()
    with clients(service.port) as load:
        for _ in range(300):
            service.send(signal.SIGHUP)
            wait_until(lambda: is_alive(service.running.process.pid))
        service.wait_for("Reloaded")
    assert load.failures == []
    assert service.stop() == 0


@pytest.mark.parametrize(
    ("signals", "status"),
    [([signal.SIGTERM], 0), ([signal.SIGINT], 0), ([signal.SIGINT] * 2, EXIT_FORCED)],
)
@pytest.mark.parametrize("moment", ["check", "start"])
def test_the_service_can_be_stopped_during_a_reload(
    serve: Callable[..., Service], tmp_path: Path, signals: list[int], status: int, moment: str
) -> None:
    """While the new program is checked, and while its workers start."""
    starting, slow = tmp_path / "starting", tmp_path / "slow"
    environment = {"SMALL_APP_SLOW_START": str(slow), "SMALL_APP_STARTING": str(starting)}
    service = serve(environment=environment, service={"drain_seconds": 60})
    before = pid(service.address)
    slow.touch()
    starting.unlink()
    with ThreadPoolExecutor() as pool:
        request = pool.submit(get, f"{service.address}/sleep/{1 if status == 0 else 300}")
        wait_until(lambda: is_in_flight(service.address))
        service.send(signal.SIGHUP)
        service.wait_for("Reloading")
        if moment == "start":
            wait_until(starting.exists)
        for number in signals:
            service.send(number)
            wait_until(lambda: _refuses(service.port))
        assert service.running.process.wait(TIMEOUT_SECONDS) == status
        assert not is_alive(before)
        if status == 0:
            assert request.result().status_code == 200
        else:
            assert request.exception() is not None


def _refuses(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_workers_that_die_during_a_reload_do_not_stop_it(
    serve: Callable[..., Service], tmp_path: Path
) -> None:
    """One of the program before, while the new ones start: nobody is refused meanwhile."""
    slow = tmp_path / "slow"
    service = serve(environment={"SMALL_APP_SLOW_START": str(slow)})
    before = pid(service.address)
    slow.touch()
    with clients(service.port, keeping=0, fresh=4) as load:
        wait_until(lambda: load.answers > 20)
        service.send(signal.SIGHUP)
        wait_until(lambda: bool(new_workers(service, before)))
        os.kill(before, signal.SIGKILL)
        service.wait_for("A worker of the previous program died")
        slow.unlink()
        service.wait_for("Reloaded")
        answers = load.answers
        wait_until(lambda: load.answers > answers + 20)
    assert [each for each in load.failures if "Refused" in each] == []
    assert len(load.failures) <= 4  # those that the dead worker had taken
    assert service.stop() == 0


def test_a_new_worker_that_dies_while_it_starts_ends_the_reload(
    serve: Callable[..., Service], tmp_path: Path
) -> None:
    slow = tmp_path / "slow"
    service = serve(environment={"SMALL_APP_SLOW_START": str(slow)})
    before = pid(service.address)
    slow.touch()
    service.send(signal.SIGHUP)
    wait_until(lambda: bool(new_workers(service, before)))
    [new] = new_workers(service, before)
    os.kill(new, signal.SIGKILL)
    [line] = service.wait_for("The reload failed")
    assert line["reason"] == "A worker exited with status -9 before it served"
    assert pid(service.address) == before
    slow.unlink()
    service.reload()
    assert service.stop() == 0


def new_workers(service: Service, before: int) -> list[int]:
    """Worker processes beside that of the program before."""
    number = service.running.process.pid
    children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
    others = {*map(int, children)} - {before}
    return [each for each in others if b"gateway.server.worker" in command(each)]


def command(number: int) -> bytes:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_lone_worker_that_is_killed_is_replaced_and_nobody_is_refused(
    serve: Callable[..., Service],
) -> None:
    service = serve()
    with clients(service.port, keeping=0, fresh=4) as load:
        for number in range(3):
            wait_until(lambda number=number: len(load.pids) == number + 1)  # type: ignore[misc]
            os.kill(pid(service.address), signal.SIGKILL)
        wait_until(lambda: len(load.pids) == 4)
    assert [each for each in load.failures if "Refused" in each] == []
    assert len(load.failures) <= 3 * 4  # those that a dead worker had taken
    assert service.stop() == 0


def handover(**given: Any) -> Handover:
    fixed = {"--host": "127.0.0.1", "--port": "8443"}
    workers = [WorkerState(1, 2, 3)] * 4
    return Handover(fixed, [5], workers, 10, 32, 6, 7, (256, 100), **given)


@pytest.mark.parametrize(
    ("changed", "workers", "message"),
    [
        ({"--port": "9000"}, 1, "--port cannot change from 8443 to 9000 while the service runs"),
        ({"--host": "::"}, 1, "--host cannot change"),
        ({}, 29, "--workers can be 28 at most"),
    ],
)
def test_what_cannot_change_is_refused_with_a_sentence(
    changed: dict[str, str], workers: int, message: str
) -> None:
    given = handover()
    given.check_options(given.fixed_options, 28)
    with pytest.raises(StartError, match=message):
        given.check_options({**given.fixed_options, **changed}, workers)


def test_a_release_that_shares_other_memory_is_refused() -> None:
    handover().check_memory((256, 100))
    with pytest.raises(StartError, match="restart the service"):
        handover().check_memory((512, 100))


def test_a_program_without_a_valid_handover_is_one_sentence(start: Start) -> None:
    running = start(environment={"FLOORGATE_HANDOVER": "{}"})
    assert running.wait_for_exit() == (
        1,
        "",
        "Error: This release cannot take over from the one that runs: restart the service\n",
    )


def test_a_socket_of_systemd_is_served_and_systemd_is_told(start: Start, tmp_path: Path) -> None:
    """The shell stands for systemd: it knows the process id before the program starts."""
    from tests.gateway.server.processes import CHECKOUT, PROGRAM

    address = str(tmp_path / "notify")
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd,
    ):
        systemd.bind(address)
        systemd.settimeout(TIMEOUT_SECONDS)
        options = orjson.dumps({"service": {}, "port": 0}).decode()
        script = f'exec 3<&{listener.fileno()}; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"'
        process = subprocess.Popen(
            ["bash", "-c", script, "-", sys.executable, "-c", PROGRAM, "create", options],
            pass_fds=[listener.fileno()],
            cwd=CHECKOUT,
            env={**os.environ, "NOTIFY_SOCKET": address},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            port = listener.getsockname()[1]
            assert systemd.recv(100) == b"READY=1"
            before = pid(f"http://127.0.0.1:{port}")
            process.send_signal(signal.SIGHUP)
            assert systemd.recv(100).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
            assert systemd.recv(100) == b"READY=1"
            wait_until(lambda: pid(f"http://127.0.0.1:{port}") != before)
            process.send_signal(signal.SIGTERM)
            assert systemd.recv(100) == b"STOPPING=1"
            assert process.wait(TIMEOUT_SECONDS) == 0
        finally:
            process.kill()
            process.wait()
