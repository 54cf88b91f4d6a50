"""Measure saved endpoints beside built-in ones, and what a thousand of them cost all others."""

import time
from collections.abc import Awaitable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import uvloop

from bench.data.directory import Directory
from bench.data.workloads import LoadRequest, build_workload
from bench.harness import Row, Run, experiment
from bench.instructions import COUNTED_REQUESTS, Application, count_requests
from bench.peers.peer import BASE_URL
from gateway.app import Gateway
from gateway.endpoint_editor import EndpointEditor
from gateway.settings import Settings
from schema.query_limits import QueryLimits
from schema.root import GRAPHQL_SCHEMA
from storage.administration import saved_endpoints
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
    await saved_endpoints.change_endpoints(
        database, None, (), lambda saved: saved_endpoints.EndpointPlan(removed=[*saved])
    )
    await driver.close(client)
    return iter(rows.values())


async def _time(work: Awaitable[Any]) -> tuple[float, Any]:
    """Return the CPU seconds of this process that work takes, threads included."""
    began = time.process_time()
    result = await work
    return time.process_time() - began, result


@experiment("Saved endpoints")
def own_endpoints(run: Run, units: int = 2_000, count: int = 1_000) -> Iterator[Row]:
    """Measure built-in and saved endpoints, with none and with many saved."""
    yield from uvloop.run(measure(run.load_directory(units), count))
