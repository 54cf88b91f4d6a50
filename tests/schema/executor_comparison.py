"""Runs operations compiled and interpreted, on a small directory and on one with broken parts.

Broken by hand in MongoDB, as no import would: nulls where none may be, numbers that are no 32-bit
integers, texts in the place of numbers, so that operations fail at every depth.
"""

import asyncio
import base64
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path

import orjson

from resolvers.request.caller import FLAGS, PERMISSIONS, Caller
from resolvers.request.context import Context
from schema.compiler.compiled_query import CompiledQuery
from schema.execution import Executor, InvalidOperationError, Operation, OperationResult
from schema.query_limits import QueryLimits
from schema.root import GRAPHQL_SCHEMA
from storage.mongo import driver
from storage.records.visibility import ALL_ASSETS, AssetScope
from storage.store import Store
from tests.fixtures import CATALOG, HIDDEN, HIDDEN_MAP, OTHER_MAP, SEEN, create_world, drop_world
from tests.schema.operations import DrawnOperation

RIGHTS = {
    "full": Caller("full", ALL_ASSETS, frozenset(PERMISSIONS), frozenset(FLAGS)),
    "restricted": Caller(
        "restricted", AssetScope(frozenset({SEEN})), frozenset(), frozenset(FLAGS)
    ),
    "plain": Caller("plain", ALL_ASSETS, frozenset(PERMISSIONS), frozenset()),
}
CALLERS = [*RIGHTS]
STORES = ["sound", "broken"]
LONG_SECONDS = 600.0
"""What differs must not be which answer was late."""
BOUNDLESS = QueryLimits(**{bound.name: 10**9 for bound in fields(QueryLimits)})
BROKEN = [
    ("units", "unit-s", {"name": None}),
    ("units", "unit-3", {"created_at": 7}),
    ("floors", "s-1", {"sort": "first"}),
    ("floors", "n-2", {"sort": 2**40}),
    ("assets", HIDDEN, {"market": ["office"]}),
    ("backgrounds", "bg-2", {"name": True}),
    ("maps", OTHER_MAP, {"tags": ["ils", None], "style": 1.0}),
    ("locations", "loc-s", {"x": float("nan")}),
    ("locations", "loc-2", {"floors": [{"id": None}]}),
    ("asset_references", "ref-s", {"unknown": "field"}),
]
OTHER_DRAWING = "data:image/svg+xml;base64," + base64.b64encode(
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>'
).decode("ascii")
BUNDLE = {
    **CATALOG,
    "maps": [
        each
        | {"feet_per_unit": 2.0}
        | ({"source": OTHER_DRAWING} if each["id"] == HIDDEN_MAP else {})
        for each in CATALOG["maps"]
    ],
}


@dataclass(slots=True)
class ExecutorComparison:
    """Directories, and two executors that differ in nothing but that one compiles."""

    runner: asyncio.Runner
    stores: dict[str, Store]
    """By their names in `STORES`."""
    compiling: Executor = field(
        default_factory=lambda: Executor(GRAPHQL_SCHEMA, BOUNDLESS, deadline_seconds=LONG_SECONDS)
    )
    interpreting: Executor = field(
        default_factory=lambda: Executor(
            GRAPHQL_SCHEMA, BOUNDLESS, compile_queries=False, deadline_seconds=LONG_SECONDS
        )
    )
    answered: int = 0
    """Requests that had no error."""
    compiled: int = 0
    """Those of them that ran without graphql-core."""
    failed: int = 0
    """Requests that had errors."""
    invalid: int = 0
    """Operations that are not valid, and never run."""

    def check(self, drawn: DrawnOperation, caller: str = "full", store: str = "sound") -> None:
        """Raises AssertionError where the two answers differ in anything."""
        try:
            operation = self.compiling.prepare(drawn.text)
        except InvalidOperationError:
            self.invalid += 1
            return
        self.runner.run(self._check(operation, drawn, caller, store))

    def require_shares(
        self, answered: float = 0.5, compiled: float = 0.8, invalid: float = 0.05
    ) -> None:
        """Raise AssertionError unless enough operations had a result, enough of those compiled, and
        few were invalid.

        The defaults are for thousands of operations; shares of a small sample vary more.
        """
        ran = self.answered + self.failed
        assert self.invalid < ran * invalid, self
        assert self.answered > ran * answered, self
        assert self.compiled > self.answered * compiled, self

    async def _check(
        self, operation: Operation, drawn: DrawnOperation, caller: str, store: str
    ) -> None:
        def context() -> Context:
            return Context(RIGHTS[caller], self.stores[store], "https://directory.test")

        async def run(executor: Executor, operation: Operation) -> tuple[bytes, list[bytes]]:
            return _to_comparable(await executor.run(operation, drawn.variables, context()))

        interpreted = await run(self.interpreting, self.interpreting.prepare(drawn.text))
        before = self.compiling.counters.compiled
        assert await run(self.compiling, operation) == interpreted, drawn
        assert operation.compiled is not None
        operation.compiled = CompiledQuery(GRAPHQL_SCHEMA, operation.document, operation.node)
        assert await run(self.compiling, operation) == interpreted, drawn  # without generated code
        if interpreted[1]:
            self.failed += 1
            return
        self.answered += 1
        self.compiled += self.compiling.counters.compiled == before + 2


def _to_comparable(result: OperationResult) -> tuple[bytes, list[bytes]]:
    return orjson.dumps(result.data), [orjson.dumps(error.formatted) for error in result.errors]


@contextmanager
def open_comparison(mongo_url: str, folder: Path) -> Iterator[ExecutorComparison]:
    """An `ExecutorComparison` on databases that are dropped afterwards."""
    with asyncio.Runner() as runner:
        client = driver.connect(mongo_url, timeout_seconds=LONG_SECONDS)
        worlds = {
            name: runner.run(
                create_world(mongo_url, uuid.uuid4().hex, folder / "bundle.json", BUNDLE)
            )
            for name in STORES
        }
        runner.run(_damage(client[worlds["broken"].database]))
        yield ExecutorComparison(
            runner, {name: Store(client, world.database) for name, world in worlds.items()}
        )
        runner.run(driver.close(client))
    for world in worlds.values():
        drop_world(world)


async def _damage(database: driver.Database) -> None:
    for collection, key, damage in BROKEN:
        await database[collection].update_one(
            {"_id": key}, {"$set": damage}, bypass_document_validation=True
        )
