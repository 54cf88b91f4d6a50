"""Limits of the system that a running service meets: clients wait, and then it goes on."""

import resource
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from bench.load.machine import list_process_tree
from tests.fixtures import World
from tests.gateway.floorgate_process import run_serve_command, storage_options
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

FREE_DESCRIPTORS = 4
CONNECTIONS = 40
ANSWER_SECONDS = 60.0


def test_a_service_that_runs_out_of_descriptors_goes_on_when_there_are_some(
    own_world: World, tmp_path: Path
) -> None:
    storage = storage_options(own_world.mongo_url, own_world.database, tmp_path)
    log = tmp_path / "log"
    options = (*storage, "--workers", "1", "--log-file", log)
    with (
        run_serve_command(tmp_path / "data", *options) as server,
        server.client(own_world.keys.full) as client,
    ):
        assert client.get("/v1/assets").status_code == 200
        _, worker, *_ = list_process_tree(server.process.pid)
        most = resource.prlimit(worker, resource.RLIMIT_NOFILE)
        few = max(int(each.name) for each in Path(f"/proc/{worker}/fd").iterdir())
        few += FREE_DESCRIPTORS
        resource.prlimit(worker, resource.RLIMIT_NOFILE, (few, most[1]))
        with ExitStack() as held:
            address = httpx.URL(server.address)
            for _ in range(CONNECTIONS):
                connection = socket.create_connection((address.host, address.port or 0))
                held.enter_context(connection)
            wait_until(lambda: "Connections wait" in log.read_text(), "the log says it")
            # Idle connections may have been closed to make room: then it waits.
            with suppress(httpx.TransportError):
                status = client.get("/v1/units", timeout=ANSWER_SECONDS).status_code
                assert status in (200, 503)
        with server.client(own_world.keys.full) as other:
            assert other.get("/v1/units").status_code == 200
        assert list_process_tree(server.process.pid)[1] == worker
        resource.prlimit(worker, resource.RLIMIT_NOFILE, most)


def test_a_worker_without_memory_refuses_and_goes_on(own_world: World, tmp_path: Path) -> None:
    storage = storage_options(own_world.mongo_url, own_world.database, tmp_path)
    with (
        run_serve_command(tmp_path / "data", *storage, "--workers", "1") as server,
        server.client(own_world.keys.full) as client,
    ):
        assert client.get("/v1/assets").status_code == 200
        _, worker, *_ = list_process_tree(server.process.pid)
        most = resource.prlimit(worker, resource.RLIMIT_DATA)
        resource.prlimit(worker, resource.RLIMIT_DATA, (1, most[1]))
        body = {"query": "{ assets { data { id } } } #" + "x" * 900_000}

        def is_answered() -> bool:
            try:
                response = client.post("/graphql", json=body, timeout=ANSWER_SECONDS)
            except httpx.TransportError:  # such as of a worker that has ended
                return False
            assert response.status_code in (200, 500, 503)
            return response.status_code == 200

        assert not all([is_answered() for _ in range(3)]), "there is enough memory"
        with suppress(ProcessLookupError):
            resource.prlimit(worker, resource.RLIMIT_DATA, most)
        wait_until(is_answered, "the service is itself again")
