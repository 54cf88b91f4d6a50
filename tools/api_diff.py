"""List what a release changes in the two APIs: the GraphQL schema and the OpenAPI description.

    make api-diff FROM=v1.0.0

Compares a git ref with the working tree. BREAKING marks what can break a client that worked before,
and DANGEROUS, as graphql-core has it, what a client may notice (a new enum value, a changed
default). Texts for people are not compared.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import click
from graphql import build_schema
from graphql.utilities import BreakingChange, DangerousChange, SchemaChange, find_schema_changes

from rest.openapi.comparison import find_operation_changes
from tools.revisions import ROOT, extract_revision

SDL = "schema/schema.graphql"
OPENAPI = "from gateway.cli.main import main; main(['openapi'])"
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
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


def openapi_changes(before: Json, after: Json) -> list[Change]:
    """Compare two OpenAPI descriptions."""
    old, new = dict(_operations(before)), dict(_operations(after))
    changes = [Change(Mark.BREAKING, f"{name}: removed") for name in old.keys() - new.keys()]
    changes += [Change(Mark.SAFE, f"{name}: added") for name in new.keys() - old.keys()]
    for name in old.keys() & new.keys():
        changes += (
            Change(Mark.BREAKING if change.is_breaking else Mark.SAFE, f"{name}: {change.text}")
            for change in find_operation_changes(old[name], new[name], before, after)
        )
    return sorted(changes, key=lambda change: change.text)


def _operations(description: Json) -> Iterator[tuple[str, Json]]:
    for path, methods in description["paths"].items():
        for method in METHODS:
            if method in methods:
                yield f"{method.upper()} {path}", methods[method]


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
