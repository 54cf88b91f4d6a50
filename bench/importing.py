"""Compare an import with bare inserts of the same documents: `python -m bench.importing`.

One run on one mongod, of which each step has an empty database:

1. The documents of a bundle are inserted with `insert_many`, ordered, 1,000 at a time, with the
   gateway's own write concern: once bare, into collections without indexes and validators, and
   once into collections that have those of the catalog. Making the documents does not count. Once
   more without the indexes that only the orders of units need shows what these cost.
2. The bundle is imported, imported again unchanged, and exported.

Prints a line of JSON for each step, and the ratios of the import to the inserts. `cpu_seconds` are
those of this process; `peak_mb` is the memory that it has needed so far; `load`, the load average,
shows how far the seconds can be trusted.
"""

import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import click
import orjson

from bench.load.machine import cpu_seconds, load_average
from storage.bundles.violations import Violations
from storage.catalog import UNITS
from storage.embedded.embedded_mongo import run_embedded_mongo
from storage.exporting.bundles import export_bundle
from storage.importing.batches import read_batches
from storage.importing.import_bundles import ImportProgress, import_bundles
from storage.importing.planning import set_timestamps
from storage.mongo import driver
from storage.mongo.connection import DriverName
from storage.records.kinds import Document
from storage.setup.preparation import prepare_database

TIMEOUT_SECONDS = 60
IMPORT_TIME = "2026-01-31T12:00:00+00:00"


ORDER_INDEXES = [
    ("floor_id", "updated_at", "_id"),
    ("name", "_id"),
    ("asset_id", "name", "_id"),
    ("floor_id", "name", "_id"),
]
"""Those of units that only `orderBy` needs."""


class Cost(NamedTuple):
    """Seconds by the clock, and of CPU in this process and in mongod."""

    seconds: float
    own_cpu: float
    mongod_cpu: float

    @classmethod
    def read(cls, mongod_pid: int) -> "Cost":
        """Return the clocks as they stand."""
        return cls(time.monotonic(), time.process_time(), cpu_seconds(mongod_pid))

    def since(self, before: "Cost") -> "Cost":
        """Return the difference to an earlier reading."""
        return Cost(*(now - then for now, then in zip(self, before, strict=True)))

    def plus(self, other: "Cost") -> "Cost":
        """Return the sum of two costs."""
        return Cost(*map(sum, zip(self, other, strict=True)))

    def print_step(self, name: str, **more: Any) -> None:
        """Print the cost of a step as JSON."""
        measured = {
            "name": name,
            "seconds": round(self.seconds, 1),
            "cpu_seconds": round(self.own_cpu, 1),
            "mongod_cpu_seconds": round(self.mongod_cpu, 1),
            "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
            "load": round(load_average(), 1),
            **more,
        }
        click.echo(orjson.dumps(measured))


class Phases:
    """Seconds of each phase of an import."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._ends: dict[str, float] = {}

    def record(self, progress: ImportProgress) -> None:
        """Record the time of a phase's latest progress."""
        self._ends[progress.phase] = time.monotonic()

    def to_dict(self) -> dict[str, float]:
        """Return the seconds by phase."""
        starts = [self._began, *self._ends.values()]
        ends = self._ends.items()
        return {
            phase: round(end - start, 1) for (phase, end), start in zip(ends, starts, strict=False)
        }


def iter_inserts(bundle: Path) -> Iterator[tuple[str, list[Document]]]:
    """Yield the documents of a bundle by collection, up to 1,000 at a time."""
    for batch in read_batches([bundle], Violations()):
        for kind, members in groupby(batch.members, key=lambda member: member.kind):
            documents = []
            for member in members:
                fields = {field: member.document.get(field) for field in kind.stored_fields}
                set_timestamps(kind, fields, None, IMPORT_TIME)
                documents.append({"_id": member.document["_id"], **fields})
            yield kind.name, documents


async def measure_inserts(
    database: driver.Database, bundle: Path, mongod_pid: int, name: str
) -> Cost:
    """Insert the documents of a bundle, print the measurement, and drop the database."""
    cost = Cost(0, 0, 0)
    for collection, documents in iter_inserts(bundle):
        before = Cost.read(mongod_pid)
        await database[collection].insert_many(documents, ordered=True)
        cost = cost.plus(Cost.read(mongod_pid).since(before))
    cost.print_step(name, **await _count_stored(database))
    await database.client.drop_database(database.name)
    return cost


async def drop_order_indexes(database: driver.Database) -> None:
    """Drop the indexes that only the orders of units need."""
    for fields in ORDER_INDEXES:
        await database[UNITS.name].drop_index("_".join(f"{field}_1" for field in fields))


async def measure_import(
    database: driver.Database, bundle: Path, mongod_pid: int, name: str
) -> Cost:
    """Import a bundle and print the measurement."""
    before, phases = Cost.read(mongod_pid), Phases()
    await import_bundles(database, [bundle], progress=phases.record)
    cost = Cost.read(mongod_pid).since(before)
    stored = await _count_stored(database)
    cost.print_step(name, phase_seconds=phases.to_dict(), **stored)
    return cost


async def measure_export(database: driver.Database, mongod_pid: int) -> None:
    """Export the catalog and print the measurement."""
    before, size = Cost.read(mongod_pid), 0
    async for part in export_bundle(database):
        size += len(part)
    Cost.read(mongod_pid).since(before).print_step("export", bytes=size)


async def _count_stored(database: driver.Database) -> dict[str, int]:
    counts = [
        await database.command("collStats", name) for name in ("assets", "floors", "maps", "units")
    ]
    return {
        "documents": sum(stats["count"] for stats in counts),
        "document_bytes": sum(stats["size"] for stats in counts),
    }


async def measure_all(url: str, driver_name: DriverName, bundle: Path) -> None:
    """Print the measurement of each step, and the ratios of the import to the inserts."""
    client = driver.connect(url, driver_name, TIMEOUT_SECONDS)
    mongod = (await client.admin.command("serverStatus"))["pid"]
    prepared = client["prepared"]
    bare = await measure_inserts(client["bare"], bundle, mongod, "bare inserts")
    await prepare_database(prepared)
    with_indexes = await measure_inserts(
        prepared, bundle, mongod, "inserts with indexes and validators"
    )
    await prepare_database(prepared)
    await drop_order_indexes(prepared)
    await measure_inserts(prepared, bundle, mongod, "the same without indexes of orders")
    imported = await measure_import(client["bench"], bundle, mongod, "import")
    await measure_import(client["bench"], bundle, mongod, "import again")
    await measure_export(client["bench"], mongod)
    for name, inserted in {"bare": bare, "with_indexes_and_validators": with_indexes}.items():
        ratios = {
            "seconds": round(imported.seconds / inserted.seconds, 2),
            "cpu": round(sum(imported[1:]) / sum(inserted[1:]), 2),
        }
        click.echo(orjson.dumps({"import_to_inserts": name, **ratios}))
    await driver.close(client)


@click.command()
@click.option("--units", type=click.IntRange(0), default=100_000, show_default=True)
@click.option("--form", type=click.Choice(["lines", "arrays"]), default="lines", show_default=True)
@click.option(
    "--driver",
    "driver_name",
    type=click.Choice(["motor", "pymongo"]),
    default="motor",
    show_default=True,
)
def main(units: int, form: str, driver_name: DriverName) -> None:
    """Measure an import."""
    with tempfile.TemporaryDirectory() as directory:
        bundle = Path(directory) / "bundle"
        with bundle.open("wb") as file:
            subprocess.run(
                [sys.executable, "-m", "bench.data.bundle", f"--units={units}", f"--form={form}"],
                stdout=file,
                check=True,
            )
        with run_embedded_mongo(Path(directory)) as url:
            asyncio.run(measure_all(url, driver_name, bundle))


if __name__ == "__main__":
    main()
