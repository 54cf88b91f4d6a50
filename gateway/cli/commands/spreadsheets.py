"""`floorgate template`, and what `export` does with spreadsheets."""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from gateway.cli.demo_bundle import DEMO_BUNDLE
from storage.bundles.writing.catalog_workbook import export_attributes, export_workbook
from storage.bundles.writing.template import write_table_template, write_template
from storage.mongo import driver

ATTRIBUTE_SUFFIXES = (".xlsx", ".csv")


async def export_to_file(
    database: driver.Database, xlsx: Path | None, attributes: Path | None
) -> list[str]:
    """Write the catalog, or the attributes of its units, to a file; return notes."""
    notes: list[str] = []
    if xlsx is not None:
        _check_suffix(xlsx, (".xlsx",))
        notes = await export_workbook(database, xlsx)
        notes.append("a workbook has no drawings; importing it keeps those that maps have")
    if attributes is not None:
        _check_suffix(attributes, ATTRIBUTE_SUFFIXES)
        await export_attributes(database, attributes)
    return notes


def _check_suffix(path: Path, suffixes: Sequence[str]) -> None:
    if path.suffix.lower() not in suffixes:
        raise click.UsageError(f"{path}: the name must end in {' or '.join(suffixes)}")


@click.command()
@click.option(
    "--xlsx",
    required=True,
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The workbook to write.",
)
@click.option("--table", is_flag=True, help="Write one table with a row for each apartment.")
@click.option("--empty", is_flag=True, help="Without the rows of the demo.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def template(xlsx: Path, table: bool, empty: bool, force: bool) -> None:
    """Write a workbook to fill in, with notes, choice lists and the rows of the demo."""
    _check_suffix(xlsx, (".xlsx",))
    if xlsx.exists() and not force:
        raise click.ClickException(f"{xlsx} exists; --force replaces it")
    members = {} if empty else json.loads(DEMO_BUNDLE.read_text("utf-8"))
    (write_table_template if table else write_template)(xlsx, members)
    click.echo(f"Wrote {xlsx}. Fill it in, then: floorgate import --dry-run {xlsx}", err=True)
