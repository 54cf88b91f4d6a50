"""`floorgate maps close`, `open`, `closures` and `closable`: what routes do not use for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec
import orjson

from gateway.cli.operator import run_with_database
from gateway.cli.terminal import build_table, print_table
from gateway.settings import STORABLE_TEXT, STORAGE_OPTIONS, settings_from_parameters, with_options
from resolvers.request.errors import NotFoundError

if TYPE_CHECKING:
    from resolvers.closures import Closable
    from resolvers.request.context import Context
    from storage.catalog import Map
    from storage.closures import Closures
    from storage.mongo import driver

PARTS = {"connectors": "connector", "doors": "door", "spaces": "space"}
"""`resolvers.closures` has the same, and takes a second to import."""

T = TypeVar("T")


def _with_part_options(command: Any) -> Any:
    """Add an option for each part of a map that can be closed."""
    for name, part in reversed(PARTS.items()):
        help_text = f"A {part}, by its id; repeatable."
        add = click.option(
            f"--{part}", name, type=STORABLE_TEXT, metavar="ID", multiple=True, help=help_text
        )
        command = add(command)
    return command


@click.command()
@click.argument("map_id", type=STORABLE_TEXT, metavar="MAP_ID")
@_with_part_options
@with_options(*STORAGE_OPTIONS)
def close(map_id: str, **values: Any) -> None:
    """Close connectors, doors and spaces of a map, in addition to those that are closed.

    Routes and distances use none of them from then on. `floorgate maps closable MAP_ID` lists
    their ids.
    """
    added = _pop_parts(values)
    if not added:
        raise click.UsageError("give at least one --connector, --door or --space")

    def edit(before: Closures) -> Closures:
        return _combine(lambda name: {*getattr(before, name), *getattr(added, name)})

    _print_closures(_run(values, map_id, partial(_change, edit), writes=True))


@click.command("open")
@click.argument("map_id", type=STORABLE_TEXT, metavar="MAP_ID")
@_with_part_options
@click.option("--all", "is_all", is_flag=True, help="Open all that is closed.")
@with_options(*STORAGE_OPTIONS)
def open_(map_id: str, is_all: bool, **values: Any) -> None:
    """Open connectors, doors and spaces of a map that are closed."""
    removed = _pop_parts(values)
    if is_all == bool(removed):
        raise click.UsageError("give at least one --connector, --door or --space, or --all")
    never_closed: list[str] = []

    def edit(before: Closures) -> Closures:
        never_closed[:] = [
            f"{part} {key!r}"
            for name, part in PARTS.items()
            for key in getattr(removed, name)
            if key not in getattr(before, name)
        ]
        gone = before if is_all else removed
        return _combine(lambda name: {*getattr(before, name)} - {*getattr(gone, name)})

    left = _run(values, map_id, partial(_change, edit), writes=True)
    for key in never_closed:
        click.echo(f"note: the {key} was not closed", err=True)
    _print_closures(left)


@click.command()
@click.argument("map_id", type=STORABLE_TEXT, metavar="MAP_ID")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@with_options(*STORAGE_OPTIONS)
def closures(map_id: str, as_json: bool, **values: Any) -> None:
    """List what is closed on a map."""

    async def load(context: Context, unit_map: Map) -> Closures:
        from resolvers.maps import load_closures

        [found] = await load_closures(context, [unit_map.id])
        return found

    found = _run(values, map_id, load)
    if as_json:
        click.echo(orjson.dumps(msgspec.to_builtins(found)))
    else:
        _print_closures(found)


@click.command()
@click.argument("map_id", type=STORABLE_TEXT, metavar="MAP_ID")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@with_options(*STORAGE_OPTIONS)
def closable(map_id: str, as_json: bool, **values: Any) -> None:
    """List what can be closed on a map: its connectors, doors and spaces."""

    async def load(context: Context, unit_map: Map) -> list[Closable]:
        from resolvers.closures import list_closable, name_units
        from resolvers.maps import load_whole_map

        routable = await load_whole_map(context, unit_map.id)
        if routable is None:
            raise click.ClickException(
                f"the map {map_id!r} is not routable: see floorgate maps process"
            )
        scale = unit_map.feet_per_unit or 1.0
        items = await asyncio.to_thread(list_closable, routable.router, scale)
        return await name_units(context, unit_map, items)

    found = _run(values, map_id, load)
    if as_json:
        click.echo(orjson.dumps([_to_json(item) for item in found]))
        return
    table = build_table("Id", "Part", "Kind", "Name", "Where")
    for item in found:
        places = "; ".join(f"{place.x:g},{place.y:g} on {place.floor_id}" for place in item.places)
        table.add_row(item.part_id, item.part, item.kind or "", item.name or "", places)
    print_table(table)


def _to_json(item: Closable) -> dict[str, Any]:
    places = [place._asdict() for place in item.places]
    return {
        "id": item.part_id,
        "part": item.part,
        "kind": item.kind,
        "name": item.name,
        "places": places,
    }


def _pop_parts(values: dict[str, Any]) -> Closures:
    """Return the parts among the parameters of a command; the other parameters are left."""
    from storage.closures import Closures

    return Closures(**{name: [*values.pop(name)] for name in PARTS})


def _combine(ids_of: Callable[[str], set[str]]) -> Closures:
    from storage.closures import Closures

    return Closures.of(**{name: ids_of(name) for name in PARTS})


async def _change(
    edit: Callable[[Closures], Closures], context: Context, unit_map: Map
) -> Closures:
    from resolvers.closures import change_closures

    return await change_closures(context, unit_map.id, edit)


def _run(
    values: dict[str, Any],
    map_id: str,
    work: Callable[[Context, Map], Awaitable[T]],
    *,
    writes: bool = False,
) -> T:
    """Run work on a map, as the operator."""

    async def run(database: driver.Database) -> T:
        from gateway.cli.operations import build_context
        from storage.catalog import MAPS

        context = build_context(database)
        unit_map = await context.get_record(MAPS, map_id)
        if unit_map is None:
            raise NotFoundError(f"there is no map {map_id!r}")
        return await work(context, unit_map)

    return run_with_database(settings_from_parameters(values), run, writes=writes)


def _print_closures(closed: Closures) -> None:
    for name, part in PARTS.items():
        for key in getattr(closed, name):
            click.echo(f"closed: {part} {key}")
    if not closed:
        click.echo("nothing is closed")
