"""The contracts of operators' endpoints: what callers rely on, as OpenAPI describes it.

A contract is saved with its endpoint, so that a description needs no operation to be compiled, and
a version that would break callers is found.
"""

import re
from collections.abc import Iterable
from typing import Final

import orjson
from graphql import GraphQLSchema

from rest.endpoint_files import Endpoint
from rest.openapi.comparison import find_operation_changes
from rest.openapi.description import DescriptionBuilder
from rest.openapi.example_values import make_example
from rest.openapi.map_schemas import OpenApiObject
from rest.openapi.sdk_methods import own_sdk_method

OWN_TAG: Final = "Custom endpoints"
"""The group of operators' endpoints that name none."""
OWN_TAG_DESCRIPTION: Final = "Endpoints that the operator of this service has saved."

FORMAT: Final = 2
"""The form of contracts: a release that describes the same endpoint otherwise has a greater one."""

_REFERENCE = re.compile(r'"\$ref":"#/components/([^"]*)"')
_UNSAFE = re.compile(r"<(?=[a-z/!?])|(?<=script)(?=:)", re.IGNORECASE)
"""What begins an element of HTML, or follows the scheme of an address that runs a script."""


def build_contract(endpoint: Endpoint, schema: GraphQLSchema) -> str:
    """Return the contract of an operator's endpoint, as JSON text.

    It has the `format`, `method`, `path`, and the `operation` object of OpenAPI.
    """
    operation = DescriptionBuilder(schema).describe(endpoint)
    operation["tags"] = [endpoint.tag.strip() or OWN_TAG]
    for each in operation["parameters"]:
        if "schema" in each and "example" not in each:
            each["example"] = make_example(each["schema"], each["name"])
    # They are Markdown, in which the texts of operators could be HTML, or links to scripts.
    for each in (operation, operation.get("requestBody"), *operation["responses"].values()):
        if each and "description" in each:
            each["description"] = _UNSAFE.sub(
                lambda unsafe: "&lt;" if unsafe[0] else " ", each["description"]
            )
    contract = {
        "format": FORMAT,
        "method": endpoint.method,
        "path": endpoint.path,
        "operation": operation,
    }
    return orjson.dumps(contract).decode()


def find_breaking_changes(before: str, after: str) -> list[str]:
    """Return what in a new version of a contract breaks callers of the old one, as sentences.

    Contracts of different formats cannot be compared: nothing is known to break then.
    """
    old, new = orjson.loads(before), orjson.loads(after)
    if old["format"] != new["format"]:
        return []
    changes = [
        f"the {name} was {old[name]} and is {new[name]} now"
        for name in ("method", "path")
        if old[name] != new[name]
    ]
    found = find_operation_changes(old["operation"], new["operation"])
    return changes + [change.text for change in found if change.is_breaking]


def add_contracts(description: OpenApiObject, contracts: Iterable[str]) -> OpenApiObject:
    """Return a description that has the endpoints of some contracts, too.

    A contract that refers to what this description does not have, because another release has
    written it, is left out; so is an empty one, and one whose address or name is taken. Groups
    with names of built-in ones stay apart.
    """
    components = description["components"]
    paths = {**description["paths"]}
    groups = {tag["name"] for tag in description["tags"]}
    tags: dict[str, OpenApiObject] = {}
    known = {f"{kind}/{name}" for kind, members in components.items() for name in members}
    names = {each["operationId"] for path in paths.values() for each in path.values()}
    for text in filter(None, contracts):
        contract = orjson.loads(text)
        method, path = contract["method"].lower(), contract["path"]
        operation = contract["operation"]
        is_taken = method in paths.get(path, ()) or operation["operationId"] in names
        if is_taken or not known.issuperset(_REFERENCE.findall(text)):
            continue
        names.add(operation["operationId"])
        operation["x-sdk-method"] = own_sdk_method(operation["operationId"])
        [tag] = operation["tags"]
        if tag in groups:
            operation["tags"] = [tag := f"{OWN_TAG}: {tag}"]
        tags.setdefault(tag, {"name": tag, "description": OWN_TAG_DESCRIPTION})
        paths[path] = {**paths.get(path, {}), method: operation}
    return {
        **description,
        "tags": [*description["tags"], *tags.values()],
        "paths": paths,
    }
