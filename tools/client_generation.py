"""Generate the typed parts of the clients from the OpenAPI description: `make clients`.

What is generated is not in git. openapi-python-client writes the endpoints and types of the Python
package; openapi-typescript, from npm, those of the TypeScript package.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from rest.openapi.description import build_description
from schema.root import GRAPHQL_SCHEMA

CLIENTS = Path(__file__).parents[1] / "clients"
PYTHON = CLIENTS / "python"
HEADERS_OF_CLIENTS = {"Experimental-Flags", "If-None-Match", "X-Request-Id"}
"""Parameters that the clients set themselves."""
PATH_DATA = "path_data"
"""The Python package calls the member `d` of paths so: the generator uses that name itself."""
TYPESCRIPT = CLIENTS / "typescript"
DESCRIPTION = TYPESCRIPT / "openapi.json"


def main() -> None:
    """Write the description for TypeScript, and the generated part of the Python package."""
    description = describe_for_typescript()
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "openapi.json"
        file.write_text(json.dumps(_for_python(description)))
        generator = [sys.executable, "-m", "openapi_python_client", "generate"]
        generator += ["--path", str(file), "--config", str(PYTHON / "generator.yml")]
        generator += ["--meta", "none", "--overwrite", "--fail-on-warning"]
        generator += ["--output-path", str(PYTHON / "src/floorgate_client/rest")]
        done = subprocess.run(generator, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"openapi-python-client failed: {done.stdout}{done.stderr}")
    generated = PYTHON / "src/floorgate_client/rest"
    for module in generated.glob("api/*/*.py"):
        module.write_text(_send_bytes(_promise_responses(_join_lists(module.read_text()))))
    types = generated / "types.py"
    types.write_text(types.read_text().replace("parsed: T | None", "parsed: T"))
    for module in generated.glob("models/*map*.py"):
        module.write_text(_parse_elements_by_type(module.read_text()))
    pages = _names_of_pages(description)
    for module in generated.glob("models/*.py"):
        module.write_text(_mark_page(module.read_text(), pages))


def describe_for_typescript() -> dict[str, Any]:
    """Write the description that openapi-typescript reads, and return it."""
    description = deepcopy(build_description(GRAPHQL_SCHEMA, None))  # others read it as it is
    _remove_headers_of_clients(description)
    _remove_deprecated_members(description)
    _remove_errors(description)
    new = DESCRIPTION.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(description, indent=1))
    new.replace(DESCRIPTION)  # others may read it meanwhile
    return description


def _join_lists(module: str) -> str:
    """Let an endpoint send a list as one parameter: the generator repeats parameters instead."""
    lists = set(re.findall(r"^    (json_\w+): list\[", module, re.MULTILINE))
    for name in lists:
        module = module.replace(f"] = {name}\n", f"] = join({name})\n")
    return f"from floorgate_client.lists import join\n{module}" if lists else module


def _promise_responses(module: str) -> str:
    """Let an endpoint return what it promises: the generator adds None, for other statuses.

    The client raises those as exceptions.
    """
    otherwise = (
        r" +if client\.raise_on_unexpected_status:\n    ( +raise .+\n) +else:\n +return None\n"
    )
    module = re.sub(otherwise, r"\1", module)
    module = re.sub(
        "errors.UnexpectedStatus: .+", "FloorgateError: If the response is an error.", module
    )
    return re.sub(r"(?m)^(.*-> .+) \| None:$", r"\1:", module)


def _send_bytes(module: str) -> str:
    """Let an endpoint send bytes: the generator wants a file, which can be sent only once."""
    module = module.replace("body: File,", "body: bytes,").replace("body (File)", "body (bytes)")
    return module.replace("= body.payload", "= body")


def _parse_elements_by_type(module: str) -> str:
    """Let an element of a map be parsed as the type that it names: the generator tries them all.

    That takes longer the more types there are: half a millisecond for each element.
    """
    by_trying = r"( +)def _parse_elements_item\(.*?\n +elements_item = _parse_elements_item\("
    by_type = r"\1elements_item = parse_element("
    module, count = re.subn(by_trying, by_type, module, flags=re.DOTALL)
    if count:  # here, as the types and what parses them need each other
        found = '        _elements = d.pop("elements")\n'
        needed = "        from floorgate_client.elements import parse_element\n"
        module = module.replace(found, needed + found)
    return module.replace(f'"{PATH_DATA}"', '"d"')


def _names_of_pages(description: dict[str, Any]) -> set[str]:
    """Return the types of lists with a header `Link`, which has the address of the next page."""
    responses = (each["responses"].get("200", {}) for each in _iter_operations(description))
    return {
        each["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        for each in responses
        if "Link" in each.get("headers", {})
    }


def _mark_page(module: str, pages: set[str]) -> str:
    """Let the type of a list with pages say so: `iterate` takes no others."""
    found = re.search(r"(?m)^class (\w+):$", module)
    if found is None or found[1] not in pages:
        return module
    return module.replace("    data: list[", "    has_pages = True\n    data: list[", 1)


def _iter_operations(description: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for operations in description["paths"].values():
        yield from (each for each in operations.values() if "responses" in each)


def _remove_headers_of_clients(description: dict[str, Any]) -> None:
    """Remove the headers that the clients set themselves."""
    shared = description["components"].get("parameters", {})
    for operation in _iter_operations(description):
        operation["parameters"] = [
            each
            for each in operation.get("parameters", [])
            if shared.get(each.get("$ref", "").rpartition("/")[2], each).get("name")
            not in HEADERS_OF_CLIENTS
        ]


def _remove_deprecated_members(description: dict[str, Any]) -> None:
    """Remove second names of members: a client needs one."""
    for schema in description["components"]["schemas"].values():
        members = schema.get("properties", {})
        for name in [name for name, member in members.items() if member.get("deprecated")]:
            del members[name]


def _remove_errors(description: dict[str, Any]) -> None:
    """Remove the responses that the clients raise as exceptions or, as 304, answer themselves."""
    for operation in _iter_operations(description):
        operation["responses"] = {
            status: response
            for status, response in operation["responses"].items()
            if status.startswith("2")
        }


def _for_python(description: dict[str, Any]) -> dict[str, Any]:
    """Return the description without what the generator for Python cannot express.

    It knows no bodies of text but binary ones, and no member that is named `d`.
    """
    copied = deepcopy(description)
    for operation in _iter_operations(copied):
        for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
            if media_type.endswith("+xml"):
                content["schema"] = {"type": "string", "format": "binary"}
    for schema in copied["components"]["schemas"].values():
        if "d" in schema.get("properties", {}):
            schema["properties"][PATH_DATA] = schema["properties"].pop("d")
    return copied


if __name__ == "__main__":
    main()
