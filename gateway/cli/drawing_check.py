"""What a parse of a drawing tells, for people and for programs."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from parsing.errors import ParsingError
from parsing.svg.outcome import MAX_PLACES, MapSummary, ParseWarning
from parsing.svg.unit_map import ParsedUnitMap, parse_unit_map
from resolvers.processing.worker_process import limit_cpu_time

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
        if self.error is not None:
            error = {
                "message": self.error.message,
                "line": self.error.line,
                "column": self.error.column,
            }
            return {"file": self.name, "error": error, "summary": None, "warnings": []}
        warnings = [
            {
                **{name: value for name, value in msgspec.to_builtins(warning).items()},
                "places": [place._asdict() for place in warning.places],
            }
            for warning in self.warnings
        ]
        summary = self.parsed.summary._asdict() if self.parsed else None
        return {"file": self.name, "error": None, "summary": summary, "warnings": warnings}

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


def check_drawing(
    name: str, svg: bytes, *, force: bool = False, max_places: int = MAX_PLACES
) -> DrawingCheck:
    """Parse a drawing within the limit of CPU time; `name` is that of its file.

    >>> check = check_drawing("plan.svg", b"<svg><text>Gym</text></svg>")
    >>> [*check.to_lines()][-1]
    'plan.svg: 0 levels, 0 units, 0 hit areas, 0 other shapes; 3 warnings'
    """
    try:
        with limit_cpu_time():
            return DrawingCheck(name, parse_unit_map(svg, force=force, max_places=max_places))
    except ParsingError as error:
        return DrawingCheck(name, error=error)
    except Exception as error:  # a fault of the parser must not stop the other drawings
        fault = f"{type(error).__name__}: {error}"
        return DrawingCheck(name, error=ParsingError(f"the parser has a fault; report it: {fault}"))


def check_drawing_file(
    file: str, *, force: bool = False, max_places: int = MAX_PLACES
) -> DrawingCheck:
    """Check the drawing in a file, or in standard input if it is `-`.

    A file that cannot be read is rejected as one that cannot be parsed.
    """
    is_stdin = file == STANDARD_INPUT
    name = "standard input" if is_stdin else file
    try:
        svg = sys.stdin.buffer.read() if is_stdin else Path(file).read_bytes()
    except OSError as error:
        return DrawingCheck(name, error=ParsingError(str(error.strerror)))
    return check_drawing(name, svg, force=force, max_places=max_places)


def format_summary(summary: MapSummary, mistakes: list[ParseWarning]) -> str:
    """Return the counts of a map and of the warnings as a sentence."""
    counts = [
        _count(summary.levels, "level"),
        _count(summary.units, "unit"),
        _count(summary.hit_areas, "hit area"),
        _count(summary.shapes, "other shape"),
    ]
    total = sum(warning.count for warning in mistakes)
    return f"{', '.join(counts)}; {_count(total, 'warning') if total else 'no warnings'}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
