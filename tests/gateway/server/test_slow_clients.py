"""Slow clients, played by the program slowhttptest (a Debian package), stop no service."""

import csv
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures import World
from tests.gateway.floorgate_process import Server, run_serve_command, storage_options

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("slow-clients")]

PROGRAM = shutil.which("slowhttptest")
CONNECTIONS = 200
ATTACKS = {
    "slow headers": ["-H", "-i", "2"],
    "slow bodies": ["-B", "-i", "2", "-s", "8192", "-f", "application/json"],
    "slow reading": ["-X", "-n", "2", "-w", "256", "-y", "512", "-z", "16", "-k", "3"],
    "byte ranges": ["-R", "-a", "1", "-b", "5000", "-t", "GET"],
}
DESCRIPTION = "/v1/openapi.json"
"""The largest response that needs no key."""


@pytest.fixture(scope="module")
def server(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("slow-clients")
    storage = storage_options(world.mongo_url, world.database, folder)
    with run_serve_command(folder, *storage, "--log-level", "warning", "--rate-limit", 0) as server:
        yield server


@pytest.mark.skipif(PROGRAM is None, reason="slowhttptest is absent: apt-get install slowhttptest")
@pytest.mark.parametrize("attack", ATTACKS)
def test_others_are_served_while_clients_are_slow(
    server: Server, world: World, attack: str, tmp_path: Path
) -> None:
    assert PROGRAM is not None
    options = [*ATTACKS[attack], "-c", str(CONNECTIONS), "-r", "100", "-l", "12", "-p", "60"]
    # Without a key, a body is rejected before it has arrived.
    path = f"/graphql?api-key={world.keys.full}" if attack == "slow bodies" else DESCRIPTION
    report = tmp_path / "report"
    command = [PROGRAM, *options, "-g", "-o", str(report), "-u", server.address + path]
    served = 0
    with (
        server.client(world.keys.full) as client,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process,
    ):
        while process.poll() is None:
            assert client.get("/v1/units?per-page=2").status_code == 200
            assert client.get("/health/ready").status_code == 200
            served += 1
        assert process.stdout is not None
        output = process.stdout.read().decode(errors="replace")
    assert process.returncode == 0, output
    assert served > 1
    with report.with_suffix(".csv").open() as lines:
        seconds = list(csv.DictReader(lines))
    opened = [int(row["Closed"]) + int(row["Connected"]) for row in seconds]
    assert max(opened) == CONNECTIONS, output  # the attack took place
    available = [int(row["Service Available"]) for row in seconds]
    assert all(available[1:]), output
