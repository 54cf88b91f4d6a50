"""`floorgate maps`: make a map routable, close parts of it, draw it."""

import base64
from pathlib import Path
from typing import Any

import click
import orjson
from click.core import ParameterSource

from gateway.cli.catalog import NETWORK_POLICIES
from gateway.cli.closures import closable, close, closures, open_
from gateway.settings import STORABLE_TEXT, STORAGE_OPTIONS, settings_from_parameters, with_options

PLAN_FORMATS = ("svg", "osm", "geojson", "imdf")
PICTURE_FORMATS = ("svg", "png")
TRAVEL_MODES = ("foot", "wheelchair")
AVOIDABLE = ("stairs", "escalators", "lifts", "outdoors")
PICTURE_WIDTHS = (16, 2048)
DEFAULT_PICTURE_WIDTH = 1024
# What parses, processes and draws has them too, but takes a second to import. A test compares.


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
    from gateway.cli.processing import draw_picture
    from rest.parameters import parse_waypoint

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

    found = draw_picture(settings_from_parameters(values), variables)
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
    default=NETWORK_POLICIES[0],
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
        from gateway.cli.processing import process_stale_maps

        process_stale_maps(settings, as_json=as_json)
        return
    if map_id is None:
        raise click.UsageError("MAP_ID is missing: name a map, or all that need it with --stale")
    from gateway.cli.processing import (
        ProcessingRequest,
        print_report,
        process_map,
        read_sources,
    )

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
