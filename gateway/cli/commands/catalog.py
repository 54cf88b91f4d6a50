"""`floorgate import`, `remove` and `export`: change the catalog, and write it as a bundle."""

import sys
from pathlib import Path
from typing import Any

import click

from gateway.cli.asset_ids import find_missing_assets
from gateway.cli.changes import TIMEOUT_SECONDS, make_changes, with_change_options
from gateway.cli.commands.spreadsheets import export_to_file, require_suffix
from gateway.cli.mappings import MAPPING_OPTION, with_mapping
from gateway.cli.operator import run_with_database
from gateway.settings import STORABLE_TEXT, STORAGE_OPTIONS, settings_from_parameters, with_options
from resolvers.processing.stale_networks import NETWORK_POLICIES, REPROCESS
from storage.bundles.changes.change_request import ChangeRequest
from storage.bundles.exporting import export_bundle
from storage.bundles.removing.limits import RemovalLimit
from storage.mongo import driver
from storage.records.visibility import ALL_ASSETS, AssetScope

NETWORKS_OPTION = click.option(
    "--networks",
    type=click.Choice(NETWORK_POLICIES),
    default=REPROCESS.value,
    show_default=True,
    help="What happens to routable maps that change: process them again, or withdraw their"
    " networks.",
)


@click.command("import")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--merge",
    is_flag=True,
    help="Change only the fields that are given; others keep their stored values.",
)
@click.option(
    "--sync",
    is_flag=True,
    help="Remove what PATH... do not have, of the kinds that they mention; shows what, and asks.",
)
@click.option(
    "--asset",
    "asset_ids",
    multiple=True,
    type=STORABLE_TEXT,
    metavar="ID",
    help="With --sync: mirror only this asset, to which all members must belong. May be repeated.",
)
@NETWORKS_OPTION
@click.option(
    "--force-drawings", is_flag=True, help="Import drawings that are mostly an image, too."
)
@MAPPING_OPTION
@with_change_options
@with_options(*STORAGE_OPTIONS)
def import_(
    paths: tuple[str, ...],
    merge: bool,
    sync: bool,
    asset_ids: tuple[str, ...],
    networks: str,
    force_drawings: bool,
    mapping: Path | None,
    dry_run: bool,
    yes: bool,
    max_removals: RemovalLimit | None,
    undo_path: Path | None,
    plan_path: Path | None,
    as_json: bool,
    **values: Any,
) -> None:
    """Load catalog bundles: all of them, or nothing if any is invalid.

    A bundle is a JSON object or newline-delimited JSON, or a spreadsheet (.xlsx, .xls, .ods, .csv,
    .tsv), gzipped or not; - reads JSON from standard input.
    """
    for option, is_given in (("--asset", asset_ids), ("--max-removals", max_removals)):
        if is_given and not sync:
            raise click.UsageError(f"{option} needs --sync")
    if merge and sync:
        raise click.UsageError("--merge excludes --sync, which needs whole records")
    request = ChangeRequest(
        force_drawings=force_drawings,
        merges=merge,
        mirrors=sync,
        asset_ids=frozenset(asset_ids) if asset_ids else None,
        limit=max_removals or RemovalLimit(),
        undo_path=undo_path,
    )
    make_changes(
        settings_from_parameters(values),
        with_mapping(paths, mapping),
        request,
        networks=networks,
        removes=sync,
        dry_run=dry_run,
        yes=yes,
        plan_path=plan_path,
        as_json=as_json,
    )


@click.command()
@click.argument("kind", type=STORABLE_TEXT, metavar="KIND")
@click.argument("ids", nargs=-1, required=True, type=STORABLE_TEXT, metavar="ID...")
@NETWORKS_OPTION
@with_change_options
@with_options(*STORAGE_OPTIONS)
def remove(
    kind: str,
    ids: tuple[str, ...],
    networks: str,
    dry_run: bool,
    yes: bool,
    max_removals: RemovalLimit | None,
    undo_path: Path | None,
    plan_path: Path | None,
    as_json: bool,
    **values: Any,
) -> None:
    """Remove records and all that depends on them: all of it, or nothing. Shows what, and asks.

    KIND is a kind of record, such as unit. An ID of a kind that several fields identify has these
    with slashes between them: floorgate remove unit-reference oak-101/rentwell
    """
    request = ChangeRequest(
        removed_kind=kind,
        removed_keys=ids,
        limit=max_removals or RemovalLimit(None),
        undo_path=undo_path,
    )
    make_changes(
        settings_from_parameters(values),
        (),
        request,
        networks=networks,
        removes=True,
        dry_run=dry_run,
        yes=yes,
        plan_path=plan_path,
        as_json=as_json,
    )


@click.command()
@click.option(
    "--asset",
    "asset_ids",
    multiple=True,
    type=STORABLE_TEXT,
    metavar="ID",
    help="Write only this asset's records, and the attribute groups that its units use (may be"
    " repeated).",
)
@click.option("--ndjson", is_flag=True, help="Write one record per line, for large catalogs.")
@click.option(
    "--xlsx",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    callback=require_suffix(".xlsx"),
    help="Write a workbook with a sheet for each kind of record instead.",
)
@click.option(
    "--attributes",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    callback=require_suffix(".xlsx", ".csv"),
    help="Write a table (.xlsx or .csv) with a row for each unit, a column for each group.",
)
@with_options(*STORAGE_OPTIONS)
def export(
    asset_ids: tuple[str, ...],
    ndjson: bool,
    xlsx: Path | None,
    attributes: Path | None,
    **values: Any,
) -> None:
    """Write the catalog to standard output, as a bundle that import accepts.

    A bundle has no routing networks, processing reports, closures, API keys or audit log: to save
    all of it, use floorgate backup.
    """

    if ndjson and (xlsx or attributes):
        raise click.UsageError("--ndjson is for bundles, not for spreadsheets")
    scope = AssetScope(frozenset(asset_ids)) if asset_ids else ALL_ASSETS

    async def check_assets(database: driver.Database) -> None:
        if missing := await find_missing_assets(database, asset_ids):
            sentences = (f"there is no asset {asset!r}{hint}" for asset, hint in missing.items())
            raise click.ClickException("\n".join(sentences))

    if xlsx or attributes:

        async def work_on_file(database: driver.Database) -> list[str]:
            await check_assets(database)
            return await export_to_file(database, xlsx, attributes, scope)

        settings = settings_from_parameters(values)
        for note in run_with_database(settings, work_on_file, TIMEOUT_SECONDS):
            click.echo(f"Note: {note}", err=True)
        return

    async def work(database: driver.Database) -> None:
        await check_assets(database)
        async for chunk in export_bundle(database, scope, lines=ndjson):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()

    run_with_database(settings_from_parameters(values), work, TIMEOUT_SECONDS)
    click.echo(
        "Note: a bundle has no routing networks, closures, API keys or audit log; floorgate backup"
        " saves everything.",
        err=True,
    )
