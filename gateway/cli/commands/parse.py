"""`floorgate parse`: print unit maps as JSON or as SVG, or check drawings."""

from pathlib import Path

import click
import orjson

from gateway.cli.drawing_check import STANDARD_INPUT, DrawingCheck, check_drawing_file
from gateway.cli.picture_files import find_picture_file, write_pictures
from parsing.svg.outcome import MAX_LISTED_PLACES, MAX_PLACES
from parsing.svg.render import to_svg
from parsing.svg.unit_map import ParsedUnitMap
from parsing.svg.warning_pictures import draw_pictures

STANDARD_OUTPUT = Path("-")


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE.svg...")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="FILE|DIR",
    help="Write to this file, or to a file for each drawing in this directory; - is the output.",
)
@click.option("--svg", is_flag=True, help="Print an SVG drawn from the parsed map.")
@click.option("--pretty", is_flag=True, help="Indent the JSON.")
@click.option("--check", is_flag=True, help="Print warnings and a summary instead of the map.")
@click.option("--json", "as_json", is_flag=True, help="With --check, print a list of objects.")
@click.option(
    "--pictures",
    "--picture",
    "pictures",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write an SVG of each Level to this directory; it shows where each warning is.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if there are warnings.")
@click.option("--force", is_flag=True, help="Parse drawings that are mostly an image, too.")
def parse(
    files: tuple[str, ...],
    output: Path | None,
    svg: bool,
    pretty: bool,
    check: bool,
    as_json: bool,
    pictures: Path | None,
    strict: bool,
    force: bool,
) -> None:
    """Parse unit maps and print their JSON; - reads standard input.

    Warnings go to standard error: what is left out, what may be a mistake, how names were read.
    """
    if check and (output or svg or pretty):
        raise click.UsageError("--check prints no map; leave out -o, --svg and --pretty")
    if as_json and not check:
        raise click.UsageError("--json is the form of --check; the map is JSON anyway")
    if svg and pretty:
        raise click.UsageError("--pretty is for JSON; leave out --svg")
    if pretty and len(files) > 1 and (output is None or output == STANDARD_OUTPUT):
        raise click.UsageError("--pretty prints one drawing; for several, give -o a directory")
    if files.count(STANDARD_INPUT) > 1:
        raise click.UsageError("- is given twice; standard input is read once")
    if output == STANDARD_OUTPUT:
        output = None
    targets = _find_targets(files, output, ".svg" if svg else ".json") if output else []
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
    max_places = MAX_PLACES if pictures is None else MAX_LISTED_PLACES
    checks, has_failed = [], False
    for index, file in enumerate(files):
        checked = check_drawing_file(file, force=force, max_places=max_places)
        has_failed |= checked.error is not None or bool(strict and checked.mistakes)
        if pictures is not None and checked.parsed is not None:
            _write_pictures(pictures, file, checked.parsed, files)
        if as_json:
            checks.append(checked.to_dict())
        elif check:
            click.echo("\n".join(checked.to_lines()))
        elif checked.parsed is None:
            click.echo(f"Error: {checked.name}: {checked.error}", err=True)
        else:
            _print_warnings(checked)
            _write(_format(checked.parsed, svg, pretty), targets[index] if output else None)
    if as_json:
        click.echo(orjson.dumps(checks, option=orjson.OPT_INDENT_2))
    if has_failed:
        raise click.exceptions.Exit(1)


def _find_targets(files: tuple[str, ...], output: Path, suffix: str) -> list[Path]:
    """Return the file to write for each drawing."""
    if output.is_dir():
        stems = ("stdin" if file == STANDARD_INPUT else Path(file).stem for file in files)
        targets = [output / f"{stem}{suffix}" for stem in stems]
    elif len(files) == 1:
        targets = [output]
    else:
        raise click.UsageError(f"{output} is not a directory; -o needs one for several drawings")
    for index, (file, target) in enumerate(zip(files, targets, strict=True)):
        if target in targets[:index]:
            raise click.UsageError(f"two of the drawings would be written to {target}")
        if target.exists() and Path(file).exists() and target.samefile(file):
            raise click.UsageError(f"{file} would be overwritten; choose another -o")
    return targets


def _write_pictures(
    directory: Path, file: str, parsed: ParsedUnitMap, files: tuple[str, ...]
) -> None:
    """Write the pictures of a drawing, with the name of its file in front of those of its Levels.

    A picture of another run is replaced, but no drawing that is parsed.
    """
    stem = "stdin" if file == STANDARD_INPUT else Path(file).stem
    drawn = draw_pictures(parsed.to_dict(), parsed.warnings)
    pictures = {f"{stem}.{name}": svg for name, svg in drawn.items()}
    sources = {Path(source).resolve() for source in files}
    for name in pictures:
        if (target := find_picture_file(directory, name)).resolve() in sources:
            raise click.UsageError(f"{target} would be overwritten; choose another directory")
    try:
        write_pictures(directory, pictures)
    except OSError as error:
        raise click.ClickException(f"{directory}: {error.strerror}") from error


def _format(parsed: ParsedUnitMap, svg: bool, pretty: bool) -> bytes:
    if svg:
        return to_svg(parsed.to_dict()).encode()
    return orjson.dumps(parsed.to_dict(), option=orjson.OPT_INDENT_2) if pretty else parsed.json


def _write(content: bytes, target: Path | None) -> None:
    if target is None:
        click.echo(content)
        return
    try:
        target.write_bytes(content)
    except OSError as error:
        raise click.ClickException(f"{target}: {error.strerror}") from error


def _print_warnings(checked: DrawingCheck) -> None:
    """Print one line for each cause; --check prints all places and what to do."""
    for warning in checked.warnings:
        kind = "Note" if warning.is_note else "Warning"
        click.echo(f"{kind}: {checked.name}: {warning}", err=True)
