"""`floorgate import`, `remove`, `export` and `template`: change the catalog, write it as a bundle.

Changes are shown before they are made.
"""

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from click.core import ParameterSource
from rich.console import Console
from rich.table import Table

from gateway.cli.operator import find_missing_assets, run_with_database
from gateway.cli.terminal import show_progress
from gateway.settings import (
    STORABLE_TEXT,
    STORAGE_OPTIONS,
    Settings,
    settings_from_parameters,
    with_options,
)
from resolvers.processing.stale_networks import NETWORK_POLICIES, REPROCESS, import_and_process
from storage.embedded import embedded_mongo
from storage.errors import RemovalRefusedError
from storage.exporting.bundles import export_bundle
from storage.exporting.workbooks import (
    export_attributes,
    export_workbook,
    write_table_template,
    write_template,
)
from storage.importing.batches import STANDARD_INPUT, BundleSource, is_table
from storage.importing.change_plan import (
    ChangeRequest,
    PendingFile,
    RecordChange,
    open_pending_file,
)
from storage.importing.import_bundles import ImportSummary
from storage.importing.mirroring import RemovalLimit
from storage.mongo import driver
from storage.records.visibility import ALL_ASSETS, AssetScope
from storage.spreadsheets.mapping_file import read_mapping
from storage.spreadsheets.reader import Spreadsheet
from storage.store import Store


def format_undo_command(path: str | Path, options: Sequence[str]) -> str:
    """Return the command that imports an undo file into the database of the running command.

    Storage options that the command line has are repeated; the environment stays.

    >>> format_undo_command("un do.ndjson", ["--force-drawings"])
    "floorgate import --force-drawings 'un do.ndjson'"
    """
    parts = ["floorgate", "import", *options, *_list_storage_options()]
    text = str(path)
    return shlex.join([*parts, f"./{text}" if text.startswith("-") else text])


def _list_storage_options() -> list[str]:
    context = click.get_current_context(silent=True)
    if context is None:
        return []
    return [
        text
        for name in STORAGE_OPTIONS
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        for text in (f"--{name.replace('_', '-')}", str(context.params[name]))
    ]


TIMEOUT_SECONDS = 120.0
SHOWN_CHANGES = 20
"""Of each kind and operation before a question; a dry run shows all that the plan lists."""
SIGNS = {"added": "+", "changed": "~", "removed": "-"}

Command = TypeVar("Command", bound=Callable[..., Any])


class LimitType(click.ParamType[RemovalLimit]):
    """A number of records, or a share of each kind."""

    name = "limit"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> RemovalLimit:
        """Return the limit; fails with a sentence."""
        try:
            return value if isinstance(value, RemovalLimit) else RemovalLimit.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


CHANGE_OPTIONS = (
    click.option("--dry-run", is_flag=True, help="Check everything, show all changes, make none."),
    click.option("--yes", is_flag=True, help="Change or remove records without asking."),
    click.option(
        "--max-removals",
        type=LimitType(),
        metavar="N|N%",
        help="How many records may be removed, or which share of each kind.",
    ),
    click.option(
        "--undo",
        "undo_path",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Where to save what is changed or removed, as a bundle that brings it back."
        "  [default, where the command would ask: a new file in the working directory]",
    ),
    click.option(
        "--plan",
        "plan_path",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Write every change to this file, one JSON object a line.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON."),
)


def with_change_options(command: Command) -> Command:
    """Add the options of commands that show what they change."""
    for option in reversed(CHANGE_OPTIONS):
        command = option(command)
    return command


def make_changes(
    settings: Settings,
    paths: Sequence[BundleSource],
    request: ChangeRequest,
    *,
    networks: str,
    removes: bool,
    dry_run: bool,
    yes: bool,
    plan_path: Path | None,
    as_json: bool,
) -> None:
    """Import bundles or remove records, and print what has changed.

    What `removes` records is shown first, and at a terminal what changes them; it asks, and then
    makes only what it has shown.
    """
    note_undo = partial(_note_unwritten_undo, path=request.undo_path, dry_run=dry_run)
    is_shown = not dry_run and (removes or _can_ask(paths))
    if is_shown and request.undo_path is None:
        request = request._replace(undo_path=_choose_undo_path())
    echo = partial(click.echo, err=as_json)
    with ExitStack() as stack:
        plan = stack.enter_context(_open_plan(plan_path)) if plan_path else None
        keep_plan = plan.keep if plan else lambda: None
        if plan is not None:
            request = request._replace(write_change=plan.add)
        if is_shown and not yes:
            if not settings.mongo_url:  # so that asking and writing share one start
                stack.enter_context(embedded_mongo.run_embedded_mongo(settings.data_dir))
            planned = _run(settings, paths, request._replace(is_planned=True), networks, True)
            assert planned.plan is not None
            keep_plan()
            if removes or planned.total.updated:
                _print_plan(planned, SHOWN_CHANGES, echo)
                _print_notes(planned)
                _ask(planned, request)
            request = request._replace(expected_digest=planned.plan.digest, write_change=None)
        elif is_shown or dry_run:
            request = request._replace(is_planned=True)

        def review(summary: ImportSummary) -> None:
            keep_plan()  # a full disk is known before anything is applied
            if yes and is_shown and not as_json and (removes or summary.total.updated):
                _print_plan(summary, SHOWN_CHANGES, echo)

        try:
            summary = _run(settings, paths, request, networks, dry_run, review)
        except RemovalRefusedError:
            keep_plan()
            raise
        keep_plan()
    if dry_run and not as_json:
        _print_plan(summary, None, echo)
    note_undo(summary)
    _print_result(summary, dry_run=dry_run, as_json=as_json)


def _can_ask(paths: Sequence[BundleSource]) -> bool:
    """Return whether standard input is a terminal that gives answers, not a bundle."""
    return sys.stdin.isatty() and STANDARD_INPUT not in paths


class _PlanFile:
    """The changes of a plan, in a file."""

    def __init__(self, file: PendingFile) -> None:
        self._file = file

    def add(self, change: RecordChange) -> None:
        """Add a change. Raises ClickException."""
        with _name_in_errors(self._file.path):
            self._file.stream.write(msgspec.json.encode(change) + b"\n")

    def keep(self) -> None:
        """Give the file its name, if it does not have it. Raises ClickException."""
        with _name_in_errors(self._file.path):
            self._file.keep()


@contextmanager
def _open_plan(path: Path) -> Iterator[_PlanFile]:
    """Open a plan; what is not kept is deleted. Raises UsageError and ClickException."""
    if os.path.lexists(path):
        raise click.UsageError(f"{path} exists; choose another name for the plan")
    with ExitStack() as stack:
        with _name_in_errors(path):
            file = stack.enter_context(open_pending_file(path))
        yield _PlanFile(file)


@contextmanager
def _name_in_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from error


def _run(
    settings: Settings,
    paths: Sequence[BundleSource],
    request: ChangeRequest,
    networks: str,
    dry_run: bool,
    review: Callable[[ImportSummary], None] = lambda summary: None,
) -> ImportSummary:
    with show_progress() as progress:

        async def work(database: driver.Database) -> ImportSummary:
            return await import_and_process(
                Store(database.client, database.name),
                paths,
                networks,
                dry_run=dry_run,
                progress=progress,
                changes=request,
                review=review,
            )

        return run_with_database(settings, work, TIMEOUT_SECONDS, writes=not dry_run)


def _note_unwritten_undo(summary: ImportSummary, path: Path | None, dry_run: bool) -> None:
    """Say that there is nothing in the file for undoing that was asked for."""
    if path is not None and summary.undo is None:
        reason = "a dry run changes nothing" if dry_run else "nothing is changed or removed"
        summary.notes.append(f"{path} is not written: {reason}")


def _choose_undo_path() -> Path:
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
    return Path(f"floorgate-undo-{now}.ndjson")


def _ask(planned: ImportSummary, request: ChangeRequest) -> None:
    """Ask whether to make the changes. Raises click.Abort, ClickException or UsageError."""
    if planned.refusal is not None:
        raise click.ClickException(
            f"{planned.refusal}; if that is meant, allow it with --max-removals N or N%"
        )
    if planned.total.written and not sys.stdin.isatty():
        raise click.UsageError(
            "nothing was written: there is no terminal to ask on; --yes makes these changes without"
            " asking"
        )
    if not planned.total.written:
        return
    total = planned.total
    question = f"Change {total.updated:,} records and add {total.inserted:,}?"
    if total.removed:
        question = f"Remove {total.removed:,} records and write {total.written - total.removed:,}?"
    click.echo(f"What is changed or removed is saved first, in {request.undo_path}.", err=True)
    click.confirm(question, abort=True, err=True)


def _print_plan(summary: ImportSummary, limit: int | None, echo: Callable[[str], None]) -> None:
    """Print what changes: by kind, the first changes of each operation."""
    assert summary.plan is not None
    listed = sorted(summary.plan.changes, key=lambda change: (change.kind, change.operation))
    by_group = {
        group: [*changes]
        for group, changes in groupby(listed, lambda change: (change.kind, change.operation))
    }
    for kind, counts in summary.kinds.items():
        counted = {"added": counts.inserted, "changed": counts.updated, "removed": counts.removed}
        if not any(counted.values()):
            continue
        parts = [f"{count:,} {operation}" for operation, count in counted.items() if count]
        echo(f"{kind}: {', '.join(parts)}")
        for operation, count in counted.items():
            shown = by_group.get((kind, operation), [])[:limit]
            for change in shown:
                echo(f"  {SIGNS[operation]} {_describe_change(change)}")
            if count > len(shown):
                echo(f"  {SIGNS[operation]} ... and {count - len(shown):,} more: see --plan FILE")


def _describe_change(change: RecordChange) -> str:
    text = _quote(change.record_id)
    if change.removed_with is not None:
        return f"{text} (with {_quote(change.removed_with)})"
    fields = [f"{field.field} {field.before} -> {field.after}" for field in change.fields]
    return f"{text}: {_quote('; '.join(fields))}" if fields else text


def _quote(text: str) -> str:
    """Return text that does nothing else to a terminal than appear on it."""
    return text if text.isprintable() else json.dumps(text)


def _print_notes(summary: ImportSummary) -> None:
    for note in summary.notes:
        click.echo(f"Note: {note}", err=True)


def _print_result(summary: ImportSummary, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        shown = msgspec.to_builtins(summary)
        del shown["undo_bundle"]  # commands write it to the file that `undo` names
        click.echo(msgspec.json.encode(shown))
        return
    titles = ("Kind", "Inserted", "Updated", "Unchanged")
    removes = bool(summary.total.removed)
    table = Table(*titles, *(["Removed"] if removes else []))
    for name, counts in (*summary.kinds.items(), ("total", summary.total)):
        numbers = [counts.inserted, counts.updated, counts.unchanged]
        table.add_row(name, *map(str, numbers + ([counts.removed] if removes else [])))
    Console().print(table)
    _print_notes(summary)
    if dry_run:
        if summary.refusal is not None:
            click.echo(f"Note: this would be refused: {summary.refusal}", err=True)
        click.echo("Nothing was written: this was a dry run.", err=True)
    if summary.undo is not None:
        command = format_undo_command(summary.undo, summary.undo_options)
        click.echo(f"Undo with: {command}", err=True)
    elif summary.total.updated and not dry_run:
        click.echo(
            f"Stored records changed: {summary.total.updated:,}. With --undo FILE, an import saves"
            " them first, as a bundle that brings them back.",
            err=True,
        )


DEMO_BUNDLE = Path(__file__).parents[2] / "samples" / "demo" / "bundle.json"


MAPPING_OPTION = click.option(
    "--mapping",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What the sheets and columns of spreadsheets hold (YAML).",
)


def with_mapping(paths: Sequence[str], mapping: Path | None) -> list[BundleSource]:
    """Return the paths, the spreadsheets among them with the mapping."""
    if mapping is None:
        return [*paths]
    read = read_mapping(mapping)
    sources: list[BundleSource] = [
        Spreadsheet(Path(path), read, str(mapping)) if is_table(path) else path for path in paths
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
