"""`floorgate check`: all that is wrong with bundles and drawings, without a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from gateway.cli.catalog import MAPPING_OPTION, with_mapping
from gateway.cli.terminal import count_of

if TYPE_CHECKING:
    from gateway.cli.parse import DrawingCheck
    from storage.bundles.drawings import ParsedSource
    from storage.importing.validation import CheckResult

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
        click.echo(msgspec.json.encode(_to_json(result, checked)))
    else:
        for drawing in checked:
            if drawing.error is None:
                click.echo("\n".join(drawing.to_lines()))
        _print_result(result, len(drawings))
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


def _print_result(result: CheckResult, drawings: int) -> None:
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


def _to_json(result: CheckResult, drawings: list[DrawingCheck]) -> dict[str, object]:
    return {
        "drawings": [drawing.to_dict() for drawing in drawings],
        "errors": [violation._asdict() for violation in result.violations.list_first()],
        "error_count": result.violations.total,
        "assumed": [owner._asdict() for owner in result.assumed],
        "assumed_count": result.assumed_total,
        "notes": result.notes,
        "members": result.members,
    }
