"""List what a release changes in the two APIs: the GraphQL schema and the OpenAPI description.

    make api-diff FROM=v1.0.0

Compares a git ref with the working tree. BREAKING marks what can break a client that worked before,
and DANGEROUS, as graphql-core has it, what a client may notice (a new enum value, a changed
default). In the OpenAPI description every changed rule of an input or output counts as breaking: a
person decides whether it is. Texts for people are not compared.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import click
from graphql import build_schema
from graphql.utilities import BreakingChange, DangerousChange, SchemaChange, find_schema_changes

from tools.revisions import ROOT, extract_revision

SDL = "schema/schema.graphql"
OPENAPI = "from gateway.cli.main import main; main(['openapi'])"
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
NOTES = {"description", "title", "example", "examples", "deprecated", "$comment"}
"""Members of a JSON schema that no client depends on."""
CHILDREN = {"properties", "items", "required", "allOf", "anyOf", "oneOf", "additionalProperties"}

Json = Mapping[str, Any]


class Mark(StrEnum):
    """Says what a change does to clients."""

    BREAKING = "BREAKING"
    DANGEROUS = "DANGEROUS"
    SAFE = ""


class Change(NamedTuple):
    """One line of the list."""

    mark: Mark
    text: str

    def __str__(self) -> str:
        return f"{self.mark:10}{self.text}"


@dataclass(frozen=True, slots=True)
class Part:
    """One input or output of an operation, such as `query page` or `200 data[].name`."""

    is_input: bool
    is_required: bool
    rules: Json = field(default_factory=dict)
    """Its JSON schema without notes and children."""


def sdl_changes(before: str, after: str) -> list[Change]:
    """Compare two GraphQL schemas."""
    return [
        Change(_mark(change), change.description)
        for change in find_schema_changes(build_schema(before), build_schema(after))
        if change.type.name != "DESCRIPTION_CHANGED"
    ]


def _mark(change: SchemaChange) -> Mark:
    if isinstance(change, BreakingChange):
        return Mark.BREAKING
    return Mark.DANGEROUS if isinstance(change, DangerousChange) else Mark.SAFE


def _breaking(condition: bool) -> Mark:
    return Mark.BREAKING if condition else Mark.SAFE


def openapi_changes(before: Json, after: Json) -> list[Change]:
    """Compare two OpenAPI descriptions."""
    old, new = dict(_operations(before)), dict(_operations(after))
    changes = [Change(Mark.BREAKING, f"{name}: removed") for name in old.keys() - new.keys()]
    changes += [Change(Mark.SAFE, f"{name}: added") for name in new.keys() - old.keys()]
    for name in old.keys() & new.keys():
        changes += (
            Change(change.mark, f"{name}: {change.text}")
            for change in _operation_changes(old[name], new[name])
        )
    return sorted(changes, key=lambda change: change.text)


def _operation_changes(old: Mapping[str, Part], new: Mapping[str, Part]) -> Iterator[Change]:
    for name in old.keys() - new.keys():
        yield Change(Mark.BREAKING, f"{name} removed")
    for name in new.keys() - old.keys():
        part = new[name]
        must = " as required" if part.is_input and part.is_required else ""
        yield Change(_breaking(bool(must)), f"{name} added{must}")
    for name in old.keys() & new.keys():
        before, after = old[name], new[name]
        if before.is_required != after.is_required:
            # Clients suffer where an input becomes required, or an output may be missing.
            use = "required" if after.is_required else "optional"
            yield Change(_breaking(after.is_required == after.is_input), f"{name} is {use} now")
        for rule in sorted(before.rules.keys() | after.rules.keys()):
            was, now = before.rules.get(rule), after.rules.get(rule)
            if was != now:
                yield Change(
                    Mark.BREAKING, f"{name} {rule}: {json.dumps(was)} -> {json.dumps(now)}"
                )


def _operations(description: Json) -> Iterator[tuple[str, dict[str, Part]]]:
    for path, methods in description["paths"].items():
        for method in METHODS:
            if method in methods:
                parts = dict(_parts(methods[method], description))
                yield f"{method.upper()} {path}", parts


def _parts(operation: Json, description: Json) -> Iterator[tuple[str, Part]]:
    if "x-permission" in operation:
        yield f"permission {operation['x-permission']}", Part(is_input=True, is_required=True)
    for parameter in operation.get("parameters", ()):
        given = _resolve(parameter, description)
        name = f"{given['in']} {given['name']}"
        yield from _flatten(
            given.get("schema", {}), description, name, True, given.get("required", False)
        )
    body = _resolve(operation.get("requestBody", {}), description)
    for media_type, content in body.get("content", {}).items():
        yield from _flatten(
            content.get("schema", {}),
            description,
            f"body {media_type}",
            True,
            body.get("required", False),
        )
    for status, response in operation.get("responses", {}).items():
        answer = _resolve(response, description)
        yield status, Part(is_input=False, is_required=True)
        for media_type, content in answer.get("content", {}).items():
            yield from _flatten(
                content.get("schema", {}), description, f"{status} {media_type}", False, True
            )


def _flatten(
    schema: Any,
    description: Json,
    name: str,
    is_input: bool,
    is_required: bool,
    seen: tuple[str, ...] = (),
) -> Iterator[tuple[str, Part]]:
    """Yield a schema and, below it, its members; a recursive type is followed once."""
    if isinstance(schema, bool):
        schema = {} if schema else {"not": {}}
    if (reference := schema.get("$ref")) is not None:
        if reference in seen:
            return
        seen = (*seen, reference)
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**_resolve(schema, description), **siblings}
    rules = {key: value for key, value in schema.items() if key not in NOTES | CHILDREN}
    yield name, Part(is_input, is_required, rules)
    for member, inner in schema.get("properties", {}).items():
        must = member in schema.get("required", ())
        yield from _flatten(inner, description, f"{name} .{member}", is_input, must, seen)
    for keyword, suffix in (("items", "[]"), ("additionalProperties", ".*")):
        if keyword in schema:
            inner = schema[keyword]
            yield from _flatten(inner, description, f"{name} {suffix}", is_input, True, seen)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for index, inner in enumerate(schema.get(keyword, ())):
            below = f"{name} {keyword}[{index}]"
            yield from _flatten(inner, description, below, is_input, True, seen)


def _resolve(part: Json, description: Json) -> Json:
    while "$ref" in part:
        target: Any = description
        for name in part["$ref"].removeprefix("#/").split("/"):
            target = target[name.replace("~1", "/").replace("~0", "~")]
        part = target
    return part


def _openapi_of(directory: Path) -> Json:
    """The OpenAPI description that the code in a directory prints."""
    run = subprocess.run(
        [sys.executable, "-c", OPENAPI],
        cwd=directory,
        env={"PYTHONPATH": str(directory)},
        capture_output=True,
        check=False,
    )
    if run.returncode:
        raise click.ClickException(f"floorgate openapi failed there:\n{run.stderr.decode()}")
    described: Json = json.loads(run.stdout)
    return described


@click.command()
@click.argument("ref")
def main(ref: str) -> None:
    """List how the APIs of the working tree differ from those of the git ref REF."""
    with tempfile.TemporaryDirectory() as name:
        before = extract_revision(ref, Path(name))
        graphql = sdl_changes((before / SDL).read_text(), (ROOT / SDL).read_text())
        rest = openapi_changes(_openapi_of(before), _openapi_of(ROOT))
    for title, changes in (("GraphQL", graphql), ("REST", rest)):
        click.echo(f"## {title}\n")
        click.echo("\n".join(map(str, changes)) or "No changes.")
        click.echo()


if __name__ == "__main__":
    main()
