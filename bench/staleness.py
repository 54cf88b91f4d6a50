"""Measure how soon a write becomes visible: `python -m bench.staleness`.

Two gateways share a database. Writes through the first assign one attribute and another in turn to
a unit; each is followed by reads through the second (or the first) until one shows the write. The
staleness is the time from the answer to the write until the first read that shows it was sent; 0 if
the first read did.
"""

import http.client
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import click
import orjson
from pymongo import MongoClient
from rich.console import Console

from bench.data.directory import ATTRIBUTE_IDS, FIRST_ASSET_ID, GROUP_ID, Directory, load_directory
from bench.load import machine
from bench.load.generator import percentile
from bench.load.servers import PeerError, PeerServer, start_peer
from bench.load.start_time import scratch_directory
from bench.peers.floorgate import CACHED, UNCACHED
from bench.peers.peer import HOST, Peer
from bench.report import pages
from bench.report.staleness_table import Staleness, StalenessSample, build_table
from storage.embedded import embedded_mongo

ASSIGNMENTS = f"/v1/units/attribute-groups/{GROUP_ID}/assignments"
MAX_WAIT_SECONDS = 10.0
UNIT_COUNT = 2_000
READ_COUNT = 100
WARM_UP_READS = 3
"""Reads after which a cacheable response is in the response cache."""


def measure_staleness(directory: Directory, writes: int) -> Staleness:
    """Measure `writes` writes per figure. Raises PeerError if one never becomes visible."""
    return Staleness(
        uncached=_measure_across_gateways(directory, UNCACHED, writes),
        cached=_measure_across_gateways(directory, CACHED, writes),
        same=_measure_same_gateway(directory, writes),
    )


def _measure_across_gateways(directory: Directory, peer: Peer, writes: int) -> StalenessSample:
    with _connect_gateways(directory, peer, 2) as (writer, reader):
        return measure_visibility_delay(writer, reader, directory, writes)


def _measure_same_gateway(directory: Directory, writes: int) -> StalenessSample:
    with _connect_gateways(directory, CACHED, 1) as (gateway,):
        return measure_visibility_delay(gateway, gateway, directory, writes)


class GatewayClient:
    """A keep-alive connection to a gateway."""

    def __init__(self, server: PeerServer) -> None:
        self._headers = server.headers | {"Content-Type": "application/json"}
        self._connection = http.client.HTTPConnection(HOST, server.port)

    def assign(self, unit_id: str, attribute: str, asset_id: str = FIRST_ASSET_ID) -> None:
        """Assign an attribute to a unit in place of its other one."""
        assignment = {
            "group_id": GROUP_ID,
            "attribute_id": attribute,
            "asset_id": asset_id,
            "unit_id": unit_id,
        }
        self._request("PUT", orjson.dumps({"data": [assignment]}))

    def list_assigned(self, unit_id: str) -> list[str]:
        """Return the attributes of a unit, from the list of all assignments."""
        rows = self._request("GET")["data"]
        return [row["attribute_id"] for row in rows if row["unit_id"] == unit_id]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _request(self, method: str, body: bytes | None = None) -> Any:
        self._connection.request(method, ASSIGNMENTS, body, self._headers)
        response = self._connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise PeerError(f"{method} {ASSIGNMENTS}: {response.status} {content[:300]!r}")
        return orjson.loads(content)


@contextmanager
def _connect_gateways(
    directory: Directory, peer: Peer, count: int
) -> Iterator[list[GatewayClient]]:
    with ExitStack() as stack:
        servers = [stack.enter_context(start_peer(peer, directory)) for _ in range(count)]
        yield [stack.enter_context(closing(GatewayClient(server))) for server in servers]


def measure_visibility_delay(
    writer: GatewayClient, reader: GatewayClient, directory: Directory, writes: int
) -> StalenessSample:
    """Measure how soon a reader sees a writer's writes."""
    waited_ms = []
    unit_id = directory.unit_ids[0]
    for number in range(writes):
        for _ in range(WARM_UP_READS):
            reader.list_assigned(unit_id)
        attribute = ATTRIBUTE_IDS[number % len(ATTRIBUTE_IDS)]
        writer.assign(unit_id, attribute)
        waited_ms.append(1000 * seconds_until_visible(reader, unit_id, attribute))
    ordered = sorted(waited_ms)
    return StalenessSample(
        writes=writes,
        stale_reads=sum(wait > 0 for wait in ordered),
        p50_ms=percentile(ordered, 0.5),
        p99_ms=percentile(ordered, 0.99),
        max_ms=ordered[-1],
        finds=_count_finds_per_read(reader, directory),
    )


def _count_finds_per_read(reader: GatewayClient, directory: Directory) -> float:
    with MongoClient[dict[str, Any]](directory.mongo_url) as client:

        def count() -> int:
            finds: int = client.admin.command("serverStatus")["opcounters"]["query"]
            return finds

        unit_id = directory.unit_ids[0]
        for _ in range(WARM_UP_READS):
            reader.list_assigned(unit_id)
        before = count()
        for _ in range(READ_COUNT):
            reader.list_assigned(unit_id)
        return (count() - before) / READ_COUNT


def seconds_until_visible(reader: GatewayClient, unit_id: str, attribute: str) -> float:
    """Read until a write that has just been answered shows. Raises PeerError if it does not.

    Only a read that was sent after the limit fails: one that was sent before may be answered late,
    when the machine stands still, and says nothing of what a read sees now.
    """
    written = sent = time.perf_counter()
    while (shown := reader.list_assigned(unit_id)) != [attribute]:
        if sent > written + MAX_WAIT_SECONDS:
            raise PeerError(
                f"{attribute!r} was written and does not show after {MAX_WAIT_SECONDS:.0f} s: "
                f"reads return {shown}"
            )
        sent = time.perf_counter()
    return sent - written


@click.command()
@click.option("--writes", type=click.IntRange(2), default=500, show_default=True)
@click.option("--write-docs", is_flag=True, help="Write the table into docs/performance.md.")
def main(writes: int, write_docs: bool) -> None:
    """Measure how soon a write shows through another gateway, and through the same."""
    with (
        scratch_directory() as scratch,
        machine.pin_to_cores(machine.LOAD_CORE),
        embedded_mongo.run_embedded_mongo(scratch / "data") as mongo_url,
    ):
        directory = load_directory(mongo_url, "floorgate", UNIT_COUNT, scratch)
        try:
            table = build_table(measure_staleness(directory, writes))
        except PeerError as error:
            raise click.ClickException(str(error)) from error
    Console().print(table.to_rich_table())
    if write_docs:
        pages.rewrite_section(pages.PERFORMANCE_PAGE, "staleness", table.to_markdown())


if __name__ == "__main__":
    main()
