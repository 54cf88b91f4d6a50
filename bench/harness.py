"""The harness: an experiment is a function that yields rows, and one runner runs them all.

    @experiment("Title of the table")
    def staleness(run: Run, writes: int = 500) -> Iterator[Row]:
        ...
        yield {"read through": "another gateway", "writes": writes, "p50 ms": 1.5}

`python -m bench staleness --writes 100` runs it, prints the table, and writes it into the file of
results. Its parameters after the run, all of which have defaults, are the options. What experiments
measure with is made by the `Run` when first asked for. An experiment with several tables makes them
of its rows by a function: `@experiment(report=build_tables)`.
"""

import inspect
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias, TypeVar

import click
import msgspec
from rich.console import Console
from rich.progress import track

from bench import report
from bench.data.directory import Directory, load_directory
from bench.load import machine
from bench.load.generator import LoadError, LoadGenerator, start_load_generator
from bench.load.servers import PeerError, await_no_mongod, scratch_directory
from bench.report import Record, ReportTable, tabulate
from storage.embedded import embedded_mongo

RESULTS = Path(__file__).parents[1] / "build" / "bench" / "results.json"
Row: TypeAlias = dict[str, Any]
Measure = TypeVar("Measure", bound=Callable[..., Iterator[Row]])
Report: TypeAlias = Callable[[Sequence[Row]], Sequence[ReportTable]]
T = TypeVar("T")


class Run:
    """A mongod, directories and a load generator, which the experiments of a run share."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.scratch = stack.enter_context(scratch_directory())
        self.data_dir = self.scratch / "data"
        self._mongod = stack.enter_context(ExitStack())
        self._directories: dict[tuple[str, int], Directory] = {}
        stack.enter_context(machine.pin_to_cores(machine.LOAD_CORE))

    @cached_property
    def mongo_url(self) -> str:
        """Start a mongod, and return its address."""
        return self._mongod.enter_context(embedded_mongo.run_embedded_mongo(self.data_dir))

    @cached_property
    def load(self) -> LoadGenerator:
        """Start the load generator."""
        return self._stack.enter_context(start_load_generator())

    def load_directory(self, units: int, name: str = "floorgate") -> Directory:
        """Return a directory of this size in the database of this name."""
        key = name, units
        if key not in self._directories:
            self._directories[key] = load_directory(self.mongo_url, name, units, self.scratch)
        return self._directories[key]

    def stop_mongod(self) -> None:
        """Stop the mongod: nothing that needs it may follow."""
        self._mongod.close()
        await_no_mongod(self.data_dir)


@contextmanager
def start_run() -> Iterator[Run]:
    """Provide a run, and show what goes wrong in it as an error of the command."""
    # Exiting by an exception lets context managers stop every process.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with ExitStack() as stack:
            yield Run(stack)
    except (PeerError, LoadError) as error:
        raise click.ClickException(str(error)) from error


@dataclass(frozen=True, slots=True)
class Experiment:
    """A function that yields rows, and one that makes tables of them."""

    name: str
    measure: Callable[..., Iterator[Row]]
    report: Report

    @property
    def options(self) -> dict[str, inspect.Parameter]:
        """Return the options by name."""
        _, *parameters = inspect.signature(self.measure).parameters.values()
        return {parameter.name: parameter for parameter in parameters}

    def record(self, run: Run, **options: Any) -> Record:
        """Measure, and return the tables. Raises PeerError and LoadError.

        The note of a table may name the options, and `machine`, `python`, `packages`, `taken_at`
        and `load`, the least and the most load average.
        """
        defaults = {name: parameter.default for name, parameter in self.options.items()}
        chosen = defaults | options
        rows, loads = [], [machine.load_average()]
        for row in with_progress(self.measure(run, **chosen), f"Measuring {self.name}"):
            rows.append(row)
            loads.append(machine.load_average())
        described = machine.describe_machine()
        record = Record(
            taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
            machine=described,
            options=chosen,
            tables=[],
        )
        conditions = chosen | {
            "taken_at": record.taken_at,
            "machine": f"{described['processor']}, {described['cores']} cores",
            "python": described["python"],
            "packages": ", ".join(f"{name} {x}" for name, x in described["packages"].items()),
            "load": f"{min(loads):.1f} to {max(loads):.1f}",
        }
        record.tables.extend(
            msgspec.structs.replace(table, note=table.note.format_map(conditions))
            for table in self.report(rows)
        )
        return record


EXPERIMENTS: dict[str, Experiment] = {}
"""All that were imported."""


def experiment(
    title: str = "", note: str = "", report: Report | None = None
) -> Callable[[Measure], Measure]:
    """Make a function an experiment, named like it: with a table of its rows, or with a report.

    The columns are the fields of the rows.
    """

    def register(measure: Measure) -> Measure:
        name = measure.__name__.replace("_", "-")
        EXPERIMENTS[name] = Experiment(
            name, measure, report or (lambda rows: [tabulate(title, rows, note)])
        )
        return measure

    return register


def median_rows(rows: Sequence[Row], *keys: str) -> list[Row]:
    """Return a row for each combination of the keys, with the medians of the other fields.

    A field that is None or absent in some rows is the median of the others.

    >>> median_rows([{"of": "a", "ms": 1.0}, {"of": "b", "ms": 7.0}, {"of": "a", "ms": 3.0}], "of")
    [{'of': 'a', 'ms': 2.0}, {'of': 'b', 'ms': 7.0}]
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    medians = []
    for key, group in groups.items():
        merged = dict(zip(keys, key, strict=True))
        for name in {name: None for row in group for name in row if name not in keys}:
            values = [row[name] for row in group if row.get(name) is not None]
            merged[name] = median(values) if values else None
        medians.append(merged)
    return medians


def with_progress(steps: Iterator[T], what: str, total: int | None = None) -> Iterator[T]:
    """Yield all steps, with a progress bar on a terminal."""
    console, is_quiet = Console(stderr=True), not sys.stderr.isatty()
    yield from track(steps, what, total, console=console, transient=True, disable=is_quiet)


# The command line


def build_command(each: Experiment) -> click.Command:
    """Return the command that runs an experiment."""

    def run_experiment(output: Path, is_written: bool, **options: Any) -> None:
        with start_run() as run:
            record = each.record(run, **options)
        report.print_tables(record.tables)
        report.write_record(output, each.name, record)
        if is_written:
            report.write_record(report.FIGURES, each.name, record)
            report.write_page()

    return click.Command(
        each.name,
        callback=run_experiment,
        help=each.measure.__doc__,
        params=[*map(_build_option, each.options.values()), OUTPUT, WRITE_DOCS],
    )


OUTPUT = click.Option(
    ["--output"], type=click.Path(path_type=Path), default=RESULTS, help="File for the figures."
)
WRITE_DOCS = click.Option(
    ["--write-docs", "is_written"], is_flag=True, help="Write tables and figures into docs/."
)


def _build_option(parameter: inspect.Parameter) -> click.Option:
    name, default = parameter.name, parameter.default
    flag = f"--{name.replace('_', '-')}"
    if isinstance(default, bool):
        return click.Option([flag, name], is_flag=True)
    if isinstance(default, tuple):
        kind = type(default[0]) if default else str
        return click.Option(
            [flag, name], multiple=True, type=kind, default=default, show_default=True
        )
    return click.Option([flag, name], type=type(default), default=default, show_default=True)
