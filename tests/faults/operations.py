"""Everything that clients and operators ask of a service, and what a gateway does by itself."""

import asyncio
import json
import subprocess
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from typing import Any

import httpx

from gateway.cli.demo import DEMO_ASSET
from gateway.state import repair_database
from tests.faults.killed_commands import MAP, REBUILT
from tests.faults.service import (
    ARCHIVE,
    DATABASE,
    SAVED_ENDPOINT,
    Answer,
    Service,
    ServiceHere,
    normalise,
)
from tests.gateway.floorgate_process import COMMAND, environment, storage_options
from tests.gateway.subscriptions.service import read_events
from tests.rest.openapi.recorded_examples import described_requests
from tests.waiting import TIMEOUT_SECONDS

Send = Callable[[Any], Coroutine[Any, Any, Answer]]


@dataclass(frozen=True)
class Operation:
    """A request, a command, or the work of a gateway."""

    name: str
    """The `operationId` of an endpoint, the field of a mutation, or a command."""
    send: Send
    is_command: bool = False
    """Whether it is a process of its own, and so uses another proxy of MongoDB."""
    is_work: bool = False
    """Whether the commands that fail are those that the gateway sends without a request."""
    is_mutation: bool = False


_INDEX = "floor_id_1__id_1"
"""The units have this index."""
_GROUP, _UNIT, _FLOOR = "apartment-type", "ugwo2tfiznm", "alder-court-floor-1"


def _assignment(attribute: str) -> dict[str, str]:
    attribute_id = f"{_GROUP}-{attribute}"
    return {
        **{"group_id": _GROUP, "attribute_id": attribute_id},
        **{"asset_id": DEMO_ASSET, "unit_id": _UNIT},
    }


def _to_input(assignment: dict[str, str]) -> dict[str, str]:
    """Return a JSON assignment as GraphQL has it."""
    return {f"{name.removesuffix('_id')}Id": value for name, value in assignment.items()}


_BUNDLE = json.dumps(
    {
        "floors": [{"id": _FLOOR, "asset_id": DEMO_ASSET, "name": "Another name", "sort": 1}],
        "units": [
            {"id": f"new-{number}", "asset_id": DEMO_ASSET, "floor_id": _FLOOR, "name": "New"}
            for number in range(3)
        ],
    }
)
_NEW_ENDPOINT = SAVED_ENDPOINT.replace("UnitsOnMap", "OtherUnits").replace("units-on", "others-on")
_INPUTS: dict[str, dict[str, Any]] = {
    "assignUnitAttributes": {"groupId": _GROUP, "assignments": [_to_input(_assignment("studio"))]},
    "unassignUnitAttributes": {
        "groupId": _GROUP,
        "assignments": [_to_input(_assignment("one-bedroom"))],
    },
    "importCatalog": {"bundle": _BUNDLE},
    "removeRecords": {"kind": "attribute_groups", "ids": ["views-and-features"]},
    "createApiKey": {"name": "new", "assetIds": [DEMO_ASSET]},
    "updateApiKey": {"name": "another"},
    "rotateApiKey": {},
    "revokeApiKey": {},
    "processMap": {"id": MAP, "plan": REBUILT.svg, "asset": DEMO_ASSET, "feetPerUnit": 1.0},
    "setClosures": {"map": "alder-court-floor-plates", "connectors": [f"{_FLOOR}#27"]},
}
"""The input of each mutation that has one; those of keys get the id of one."""
_UNITS = "{ assets { data { id floors { data { name } } } } units(perPage: 20) { data { name } } }"


def list_mutations() -> Iterator[Operation]:
    """Yield each kind of write that a gateway serves."""
    yield from map(_mutation, _INPUTS)
    yield Operation("saveEndpoints", _save_endpoint, is_mutation=True)
    yield Operation("removeEndpoints", _remove_endpoint, is_mutation=True)


def list_operations() -> Iterator[Operation]:
    """Yield all operations. An import by the command line sends the commands of `importCatalog`."""
    yield from list_mutations()
    for request in described_requests():
        yield _endpoint(request)
    yield Operation("GraphQL query", lambda service: service.query(_UNITS))
    yield Operation("own endpoint", lambda service: service.request("GET", "/v1/x/units-on-map"))
    yield Operation("subscription", _subscribe)
    yield Operation("work of the gateway", _read_after_changes, is_work=True)
    yield Operation("repair of the database", _repair)
    yield from map(_command, ["restore", "backup"])


def _endpoint(described: httpx.Request) -> Operation:
    name = described.extensions["id"]
    path = described.url.raw_path.decode()
    kind = described.headers.get("Content-Type", "")
    content = described.content
    if name == "assignUnitAttributes":  # its example is what the unit has
        content = json.dumps({"data": [_assignment("studio")]}).encode()

    async def send(service: ServiceHere) -> Answer:
        after = f"?after={service.cursor}" if name == "listChanges" else ""
        answer = await service.request(described.method, path + after, content, kind)
        # A poll that waits in vain for MongoDB says that there may be more.
        told = answer.content.replace('"has_more":true', '"has_more":false')
        return replace(answer, content=told if name == "listChanges" else answer.content)

    return Operation(f"{described.method} {name}", send)


def _mutation(name: str) -> Operation:
    async def send(service: Service) -> Answer:
        given = _INPUTS[name] | ({"id": service.spare_key} if "ApiKey" in name else {})
        if name == "createApiKey":
            del given["id"]
        kind = f"{name[0].upper()}{name[1:]}Input"
        text = f"mutation ($input: {kind}!) {{ {name}(input: $input) {{ __typename }} }}"
        return await service.query(text, input=given)

    return Operation(name, send, is_mutation=True)


async def _save_endpoint(service: Service) -> Answer:
    text = "mutation ($text: String!) { saveEndpoints(documents: [$text]) { __typename } }"
    return await service.query(text, text=_NEW_ENDPOINT)


async def _remove_endpoint(service: Service) -> Answer:
    return await service.query('mutation { removeEndpoints(names: ["UnitsOnMap"]) { __typename } }')


async def _subscribe(service: ServiceHere) -> Answer:
    """Subscribe after a change that the gateway does not remember, and take the next one."""
    body = {
        "query": "subscription ($after: String) { changes(after: $after) { operation kind } }",
        "variables": {"after": service.first_cursor},
    }
    headers = {"Accept": "text/event-stream"}
    async with service.client.stream("POST", "/graphql", json=body, headers=headers) as response:
        if response.status_code == 200:
            async for name, result in read_events(response):
                if name == "next":
                    return Answer.of(httpx.Response(200, json=result))
        await response.aread()
        return Answer.of(response)


async def _read_after_changes(service: ServiceHere) -> Answer:
    """Change something through another gateway: the caches and the follower get to know it."""
    path = f"/v1/units/attribute-groups/{_GROUP}/assignments"
    for attribute in ("studio", "one-bedroom"):
        await service.request("GET", path)
        await service.write_elsewhere(_assignment(attribute))
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while await service.request("GET", path) != await service.ask_truth(path):
                await asyncio.sleep(0.01)
    return Answer(200, frozenset(), "")


async def _repair(service: ServiceHere) -> Answer:
    """Drop an index, and do what a gateway does each minute until the index is back."""
    state, units = service.gateway.state, service.database["units"]
    assert state is not None
    await asyncio.to_thread(units.drop_index, _INDEX)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while _INDEX not in await asyncio.to_thread(units.index_information):
            await repair_database(state.store.database, {"created": 0, "failed": 0})
    return Answer(200, frozenset(), "")


def _command(name: str) -> Operation:
    async def send(service: ServiceHere) -> Answer:
        file = service.directory / (ARCHIVE if name == "restore" else "new.archive")
        if name == "backup":
            file.unlink(missing_ok=True)
        storage = storage_options(service.command_url, DATABASE, service.directory)
        arguments = [name, str(file), *(["--yes"] if name == "restore" else []), *storage]
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            *arguments,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(),
        )
        output, _ = await process.communicate()
        text = output.decode()
        is_sentence = "Traceback" not in text and "MongoDB" in text
        status = 200 if not process.returncode else 503 if is_sentence else 500
        return Answer(status, frozenset(), normalise(text), has_retry_after=True, is_http=False)

    return Operation(f"floorgate {name}", send, is_command=True)
