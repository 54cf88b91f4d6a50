"""`floorgate endpoints`: make GraphQL operations endpoints of REST, list, check and remove them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from gateway.cli.operator import run_with_database
from gateway.cli.terminal import count_of, print_table
from gateway.settings import (
    LIMIT_OPTIONS,
    STORABLE_TEXT,
    STORAGE_OPTIONS,
    Settings,
    with_settings,
    with_storage,
)

if TYPE_CHECKING:
    from gateway.endpoint_editor import EndpointEditor
    from storage.administration.saved_endpoints import EndpointPlan, SavedEndpoint
    from storage.mongo import driver

PATTERN = "*.graphql"
MAX_FILE_BYTES = 8_000_000
TIMEOUT_SECONDS = 30.0
EDITOR = "gateway.endpoint_editor"
"""Imported only by commands that read operations: it takes a second, and `list` does without."""
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_with_limits = with_settings(*STORAGE_OPTIONS, *LIMIT_OPTIONS)
_PATH = click.Path(path_type=Path, exists=True)


@click.group()
def endpoints() -> None:
    """Make GraphQL operations endpoints of REST, and list, check and remove these.

    An operation with the directive @endpoint is an endpoint below /v1/x/.
    """


@endpoints.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=_PATH)
@click.option("--prune", is_flag=True, help="Remove all endpoints that PATH... do not have.")
@click.option("--dry-run", is_flag=True, help="Show the plan, and write nothing.")
@click.option("--breaking", is_flag=True, help="Also apply what breaks callers.")
@click.option("--yes", is_flag=True, help="Apply without asking.")
@_JSON
@_with_limits
def apply(
    paths: tuple[Path, ...],
    prune: bool,
    dry_run: bool,
    breaking: bool,
    yes: bool,
    as_json: bool,
    settings: Settings,
) -> None:
    """Save the operations of files: all of them, or none. Shows the plan, and asks at a terminal.

    PATH is a file, or a folder with files *.graphql; fragments may stand in any of them. Every
    gateway has the endpoints within a second.
    """
    documents = _read_files(paths, may_be_empty=prune)

    async def work(database: driver.Database) -> EndpointPlan:
        from gateway.endpoint_editor import EndpointFaultsError

        save = partial(_build_editor(settings).save, database, documents, prune=prune)
        plan = await save(dry_run=True)
        _print_plan(plan, err=as_json)
        if plan.breaking and not breaking and not dry_run:
            sentence = "callers would break: --breaking applies it nevertheless"
            raise click.ClickException(sentence) from EndpointFaultsError("breaking", plan.breaking)
        if dry_run or not (plan.added or plan.changed or plan.removed):
            return plan
        if sys.stdin.isatty() and not yes:
            click.confirm("Apply this?", abort=True, err=True)
        return await save(breaking=breaking, shown=plan)

    plan = run_with_database(settings, work, needs=EDITOR, writes=not dry_run)
    if as_json:
        click.echo(orjson.dumps({**_name_parts(plan), "breaking": plan.breaking}))


@endpoints.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=_PATH)
@_with_limits
def check(paths: tuple[Path, ...], settings: Settings) -> None:
    """Check the operations of files, without a database; or those that are saved.

    Without PATH it says which of them this release cannot run. It changes nothing, so that the
    next release can be asked before an upgrade.
    """
    if paths:
        found = _build_editor(settings).check(_read_files(paths))
        click.echo(f"{count_of(len(found), 'endpoint')}, nothing is wrong")
        return

    import asyncio

    async def find() -> dict[str, str]:
        from gateway.saved_endpoints import find_unusable
        from storage.setup.database import open_database

        connection = settings.command_connection
        async with open_database(connection, TIMEOUT_SECONDS, changes_nothing=True) as client:
            return await find_unusable(client[settings.database], settings.query_limits)

    if wrong := asyncio.run(find()):
        raise click.ClickException("\n".join(f"{name}: {why}" for name, why in wrong.items()))
    click.echo("this release can run all saved endpoints")


@endpoints.command("list")
@_JSON
@with_storage
def list_endpoints(as_json: bool, settings: Settings) -> None:
    """List the saved endpoints."""
    from storage.administration import saved_endpoints

    work = partial(saved_endpoints.list_endpoints, with_contracts=as_json)
    found = run_with_database(settings, work)
    if as_json:
        click.echo(orjson.dumps([_describe(each) for each in found]))
        return
    rows = ((each.name, each.method, each.path, each.saved_at) for each in found)
    print_table(("Name", "Method", "Path", "Saved"), rows)


@endpoints.command()
@click.argument("name", type=STORABLE_TEXT)
@_JSON
@with_storage
def show(name: str, as_json: bool, settings: Settings) -> None:
    """Print the operation of a saved endpoint, with its fragments."""
    from storage.administration import saved_endpoints

    found = run_with_database(settings, partial(saved_endpoints.find_endpoint, name=name))
    if found is None:
        raise click.ClickException(
            f"there is no saved endpoint {name}: see floorgate endpoints list"
        )
    click.echo(orjson.dumps(_describe(found)) if as_json else found.text)


@endpoints.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...", type=STORABLE_TEXT)
@with_storage
def remove(names: tuple[str, ...], settings: Settings) -> None:
    """Remove saved endpoints: all of these, or none."""

    async def work(database: driver.Database) -> Iterable[str]:
        return await _build_editor(settings).remove(database, names)

    for name in run_with_database(settings, work, needs=EDITOR, writes=True):
        click.echo(f"removed: {name}")


def _build_editor(settings: Settings) -> EndpointEditor:
    from gateway.endpoint_editor import EndpointEditor
    from schema.root import GRAPHQL_SCHEMA

    return EndpointEditor(GRAPHQL_SCHEMA, settings.query_limits)


def _read_files(paths: Iterable[Path], *, may_be_empty: bool = False) -> dict[str, str]:
    """Return the texts of files by name; what is not UTF-8 is a fault of its line in them.

    Raises ClickException.
    """
    texts: dict[str, str] = {}
    for path in _list_files(paths):
        if path.exists() and not path.is_file():  # else reading it might not end
            raise click.ClickException(f"{path} is no file")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise click.ClickException(f"{path} has over {MAX_FILE_BYTES:,} bytes")
        texts[str(path)] = path.read_text("utf-8", "surrogateescape")
    if not texts and not may_be_empty:
        raise click.ClickException(
            f"there are no files {PATTERN}; with --prune, this would remove all endpoints"
        )
    return texts


def _list_files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(each for each in path.rglob(PATTERN) if not each.is_dir())
        else:
            yield path


def _name_parts(plan: EndpointPlan) -> dict[str, list[str]]:
    return {
        part: [each if isinstance(each, str) else each.name for each in getattr(plan, part)]
        for part in ("added", "changed", "removed", "unchanged")
    }


def _print_plan(plan: EndpointPlan, *, err: bool) -> None:
    for sign, part in (("+", plan.added), ("~", plan.changed)):
        for each in part:
            click.echo(f"{sign} {each.name}: {each.method} {each.path}", err=err)
    for line in (*(f"- {name}" for name in plan.removed), *(f"! {each}" for each in plan.breaking)):
        click.echo(line, err=err)
    counts = (f"{len(each)} {part}" for part, each in _name_parts(plan).items())
    click.echo(", ".join(counts), err=err)


def _describe(endpoint: SavedEndpoint) -> dict[str, Any]:
    return {
        "name": endpoint.name,
        "method": endpoint.method,
        "path": endpoint.path,
        "document": endpoint.text,
        "openapi": orjson.loads(endpoint.contract)["operation"],
        "saved_at": endpoint.saved_at,
    }
