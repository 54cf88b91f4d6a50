"""`/metrics` shows the sum of all workers, whatever becomes of them, and costs others nothing."""

import os
import platform
import signal
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from importlib import metadata
from pathlib import Path

import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from gateway.metrics import FAMILIES, PREFIX
from gateway.server.metrics_server import MAX_CONNECTIONS
from rest.errors import ERROR_CODES
from tests.gateway.server.processes import (
    ServerProcess,
    Start,
    exit_worker,
    get,
    is_alive,
)
from tests.gateway.test_metrics import parse
from tests.waiting import TIMEOUT_SECONDS, wait_until

pytestmark = pytest.mark.timeout(3 * TIMEOUT_SECONDS)

ADDRESS = "127.0.0.1:0"
LONG = {"drain_seconds": 3600}
SLOW = pytest.mark.slow


def metrics_url(running: ServerProcess) -> str:
    """The address that the log tells."""
    message = running.wait_for("Metrics are served on ")[-1]["message"]
    return str(message).rpartition(" ")[2]


def scrape(running: ServerProcess) -> dict[tuple[str, ...], float]:
    return parse(get(metrics_url(running)).text)


def count_requests(running: ServerProcess) -> float:
    """The number of requests that workers have answered."""
    return sum(
        value
        for (name, *labels), value in scrape(running).items()
        if name == "floorgate_requests_total" and "RESTARTING" not in labels
    )


def wait_for_requests(running: ServerProcess, count: int) -> None:
    """Wait until all workers have told what they counted."""
    wait_until(lambda: count_requests(running) >= count)
    assert count_requests(running) == count


def wait_for_exits(running: ServerProcess, reason: str, count: int) -> None:
    wait_until(lambda: scrape(running)["floorgate_worker_exits_total", reason] == count)


class Requests:
    """Requests to a server, each on a connection of its own, and their number."""

    def __init__(self, running: ServerProcess) -> None:
        self._address = running.address
        self.count = 0

    def send(self, count: int = 10) -> None:
        for _ in range(count):
            get(f"{self._address}/pid")
        self.count += count

    def reach(self, workers: int) -> set[int]:
        """Send requests until so many workers have answered, and return who they are."""
        pids = Counter[int]()
        while len(pids) < workers:
            response = get(f"{self._address}/pid")
            if response.status_code == 200:  # else no worker is left to answer
                pids[response.json()["pid"]] += 1
        self.count += pids.total()
        return {*pids}


def test_the_requests_of_all_workers_are_shown(start: Start) -> None:
    running = start(workers=2, metrics_address=ADDRESS)
    requests = Requests(running)
    requests.reach(2)
    wait_for_requests(running, requests.count)
    samples = scrape(running)
    assert samples["floorgate_request_duration_seconds_count", "none"] == requests.count
    assert samples["floorgate_workers", "serving"] == 2
    assert (
        "floorgate_build_info",
        platform.python_version(),
        metadata.version("floorgate"),
    ) in samples
    assert running.stop()[0] == 0


def test_errors_of_a_code_begin_at_0_so_that_the_first_ones_are_an_increase(start: Start) -> None:
    running = start(metrics_address=ADDRESS)
    before = scrape(running)
    assert {key[1] for key in before if key[0] == "floorgate_errors_total"} == {*ERROR_CODES}
    assert httpx.get(running.address, headers={"A": "a" * 40_000}).status_code == 431
    wait_until(lambda: scrape(running)["floorgate_errors_total", "HEADERS_TOO_LARGE"] == 1)
    assert before["floorgate_errors_total", "HEADERS_TOO_LARGE"] == 0


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=SLOW)])
def test_no_total_falls_when_a_worker_is_killed(start: Start, workers: int) -> None:
    running = start(workers=workers, metrics_address=ADDRESS)
    requests = Requests(running)
    for deaths in range(1, 3):
        pids = requests.reach(workers)
        wait_for_requests(running, requests.count)
        os.kill(min(pids), signal.SIGKILL)
        wait_for_exits(running, "killed", deaths)
        assert count_requests(running) == requests.count
        wait_until(lambda: scrape(running)["floorgate_workers", "serving"] == workers)
    exit_worker(running.address)  # which counts nothing: it ends without an answer
    wait_for_exits(running, "exited", 1)
    requests.reach(workers)
    wait_for_requests(running, requests.count)


def test_a_reload_keeps_the_totals_and_those_of_workers_that_drain(
    start: Start, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    running = start(
        metrics_address=ADDRESS, environment={"SMALL_APP_GATE": str(gate)}, service=LONG
    )
    requests, url = Requests(running), metrics_url(running)
    for reloads in range(1, 3):
        [before] = requests.reach(1)  # and no scrape before the reload
        running.reload()
        wait_until(lambda before=before: not is_alive(before))  # type: ignore[misc]
        wait_for_exits(running, "reload", reloads)
        requests.send()
        wait_for_requests(running, requests.count)
    with ExitStack() as stack:
        client = stack.enter_context(httpx.Client(timeout=TIMEOUT_SECONDS))
        client.get(f"{running.address}/pid")
        running.reload()
        wait_until(lambda: scrape(running)["floorgate_workers", "draining"] == 1)
        os.kill(client.get(f"{running.address}/pid").json()["pid"], signal.SIGKILL)
    requests.count += 2
    wait_until(lambda: scrape(running)["floorgate_workers", "draining"] == 0)
    assert metrics_url(running) == url
    assert count_requests(running) >= requests.count - 2  # it was killed before it told


def test_a_worker_that_hangs_counts_with_what_it_told_last(start: Start) -> None:
    running = start(workers=2, metrics_address=ADDRESS)
    requests = Requests(running)
    hung, *_ = requests.reach(2)
    wait_for_requests(running, requests.count)
    os.kill(hung, signal.SIGSTOP)
    try:
        assert count_requests(running) == requests.count
        assert scrape(running)["floorgate_workers", "silent"] == 1
    finally:
        os.kill(hung, signal.SIGCONT)
    assert scrape(running)["floorgate_workers", "silent"] == 0
    requests.send()
    wait_for_requests(running, requests.count)


def connect(running: ServerProcess) -> socket.socket:
    url = httpx.URL(metrics_url(running))
    return socket.create_connection((url.host, url.port or 0), timeout=TIMEOUT_SECONDS)


def test_idle_clients_hold_few_connections_and_not_for_long(start: Start) -> None:
    running = start(metrics_address=ADDRESS)
    Requests(running).send(1)
    with ExitStack() as stack:
        idle = [stack.enter_context(connect(running)) for _ in range(MAX_CONNECTIONS)]
        waiting = stack.enter_context(connect(running))
        waiting.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        idle[0].sendall(b"GET /metrics HTTP/1.1\r\n")
        assert waiting.recv(9) == b"HTTP/1.1 "  # when idle ones were closed, after seconds
        assert [each.recv(1) for each in idle] == [b""] * MAX_CONNECTIONS
    wait_for_requests(running, 1)


@pytest.fixture(scope="module")
def one_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that tests only ask."""
    log = tmp_path_factory.mktemp("server") / "log"
    running = ServerProcess(log, metrics_address=ADDRESS)
    assert running.address
    yield running
    running.kill()


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET /metrics HTTP/1.1", 200),
        ("GET /metrics?name[]=x HTTP/1.0", 200),
        ("GET / HTTP/1.1", 404),
        ("GET /v1/units HTTP/1.1", 404),
        ("POST /metrics HTTP/1.1", 405),
        ("nonsense", 404),
    ],
)
def test_only_a_get_of_metrics_is_answered(
    one_server: ServerProcess, request_line: str, status: int
) -> None:
    with connect(one_server) as client:
        client.sendall(f"{request_line}\r\nHost: a\r\n\r\n".encode())
        with client.makefile("rb") as response:
            assert response.readline().split()[1] == str(status).encode()
            assert response.read()


def test_a_head_that_is_too_long_gets_no_answer(one_server: ServerProcess) -> None:
    with connect(one_server) as client, suppress(ConnectionError):
        client.sendall(b"GET /metrics HTTP/1.1\r\n" + b"a" * (1 << 20))
        assert client.recv(1) == b""


def test_openmetrics_is_sent_to_clients_that_prefer_it(one_server: ServerProcess) -> None:
    accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
    response = httpx.get(metrics_url(one_server), headers={"Accept": accept})
    assert response.headers["content-type"].startswith("application/openmetrics-text")
    assert response.text.endswith("# EOF\n")
    families = text_string_to_metric_families(response.text)  # type: ignore[no-untyped-call]
    names = {family.name for family in families}
    assert names == {PREFIX + name.removesuffix("_total") for name in FAMILIES}
    plain = httpx.get(metrics_url(one_server)).headers["content-type"]
    assert plain == "text/plain; version=0.0.4; charset=utf-8"


def test_metrics_are_served_over_ipv6_too(start: Start) -> None:
    running = start(metrics_address="[::1]:0")
    assert running.address
    assert metrics_url(running).startswith("http://[::1]:")
    assert scrape(running)["floorgate_workers", "serving"] == 1


def test_an_address_that_cannot_be_had_is_told(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        running = start(metrics_address=f"127.0.0.1:{port}")
        status, output, errors = running.wait_for_exit()
    assert (status, output) == (1, "")
    sentence = f"Error: Cannot listen on 127.0.0.1:{port}: the port is in use"
    assert errors == f"{sentence}; choose another --metrics-address\n"


def test_without_an_address_there_are_no_metrics(start: Start) -> None:
    running = start()
    assert running.address
    assert running.lines("Metrics are served") == []
