"""Tables on standard output, for people and for pipes, and progress and notes on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.progress import TaskID

    from storage.importing.import_bundles import ImportProgress, ImportProgressCallback

PIPE_COLUMNS = 100_000


def print_table(
    titles: Sequence[str], rows: Iterable[Iterable[str | None]], whole: int = 1
) -> None:
    """Print a table: within the width of a terminal, and in a pipe as wide as it is.

    Its first `whole` columns are never cut or folded, so that ids in them can be copied from the
    narrowest terminal.
    """
    from rich.console import Console
    from rich.table import Column, Table

    table = Table(
        *(Column(title, no_wrap=True) for title in titles[:whole]),
        *(Column(title, overflow="fold") for title in titles[whole:]),
    )
    for row in rows:
        table.add_row(*row)
    console = Console(markup=False, emoji=False)  # names may hold [brackets] and :colons:
    if not console.is_terminal:
        console.width = PIPE_COLUMNS
    needed = len(table.columns) + 1  # the lines between columns
    for column in table.columns:
        if column.no_wrap:
            cells = [column.header, *column.cells]
            column.min_width = max(console.measure(cell).maximum for cell in cells)
            needed += column.min_width + 2
    console.width = max(console.width, needed)  # a narrower terminal wraps the lines itself
    console.print(table)


def print_notes(notes: Iterable[str]) -> None:
    for note in notes:
        click.echo(f"Note: {note}", err=True)


def count_of(number: int, noun: str) -> str:
    """Return a number of things.

    >>> count_of(1, "floor"), count_of(1200, "unit")
    ('1 floor', '1,200 units')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


@contextmanager
def show_progress() -> Iterator[ImportProgressCallback]:
    """Yield what reports progress: a bar for each phase."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    with Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    ) as bar:
        tasks: dict[str, TaskID] = {}

        def report(progress: ImportProgress) -> None:
            if progress.phase not in tasks:
                for task in tasks.values():  # of reading, the total may not have been known
                    done = max(1, bar.tasks[task].completed)
                    bar.update(task, completed=done, total=done)
                tasks[progress.phase] = bar.add_task(progress.phase, total=progress.total)
            bar.update(tasks[progress.phase], completed=progress.done, total=progress.total)

        yield report
