"""`floorgate maps`: make a map routable, close parts of it, draw it."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec
import orjson
from click.core import ParameterSource

from gateway.cli.catalog import NETWORK_POLICIES
from gateway.cli.operator import run_with_database
from gateway.cli.terminal import print_table
from gateway.settings import (
    DIRECTORY,
    FILE,
    PATH,
    STORABLE_TEXT,
    STORAGE_OPTIONS,
    Settings,
    id_option,
    with_storage,
)
from resolvers.request.errors import NotFoundError
from storage.written_files import write_file

if TYPE_CHECKING:
    from resolvers.closures import Closable
    from resolvers.request.context import Context
    from storage.catalog import Map
    from storage.closures import Closures
    from storage.mongo import driver

# What parses, processes, draws and closes has these too, but takes a second to import. A test
# compares.

PLAN_FORMATS = ("svg", "osm", "geojson", "imdf")
PICTURE_FORMATS = ("svg", "png")
TRAVEL_MODES = ("foot", "wheelchair")
AVOIDABLE = ("stairs", "escalators", "lifts", "outdoors")
PICTURE_WIDTHS = (16, 2048)
DEFAULT_PICTURE_WIDTH = 1024
PARTS = {"connectors": "connector", "doors": "door", "spaces": "space"}

DRAWING_SECONDS = 60.0
"""The timeout of each command to MongoDB for a picture."""
PICTURE_DOCUMENT = """query Picture(
    $map: ID!, $level: ID, $format: PictureFormat, $width: Int, $unit: ID, $from: WaypointInput,
    $to: WaypointInput, $mode: TravelMode, $avoid: [Avoidable!]
) {
    map(id: $map) {
        picture(
            level: $level, format: $format, width: $width, unit: $unit, from: $from, to: $to,
            mode: $mode, avoid: $avoid
        ) { content }
    }
}"""

T = TypeVar("T")


@click.group()
def maps() -> None:
    """Work on unit maps."""


def _with_part_options(command: Any) -> Any:
    """Add an option for each part of a map that can be closed."""
    for name, part in reversed(PARTS.items()):
        add = id_option(f"--{part}", name, multiple=True, help=f"A {part}, by its id; repeatable.")
        command = add(command)
    return command


@maps.command()
@click.argument("map_id", type=STORABLE_TEXT, metavar="MAP_ID")
@_with_part_options
@with_storage
def close(map_id: str, settings: Settings, **ids: tuple[str, ...]) -> None:
    """Close connectors, doors and spaces of a map, in addition to those that are closed.

    Routes and distances use none of them from then on. `floorgate maps closable MAP_ID` lists
    their ids.
    """
    if not any(ids.values()):
        raise click.UsageError("give at least one --connector, --door or --space")
    from storage.closures import Closures

    def edit(before: Closures) -> Closures:
        return Closures.of(**{name: [*getattr(before, name), *ids[name]] for name in PARTS})

    _print_closures(_change_closures(settings, map_id, edit))


@maps.command("open")
@click.argument("map_id", type=STORABLE_TEXT, metavar="MAP_ID")
@_with_part_options
@click.option("--all", "is_all", is_flag=True, help="Open all that is closed.")
@with_storage
def open_(map_id: str, is_all: bool, settings: Settings, **ids: tuple[str, ...]) -> None:
    """Open connectors, doors and spaces of a map that are closed."""
    if is_all == any(ids.values()):
        raise click.UsageError("give at least one --connector, --door or --space, or --all")
    from storage.closures import Closures

    never_closed: list[str] = []

    def edit(before: Closures) -> Closures:
        never_closed[:] = [
            f"{part} {key!r}"
            for name, part in PARTS.items()
            for key in ids[name]
            if key not in getattr(before, name)
        ]
        if is_all:
            return Closures()
        return Closures.of(**{name: {*getattr(before, name)} - {*ids[name]} for name in PARTS})

    left = _change_closures(settings, map_id, edit)
    for key in never_closed:
        click.echo(f"note: the {key} was not closed", err=True)
    _print_closures(left)


@maps.command()
@click.argument("map_id", type=STORABLE_TEXT, metavar="MAP_ID")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@with_storage
def closures(map_id: str, as_json: bool, settings: Settings) -> None:
    """List what is closed on a map."""

    async def load(context: Context, unit_map: Map) -> Closures:
        from resolvers.maps import load_closures

        [found] = await load_closures(context, [unit_map.id])
        return found

    found = _run(settings, map_id, load)
    if as_json:
        click.echo(orjson.dumps(msgspec.to_builtins(found)))
    else:
        _print_closures(found)


@maps.command()
@click.argument("map_id", type=STORABLE_TEXT, metavar="MAP_ID")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@with_storage
def closable(map_id: str, as_json: bool, settings: Settings) -> None:
    """List what can be closed on a map: its connectors, doors and spaces."""

    async def load(context: Context, unit_map: Map) -> list[Closable]:
        import asyncio

        from resolvers.closures import list_closable, name_units

        routable = await context.load_whole_map(unit_map.id)
        if routable is None:
            raise click.ClickException(
                f"the map {map_id!r} is not routable: see floorgate maps process"
            )
        scale = unit_map.feet_per_unit or 1.0
        items = await asyncio.to_thread(list_closable, routable.router, scale)
        return await name_units(context, unit_map, items)

    found = _run(settings, map_id, load)
    if as_json:
        items = [
            {
                "id": item.part_id,
                "part": item.part,
                "kind": item.kind,
                "name": item.name,
                "places": [place._asdict() for place in item.places],
            }
            for item in found
        ]
        click.echo(orjson.dumps(items))
        return
    rows = (
        (
            item.part_id,
            item.part,
            item.kind or "",
            item.name or "",
            "; ".join(f"{place.x:g},{place.y:g} on {place.floor_id}" for place in item.places),
        )
        for item in found
    )
    print_table(("Id", "Part", "Kind", "Name", "Where"), rows)


def _change_closures(
    settings: Settings, map_id: str, edit: Callable[[Closures], Closures]
) -> Closures:
    async def change(context: Context, unit_map: Map) -> Closures:
        from resolvers.closures import change_closures

        return await change_closures(context, unit_map.id, edit)

    return _run(settings, map_id, change, writes=True)


def _run(
    settings: Settings,
    map_id: str,
    work: Callable[[Context, Map], Awaitable[T]],
    *,
    writes: bool = False,
) -> T:
    async def run(database: driver.Database) -> T:
        from gateway.cli.operations import build_context
        from storage.catalog import MAPS

        context = build_context(database)
        unit_map = await context.get_record(MAPS, map_id)
        if unit_map is None:
            raise NotFoundError(f"there is no map {map_id!r}")
        return await work(context, unit_map)

    return run_with_database(settings, run, writes=writes)


def _print_closures(closed: Closures) -> None:
    for name, part in PARTS.items():
        for key in getattr(closed, name):
            click.echo(f"closed: {part} {key}")
    if not closed:
        click.echo("nothing is closed")


@maps.command()
@click.argument("map_id", type=STORABLE_TEXT, metavar="MAP_ID")
@id_option(
    "--level", help="A floor or Level; by default that of the unit or of the start, or the lowest."
)
@click.option(
    "--format",
    "format",
    type=click.Choice(PICTURE_FORMATS),
    help="By default png for a FILE.png, else svg.",
)
@click.option(
    "--width",
    type=click.IntRange(*PICTURE_WIDTHS),
    default=DEFAULT_PICTURE_WIDTH,
    show_default=True,
    help="In pixels.",
)
@id_option("--unit", help="A unit to mark.")
@id_option("--from", "from", metavar="WAYPOINT", help="Where a route starts.")
@id_option(
    "--to",
    "to",
    metavar="WAYPOINT",
    help="Where it goes: a location's id, unit:ID or X,Y,FLOOR.",
)
@click.option("--mode", type=click.Choice(TRAVEL_MODES), help="How to travel.")
@click.option(
    "--avoid",
    type=click.Choice(AVOIDABLE),
    multiple=True,
    help="What the route does not use; repeatable.",
)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    type=FILE,
    help="Where to write the picture; by default to the standard output.",
)
@with_storage
def picture(
    map_id: str, avoid: tuple[str, ...], output: Path | None, settings: Settings, **variables: Any
) -> None:
    """Write a picture of a level of a map, with a unit or a route on it."""
    from gateway.cli.operations import execute
    from rest.parameters import parse_waypoint

    is_png_file = output is not None and output.suffix.lower() == ".png"
    variables |= {"map": map_id, "avoid": [*avoid] or None}
    variables["format"] = variables["format"] or ("png" if is_png_file else "svg")
    for end in ("from", "to"):
        variables[end] = None if variables[end] is None else parse_waypoint(variables[end])
    draw = partial(execute, document=PICTURE_DOCUMENT, variables=variables)
    found = run_with_database(settings, draw, DRAWING_SECONDS)["map"]
    if found is None:
        raise click.ClickException(f"there is no map {map_id!r}")
    if found["picture"] is None:
        raise click.ClickException(f"the map {map_id!r} has no drawing")
    text = found["picture"]["content"]
    content = text.encode() if variables["format"] == "svg" else base64.b64decode(text)
    if output is None:
        click.echo(content, nl=False)
    else:
        write_file(output, content)


@maps.command("process")
@click.argument("map_id", type=STORABLE_TEXT, metavar="[MAP_ID]", required=False)
@click.argument("sources", nargs=-1, metavar="[SOURCE]...", type=PATH)
@click.option(
    "--stale",
    is_flag=True,
    help="Instead of MAP_ID: process all maps again that no longer have the network that they had.",
)
@id_option("--asset", "asset_id", help="The asset of a new map.")
@click.option("--format", "plan_format", type=click.Choice(["auto", *PLAN_FORMATS]), default="auto")
@click.option(
    "--feet-per-unit",
    type=click.FloatRange(min=0, min_open=True, max=1e6),
    help="Scale of a unit-map SVG.",
)
@click.option(
    "--pictures",
    "--picture",
    "pictures",
    metavar="DIR",
    type=DIRECTORY,
    help="Write an SVG of each level and mode to this directory; it shows where each problem is.",
)
@click.option(
    "--require",
    metavar="SHARE",
    type=click.FloatRange(0, 100),
    default=0.0,
    help="Percentage of the locations that must reach each other, in each mode.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Reject a plan with faulty elements, which are left out and reported otherwise.",
)
@click.option(
    "--networks",
    type=click.Choice(NETWORK_POLICIES),
    default=NETWORK_POLICIES[0],
    show_default=True,
    help="What happens to other routable maps if the plan changes their floors: process them again,"
    " or withdraw their networks.",
)
@click.option("--verbose", is_flag=True, help="List all problems, not only the first of a cause.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@with_storage
def process_(
    map_id: str | None,
    sources: tuple[Path, ...],
    stale: bool,
    plan_format: Any,
    pictures: Path | None,
    networks: str,
    verbose: bool,
    as_json: bool,
    settings: Settings,
    **options: Any,
) -> None:
    """Make a map routable, from its own drawing or from a floor plan.

    A SOURCE is a unit-map SVG, OpenStreetMap indoor data (.osm, GeoJSON), or an IMDF directory or
    zip. The report says what cannot be reached, why, and what to do, the costliest cause first.
    Status 1 means that the plan was not published: no two locations reach each other, or fewer than
    SHARE per cent do; or with --stale, that a map could not be processed.
    """
    if stale:
        context = click.get_current_context()
        others = context.params.keys() - {"stale", "as_json", *STORAGE_OPTIONS}
        if any(
            context.get_parameter_source(each) is ParameterSource.COMMANDLINE for each in others
        ):
            raise click.UsageError("--stale excludes MAP_ID and all that is for one map only")
        from gateway.cli.processing import process_stale_maps

        process_stale_maps(settings, as_json=as_json)
        return
    if map_id is None:
        raise click.UsageError("MAP_ID is missing: name a map, or all that need it with --stale")
    from gateway.cli.processing import print_report, process_map, read_sources
    from resolvers.processing.pipeline import ProcessingRequest

    request = ProcessingRequest(
        map_id,
        read_sources(sources),
        None if plan_format == "auto" else plan_format,
        with_pictures=pictures is not None,
        **options,
    )
    if pictures is not None:  # fail before anything is published
        pictures.mkdir(parents=True, exist_ok=True)
    outcome = process_map(settings, request, networks)
    if pictures is not None:
        from gateway.cli.parse import write_pictures

        write_pictures(pictures, outcome.pictures)
    if as_json:
        click.echo(orjson.dumps(outcome.report, option=orjson.OPT_INDENT_2))
    else:
        print_report(outcome.report, verbose=verbose)
    if not outcome.published:
        raise click.exceptions.Exit(1)
