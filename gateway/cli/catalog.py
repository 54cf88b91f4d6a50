"""`floorgate check`, `import`, `remove`, `export` and `template`: check bundles, change the catalog
by them, and write it as one.

What reads and writes takes half a second to import: commands import it once they need it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from gateway.cli.operator import find_missing_assets, run_with_database
from gateway.cli.terminal import count_of, print_notes
from gateway.settings import (
    FILE,
    FILES,
    PATH,
    STORABLE_TEXT,
    Parsed,
    Settings,
    id_option,
    with_storage,
)
from storage.records.visibility import ALL_ASSETS, AssetScope

if TYPE_CHECKING:
    from gateway.cli.parse import DrawingCheck
    from storage.bundles.drawings import ParsedSource
    from storage.importing.batches import BundleSource
    from storage.importing.removals import RemovalLimit
    from storage.importing.validation import CheckResult
    from storage.mongo import driver

TIMEOUT_SECONDS = 120.0
DEMO_BUNDLE = FILES / "samples" / "demo" / "bundle.json"
NETWORK_POLICIES = ("reprocess", "withdraw")
"""`resolvers.processing.stale_networks` has the same, and imports all that builds networks."""

Command = TypeVar("Command", bound=Callable[..., Any])


def _parse_limit(text: str) -> RemovalLimit:
    from storage.importing.removals import RemovalLimit

    return RemovalLimit.parse(text)


CHANGE_OPTIONS = (
    click.option(
        "--dry-run", is_flag=True, help="Check everything, show what changes, make none of it."
    ),
    click.option("--yes", is_flag=True, help="Change or remove records without asking."),
    click.option(
        "--max-removals",
        type=Parsed("limit", _parse_limit),
        metavar="N|N%",
        help="How many records may be removed, or which share of each kind.",
    ),
    click.option(
        "--undo",
        "undo_path",
        type=FILE,
        help="Where to save what is changed or removed, as a bundle that brings it back."
        "  [default, where the command would ask: a new file in the working directory]",
    ),
    click.option(
        "--plan",
        "plan_path",
        type=FILE,
        help="Write every change to this file, one JSON object a line.",
    ),
    id_option(
        "--id",
        "import_id",
        help="An id of your own: what is run again with it is not made twice.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON."),
)


def with_change_options(command: Command) -> Command:
    """Add the options of commands that show what they change."""
    for option in reversed(CHANGE_OPTIONS):
        command = option(command)
    return command


MAPPING_OPTION = click.option(
    "--mapping",
    type=PATH,
    metavar="FILE",
    help="What the sheets and columns of spreadsheets hold (YAML).",
)


def with_mapping(paths: Sequence[str], mapping: Path | None) -> list[BundleSource]:
    """Return the paths, the spreadsheets among them with the mapping."""
    if mapping is None:
        return [*paths]
    from storage.importing.batches import to_spreadsheet
    from storage.spreadsheets.mapping_file import read_mapping
    from storage.spreadsheets.reader import Spreadsheet

    read = read_mapping(mapping)
    sources: list[BundleSource] = [
        Spreadsheet(Path(path), read, str(mapping)) if to_spreadsheet(path) else path
        for path in paths
    ]
    if not any(isinstance(source, Spreadsheet) for source in sources):
        raise click.UsageError("--mapping is for spreadsheets, and there is none among the files")
    return sources


def require_suffix(*suffixes: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return a callback for options that name a file of one of these kinds."""

    def check(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
        if path is not None and path.suffix.lower() not in suffixes:
            raise click.BadParameter(f"{path}: the name must end in {' or '.join(suffixes)}")
        return path

    return check


@click.command()
@click.option(
    "--xlsx",
    required=True,
    metavar="FILE",
    type=FILE,
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
    from storage.exporting.workbooks import write_table_template, write_template

    members = {} if empty else json.loads(DEMO_BUNDLE.read_text("utf-8"))
    (write_table_template if table else write_template)(xlsx, members)
    click.echo(f"Wrote {xlsx}. Fill it in, then: floorgate import --dry-run {xlsx}", err=True)


NETWORKS_OPTION = click.option(
    "--networks",
    type=click.Choice(NETWORK_POLICIES),
    default=NETWORK_POLICIES[0],
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
@id_option(
    "--asset",
    "asset_ids",
    multiple=True,
    help="With --sync: mirror only this asset, to which all members must belong. May be repeated.",
)
@NETWORKS_OPTION
@click.option(
    "--force-drawings", is_flag=True, help="Import drawings that are mostly an image, too."
)
@MAPPING_OPTION
@with_change_options
@with_storage
def import_(
    paths: tuple[str, ...],
    merge: bool,
    sync: bool,
    asset_ids: tuple[str, ...],
    force_drawings: bool,
    mapping: Path | None,
    **values: Any,
) -> None:
    """Load catalog bundles: all of them, or nothing if any is invalid.

    A bundle is a JSON object or newline-delimited JSON, or a spreadsheet (.xlsx, .xls, .ods, .csv,
    .tsv), gzipped or not; - reads JSON from standard input.
    """
    for option, is_given in (("--asset", asset_ids), ("--max-removals", values["max_removals"])):
        if is_given and not sync:
            raise click.UsageError(f"{option} needs --sync")
    if merge and sync:
        raise click.UsageError("--merge excludes --sync, which needs whole records")
    from gateway.cli.changes import make_changes
    from storage.importing.change_plan import ChangeRequest

    request = ChangeRequest(
        force_drawings=force_drawings,
        merges=merge,
        mirrors=sync,
        asset_ids=frozenset(asset_ids) if asset_ids else None,
    )
    make_changes(with_mapping(paths, mapping), request, removes=sync, **values)


@click.command()
@click.argument("kind", type=STORABLE_TEXT, metavar="KIND")
@click.argument("ids", nargs=-1, required=True, type=STORABLE_TEXT, metavar="ID...")
@NETWORKS_OPTION
@with_change_options
@with_storage
def remove(kind: str, ids: tuple[str, ...], **values: Any) -> None:
    """Remove records and all that depends on them: all of it, or nothing. Shows what, and asks.

    KIND is a kind of record, such as unit. An ID of a kind that several fields identify has these
    with slashes between them: floorgate remove unit-reference oak-101/rentwell
    """
    from gateway.cli.changes import make_changes
    from storage.importing.change_plan import ChangeRequest
    from storage.importing.removals import RemovalLimit

    request = ChangeRequest(removed_kind=kind, removed_keys=ids, limit=RemovalLimit(None))
    make_changes((), request, removes=True, **values)


@click.command()
@id_option(
    "--asset",
    "asset_ids",
    multiple=True,
    help="Write only this asset's records, and the attribute groups that its units use (may be"
    " repeated).",
)
@click.option("--ndjson", is_flag=True, help="Write one record per line, for large catalogs.")
@click.option(
    "--xlsx",
    type=FILE,
    metavar="FILE",
    callback=require_suffix(".xlsx"),
    help="Write a workbook with a sheet for each kind of record instead.",
)
@click.option(
    "--attributes",
    type=FILE,
    metavar="FILE",
    callback=require_suffix(".xlsx", ".csv"),
    help="Write a table (.xlsx or .csv) with a row for each unit, a column for each group.",
)
@with_storage
def export(
    asset_ids: tuple[str, ...],
    ndjson: bool,
    xlsx: Path | None,
    attributes: Path | None,
    settings: Settings,
) -> None:
    """Write the catalog to standard output, as a bundle that import accepts.

    A bundle has no routing networks, processing reports, closures, API keys or audit log: to save
    all of it, use floorgate backup.
    """
    if ndjson and (xlsx or attributes):
        raise click.UsageError("--ndjson is for bundles, not for spreadsheets")
    from storage.exporting.bundles import export_bundle
    from storage.exporting.workbooks import export_attributes, export_workbook

    scope = AssetScope(frozenset(asset_ids)) if asset_ids else ALL_ASSETS

    async def work(database: driver.Database) -> list[str]:
        if missing := await find_missing_assets(database, asset_ids):
            sentences = (f"there is no asset {asset!r}{hint}" for asset, hint in missing.items())
            raise click.ClickException("\n".join(sentences))

        notes: list[str] = []
        if xlsx is not None:
            notes = await export_workbook(database, xlsx, scope)
            notes.append("a workbook has no drawings; importing it keeps those that maps have")
        if attributes is not None:
            await export_attributes(database, attributes, scope)
        if xlsx or attributes:
            return notes
        async for chunk in export_bundle(database, scope, lines=ndjson):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return [
            "a bundle has no routing networks, closures, API keys or audit log; floorgate backup"
            " saves everything."
        ]

    print_notes(run_with_database(settings, work, TIMEOUT_SECONDS))


DRAWING_SUFFIX = ".svg"


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--complete",
    is_flag=True,
    help="The files are a whole catalog: assume nothing to be in the catalog already.",
)
@click.option(
    "--merge",
    is_flag=True,
    help="Check what import --merge imports: only the fields that are given.",
)
@MAPPING_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def check(
    paths: tuple[str, ...], complete: bool, merge: bool, mapping: Path | None, as_json: bool
) -> None:
    """Check catalog bundles, spreadsheets and drawings (FILE.svg), and print all that is wrong.

    It needs no database. The bundles are checked together, as an import takes them; records that
    are in none of them are assumed to be in the catalog. - reads a bundle from standard input.
    """
    if merge and complete:
        raise click.UsageError("--merge excludes --complete, which needs whole records")
    from gateway.cli.parse import check_drawing_file
    from resolvers.drawings.shown_units import find_shown_parts
    from storage.bundles.violations import Violations
    from storage.importing.validation import MAX_CHECK_VIOLATIONS, check_bundles

    violations = Violations(MAX_CHECK_VIOLATIONS)
    drawings = [path for path in paths if Path(path).suffix.lower() == DRAWING_SUFFIX]
    checked = [check_drawing_file(path) for path in drawings]
    for drawing in checked:
        if drawing.error is not None:
            violations.add(drawing.name, str(drawing.error))
    shown = {
        drawing.name: find_shown_parts(drawing.parsed.to_dict())
        for drawing in checked
        if drawing.parsed is not None
    }
    bundles = with_mapping([path for path in paths if path not in drawings], mapping)
    result = check_bundles(
        bundles, violations, parse_drawing, shown, is_complete=complete, is_merge=merge
    )
    if as_json:
        click.echo(msgspec.json.encode(_check_to_json(result, checked)))
    else:
        for drawing in checked:
            if drawing.error is None:
                click.echo("\n".join(drawing.to_lines()))
        _print_check(result, len(drawings))
    if violations.total:
        raise click.exceptions.Exit(1)


def parse_drawing(svg: bytes) -> ParsedSource:
    """Parse a drawing within the limits of a gateway. Raises SourceError."""
    from parsing.errors import ParsingError
    from resolvers.drawings.shown_units import parse_with_units
    from resolvers.processing.task_process import limit_cpu_time
    from storage.bundles.drawings import ParsedSource, SourceError

    try:
        with limit_cpu_time():
            return ParsedSource(*parse_with_units(svg))
    except ParsingError as error:
        raise SourceError(str(error)) from error


def _print_check(result: CheckResult, drawings: int) -> None:
    from storage.catalog import RECORD_TYPES_BY_NAME

    violations = result.violations
    listed = violations.list_first()
    for violation in listed:
        click.echo(str(violation))
    _print_rest("error", violations.total - len(listed))
    for owner in result.assumed:
        click.echo(f"Assumed to be in the catalog: {owner}")
    _print_rest("record", result.assumed_total - len(result.assumed))
    for note in result.notes:
        click.echo(f"Note: {note}")
    found = [
        count_of(count, RECORD_TYPES_BY_NAME[name].singular.replace("_", " "))
        for name, count in result.members.items()
    ]
    found += [count_of(drawings, "drawing")] if drawings else []
    errors = count_of(violations.total, "error") if violations.total else "no errors"
    click.echo(f"Checked {', '.join(found) or 'no members'}: {errors}.")


def _print_rest(noun: str, count: int) -> None:
    if count:
        click.echo(f"... and {count_of(count, f'more {noun}')}")


def _check_to_json(result: CheckResult, drawings: list[DrawingCheck]) -> dict[str, object]:
    return {
        "drawings": [drawing.to_dict() for drawing in drawings],
        "errors": [violation._asdict() for violation in result.violations.list_first()],
        "error_count": result.violations.total,
        "assumed": [owner._asdict() for owner in result.assumed],
        "assumed_count": result.assumed_total,
        "notes": result.notes,
        "members": result.members,
    }
