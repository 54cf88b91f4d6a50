"""How soon a write shows: `python -m bench.staleness`.

Two gateways on one database. A unit is given one attribute and another in turn through the first;
each answer to that is followed at once by reads through the second (or the first), until one shows
the write. The time from the answer to the first read that shows it, when that read was sent, is the
staleness: 0 where no read showed less than was written.
"""

import http.client
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import click
import msgspec
import orjson
from pymongo import MongoClient
from rich.console import Console

from bench import machine, pages
from bench.directory import ATTRIBUTES, FIRST_ASSET, GROUP, Directory, fill
from bench.load import percentile
from bench.peers.floorgate import CACHED, UNCACHED
from bench.peers.peer import HOST, Peer
from bench.serving import PeerError, Server, serving
from bench.sheets import Sheet
from bench.starting import scratch_directory
from storage import embedded

ASSIGNMENTS = f"/v1/units/attribute-groups/{GROUP}/assignments"
LONGEST_SECONDS = 10.0
UNITS = 2_000
READS = 100
KEEPING_READS = 3
"""After which an answer that can be kept is kept."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """When writes showed, in milliseconds after they were answered."""

    writes: int
    stale_reads: int
    """How many first reads showed less than was written."""
    p50_ms: float
    p99_ms: float
    most_ms: float
    finds: float
    """What a read asks of MongoDB while nothing is written."""

    @property
    def is_kept(self) -> bool:
        """Whether reads were answered from memory, so that they could have been stale."""
        return self.finds < 0.5


class Staleness(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen through another gateway, without and with caches, and through the same."""

    uncached: Seen
    cached: Seen
    same: Seen


def measure(directory: Directory, writes: int) -> Staleness:
    """So many writes for each figure. Raises PeerError where one does not show at all."""
    return Staleness(
        uncached=_across(directory, UNCACHED, writes),
        cached=_across(directory, CACHED, writes),
        same=_within(directory, writes),
    )


def _across(directory: Directory, peer: Peer, writes: int) -> Seen:
    with _gateways(directory, peer, 2) as (writer, reader):
        return watch(writer, reader, directory, writes)


def _within(directory: Directory, writes: int) -> Seen:
    with _gateways(directory, CACHED, 1) as (gateway,):
        return watch(gateway, gateway, directory, writes)


class Gateway:
    """A gateway with a connection that stays open."""

    def __init__(self, server: Server) -> None:
        self._headers = server.headers | {"Content-Type": "application/json"}
        self._connection = http.client.HTTPConnection(HOST, server.port)

    def assign(self, unit_id: str, attribute: str) -> None:
        """Gives a unit an attribute in place of another."""
        assignment = {
            "group_id": GROUP,
            "attribute_id": attribute,
            "asset_id": FIRST_ASSET,
            "unit_id": unit_id,
        }
        self._ask("PUT", orjson.dumps({"data": [assignment]}))

    def assigned(self) -> list[str]:
        """The attributes that are given."""
        return [each["attribute_id"] for each in self._ask("GET")["data"]]

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def _ask(self, method: str, body: bytes | None = None) -> Any:
        self._connection.request(method, ASSIGNMENTS, body, self._headers)
        response = self._connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise PeerError(f"{method} {ASSIGNMENTS}: {response.status} {content[:300]!r}")
        return orjson.loads(content)


@contextmanager
def _gateways(directory: Directory, peer: Peer, count: int) -> Iterator[list[Gateway]]:
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(peer, directory)) for _ in range(count)]
        yield [stack.enter_context(closing(Gateway(each))) for each in servers]


def watch(writer: Gateway, reader: Gateway, directory: Directory, writes: int) -> Seen:
    """What a reader sees of a writer's writes."""
    waited_ms = []
    for number in range(writes):
        for _ in range(KEEPING_READS):
            reader.assigned()
        attribute = ATTRIBUTES[number % len(ATTRIBUTES)]
        writer.assign(directory.unit_ids[0], attribute)
        waited_ms.append(1000 * _seconds_until(reader, attribute))
    ordered = sorted(waited_ms)
    return Seen(
        writes=writes,
        stale_reads=sum(each > 0 for each in ordered),
        p50_ms=percentile(ordered, 0.5),
        p99_ms=percentile(ordered, 0.99),
        most_ms=ordered[-1],
        finds=_finds(reader, directory),
    )


def _finds(reader: Gateway, directory: Directory) -> float:
    with MongoClient[dict[str, Any]](directory.mongo_url) as client:

        def count() -> int:
            finds: int = client.admin.command("serverStatus")["opcounters"]["query"]
            return finds

        for _ in range(KEEPING_READS):
            reader.assigned()
        before = count()
        for _ in range(READS):
            reader.assigned()
        return (count() - before) / READS


def _seconds_until(reader: Gateway, attribute: str) -> float:
    written = time.perf_counter()
    if reader.assigned() == [attribute]:
        return 0.0
    while (sent := time.perf_counter()) < written + LONGEST_SECONDS:
        if reader.assigned() == [attribute]:
            return sent - written
    raise PeerError(f"a write through another gateway does not show for {LONGEST_SECONDS:.0f} s")


def sheet(found: Staleness) -> Sheet:
    """What was seen."""
    rows = (
        ("another gateway, cache off", found.uncached),
        ("another gateway, cache on", found.cached),
        ("the same gateway, cache on", found.same),
    )
    return Sheet(
        "From a write's answer to the first read that shows it",
        ("read through", "writes", "stale at once", "p50 ms", "p99 ms", "most ms", "finds a read"),
        [
            (
                title,
                str(seen.writes),
                str(seen.stale_reads),
                *(f"{each:.1f}" for each in (seen.p50_ms, seen.p99_ms, seen.most_ms, seen.finds)),
            )
            for title, seen in rows
        ],
        note="Finds: what a read asks of MongoDB while nothing is written; 0 is from memory.",
    )


@click.command()
@click.option("--writes", type=click.IntRange(2), default=500, show_default=True)
@click.option("--write-docs", is_flag=True, help="Write the table into docs/performance.md.")
def main(writes: int, write_docs: bool) -> None:
    """Measure how soon a write shows through another gateway, and through the same."""
    with (
        scratch_directory() as scratch,
        machine.pinned_to(machine.LOAD_CORE),
        embedded.running(scratch / "data") as mongo_url,
    ):
        directory = fill(mongo_url, "floorgate", UNITS, scratch)
        try:
            made = sheet(measure(directory, writes))
        except PeerError as error:
            raise click.ClickException(str(error)) from error
    Console().print(made.table())
    if write_docs:
        pages.rewrite(pages.PERFORMANCE, "staleness", made.markdown())


if __name__ == "__main__":
    main()
