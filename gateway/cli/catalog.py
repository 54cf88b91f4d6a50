"""`floorgate import` and `floorgate export`: load and write catalog bundles."""

import sys
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table

from gateway.cli.operator import run_with_database
from gateway.settings import STORAGE_OPTIONS, settings_from_parameters, with_options
from resolvers.administration.imports import NETWORK_POLICIES, REPROCESS, import_and_process
from storage.bundles.exporting import export_bundle
from storage.bundles.importing.import_bundles import ImportProgress, ImportSummary
from storage.mongo import driver
from storage.store import Store

TIMEOUT_SECONDS = 120.0


@click.command("import")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--dry-run", is_flag=True, help="Validate everything and write nothing.")
@click.option(
    "--networks",
    type=click.Choice(NETWORK_POLICIES),
    default=REPROCESS,
    show_default=True,
    help="What becomes of routable maps that the import changes: process them again, or withdraw"
    " their networks.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@with_options(*STORAGE_OPTIONS)
def import_(
    paths: tuple[str, ...], dry_run: bool, networks: str, as_json: bool, **values: Any
) -> None:
    """Load catalog bundles: all of them, or nothing if any is invalid.

    A bundle is a JSON object or newline-delimited JSON, gzipped or not; - reads standard input.
    """
    with _progress_bar() as bar:

        async def work(database: driver.Database) -> ImportSummary:
            return await import_and_process(
                Store(database.client, database.name),
                paths,
                networks,
                dry_run=dry_run,
                progress=_build_reporter(bar),
            )

        summary = run_with_database(settings_from_parameters(values), work, TIMEOUT_SECONDS)
    if as_json:
        click.echo(msgspec.json.encode(summary))
    else:
        _print_summary(summary, dry_run)


@click.command()
@click.option("--ndjson", is_flag=True, help="Write one record per line, for large catalogs.")
@with_options(*STORAGE_OPTIONS)
def export(ndjson: bool, **values: Any) -> None:
    """Write the whole catalog to standard output, as a bundle that import accepts."""

    async def work(database: driver.Database) -> None:
        async for chunk in export_bundle(database, lines=ndjson):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()

    run_with_database(settings_from_parameters(values), work, TIMEOUT_SECONDS)


def _progress_bar() -> Bar:
    return Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    )


def _build_reporter(bar: Bar) -> Any:
    tasks: dict[str, Any] = {}

    def report(progress: ImportProgress) -> None:
        if progress.phase not in tasks:
            tasks[progress.phase] = bar.add_task(progress.phase, total=progress.total)
        bar.update(tasks[progress.phase], completed=progress.done, total=progress.total)

    return report


def _print_summary(summary: ImportSummary, dry_run: bool) -> None:
    table = Table("Kind", "Inserted", "Updated", "Unchanged")
    for name, counts in (*summary.kinds.items(), ("total", summary.total)):
        table.add_row(name, str(counts.inserted), str(counts.updated), str(counts.unchanged))
    Console().print(table)
    for note in summary.notes:
        click.echo(f"Note: {note}", err=True)
    if dry_run:
        click.echo("Nothing was written: this was a dry run.", err=True)
