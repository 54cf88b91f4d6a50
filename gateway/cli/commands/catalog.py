"""`floorgate import` and `floorgate export`: load and write catalog bundles."""

import sys
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table

from gateway.cli.asset_ids import find_missing_assets
from gateway.cli.operator import run_with_database
from gateway.cli.progress import show_progress
from gateway.settings import STORAGE_OPTIONS, settings_from_parameters, with_options
from resolvers.administration.import_and_process import import_and_process
from resolvers.processing.stale_networks import NETWORK_POLICIES, REPROCESS
from storage.bundles.exporting import export_bundle
from storage.bundles.importing.import_bundles import ImportSummary
from storage.mongo import driver
from storage.records.visibility import ALL_ASSETS, AssetScope
from storage.store import Store

TIMEOUT_SECONDS = 120.0


@click.command("import")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--dry-run", is_flag=True, help="Validate everything and write nothing.")
@click.option(
    "--merge",
    is_flag=True,
    help="Change only the fields that are given; others keep their stored values.",
)
@click.option(
    "--networks",
    type=click.Choice(NETWORK_POLICIES),
    default=REPROCESS,
    show_default=True,
    help="What happens to routable maps that the import changes: process them again, or withdraw"
    " their networks.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@with_options(*STORAGE_OPTIONS)
def import_(
    paths: tuple[str, ...],
    dry_run: bool,
    merge: bool,
    networks: str,
    as_json: bool,
    **values: Any,
) -> None:
    """Load catalog bundles: all of them, or nothing if any is invalid.

    A bundle is a JSON object or newline-delimited JSON, gzipped or not; - reads standard input.
    """
    with show_progress() as progress:

        async def work(database: driver.Database) -> ImportSummary:
            return await import_and_process(
                Store(database.client, database.name),
                paths,
                networks,
                dry_run=dry_run,
                merge=merge,
                progress=progress,
            )

        summary = run_with_database(
            settings_from_parameters(values), work, TIMEOUT_SECONDS, writes=not dry_run
        )
    if as_json:
        click.echo(msgspec.json.encode(summary))
    else:
        _print_summary(summary, dry_run)


@click.command()
@click.option(
    "--asset",
    "asset_ids",
    multiple=True,
    metavar="ID",
    help="Write only this asset's records, and the attribute groups that its units use (may be"
    " repeated).",
)
@click.option("--ndjson", is_flag=True, help="Write one record per line, for large catalogs.")
@with_options(*STORAGE_OPTIONS)
def export(asset_ids: tuple[str, ...], ndjson: bool, **values: Any) -> None:
    """Write the catalog to standard output, as a bundle that import accepts.

    A bundle has no routing networks, processing reports, closures, API keys or audit log: to save
    all of it, use floorgate backup.
    """

    scope = AssetScope(frozenset(asset_ids)) if asset_ids else ALL_ASSETS

    async def work(database: driver.Database) -> None:
        if missing := await find_missing_assets(database, asset_ids):
            sentences = (f"there is no asset {asset!r}{hint}" for asset, hint in missing.items())
            raise click.ClickException("\n".join(sentences))
        async for chunk in export_bundle(database, scope, lines=ndjson):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()

    run_with_database(settings_from_parameters(values), work, TIMEOUT_SECONDS)
    click.echo(
        "Note: a bundle has no routing networks, closures, API keys or audit log; floorgate backup"
        " saves everything.",
        err=True,
    )


def _print_summary(summary: ImportSummary, dry_run: bool) -> None:
    table = Table("Kind", "Inserted", "Updated", "Unchanged")
    for name, counts in (*summary.kinds.items(), ("total", summary.total)):
        table.add_row(name, str(counts.inserted), str(counts.updated), str(counts.unchanged))
    Console().print(table)
    for note in summary.notes:
        click.echo(f"Note: {note}", err=True)
    if dry_run:
        click.echo("Nothing was written: this was a dry run.", err=True)
