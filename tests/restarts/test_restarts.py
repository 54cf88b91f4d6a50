"""What `make restarts` does, and that it would notice a failure."""

import asyncio
import uuid
from pathlib import Path

import pytest

from tests.faults.catalog import build_catalog
from tests.fixtures import create_world, drop_world
from tests.restarts.restarts import measure_reloads, read_haproxy_configuration
from tests.storage.mongo.replica_set_of_three import find_free_ports


@pytest.mark.slow
def test_no_client_of_a_gateway_notices_that_it_reloads(mongo_url: str, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.json"
    world = asyncio.run(create_world(mongo_url, uuid.uuid4().hex, bundle, build_catalog()))
    try:
        outcome = measure_reloads(tmp_path, world, workers=1, rate=20, restarts=2)
    finally:
        drop_world(world)
    assert outcome.answers.failures == {}
    assert outcome.answers.count >= 20


def test_the_configuration_of_the_guide_is_used() -> None:
    port, *gateways = find_free_ports(3)
    text = read_haproxy_configuration(port, gateways)
    assert f"bind 127.0.0.1:{port}\n" in text
    assert [line.split()[-1] for line in text.splitlines() if line.startswith("    server ")] == [
        f"127.0.0.1:{gateway}" for gateway in gateways
    ]
    assert "option httpchk GET /health/ready" in text
    assert "ssl" not in text
