"""The contracts of operators' endpoints: what callers rely on, as OpenAPI describes it.

A contract is saved with its endpoint, so that a description needs no operation to be compiled, and
a version that would break callers is found.
"""

import json
import re
from collections.abc import Iterable
from itertools import count
from typing import Any, Final

import orjson
from graphql import GraphQLSchema

from rest.endpoint_files import Endpoint
from rest.names import to_snake_case
from rest.openapi.comparison import find_operation_changes
from rest.openapi.description import DescriptionBuilder
from rest.openapi.example_values import make_example
from rest.openapi.map_schemas import COMPONENTS_PREFIX, OpenApiObject
from rest.openapi.requests import HEADER_PARAMETERS
from rest.parameters import EndpointInputs
from schema.execution import Executor

OWN_TAG: Final = "Your endpoints"
"""The group of operators' endpoints that name none."""
OWN_TAG_DESCRIPTION: Final = "Endpoints that the operator of this service has saved."

_REFERENCE = re.compile(r'"\$ref":"#/components/([^"]*)"')
_UNSAFE = re.compile(r"<(?=[a-z/!?])|(?<=script)(?=:)", re.IGNORECASE)
"""What begins an element of HTML, or follows the scheme of an address that runs a script."""


def build_contract(endpoint: Endpoint, schema: GraphQLSchema) -> str:
    """Return the contract of an operator's endpoint, as JSON text.

    It has `method`, `path`, the `operation` object of OpenAPI, the `schemas` of its own that this
    refers to, and the `defaults` of the members of a body, which their schemas do not tell.
    """
    builder = DescriptionBuilder(schema, endpoint.name)
    operation = builder.describe(endpoint)
    operation["tags"] = [endpoint.tag.strip() or OWN_TAG]
    # All but the header of flags are the same for all endpoints.
    flags = {
        f"#/components/parameters/{name}": each
        for name, each in builder.parameters.items()
        if name not in HEADER_PARAMETERS
    }
    operation["parameters"] = [
        flags.get(each.get("$ref"), each) for each in operation["parameters"]
    ]
    for each in operation["parameters"]:
        if "schema" in each and "example" not in each:
            each["example"] = make_example(each["schema"], each["name"])
    # They are Markdown, in which the texts of operators could be HTML, or links to scripts.
    for each in (operation, operation.get("requestBody"), *operation["responses"].values()):
        if each and "description" in each:
            each["description"] = _UNSAFE.sub(_disarm, each["description"])
    contract = {
        "method": endpoint.method,
        "path": endpoint.path,
        "operation": operation,
        "schemas": builder.schemas,
        "defaults": {} if endpoint.body is None else _read_defaults(endpoint, builder.executor),
    }
    return orjson.dumps(contract).decode()


def _disarm(unsafe: re.Match[str]) -> str:
    return "&lt;" if unsafe[0] else " "


def _read_defaults(endpoint: Endpoint, executor: Executor) -> dict[str, Any]:
    """Return the defaults of the members of a body that have one."""
    operation = executor.prepare(endpoint.document)
    inputs = EndpointInputs.read(executor.schema, endpoint, operation).body
    return {
        to_snake_case(source.variable): source.default
        for source in inputs
        if source.default is not None
    }


def find_breaking_changes(before: str, after: str) -> list[str]:
    """Return what in a new version of a contract breaks callers of the old one, as sentences."""
    old, new = orjson.loads(before), orjson.loads(after)
    changes = [
        f"the {name} was {old[name]} and is {new[name]} now"
        for name in ("method", "path")
        if old[name] != new[name]
    ]
    for name in old["defaults"] | new["defaults"]:
        was, now = (json.dumps(each["defaults"].get(name)) for each in (old, new))
        if was != now:
            changes.append(f"the default of the body's data.{name} was {was} and is {now} now")
    documents = ({"components": {"schemas": each["schemas"]}} for each in (old, new))
    found = find_operation_changes(old["operation"], new["operation"], *documents)
    return changes + [change.text for change in found if change.is_breaking]


def add_contracts(description: OpenApiObject, contracts: Iterable[str]) -> OpenApiObject:
    """Return a description that has the endpoints of some contracts, too.

    A contract that refers to what this description does not have, because another release has
    written it, is left out; so is an empty one, and one whose address or name is taken. Schemas
    whose names are taken get numbers, and groups with names of built-in ones stay apart.
    """
    components = description["components"]
    paths, schemas = {**description["paths"]}, {**components["schemas"]}
    groups = {tag["name"] for tag in description["tags"]}
    tags: dict[str, OpenApiObject] = {}
    known = {f"{kind}/{name}" for kind, members in components.items() for name in members}
    names = {each["operationId"] for path in paths.values() for each in path.values()}
    taken = {*map(_fold, schemas)}
    for text in filter(None, contracts):
        contract = orjson.loads(text)
        method, path = contract["method"].lower(), contract["path"]
        operation, own = contract["operation"], {f"schemas/{name}" for name in contract["schemas"]}
        is_taken = method in paths.get(path, ()) or operation["operationId"] in names
        if is_taken or not own | known >= {*_REFERENCE.findall(text)}:
            continue
        names.add(operation["operationId"])
        if clashing := [name for name in contract["schemas"] if _fold(name) in taken]:
            contract = _rename_schemas(text, clashing, taken)
            operation = contract["operation"]
        taken |= {*map(_fold, contract["schemas"])}
        schemas |= contract["schemas"]
        [tag] = operation["tags"]
        if tag in groups:
            operation["tags"] = [tag := f"{OWN_TAG}: {tag}"]
        tags.setdefault(tag, {"name": tag, "description": OWN_TAG_DESCRIPTION})
        paths[path] = {**paths.get(path, {}), method: operation}
    return {
        **description,
        "tags": [*description["tags"], *tags.values()],
        "paths": paths,
        "components": {**components, "schemas": schemas},
    }


def _fold(name: str) -> str:
    """Return what two names have in common of which generators of clients make the same name."""
    return name.replace("_", "").lower()


def _rename_schemas(text: str, clashing: Iterable[str], taken: set[str]) -> Any:
    """Return the contract with other names of some schemas."""
    taken = taken | {_fold(name) for name in orjson.loads(text)["schemas"]}
    names: dict[str, str] = {}
    for name in clashing:
        number = next(n for n in count(2) if _fold(f"{name}{n}") not in taken)
        names[name] = f"{name}{number}"
        taken.add(_fold(names[name]))

    def rename(reference: re.Match[str]) -> str:
        return f'"$ref":"{COMPONENTS_PREFIX}{names.get(reference[1], reference[1])}"'

    contract = orjson.loads(re.sub(rf'"\$ref":"{COMPONENTS_PREFIX}([^"]*)"', rename, text))
    schemas = contract["schemas"].items()
    return contract | {"schemas": {names.get(name, name): part for name, part in schemas}}
