"""`floorgate maps`: make a map routable, close parts of it, draw it."""

from collections import Counter
from pathlib import Path
from typing import Any

import click
import orjson
from click.core import ParameterSource
from rich.console import Console
from rich.progress import Progress

from gateway.cli.commands.closures import closable, close, closures, open_
from gateway.cli.commands.pictures import picture
from gateway.cli.operator import run_with_database
from gateway.cli.picture_files import write_pictures
from gateway.cli.plan_report import print_report
from gateway.settings import (
    STORABLE_TEXT,
    STORAGE_OPTIONS,
    Settings,
    settings_from_parameters,
    with_options,
)
from parsing.plans import PLAN_FORMATS
from resolvers.networks.routable_maps import is_loadable
from resolvers.processed_maps import process_with_other_maps
from resolvers.processing.pipeline import ProcessingOutcome, ProcessingRequest
from resolvers.processing.process_pool import ProcessPool
from resolvers.processing.stale_networks import (
    NETWORK_POLICIES,
    REPROCESS,
    SettledNetwork,
    settle_stale_networks,
)
from resolvers.request.errors import NotFoundError, RequestError
from storage.mongo import driver
from storage.routing_inputs import list_stale_networks
from storage.store import Store

TIMEOUT_SECONDS = 60.0


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
