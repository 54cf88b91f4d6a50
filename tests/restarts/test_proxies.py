"""The example configurations of nginx and Caddy, run in front of a gateway.

Skipped where a proxy is not installed.
"""

import asyncio
import json
import shutil
import ssl
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from gateway.server import tls
from storage.embedded.replica_set import HOST
from tests.faults.catalog import ASSET, ATTRIBUTES, ONE, SINGLE_UNITS, build_catalog
from tests.faults.gateways import GatewayProcess, running
from tests.fixtures import create_world, drop_world
from tests.restarts.restarts import BALANCERS, Balancer, run_balancer
from tests.storage.mongo.replica_set_of_three import find_free_ports
from tests.waiting import TIMEOUT_SECONDS, wait_until

pytestmark = pytest.mark.slow
PROXIES = [each for each in BALANCERS if each.notice_seconds == 0]
FLAGS = "changes, unit-attributes-resource"
OPTIONS = {
    "nginx": "ssl_certificate {0}; ssl_certificate_key {1};",
    "caddy": "\ttls {0} {1}",
}


@dataclass
class Proxied:
    """A gateway behind a proxy, beside one that does not run."""

    balancer: Balancer
    gateway: GatewayProcess
    address: str
    certificate: Path

    @property
    def headers(self) -> dict[str, str]:
        return {"API-Key": self.gateway.key, "Experimental-Flags": FLAGS}

    def client(self) -> httpx.Client:
        trusted = ssl.create_default_context(cafile=str(self.certificate))
        return httpx.Client(
            base_url=self.address, headers=self.headers, verify=trusted, timeout=TIMEOUT_SECONDS
        )


@pytest.fixture(scope="module")
def gateway(mongo_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    folder = tmp_path_factory.mktemp("gateway")
    bundle = folder / "bundle.json"
    world = asyncio.run(create_world(mongo_url, uuid.uuid4().hex, bundle, build_catalog()))
    (port,) = find_free_ports(1)
    url, database, key = world.mongo_url, world.database, world.keys.full
    process = GatewayProcess(0, port, folder, url, database, key, workers=1)
    process.options = ("--base-url", "https://maps.example.com")
    try:
        with running(process):
            yield process
    finally:
        drop_world(world)


@pytest.fixture(scope="module", params=PROXIES, ids=lambda each: each.program)
def proxied(
    request: pytest.FixtureRequest,
    gateway: GatewayProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Proxied]:
    balancer: Balancer = request.param
    if shutil.which(balancer.program) is None:
        pytest.skip(f"{balancer.program} is not installed")
    folder = tmp_path_factory.mktemp(balancer.program)
    certificate, key = tls.ensure_certificate(folder)
    (unused,) = find_free_ports(1)
    options = OPTIONS[balancer.program].format(certificate, key)
    with run_balancer(balancer, folder, [unused, gateway.port], tls=options) as port:
        yield Proxied(balancer, gateway, f"https://{HOST}:{port}", certificate)


def test_requests_go_to_the_gateway_that_runs(proxied: Proxied) -> None:
    """POSTs, too: nothing was sent to the one that refuses connections."""
    with proxied.client() as client:
        for _ in range(10):
            assert client.post("/graphql", json={"query": "{ __typename }"}).is_success
            assert client.get("/v1/assets").is_success


def test_links_are_those_of_the_service_and_headers_of_the_client_are_not_believed(
    proxied: Proxied,
) -> None:
    claimed = {"X-Forwarded-Proto": "http", "X-Forwarded-For": "192.0.2.7"}
    with proxied.client() as client:
        response = client.get("/v1/units?per-page=1", headers=claimed)
    assert response.is_success
    assert response.json()["paging"]["next_url"].startswith("https://maps.example.com/v1/units?")
    request_id = response.headers["x-request-id"]
    wait_until(lambda: request_id in proxied.gateway.log.read_text())
    lines = proxied.gateway.log.read_text().splitlines()
    [line] = [each for each in lines if request_id in each]
    assert json.loads(line)["client"] == HOST


def test_clients_speak_http_2(proxied: Proxied) -> None:
    key = f"API-Key: {proxied.gateway.key}"
    command = ["curl", "--silent", "--http2", "--cacert", str(proxied.certificate), "--header", key]
    options = ["--write-out", "%{http_version} %{response_code}", "--output", "/dev/null"]
    done = subprocess.run(
        [*command, *options, f"{proxied.address}/v1/assets"], capture_output=True, text=True
    )
    assert done.stdout == "2 200"


def test_large_bodies_reach_the_gateway_and_its_limits_hold(proxied: Proxied) -> None:
    with proxied.client() as client:
        response = client.post("/graphql", json={"query": "#" * (30 << 20)})
    assert response.status_code == 413
    assert response.json()["errors"][0]["extensions"]["code"] == "BODY_TOO_LARGE"


def test_a_web_socket_is_passed_on(proxied: Proxied) -> None:
    trusted = ssl.create_default_context(cafile=str(proxied.certificate))
    address = f"{proxied.address.replace('https', 'wss')}/graphql"
    protocols = [Subprotocol("graphql-transport-ws")]
    with connect(address, ssl=trusted, subprotocols=protocols) as client:
        payload = {"apiKey": proxied.gateway.key}
        client.send(json.dumps({"type": "connection_init", "payload": payload}))
        assert json.loads(client.recv(TIMEOUT_SECONDS))["type"] == "connection_ack"


def test_events_arrive_when_they_happen(proxied: Proxied) -> None:
    accept = {"Accept": "text/event-stream"}
    with proxied.client() as client:
        # From a cursor: the stream may have begun only after the first change below.
        cursor = client.post("/graphql", json={"query": "{ changes { cursor } }"}).json()["data"]
        after = cursor["changes"]["cursor"]
        text = "subscription ($after: String) { changes(after: $after) { operation } }"
        query = {"query": text, "variables": {"after": after}}
    with (
        proxied.client() as client,
        client.stream("POST", "/graphql", json=query, headers=accept) as events,
    ):
        assert events.is_success
        lines = events.iter_lines()
        for number in range(2):
            assign(proxied, ATTRIBUTES[number])
            event = next(line for line in lines if line.startswith("data:"))
            assert json.loads(event.removeprefix("data:"))["data"]["changes"]["operation"]


def assign(proxied: Proxied, attribute: str) -> None:
    unit = {"asset_id": ASSET, "unit_id": SINGLE_UNITS[0]}
    data: list[dict[str, Any]] = [{"group_id": ONE, "attribute_id": attribute, **unit}]
    path = f"/v1/units/attribute-groups/{ONE}/assignments"
    with proxied.client() as client:
        response = client.put(path, json={"data": data})
    assert response.is_success, response.text
