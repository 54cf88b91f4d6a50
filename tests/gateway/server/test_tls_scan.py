"""TLS, scanned by the program sslyze against Mozilla's intermediate profile."""

import subprocess
from pathlib import Path

import pytest

from tests.fixtures import World
from tests.gateway.floorgate_process import run_serve_command, storage_options
from tests.waiting import TIMEOUT_SECONDS
from tools.audit.programs import find_program

pytestmark = pytest.mark.slow

SSLYZE = find_program("sslyze")


@pytest.mark.skipif(SSLYZE is None, reason="sslyze is absent: make audit installs it")
def test_tls_is_what_mozilla_recommends(world: World, tmp_path: Path) -> None:
    storage = storage_options(world.mongo_url, world.database, tmp_path)
    with run_serve_command(tmp_path, *storage, "--log-level", "warning") as server:
        done = subprocess.run(
            [
                *(str(SSLYZE), "--mozilla_config", "intermediate", "--certinfo"),
                *("--certinfo_ca_file", str(server.certificate)),
                server.address.removeprefix("https://"),
            ],
            capture_output=True,
            text=True,
            timeout=10 * TIMEOUT_SECONDS,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "OK - Compliant." in done.stdout
    assert "OK - Not vulnerable to Heartbleed" in done.stdout  # the scan was a whole one
