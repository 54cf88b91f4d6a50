"""`floorgate template`, and what `export` does with spreadsheets."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gateway.cli.demo_bundle import DEMO_BUNDLE
from storage.bundles.writing.catalog_workbook import export_attributes, export_workbook
from storage.bundles.writing.template import write_table_template, write_template
from storage.mongo import driver
from storage.records.visibility import AssetScope


def require_suffix(*suffixes: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return a callback for options that name a file of one of these kinds."""

    def check(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
        if path is not None and path.suffix.lower() not in suffixes:
            raise click.BadParameter(f"{path}: the name must end in {' or '.join(suffixes)}")
        return path

    return check


async def export_to_file(
    database: driver.Database, xlsx: Path | None, attributes: Path | None, scope: AssetScope
) -> list[str]:
    """Write the catalog, or the attributes of its units, to a file; return notes."""
    notes: list[str] = []
    if xlsx is not None:
        notes = await export_workbook(database, xlsx, scope)
        notes.append("a workbook has no drawings; importing it keeps those that maps have")
    if attributes is not None:
        await export_attributes(database, attributes, scope)
    return notes


@click.command()
@click.option(
    "--xlsx",
    required=True,
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=require_suffix(".xlsx"),
    help="The workbook to write.",
)
@click.option("--table", is_flag=True, help="Write one table with a row for each apartment.")
@click.option("--empty", is_flag=True, help="Without the rows of the demo.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def template(xlsx: Path, table: bool, empty: bool, force: bool) -> None:
    """Write a workbook to fill in, with notes, choice lists and the rows of the demo."""
    if xlsx.exists() and not force:
        raise click.ClickException(f"{xlsx} exists; --force replaces it")
    members = {} if empty else json.loads(DEMO_BUNDLE.read_text("utf-8"))
    (write_table_template if table else write_template)(xlsx, members)
    click.echo(f"Wrote {xlsx}. Fill it in, then: floorgate import --dry-run {xlsx}", err=True)
