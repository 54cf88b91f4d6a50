"""An import beside bare inserts of the same documents."""

import asyncio
import resource
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bench.data.directory import iter_members, write_bundle
from bench.harness import Row, Run, experiment
from bench.load.machine import cpu_seconds
from storage.bundles.violations import Violations
from storage.importing.batches import read_batches
from storage.importing.import_bundles import import_bundles
from storage.importing.planning import set_timestamps
from storage.mongo import driver
from storage.records.kinds import Document
from storage.setup.preparation import prepare_database

COLUMNS = ("", "seconds", "CPU seconds", "of mongod", "peak memory, MB")
IMPORT_TIME = "2026-01-31T12:00:00+00:00"
Times: TypeAlias = npt.NDArray[np.float64]


def read_clocks(mongod_pid: int) -> Times:
    """Return seconds by the clock, and of CPU in this process and in mongod."""
    return np.array([time.monotonic(), time.process_time(), cpu_seconds(mongod_pid)])


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


async def measure_inserts(database: driver.Database, bundle: Path, mongod_pid: int) -> Times:
    """Insert the documents of a bundle, and drop the database; making them does not count."""
    cost = np.zeros(3)
    for collection, documents in iter_inserts(bundle):
        before = read_clocks(mongod_pid)
        await database[collection].insert_many(documents, ordered=True)
        cost += read_clocks(mongod_pid) - before
    await database.client.drop_database(database.name)
    return cost


async def measure_all(mongo_url: str, bundle: Path) -> list[Row]:
    """Return a row for each step, then the ratios of the import to the inserts."""
    client, rows = driver.connect(mongo_url, timeout_seconds=60), list[Row]()

    def add(title: str, cost: Times) -> Times:
        peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rows.append(dict(zip(COLUMNS, (title, *cost.tolist(), peak_kb * 1024 / 1e6), strict=True)))
        return cost

    mongod = (await client.admin.command("serverStatus"))["pid"]
    inserts = "inserts without validators and indexes, but that of `_id`"
    bare = add(inserts, await measure_inserts(client["bare"], bundle, mongod))
    await prepare_database(client["prepared"])
    inserts = "inserts with the validators and indexes of the catalog"
    prepared = add(inserts, await measure_inserts(client["prepared"], bundle, mongod))
    before = read_clocks(mongod)
    await import_bundles(client["imported"], [bundle])
    imported = add("import into an empty database", read_clocks(mongod) - before)
    for title, inserted in (("without", bare), ("with them", prepared)):
        seconds = float(imported[0] / inserted[0])
        cpu = float(imported[1:].sum() / inserted[1:].sum())
        ratios = (f"times the inserts {title}", seconds, cpu, None, None)
        rows.append(dict(zip(COLUMNS, ratios, strict=True)))
    await driver.close(client)
    return rows


@experiment(
    "Importing",
    note="{units:,} units; load average {load}. The times are of CPU seconds of both together.",
)
def importing(run: Run, units: int = 100_000) -> Iterator[Row]:
    """Compare an import with bare inserts of the same documents, on one mongod.

    The inserts are ordered, 1,000 documents at a time, with the gateway's own write concern: once
    into collections without indexes and validators, and once into collections that have those of
    the catalog. The peak is that of this process so far.
    """
    bundle = write_bundle(run.scratch / "imported.ndjson", iter_members(units))
    yield from asyncio.run(measure_all(run.mongo_url, bundle))
