"""The directory that every peer serves: a bundle loaded into a MongoDB, and a key to read it."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import orjson

from bench.bundle import members
from storage import driver, keys, setup
from storage.importing import import_bundles

IMPORT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Directory:
    """Where the data is, and what a reader needs to know of it."""

    mongo_url: str
    database: str
    key: str
    unit_ids: list[str]


def fill(mongo_url: str, database: str, units: int, bundle: Path) -> Directory:
    """Loads so many units, by way of a file at `bundle`."""
    return asyncio.run(_fill(mongo_url, database, units, bundle))


async def _fill(mongo_url: str, name: str, units: int, bundle: Path) -> Directory:
    made = list(members(units))
    bundle.write_bytes(
        b"".join(orjson.dumps({"type": kind, **each}) + b"\n" for kind, each in made)
    )
    client = driver.connect(mongo_url, timeout_seconds=IMPORT_SECONDS)
    try:
        await setup.prepare(client[name])
        await import_bundles(client[name], [bundle])
        _, key = await keys.create(
            client[name], name="bench", permissions=[], asset_ids=None, expires_at=None
        )
    finally:
        await driver.close(client)
    return Directory(mongo_url, name, key, [each["id"] for kind, each in made if kind == "unit"])
