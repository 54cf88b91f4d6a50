"""`floorgate maps picture`: a picture of a level of a map."""

import base64
from functools import partial
from pathlib import Path
from typing import Any

import click

from gateway.cli.operations import OPERATOR, run_in_context
from gateway.cli.operator import run_with_database
from gateway.settings import STORABLE_TEXT, STORAGE_OPTIONS, settings_from_parameters, with_options
from resolvers.distances import TravelMode
from resolvers.drawings.pictures import (
    DEFAULT_PICTURE_WIDTH,
    MAX_PICTURE_WIDTH,
    MIN_PICTURE_WIDTH,
    PictureFormat,
)
from resolvers.networks.routable_maps import RoutableMapCache
from resolvers.networks.waypoints import Avoidable
from resolvers.request.context import Context
from rest.graphql_documents import GET_PICTURE
from rest.parameters import parse_waypoint
from storage.mongo import driver, files
from storage.store import Store

TIMEOUT_SECONDS = 60.0


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
        return await run_in_context(context, GET_PICTURE, variables)

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
