"""Changes of the catalog that are shown before they are made: imports and removals."""

import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path

import click
import msgspec
from click.core import ParameterSource

from gateway.cli.operator import run_with_database
from gateway.cli.terminal import print_notes, print_table, show_progress
from gateway.settings import STORAGE_OPTIONS, Settings
from resolvers.processing.stale_networks import import_and_process
from storage.embedded import embedded_mongo
from storage.errors import RemovalRefusedError
from storage.importing import change_plan
from storage.importing.batches import STANDARD_INPUT, BundleSource
from storage.importing.import_bundles import ImportSummary
from storage.importing.removals import RemovalLimit
from storage.mongo import driver
from storage.records.kinds import MAX_ID_CHARACTERS
from storage.store import Store

TIMEOUT_SECONDS = 120.0
SHOWN_CHANGES = 24
"""A plan on a terminal shows so many, so that it fits a screen."""
MIN_SHOWN_CHANGES = 3
"""It shows at least so many of each kind and operation."""
SIGNS = {"added": "+", "changed": "~", "removed": "-"}


def make_changes(
    paths: Sequence[BundleSource],
    request: change_plan.ChangeRequest,
    *,
    settings: Settings,
    networks: str,
    removes: bool,
    dry_run: bool,
    yes: bool,
    max_removals: RemovalLimit | None,
    undo_path: Path | None,
    plan_path: Path | None,
    import_id: str | None,
    as_json: bool,
) -> None:
    """Import bundles or remove records, and print what has changed.

    What `removes` records is shown first, and at a terminal what changes them; it asks, and then
    makes only what it has shown.
    """
    if import_id is not None and STANDARD_INPUT in paths:
        raise click.UsageError("--id is for files, not for standard input")
    if import_id is not None and not 1 <= len(import_id) <= MAX_ID_CHARACTERS:
        raise click.UsageError(f"--id must have from 1 to {MAX_ID_CHARACTERS} characters")
    request = request._replace(
        limit=max_removals or request.limit, undo_path=undo_path, import_id=import_id
    )
    can_ask = sys.stdin.isatty() and STANDARD_INPUT not in paths  # else it is a bundle
    is_shown = not dry_run and (removes or can_ask)
    if is_shown and undo_path is None:
        now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
        request = request._replace(undo_path=Path(f"floorgate-undo-{now}.ndjson"))
    echo = partial(click.echo, err=as_json)
    with ExitStack() as stack:
        plan, noted = None, list[str]()
        if plan_path is not None:
            if os.path.lexists(plan_path):
                raise click.UsageError(f"{plan_path} exists; choose another name for the plan")
            plan = stack.enter_context(change_plan.open_pending_file(plan_path))
            write = plan.write
            request = request._replace(
                write_change=lambda change: write(msgspec.json.encode(change) + b"\n")
            )
        keep_plan = plan.keep if plan else lambda: None
        if is_shown and not yes:
            if not settings.mongo_url:  # so that asking and writing share one start
                stack.enter_context(embedded_mongo.run_embedded_mongo(settings.data_dir))
            planned = _run(settings, paths, request._replace(is_planned=True), networks, True)
            assert planned.plan is not None
            keep_plan()
            if (removes or planned.total.updated) and not planned.is_repetition:
                _print_plan(planned, plan_path, echo)
                print_notes(planned.notes)
                noted = planned.notes
                _ask(planned, request)
            request = request._replace(expected_digest=planned.plan.digest, write_change=None)
        elif is_shown or dry_run:
            request = request._replace(is_planned=True)

        def review(summary: ImportSummary) -> None:
            keep_plan()  # a full disk is known before anything is applied
            if yes and is_shown and not as_json and (removes or summary.total.updated):
                _print_plan(summary, plan_path, echo)

        try:
            summary = _run(settings, paths, request, networks, dry_run, review)
        except RemovalRefusedError:
            keep_plan()
            raise
        keep_plan()
    if dry_run and not as_json and not summary.is_repetition:
        _print_plan(summary, plan_path, echo)
    if undo_path is not None and summary.undo is None:
        reason = "a dry run changes nothing" if dry_run else "nothing is changed or removed"
        summary.notes.append(f"{undo_path} is not written: {reason}")
    _print_result(summary, noted, dry_run=dry_run, as_json=as_json)


def _run(
    settings: Settings,
    paths: Sequence[BundleSource],
    request: change_plan.ChangeRequest,
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


def _ask(planned: ImportSummary, request: change_plan.ChangeRequest) -> None:
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


def _print_plan(
    summary: ImportSummary, plan_path: Path | None, echo: Callable[[str], None]
) -> None:
    """Print what changes: by kind, the first changes of each operation."""
    assert summary.plan is not None
    listed = sorted(summary.plan.changes, key=lambda change: (change.kind, change.operation))
    by_group = {
        group: [*changes]
        for group, changes in groupby(listed, lambda change: (change.kind, change.operation))
    }
    limit = max(MIN_SHOWN_CHANGES, SHOWN_CHANGES // max(1, len(by_group)))
    hint = f"see {plan_path}" if plan_path else "--plan FILE writes all"
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
                echo(f"  {SIGNS[operation]} ... and {count - len(shown):,} more: {hint}")


def _describe_change(change: change_plan.RecordChange) -> str:
    text = _quote(change.record_id)
    if change.removed_with is not None:
        return f"{text} (with {_quote(change.removed_with)})"
    fields = [f"{field.field} {field.before} -> {field.after}" for field in change.fields]
    return f"{text}: {_quote('; '.join(fields))}" if fields else text


def _quote(text: str) -> str:
    """Return text that does nothing else to a terminal than appear on it."""
    return text if text.isprintable() else json.dumps(text)


def _print_result(
    summary: ImportSummary, noted: Sequence[str], *, dry_run: bool, as_json: bool
) -> None:
    if as_json:
        shown = msgspec.to_builtins(summary)
        del shown["undo_bundle"]  # commands write it to the file that `undo` names
        click.echo(msgspec.json.encode(shown))
        return
    columns = {"Added": "inserted", "Changed": "updated", "Unchanged": "unchanged"}
    if summary.total.removed:
        columns["Removed"] = "removed"
    rows = (
        (name, *(str(getattr(counts, each)) for each in columns.values()))
        for name, counts in (*summary.kinds.items(), ("total", summary.total))
    )
    print_table(("Kind", *columns), rows)
    print_notes(note for note in summary.notes if note not in noted)
    if dry_run:
        if summary.refusal is not None:
            click.echo(f"Note: this would be refused: {summary.refusal}", err=True)
        click.echo("Nothing was written: this was a dry run.", err=True)
    if summary.undo is not None:
        command = format_undo_command(summary.undo, summary.undo_options)
        click.echo(f"Undo with: {command}", err=True)
    elif summary.total.updated and not (dry_run or summary.is_repetition):
        click.echo(
            f"Stored records changed: {summary.total.updated:,}. With --undo FILE, an import saves"
            " them first, as a bundle that brings them back.",
            err=True,
        )


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
