"""`floorgate parse`: print unit maps as JSON or as SVG, or check drawings."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
import orjson

from gateway.cli.terminal import count_of
from gateway.settings import DIRECTORY, PATH
from parsing.errors import ParsingError
from parsing.svg.outcome import MAX_LISTED_PLACES, MAX_PLACES, MapSummary, ParseWarning
from storage.written_files import write_file

if TYPE_CHECKING:
    from parsing.svg.unit_map import ParsedUnitMap


def write_pictures(directory: Path, pictures: Mapping[str, str]) -> None:
    """Write each SVG to a file of its name; characters that may have a meaning become _."""
    for name, svg in pictures.items():
        write_file(find_picture_file(directory, name), svg.encode())


def find_picture_file(directory: Path, name: str) -> Path:
    """Return the file of a picture.

    >>> find_picture_file(Path("out"), "tower.Level 2/3").as_posix()
    'out/tower.Level_2_3.svg'
    """
    safe = "".join(char if char.isalnum() or char in "-_." else "_" for char in name)
    return directory / f"{safe}.svg"


STANDARD_INPUT = "-"


class DrawingCheck(msgspec.Struct, frozen=True):
    """A drawing that was parsed, with its map, or one that was rejected, with the error."""

    name: str
    parsed: ParsedUnitMap | None = None
    error: ParsingError | None = None

    @property
    def mistakes(self) -> list[ParseWarning]:
        """The warnings that are not just notes of how a name was read."""
        return [warning for warning in self.warnings if not warning.is_note]

    @property
    def warnings(self) -> tuple[ParseWarning, ...]:
        """All warnings of the parse; none if the drawing was rejected."""
        return self.parsed.warnings if self.parsed else ()

    def to_dict(self) -> dict[str, Any]:
        """Return the check as JSON has it: file, error or summary, warnings."""
        error, summary = None, None
        if self.error is not None:
            error = {name: getattr(self.error, name) for name in ("message", "line", "column")}
        elif self.parsed is not None:
            summary = self.parsed.summary._asdict()
        warnings = [
            msgspec.to_builtins(warning) | {"places": [place._asdict() for place in warning.places]}
            for warning in self.warnings
        ]
        return {"file": self.name, "error": error, "summary": summary, "warnings": warnings}

    def to_lines(self) -> Iterator[str]:
        """Yield a line for each place, in the form of compilers, and a summary."""
        if self.error is not None:
            position = f":{self.error.line}:{self.error.column}" if self.error.line else ""
            yield f"{self.name}{position}: error: {self.error.message}"
            return
        for warning in self.warnings:
            kind = "note" if warning.is_note else "warning"
            for place in warning.places:
                position = f":{place.line}:{place.column}" if place.line else ""
                yield f"{self.name}{position}: {kind}: {warning.describe(place)} [{warning.code}]"
            if more := warning.count - len(warning.places):
                yield f"{self.name}: {kind}: and {more:,} more [{warning.code}]"
            if warning.remedy:
                yield f"    {warning.remedy}"
        if self.parsed is not None:
            yield f"{self.name}: {format_summary(self.parsed.summary, self.mistakes)}"


def check_drawing_file(
    file: str, *, force: bool = False, max_places: int = MAX_PLACES
) -> DrawingCheck:
    """Parse the drawing in a file, or in standard input if it is `-`, in a limited CPU time.

    A file that cannot be read is rejected as one that cannot be parsed.
    """
    from parsing.svg.unit_map import parse_unit_map
    from resolvers.processing.task_process import limit_cpu_time

    is_stdin = file == STANDARD_INPUT
    name = "standard input" if is_stdin else file
    try:
        svg = sys.stdin.buffer.read() if is_stdin else Path(file).read_bytes()
        with limit_cpu_time():
            return DrawingCheck(name, parse_unit_map(svg, force=force, max_places=max_places))
    except OSError as error:
        return DrawingCheck(name, error=ParsingError(str(error.strerror)))
    except ParsingError as error:
        return DrawingCheck(name, error=error)
    except Exception as error:  # a fault of the parser must not stop the other drawings
        fault = f"{type(error).__name__}: {error}"
        return DrawingCheck(name, error=ParsingError(f"the parser has a fault; report it: {fault}"))


def format_summary(summary: MapSummary, mistakes: list[ParseWarning]) -> str:
    """Return the counts of a map and of the warnings as a sentence."""
    counts = [
        count_of(summary.levels, "level"),
        count_of(summary.units, "unit"),
        count_of(summary.hit_areas, "hit area"),
        count_of(summary.shapes, "other shape"),
    ]
    total = sum(warning.count for warning in mistakes)
    return f"{', '.join(counts)}; {count_of(total, 'warning') if total else 'no warnings'}"


STANDARD_OUTPUT = Path("-")


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE.svg...")
@click.option(
    "--output",
    "-o",
    type=PATH,
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
    type=DIRECTORY,
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
            for warning in checked.warnings:  # --check prints all places and what to do
                kind = "Note" if warning.is_note else "Warning"
                click.echo(f"{kind}: {checked.name}: {warning}", err=True)
            content = _format(checked.parsed, svg, pretty)
            if output:
                write_file(targets[index], content)
            else:
                click.echo(content)
    if as_json:
        click.echo(orjson.dumps(checks, option=orjson.OPT_INDENT_2))
    if has_failed:
        raise click.exceptions.Exit(1)


def _find_targets(files: tuple[str, ...], output: Path, suffix: str) -> list[Path]:
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
    from parsing.svg.warning_pictures import draw_pictures

    stem = "stdin" if file == STANDARD_INPUT else Path(file).stem
    drawn = draw_pictures(parsed.to_dict(), parsed.warnings)
    pictures = {f"{stem}.{name}": svg for name, svg in drawn.items()}
    sources = {Path(source).resolve() for source in files}
    for name in pictures:
        if (target := find_picture_file(directory, name)).resolve() in sources:
            raise click.UsageError(f"{target} would be overwritten; choose another directory")
    write_pictures(directory, pictures)


def _format(parsed: ParsedUnitMap, svg: bool, pretty: bool) -> bytes:
    if svg:
        from parsing.svg.render import to_svg

        return to_svg(parsed.to_dict()).encode()
    return orjson.dumps(parsed.to_dict(), option=orjson.OPT_INDENT_2) if pretty else parsed.json
