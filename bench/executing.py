"""Measure the cost of executing a query: `python -m bench.executing`.

CPU time of this process without HTTP: with MongoDB, and with records already in memory, which
leaves the layer between a request and its records. Both include writing the JSON.
"""

import asyncio
import gc
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click
import orjson
from rich.console import Console
from rich.table import Table

from bench.load.machine import load_average
from resolvers.administration import catalog
from resolvers.request.caller import Caller
from resolvers.request.context import Context
from rest.endpoint_files import built_in_endpoints
from schema.execution import Executor
from schema.root import GRAPHQL_SCHEMA
from storage.embedded import embedded_mongo
from storage.mongo import driver
from storage.records.kinds import Document, RecordType
from storage.records.paging import Page, PageRequest
from storage.records.visibility import ALL_ASSETS, AssetScope
from storage.setup import preparation
from storage.store import Store

DATABASE = "executing"
WIDTH = 150
FAN_OUT = 10
"""Assets, floors of an asset, units on a floor."""
CALLER = Caller("bench", ALL_ASSETS)
_DOCUMENTS = {endpoint.name: endpoint.document for endpoint in built_in_endpoints()}
QUERIES: dict[str, tuple[str, dict[str, Any]]] = {
    "list of 1,000 units": (_DOCUMENTS["ListUnits"], {"perPage": 1000}),
    "GET one unit": (_DOCUMENTS["GetUnit"], {"unit": "a3-f3-u3"}),
    "assets, floors, 1,000 units": (
        "{ assets { data { name floors { data { name units { data { id name } } } } } } }",
        {},
    ),
    "1,000 units { floor { asset } }": (
        "{ units(perPage: 1000) { data { floor { asset { name } } } } }",
        {},
    ),
}


class CachingStore(Store):
    """A store that reads each record or page once and caches it."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.client, store.database.name)
        self._cache: dict[Any, Any] = {}

    async def load_records(
        self, kind: RecordType[Any], scope: AssetScope, keys: Any, *_: Any
    ) -> dict[str, Any]:
        """Return cached results, reading them on the first call."""
        wanted = tuple(keys)
        return dict(
            await self._read_through((kind.name, wanted), super().load_records, kind, scope, wanted)
        )

    async def list_page(
        self, kind: RecordType[Any], scope: AssetScope, where: Document, page_request: PageRequest
    ) -> Page[Any]:
        """Return cached results, reading them on the first call."""
        key = (kind.name, str(where), page_request)
        found: Page[Any] = await self._read_through(
            key, super().list_page, kind, scope, where, page_request
        )
        return found

    async def load_pages(
        self,
        kind: RecordType[Any],
        scope: AssetScope,
        wheres: Sequence[Document],
        page_request: PageRequest,
    ) -> list[Page[Any]]:
        """Return cached results, reading them on the first call."""
        key = (kind.name, str(wheres), page_request)
        found: list[Page[Any]] = await self._read_through(
            key, super().load_pages, kind, scope, wheres, page_request
        )
        return found

    async def _read_through(
        self, key: Any, read: Callable[..., Awaitable[Any]], *arguments: Any
    ) -> Any:
        if key not in self._cache:
            self._cache[key] = await read(*arguments)
        return self._cache[key]


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU milliseconds of one request."""

    with_mongodb: float
    over_records: float


async def measure_query(executor: Executor, query: str, store: Store, rounds: int) -> Cost:
    """Return the median cost over `rounds` rounds."""
    text, variables = QUERIES[query]
    operation = executor.prepare(text)

    async def once(store: Store) -> float:
        started = time.process_time()
        result = await executor.run(operation, variables, Context(CALLER, store))
        orjson.dumps(result.data)
        spent = (time.process_time() - started) * 1000
        assert not result.errors
        return spent

    caching_store = CachingStore(store)
    await once(caching_store)
    gc.collect()
    gc.freeze()  # as a worker does
    return Cost(
        median([await once(store) for _ in range(rounds)]),
        median([await once(caching_store) for _ in range(rounds)]),
    )


def build_bundle() -> dict[str, list[dict[str, Any]]]:
    """A directory of a thousand units."""
    bundle: dict[str, list[dict[str, Any]]] = {"assets": [], "floors": [], "units": []}
    for a in range(FAN_OUT):
        asset = {"asset_id": f"a{a}"}
        bundle["assets"].append({"id": f"a{a}", "name": f"Property {a}"})
        for f in range(FAN_OUT):
            bundle["floors"].append({**asset, "id": f"a{a}-f{f}", "name": f"Floor {f}"})
            for u in range(FAN_OUT):
                unit = {"id": f"a{a}-f{f}-u{u}", "floor_id": f"a{a}-f{f}", "name": f"{f}0{u}"}
                bundle["units"].append({**asset, **unit})
    return bundle


async def measure_all(mongo_url: str, folder: Path, rounds: int) -> Table:
    """Measure all queries, compiled and by graphql-core."""
    client = driver.connect(mongo_url)
    path = folder / "bundle.json"
    path.write_bytes(orjson.dumps(build_bundle()))
    await preparation.prepare_database(client[DATABASE])
    await catalog.import_catalog(client[DATABASE], [path])
    store = Store(client, DATABASE)
    table = Table(title="CPU of executing a query, ms (median)")
    table.add_column()
    for where in ("with MongoDB", "records in memory"):
        for column in ("graphql-core", "compiled", "ratio"):
            table.add_column(f"{where}\n{column}", justify="right")
    executors = [Executor(GRAPHQL_SCHEMA, compile_queries=False), Executor(GRAPHQL_SCHEMA)]
    for query in QUERIES:
        slow, fast = [await measure_query(executor, query, store, rounds) for executor in executors]
        table.add_row(
            query,
            *_format_comparison(slow.with_mongodb, fast.with_mongodb),
            *_format_comparison(slow.over_records, fast.over_records),
        )
    await driver.close(client)
    return table


def _format_comparison(slow: float, fast: float) -> list[str]:
    return [f"{slow:.2f}", f"{fast:.3f}", f"{slow / fast:.1f} x"]


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=100, show_default=True)
def main(rounds: int) -> None:
    """Measure what executing a query costs, compiled and by graphql-core."""
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_mongo.run_embedded_mongo(Path(folder)) as mongo_url,
    ):
        table = asyncio.run(measure_all(mongo_url, Path(folder), rounds))
    console = Console(width=WIDTH)
    console.print(table)
    console.print(f"load average {load_average():.1f}")


if __name__ == "__main__":
    main()
