"""`floorgate maps`: make a map routable, close parts of it, draw it."""

import base64
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import click
import orjson
from click.core import ParameterSource
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from gateway.cli.closures import closable, close, closures, open_
from gateway.cli.operations import OPERATOR, run_in_context
from gateway.cli.operator import run_with_database
from gateway.cli.parse import write_pictures
from gateway.settings import (
    STORABLE_TEXT,
    STORAGE_OPTIONS,
    Settings,
    settings_from_parameters,
    with_options,
)
from parsing.drawing import is_number
from parsing.plans import PLAN_FORMATS
from resolvers.distances import TravelMode
from resolvers.drawings.pictures import (
    DEFAULT_PICTURE_WIDTH,
    MAX_PICTURE_WIDTH,
    MIN_PICTURE_WIDTH,
    PictureFormat,
)
from resolvers.networks.routable_maps import RoutableMapCache, is_loadable
from resolvers.networks.waypoints import Avoidable
from resolvers.processed_maps import process_with_other_maps
from resolvers.processing.pipeline import ProcessingOutcome, ProcessingRequest
from resolvers.processing.process_pool import ProcessPool
from resolvers.processing.stale_networks import (
    NETWORK_POLICIES,
    REPROCESS,
    SettledNetwork,
    settle_stale_networks,
)
from resolvers.request.context import Context
from resolvers.request.errors import NotFoundError, RequestError
from rest.parameters import parse_waypoint
from storage.mongo import driver, files
from storage.routing_inputs import list_stale_networks
from storage.store import Store

SHOWN_PROBLEMS = 3
"""Problems of a group that are printed without `--verbose`."""
SHOWN_LEVELS = 8


def print_report(report: dict[str, Any], *, verbose: bool = False) -> None:
    """Print a processing report as a table and lines; `verbose` prints all that it lists."""
    # Names come from the plan and may hold [brackets] and :colons:.
    console = Console(soft_wrap=True, markup=False, emoji=False, highlight=False)
    console.print(_build_level_table(report["levels"]))
    for reach in report["reachability"]:
        is_single = reach["reached"] == 1 < report["locations"]
        components = (
            "1 component" if reach["components"] == 1 else f"{reach['components']} components"
        )
        share = "" if is_single else f" ({reach['share']:.1%})"
        console.print(
            f"{reach['mode']}: {'no two' if is_single else reach['reached']} of "
            f"{report['locations']} locations reach each other{share}, {reach['vertices']} "
            f"vertices, {reach['edges']} edges, {components}"
        )
    _print_groups(console, report, verbose=verbose)
    for note in report["notes"]:
        console.print(f"note: {note}")
    if not report["published"]:
        console.print(f"not published: {report['refusal']}")
        return
    console.print(f"published: routable by {' and '.join(report['modes'])}")
    for reach in report["reachability"]:
        if reach["mode"] not in report["modes"]:
            console.print(f"not by {reach['mode']}: no two locations reach each other")


def _build_level_table(levels: list[dict[str, Any]]) -> Table:
    table = Table("Level", "Rooms", "Locations", "Doors", "repaired", "inferred", "Walkable ft²")
    names = _label_levels(levels)
    for level in levels:
        doors = level["doors_as_drawn"] + level["doors_repaired"] + level["doors_inferred"]
        table.add_row(
            names[level["level_id"]],
            str(level["rooms"]),
            str(level["locations"]),
            str(doors),
            str(level["doors_repaired"]),
            str(level["doors_inferred"]),
            f"{level['walkable_square_feet']:,.0f}",
        )
    return table


def _label_levels(levels: list[dict[str, Any]]) -> dict[str, str]:
    """Return the name of each level, else its number, by id; the id where two share it."""
    labels = {each["level_id"]: each["name"] or f"{each['ordinal']:g}" for each in levels}
    times = Counter(labels.values())
    return {
        level_id: label if times[label] == 1 else level_id for level_id, label in labels.items()
    }


def _print_groups(console: Console, report: dict[str, Any], *, verbose: bool) -> None:
    """Print each group of problems: its number in the pictures, the cause, the remedy, the parts.

    A group that keeps no location from being reached comes after a line that says so, but for
    what was left out, whose cost is not known.
    """
    names = _label_levels(report["levels"])
    had_cost = True
    for group in report["groups"]:
        has_cost = bool(group["locations"]) or group["cause"] == "element-left-out"
        if had_cost and not has_cost:
            console.print("\nWhat follows keeps no location from being reached.")
        had_cost = has_cost
        console.print(f"\n{group['number']}. {group['statement']}")
        console.print(f"   Remedy: {group['remedy']}.")
        if len(group["levels"]) > 1:
            console.print(f"   Levels: {_list_levels(group['levels'], names)}")
        shown = group["problems"] if verbose else group["problems"][:SHOWN_PROBLEMS]
        for problem in shown:
            console.print(f"   - {_describe_problem(problem, group, names)}")
        more = group["count"] - len(shown)
        if more:
            option = "" if verbose else "; --verbose lists them"
            console.print(f"   - and {more:,} more{option}")
    if report["groups"]:
        console.print()


def _list_levels(level_ids: list[str], names: dict[str, str]) -> str:
    labels = [names.get(level_id, level_id) for level_id in level_ids]
    more = len(labels) - SHOWN_LEVELS
    return ", ".join(labels[:SHOWN_LEVELS]) + (f" and {more} more" if more > 0 else "")


def _describe_problem(problem: dict[str, Any], group: dict[str, Any], names: dict[str, str]) -> str:
    """Return a problem and its place, with the name and the id of the part that it does not have.

    Leave out a message that the group's statement begins with.
    """
    level_id = problem["level_id"]
    place = [f"level {names.get(level_id, level_id)}"] if level_id is not None else []
    if problem["x"] is not None:
        place.append(f"{problem['x']:.1f}, {problem['y']:.1f} ft")
    if "source_x" in problem:
        place.append(f"source {problem['source_x']:.10g}, {problem['source_y']:.10g}")
    line, file = problem.get("line"), problem.get("file")
    is_told = not line or problem["message"].startswith(f"{file}, line {line}:")
    source = "" if is_told else f"line {line} of {file}"
    part = "" if line and is_number(problem["part"]) else problem["part"]
    place += [
        label
        for label in (problem["name"], source, part)
        if label not in problem["message"] and problem["part"] != level_id
    ]
    if group["statement"].startswith(problem["message"]):
        return "; ".join(place)
    return f"{problem['message']} ({'; '.join(place)})" if place else str(problem["message"])


TIMEOUT_SECONDS = 60.0
_DOCUMENT = """query Picture(
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


@click.command()
@click.argument("map_id", type=STORABLE_TEXT, metavar="MAP_ID")
@click.option(
    "--level",
    type=STORABLE_TEXT,
    metavar="ID",
    help="A floor or Level; by default that of the unit or of the start, or the lowest.",
)
@click.option(
    "--format",
    "picture_format",
    type=click.Choice([each.value for each in PictureFormat]),
    help="By default png for a FILE.png, else svg.",
)
@click.option(
    "--width",
    type=click.IntRange(MIN_PICTURE_WIDTH, MAX_PICTURE_WIDTH),
    default=DEFAULT_PICTURE_WIDTH,
    show_default=True,
    help="In pixels.",
)
@click.option("--unit", type=STORABLE_TEXT, metavar="ID", help="A unit to mark.")
@click.option(
    "--from", "source", type=STORABLE_TEXT, metavar="WAYPOINT", help="Where a route starts."
)
@click.option(
    "--to",
    "target",
    type=STORABLE_TEXT,
    metavar="WAYPOINT",
    help="Where it goes: a location's id, unit:ID or X,Y,FLOOR.",
)
@click.option(
    "--mode", type=click.Choice([each.value for each in TravelMode]), help="How to travel."
)
@click.option(
    "--avoid",
    type=click.Choice([each.value for each in Avoidable]),
    multiple=True,
    help="What the route does not use; repeatable.",
)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write the picture; by default to the standard output.",
)
@with_options(*STORAGE_OPTIONS)
def picture(
    map_id: str,
    level: str | None,
    picture_format: str | None,
    width: int,
    unit: str | None,
    source: str | None,
    target: str | None,
    mode: str | None,
    avoid: tuple[str, ...],
    output: Path | None,
    **values: Any,
) -> None:
    """Write a picture of a level of a map, with a unit or a route on it."""
    is_png_file = output is not None and output.suffix.lower() == ".png"
    variables = {
        "map": map_id,
        "level": level,
        "format": picture_format or ("png" if is_png_file else "svg"),
        "width": width,
        "unit": unit,
        "from": None if source is None else parse_waypoint(source),
        "to": None if target is None else parse_waypoint(target),
        "mode": mode,
        "avoid": [*avoid] or None,
    }

    async def draw(database: driver.Database) -> dict[str, Any]:
        cache = RoutableMapCache(partial(files.read_file, database))
        store = Store(database.client, database.name)
        context = Context(OPERATOR, store, routable_map_cache=cache)
        return await run_in_context(context, _DOCUMENT, variables)

    found = run_with_database(settings_from_parameters(values), draw, TIMEOUT_SECONDS)["map"]
    if found is None:
        raise click.ClickException(f"there is no map {map_id!r}")
    if found["picture"] is None:
        raise click.ClickException(f"the map {map_id!r} has no drawing")
    text = found["picture"]["content"]
    content = text.encode() if variables["format"] == "svg" else base64.b64decode(text)
    if output is None:
        click.echo(content, nl=False)
    else:
        output.write_bytes(content)


@click.group()
def maps() -> None:
    """Work on unit maps."""


for command in (close, open_, closures, closable, picture):
    maps.add_command(command)


@maps.command("process")
@click.argument("map_id", type=STORABLE_TEXT, metavar="[MAP_ID]", required=False)
@click.argument("sources", nargs=-1, metavar="[SOURCE]...", type=click.Path(path_type=Path))
@click.option(
    "--stale",
    is_flag=True,
    help="Instead of MAP_ID: process all maps again that no longer have the network that they had.",
)
@click.option(
    "--asset", "asset_id", type=STORABLE_TEXT, metavar="ID", help="The asset of a new map."
)
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
    type=click.Path(path_type=Path, file_okay=False),
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
    default=REPROCESS.value,
    show_default=True,
    help="What happens to other routable maps if the plan changes their floors: process them again,"
    " or withdraw their networks.",
)
@click.option("--verbose", is_flag=True, help="List all problems, not only the first of a cause.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@with_options(*STORAGE_OPTIONS)
def process_(
    map_id: str | None,
    sources: tuple[Path, ...],
    stale: bool,
    asset_id: str | None,
    plan_format: Any,
    feet_per_unit: float | None,
    pictures: Path | None,
    require: float,
    strict: bool,
    networks: str,
    verbose: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Make a map routable, from its own drawing or from a floor plan.

    A SOURCE is a unit-map SVG, OpenStreetMap indoor data (.osm, GeoJSON), or an IMDF directory or
    zip. The report says what cannot be reached, why, and what to do, the costliest cause first.
    Status 1 means that the plan was not published: no two locations reach each other, or fewer than
    SHARE per cent do; or with --stale, that a map could not be processed.
    """
    settings = settings_from_parameters(values)
    if stale:
        context = click.get_current_context()
        others = context.params.keys() - {"stale", "as_json", *values}
        if any(
            context.get_parameter_source(each) is ParameterSource.COMMANDLINE for each in others
        ):
            raise click.UsageError("--stale excludes MAP_ID and all that is for one map only")
        _process_stale(settings, as_json=as_json)
        return
    if map_id is None:
        raise click.UsageError("MAP_ID is missing: name a map, or all that need it with --stale")
    request = ProcessingRequest(
        map_id,
        read_sources(sources),
        None if plan_format == "auto" else plan_format,
        asset_id,
        feet_per_unit,
        pictures is not None,
        require,
        strict,
    )
    if pictures is not None:  # fail before anything is published
        pictures.mkdir(parents=True, exist_ok=True)
    outcome = _run_processing(settings, request, networks)
    if pictures is not None:
        write_pictures(pictures, outcome.pictures)
    if as_json:
        click.echo(orjson.dumps(outcome.report, option=orjson.OPT_INDENT_2))
    else:
        print_report(outcome.report, verbose=verbose)
    if not outcome.published:
        raise click.exceptions.Exit(1)


def read_sources(sources: tuple[Path, ...]) -> dict[str, bytes]:
    """Return contents by name; files of the same name are named with their folders."""
    files = [
        (path, path.relative_to(source if source.is_dir() else path.parent))
        for source in sources
        for path in (sorted(source.rglob("*")) if source.is_dir() else [source])
        if not path.is_dir()
    ]
    counts = Counter(name for _, name in files)
    try:
        return {
            (path if counts[name] > 1 else name).as_posix(): path.read_bytes()
            for path, name in files
        }
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from error


def _show_progress() -> Progress:
    console = Console(stderr=True)
    return Progress(console=console, disable=not console.is_terminal, transient=True)


def _process_stale(settings: Settings, *, as_json: bool) -> None:
    async def work(database: driver.Database) -> list[SettledNetwork]:
        store = Store(database.client, database.name)
        stale = await list_stale_networks(database, is_loadable)
        with _show_progress() as bar:
            task = bar.add_task("processing", total=len(stale))
            async with ProcessPool(1) as pool:
                return await settle_stale_networks(
                    store,
                    stale,
                    pool=pool,
                    on_progress=lambda done: bar.update(task, completed=done),
                )

    settled = run_with_database(settings, work, TIMEOUT_SECONDS, writes=True)
    if as_json:
        click.echo(orjson.dumps([each._asdict() for each in settled], option=orjson.OPT_INDENT_2))
    else:
        click.echo("\n".join(map(str, settled)) or "no map is stale")
    if not all(each.is_routable for each in settled):
        raise click.exceptions.Exit(1)


def _run_processing(
    settings: Settings, request: ProcessingRequest, networks: str
) -> ProcessingOutcome:
    try:
        with _show_progress() as bar:
            task = bar.add_task("processing", total=1.0)

            def progress(share: float, step: str) -> None:
                bar.update(task, completed=share, description=step)

            async def work(database: driver.Database) -> ProcessingOutcome:
                store = Store(database.client, database.name)
                return await process_with_other_maps(store, request, networks, progress)

            return run_with_database(settings, work, TIMEOUT_SECONDS, writes=True)
    except NotFoundError as error:
        raise click.ClickException(
            f"there is no map {request.map_id!r}: pass a floor plan as SOURCE to create it"
        ) from error
    except RequestError as error:
        raise click.ClickException(str(error)) from error
