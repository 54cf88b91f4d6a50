"""Measure saved endpoints beside built-in ones, and what a thousand of them cost all others."""

import asyncio
import time
from collections.abc import Awaitable, Iterator
from contextlib import AsyncExitStack
from statistics import median
from typing import Any

import uvloop

from bench.comparison import measure_rounds
from bench.data.directory import Directory
from bench.data.workloads import LoadRequest, build_workload
from bench.harness import Row, Run, experiment
from bench.instructions import COUNTED_REQUESTS, Application, count_requests
from bench.load.servers import start_peers
from bench.peers.peer import BASE_URL, CACHED, UNCACHED
from gateway.app import Gateway
from gateway.endpoint_editor import EndpointEditor
from gateway.settings import Settings
from schema.query_limits import QueryLimits
from schema.root import GRAPHQL_SCHEMA
from storage.mongo import driver

CACHE_MB = 64
EDITOR = EndpointEditor(GRAPHQL_SCHEMA, QueryLimits())
UNIT = """query Own{0}($unit: ID!)
@endpoint(path: "/v1/x/own-{0}/units/{{unit}}", summary: "Get a unit") {{
  unit(id: $unit) {{ id assetId floorId name createdAt updatedAt }}
}}"""
LIST = """query List{0}($page: Int, $perPage: Int)
@endpoint(path: "/v1/x/list-{0}", summary: "List units") {{
  units(page: $page, perPage: $perPage) {{ data {{ id assetId floorId name }} }}
}}"""


async def measure(directory: Directory, count: int) -> Iterator[Row]:
    """Measure with no saved endpoint, and with as many as this."""
    rows: dict[str, Row] = {}

    def note(what: str, column: str, value: Any) -> None:
        rows.setdefault(what, {"what": what})[column] = value

    client = driver.connect(directory.mongo_url, timeout_seconds=60)
    database = client[directory.database]
    documents = {f"{number}.graphql": UNIT.format(number) for number in range(count - 1)}
    documents["list.graphql"] = LIST.format(0)
    unit = directory.unit_ids[0]
    for column, chosen in (("none saved", {}), (f"{count:,} saved", documents)):
        seconds, _ = await _time(EDITOR.save(database, chosen, prune=True, breaking=True))
        note("save all, CPU s", column, seconds)
        for cache in (False, True):
            settings = Settings(
                mongo_url=directory.mongo_url,
                database=directory.database,
                cache_mb=CACHE_MB if cache else 0,
                base_url=BASE_URL,
            )
            state = "hit" if cache else "cache off"
            async with AsyncExitStack() as stack:
                gateway = Gateway(settings)
                seconds, _ = await _time(stack.enter_async_context(gateway.run()))
                note("start, CPU ms", column, round(seconds * 1000, 1))
                application = Application(gateway, directory.key)
                await gateway.warm_up()
                paths = {f"built-in unit, {state}": f"/v1/units/{unit}"}
                if chosen:
                    seconds, _ = await _time(application.send(LoadRequest("/v1/x/list-0")))
                    note("first request to any, CPU ms", column, round(seconds * 1000, 1))
                    own = f"/v1/x/own-0/units/{unit}"
                    seconds, _ = await _time(application.send(LoadRequest(own)))
                    note("first request to one, CPU ms", column, round(seconds * 1000, 1))
                    paths[f"own unit, {state}"] = own
                for title, path in paths.items():
                    workload = build_workload(title, [LoadRequest(path)])
                    counted = await count_requests(application, workload.requests(directory))
                    note(f"{title}, instructions", column, counted.total() // COUNTED_REQUESTS)
                seconds, _ = await _time(application.send(LoadRequest("/v1/openapi.json")))
                note("description, CPU s", column, round(seconds, 2))
    await _save(directory, {})
    await driver.close(client)
    return iter(rows.values())


async def _save(directory: Directory, documents: dict[str, str]) -> None:
    client = driver.connect(directory.mongo_url, timeout_seconds=60)
    await EDITOR.save(client[directory.database], documents, prune=True, breaking=True)
    await driver.close(client)


async def _time(work: Awaitable[Any]) -> tuple[float, Any]:
    """Return the CPU seconds of this process that work takes, threads included."""
    began = time.process_time()
    result = await work
    return time.process_time() - began, result


@experiment("Saved endpoints")
def own_endpoints(run: Run, units: int = 2_000, count: int = 1_000) -> Iterator[Row]:
    """Measure built-in and saved endpoints, with none and with many saved."""
    yield from uvloop.run(measure(run.load_directory(units), count))


@experiment("Saved endpoints beside built-in ones: server CPU ms per request")
def own_endpoints_cpu(
    run: Run, units: int = 2_000, rounds: int = 4, seconds: float = 1.0
) -> Iterator[Row]:
    """Measure the same unit by a built-in endpoint and by a saved one, in serving processes."""
    directory = run.load_directory(units)
    asyncio.run(_save(directory, {"unit.graphql": UNIT.format(0)}))
    paths = {"built-in": "/v1/units/", "own": "/v1/x/own-0/units/"}
    workloads = [
        build_workload(name, [LoadRequest(path + id) for id in directory.unit_ids[:20]])
        for name, path in paths.items()
    ]
    with start_peers((UNCACHED, CACHED), directory) as servers:
        rows = [*measure_rounds(servers, workloads, run.load, rounds, seconds)]
    asyncio.run(_save(directory, {}))
    for peer, cache in ((UNCACHED, "off"), (CACHED, "on")):
        chosen = [row for row in rows if row["peer"] == peer.name]
        yield {"cache": cache} | {
            name: median(row["cpu_ms"] for row in chosen if row["workload"] == name)
            for name in paths
        }
