"""Every operation that writes leaves one record: who, from where, what, before and after.

The tables here name every mutation, every request of REST that writes and every command. A new one
fails a test until it stands in its table, with the action that it records.
"""

import json
import os
import pwd
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from pymongo import MongoClient

from gateway.cli.main import main
from schema.root import GRAPHQL_SCHEMA
from storage.administration.audit import ACTIONS, AUDIT_COLLECTION
from tests.endpoints import ENDPOINTS
from tests.fixtures import ALL_FLAGS, SEEN, UNIT, World, gateway_client
from tests.gateway.cli.commands import floorgate
from tests.gateway.floorgate_process import storage_options
from tests.resolvers.worlds import SVG, tower
from tests.test_docs import commands

ASSIGNMENT = {"group_id": "view", "attribute_id": "sea", "asset_id": SEEN, "unit_id": "unit-2"}
ASSIGNED = {**ASSIGNMENT, "unit_id": UNIT}
UNKNOWN = {**ASSIGNMENT, "unit_id": "nope"}
BUNDLE = {"assets": [{"id": "new", "name": "New"}]}
SHUT = SVG.replace('x="8" y="19"', 'x="8" y="5"')
"""A plan of which too few rooms reach each other."""
APART = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 30">
  <g data-type="Level" data-tags="floor=lower"><g data-type="UnitLayer">
    <rect id="lower-west" x="0" y="0" width="20" height="20"/>
    <rect id="lower-east" x="80" y="0" width="20" height="20"/>
  </g></g>
</svg>"""
"""A plan of which no two rooms reach each other."""


class Write(NamedTuple):
    """A way to call a mutation or an endpoint, one in vain, and what the former records."""

    action: str
    arguments: dict[str, Any]
    invalid: dict[str, Any]
    kind: str
    ids: list[str] | None
    """None if the operation chooses the id."""


def _camel_case(assignment: dict[str, str]) -> dict[str, str]:
    return {
        "groupId": assignment["group_id"],
        "attributeId": assignment["attribute_id"],
        "assetId": assignment["asset_id"],
        "unitId": assignment["unit_id"],
    }


def _data(assignment: dict[str, str]) -> dict[str, Any]:
    return {"groupId": "view", "assignments": [_camel_case(assignment)]}


MUTATIONS = {
    "assignUnitAttributes": Write(
        "attributes.assigned", _data(ASSIGNMENT), _data(UNKNOWN), "attribute_groups", ["view"]
    ),
    "unassignUnitAttributes": Write(
        "attributes.unassigned", _data(ASSIGNED), _data(UNKNOWN), "attribute_groups", ["view"]
    ),
    "importCatalog": Write(
        "catalog.imported",
        {"bundle": json.dumps(BUNDLE)},
        {"bundle": json.dumps({"assets": [{"id": ""}]})},
        "bundles",
        ["bundle"],
    ),
    "removeRecords": Write(
        "records.removed",
        {"kind": "units", "ids": [UNIT]},
        {"kind": "units", "ids": ["nope"]},
        "units",
        [UNIT],
    ),
    "createApiKey": Write(
        "key.created", {"name": "till", "assetIds": [SEEN]}, {"name": ""}, "api_keys", None
    ),
    "updateApiKey": Write(
        "key.updated", {"id": "key_1", "name": "new"}, {"id": "key_2"}, "api_keys", ["key_1"]
    ),
    "rotateApiKey": Write("key.rotated", {"id": "key_1"}, {"id": "key_2"}, "api_keys", ["key_1"]),
    "revokeApiKey": Write("key.revoked", {"id": "key_1"}, {"id": "key_2"}, "api_keys", ["key_1"]),
    "setClosures": Write(
        "map.closed",
        {"map": "tower"},
        {"map": "tower", "doors": ["no door"]},
        "maps",
        ["tower"],
    ),
    "processMap": Write(
        "map.processed",
        {"id": "tower"},
        {"id": "tower", "plan": SHUT, "require": 90},
        "maps",
        ["tower"],
    ),
}
OWN_MUTATIONS = {"saveEndpoints": "endpoints.saved", "removeEndpoints": "endpoints.removed"}
"""Those without an input object, and what they record."""
NEVER_IN_VAIN = {"processMap", "createApiKey", "rotateApiKey", "removeRecords"}
"""Mutations that change something each time, or are refused."""
ENDPOINT_ACTIONS = {"E21": "attributes.assigned", "E22": "attributes.unassigned"}
CLOSING_ENDPOINT = "X6"
"""It records what the mutation `setClosures` does."""
COMMAND_ACTIONS = {
    "floorgate import": "catalog.imported",
    "floorgate remove": "records.removed",
    "floorgate restore": "catalog.restored",
    "floorgate erase": "traces.erased",
    "floorgate documents register": "documents.registered",
    "floorgate documents remove": "documents.removed",
    "floorgate endpoints apply": "endpoints.saved",
    "floorgate endpoints remove": "endpoints.removed",
    "floorgate keys create": "key.created",
    "floorgate keys revoke": "key.revoked",
    "floorgate keys rotate": "key.rotated",
    "floorgate keys update": "key.updated",
    "floorgate maps close": "map.closed",
    "floorgate maps open": "map.closed",
    "floorgate maps process": "map.processed",
}
ONLY_COMMANDS = {
    "catalog.restored",
    "documents.registered",
    "documents.removed",
    "traces.erased",
}
"""Actions that the APIs do not offer."""
READING_COMMANDS = {
    "floorgate audit",
    "floorgate backup",
    "floorgate bundle-schema",
    "floorgate check",
    "floorgate export",
    "floorgate files",
    "floorgate doctor",
    "floorgate documents list",
    "floorgate endpoints check",
    "floorgate endpoints list",
    "floorgate endpoints show",
    "floorgate keys list",
    "floorgate maps closable",
    "floorgate maps closures",
    "floorgate maps picture",
    "floorgate openapi",
    "floorgate parse",
    "floorgate schema",
    "floorgate template",
    "floorgate serve",  # the demo is loaded as by the commands `import` and `keys create`
}


def test_each_mutation_endpoint_and_command_that_writes_has_an_action() -> None:
    mutation = GRAPHQL_SCHEMA.mutation_type
    assert mutation is not None
    assert MUTATIONS.keys() | OWN_MUTATIONS.keys() == mutation.fields.keys()
    writing = {row.number for row in ENDPOINTS if "mutation" in row.document}
    assert {*ENDPOINT_ACTIONS, CLOSING_ENDPOINT} == writing
    names = {name for name, command in commands(main, "floorgate")}
    assert COMMAND_ACTIONS.keys() | READING_COMMANDS == names
    actions = {*OWN_MUTATIONS.values(), *(write.action for write in MUTATIONS.values())}
    recorded = ONLY_COMMANDS | actions
    assert {*ENDPOINT_ACTIONS.values(), *COMMAND_ACTIONS.values()} <= recorded
    assert recorded | {"key.deleted", "map.withdrawn"} == {*ACTIONS}


class Service(NamedTuple):
    """A client of a gateway, and its database."""

    client: httpx.AsyncClient
    database: Any

    def take_records(self) -> list[dict[str, Any]]:
        """Return the records written since the last call, the first first."""
        records = [*self.database[AUDIT_COLLECTION].find(sort=[("_id", 1)])]
        self.database[AUDIT_COLLECTION].delete_many({})
        return records

    async def mutate(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a mutation, with an id of the request."""
        type = f"{name[0].upper()}{name[1:]}Input!"
        query = f"mutation($input: {type}) {{ {name}(input: $input) {{ __typename }} }}"
        headers = {**ALL_FLAGS, "X-Request-Id": "request-1"}
        body = {"query": query, "variables": {"input": arguments}}
        response = await self.client.post("/graphql", json=body, headers=headers)
        result: dict[str, Any] = response.json()
        return result

    async def send(self, number: str, assignment: dict[str, str]) -> httpx.Response:
        """Send the request of an endpoint that writes, with an id."""
        [row] = [row for row in ENDPOINTS if row.number == number]
        path = row.path.replace("{group-id}", "view").replace("{group}", "view")
        headers = {**ALL_FLAGS, "X-Request-Id": "request-1"}
        return await self.client.request(
            row.method, path, json={"data": [assignment]}, headers=headers
        )


@pytest.fixture
async def service(own_world: World, tmp_path: Path) -> AsyncIterator[Service]:
    """A gateway with the map of a tower, and a key `key_1` to revoke."""
    async with (
        tower(own_world, tmp_path) as store,
        gateway_client(own_world.settings(), own_world.keys.full) as client,
    ):
        key: dict[str, Any] = {
            "_id": "key_1",
            "name": "old",
            "asset_ids": [SEEN],
            "revoked_at": None,
        }
        key["created_at"] = datetime(2026, 1, 31, tzinfo=UTC)
        closed = {"closures": {"doors": ["shut"]}}
        await store.database["maps"].update_one({"_id": "tower"}, {"$set": closed})
        await store.database["api_keys"].insert_one(key | {"digest": b"d", "permissions": []})
        with MongoClient[dict[str, Any]](own_world.mongo_url, tz_aware=True) as mongo:
            service = Service(client, mongo[own_world.database])
            service.take_records()
            yield service


def check_origin(record: dict[str, Any], interface: str) -> None:
    assert record["actor"]["type"] == "key"
    assert record["actor"]["id"].startswith("key_")
    assert record["actor"]["name"] == "full"
    assert record["interface"] == interface
    assert record["client_address"] == "127.0.0.1"
    assert record["request_id"] == "request-1"


@pytest.mark.parametrize(("name", "write"), MUTATIONS.items())
async def test_a_mutation_leaves_one_record_and_one_in_vain_none(
    service: Service, name: str, write: Write
) -> None:
    await service.mutate(name, write.invalid)
    assert service.take_records() == []
    assert "errors" not in await service.mutate(name, write.arguments)
    [record] = service.take_records()
    assert record["action"] == write.action
    check_origin(record, "graphql")
    assert record["target"]["kind"] == write.kind
    assert write.ids is None or record["target"]["ids"] == write.ids
    assert record["changes"]


@pytest.mark.parametrize("name", sorted(MUTATIONS.keys() - NEVER_IN_VAIN))
async def test_a_mutation_that_changes_nothing_more_leaves_no_second_record(
    service: Service, name: str
) -> None:
    for _ in range(2):
        assert "errors" not in await service.mutate(name, MUTATIONS[name].arguments)
    assert len(service.take_records()) == 1


@pytest.mark.parametrize(("number", "action"), ENDPOINT_ACTIONS.items())
async def test_a_request_of_rest_leaves_one_record_and_one_in_vain_none(
    service: Service, number: str, action: str
) -> None:
    assert (await service.send(number, UNKNOWN)).status_code == 422
    assert service.take_records() == []
    assert (await service.send(number, ASSIGNED | {"attribute_id": "yard"})).is_success
    service.take_records()
    assert (await service.send(number, ASSIGNED)).is_success
    [record] = service.take_records()
    assert record["action"] == action
    check_origin(record, "rest")


async def test_closures_are_recorded_by_the_mutation_and_by_rest_alike(service: Service) -> None:
    [row] = [row for row in ENDPOINTS if row.number == CLOSING_ENDPOINT]
    path = row.path.replace("{map}", "tower")
    headers = {**ALL_FLAGS, "X-Request-Id": "request-1"}
    for data, status in (({"doors": ["no door"]}, 422), ({"doors": ["shut"]}, 200), ({}, 200)):
        response = await service.client.put(path, json={"data": data}, headers=headers)
        assert response.status_code == status
    [record] = service.take_records()
    assert record["action"] == "map.closed"
    check_origin(record, "rest")
    [change] = record["changes"]
    assert (change["kind"], change["operation"]) == ("closures.doors", "removed")
    assert (change["ids"], record["asset_ids"]) == (["shut"], ["tower"])


async def test_endpoints_are_recorded_when_they_change_and_when_they_go(service: Service) -> None:
    text = """query A @endpoint(path: "/v1/x/a", summary: "a") { assets { data { id } } }"""
    save = "mutation($documents: [String!]!) { saveEndpoints(documents: $documents) { added } }"
    remove = "mutation($names: [String!]!) { removeEndpoints(names: $names) { removed } }"
    found = []
    for query, variables in (
        (save, {"documents": ["query {"]}),
        (save, {"documents": [text]}),
        (save, {"documents": [text]}),
        (save, {"documents": [text.replace("id }", "id name }")]}),
        (remove, {"names": ["B"]}),
        (remove, {"names": ["A"]}),
    ):
        body = {"query": query, "variables": variables}
        headers = {"X-Request-Id": "request-1"}
        await service.client.post("/graphql", json=body, headers=headers)
        for record in service.take_records():
            check_origin(record, "graphql")
            changes = [(each["operation"], each["ids"]) for each in record["changes"]]
            found.append((record["action"], record["target"]["kind"], changes))
    assert found == [
        ("endpoints.saved", "endpoints", [("inserted", ["A"])]),
        ("endpoints.saved", "endpoints", [("updated", ["A"])]),
        ("endpoints.removed", "endpoints", [("removed", ["A"])]),
    ]


async def test_an_assignment_records_the_attribute_before_and_after(service: Service) -> None:
    await service.send("E21", ASSIGNED | {"attribute_id": "yard"})
    await service.send("E21", ASSIGNMENT)
    await service.send("E22", ASSIGNMENT)
    assert [
        (change["operation"], change["ids"], change["before"], change["after"])
        for record in service.take_records()
        for change in record["changes"]
    ] == [
        ("updated", [UNIT], "sea", "yard"),
        ("inserted", ["unit-2"], None, "sea"),
        ("removed", ["unit-2"], "sea", None),
    ]


async def test_a_key_is_recorded_with_what_it_may_do_but_never_the_key(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    created = await service.mutate(
        "createApiKey",
        {
            "name": "till",
            "permissions": ["service_unit_maps_parse"],
            "assetIds": [SEEN],
            "expires": "2999-01-31",
        },
    )
    assert "errors" not in created
    [record] = service.take_records()
    [change] = record["changes"]
    assert (change["operation"], change["before"]) == ("inserted", None)
    assert change["after"] == {
        "name": "till",
        "permissions": ["service.unit-maps.parse"],
        "all_assets": False,
        "origins": [],
        "expires_at": "2999-01-31T00:00:00+00:00",
    }
    assert record["asset_ids"] == [SEEN]
    stored = service.database["api_keys"].find_one({"_id": record["target"]["ids"][0]})
    written = f"{record} {[vars(line) for line in caplog.records]}"
    assert "fgk_" not in written
    assert str(stored["digest"]) not in written
    assert stored["digest"].hex() not in written


async def test_a_map_is_recorded_when_it_is_processed_and_when_it_is_withdrawn(
    service: Service,
) -> None:
    await service.mutate("processMap", {"id": "tower"})
    await service.mutate("processMap", {"id": "tower", "plan": APART})
    processed, withdrawn = service.take_records()
    assert (processed["action"], withdrawn["action"]) == ("map.processed", "map.withdrawn")
    of_map, of_locations = processed["changes"]
    assert of_map["before"] == {"network": None, "routing_tier": "no_routing"}
    assert of_map["after"]["routing_tier"] == "wheelchair_routing"
    assert (of_locations["operation"], of_locations["count"]) == ("inserted", 3)
    [of_map_again] = withdrawn["changes"]
    assert of_map_again["before"] == of_map["after"]
    assert of_map_again["after"] == of_map["before"]
    assert processed["asset_ids"] == withdrawn["asset_ids"] == ["tower"]


async def test_a_map_from_a_new_plan_records_the_import_and_the_map_under_one_request(
    service: Service,
) -> None:
    plan = SVG.replace('rect id="', 'rect id="annex-')
    arguments = {"id": "annex", "plan": plan, "asset": "annexes", "feetPerUnit": 2}
    assert "errors" not in await service.mutate("processMap", arguments)
    imported, processed = service.take_records()
    assert (imported["action"], processed["action"]) == ("catalog.imported", "map.processed")
    assert imported["request_id"] == processed["request_id"] == "request-1"
    assert imported["interface"] == "graphql"


async def test_each_record_is_a_line_of_the_log(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "floorgate.audit")
    await service.send("E21", ASSIGNMENT)
    await service.send("E21", UNKNOWN)
    [record] = service.take_records()
    [line] = [vars(line)["fields"] for line in caplog.records if line.name == "floorgate.audit"]
    assert line == {
        "audit_id": record["_id"],
        "action": "attributes.assigned",
        "actor": record["actor"]["id"],
        "interface": "rest",
        "client_address": "127.0.0.1",
        "request_id": "request-1",
        "target_kind": "attribute_groups",
        "target_ids": ["view"],
        "changed": 1,
    }


async def test_reading_leaves_no_record(service: Service) -> None:
    for path in ("/v1/units", "/v1/maps", "/v1/units/attribute-groups"):
        await service.client.get(path, headers=ALL_FLAGS)
    await service.mutate("importCatalog", {"bundle": json.dumps(BUNDLE), "dryRun": True})
    assert service.take_records() == []


def test_commands_leave_one_record_with_the_operator_and_the_machine(
    mongo_url: str, database_name: str, tmp_path: Path
) -> None:
    storage = storage_options(mongo_url, database_name, tmp_path)
    (tmp_path / "tower.svg").write_text(SVG)
    (tmp_path / "bundle.json").write_text(json.dumps(BUNDLE))
    (tmp_path / "units.graphql").write_text("{ units { data { id } } }")
    (tmp_path / "wrong.json").write_text('{"assets": [{"id": ""}]}')
    created = floorgate("keys", "create", "--name", "till", "--json", *storage)
    key_id = json.loads(created.stdout)["id"]
    with MongoClient[dict[str, Any]](mongo_url) as mongo:
        collection = mongo[database_name][AUDIT_COLLECTION]

        def run(*arguments: object, status: int = 0) -> list[dict[str, Any]]:
            collection.delete_many({})
            result = floorgate(*arguments, *storage)
            assert result.exit_code == status, result.output
            return [*collection.find(sort=[("_id", 1)])]

        written = {
            "floorgate keys create": run("keys", "create", "--name", "lobby"),
            "floorgate import": run("import", tmp_path / "bundle.json"),
            "floorgate maps process": run(
                "maps", "process", "tower", tmp_path / "tower.svg", "--feet-per-unit", 1
            ),
            "floorgate maps close": run("maps", "close", "tower", "--space", "lower-west"),
            "floorgate maps open": run("maps", "open", "tower", "--all"),
            "floorgate keys update": run("keys", "update", key_id, "--name", "web"),
            "floorgate keys rotate": run("keys", "rotate", key_id),
            "floorgate keys revoke": run("keys", "revoke", key_id),
            "floorgate erase": run("erase", "--key", key_id, "--yes"),
            "floorgate documents register": run(
                "documents", "register", tmp_path / "units.graphql"
            ),
        }
        own = tmp_path / "own.graphql"
        own.write_text('query A @endpoint(path: "/v1/x/a", summary: "a") { units { data { id } } }')
        written["floorgate endpoints apply"] = run("endpoints", "apply", own)
        written["floorgate endpoints remove"] = run("endpoints", "remove", "A")
        [registered] = written["floorgate documents register"]
        [document_id] = registered["target"]["ids"]
        written["floorgate documents remove"] = run("documents", "remove", document_id)
        assert run("backup", tmp_path / "backup.tar") == []
        undo = ("--undo", tmp_path / "undo.ndjson")
        written["floorgate remove"] = run("remove", "map", "tower", "--yes", *undo)
        written["floorgate restore"] = run("restore", "--yes", tmp_path / "backup.tar")
        assert run("import", tmp_path / "wrong.json", status=1) == []
        reading = (
            ["keys", "list"],
            ["audit"],
            ["maps", "closures", "tower"],
            ["endpoints", "list"],
        )
        for command in (*reading, ["import", "--dry-run"]):
            path = [tmp_path / "bundle.json"] if "import" in command else []
            assert run(*command, *path) == []
    assert written.keys() == COMMAND_ACTIONS.keys()
    for name, records in written.items():
        assert records[-1]["action"] == COMMAND_ACTIONS[name]
        imports = records[:-1]  # a new plan brings its map, floors and units
        assert [each["action"] for each in imports] == (
            ["catalog.imported"] if name == "floorgate maps process" else []
        )
        for record in records:
            assert record["actor"] == {"type": "operator", "id": USER, "name": USER}
            assert (record["interface"], record["client_address"]) == ("cli", socket.gethostname())
            assert record["request_id"]
    [imported] = written["floorgate import"]
    assert imported["target"]["ids"] == [str(tmp_path / "bundle.json")]


USER = pwd.getpwuid(os.getuid()).pw_name
