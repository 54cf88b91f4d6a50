"""Progress bars of long commands, on standard error if that is a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bar

from storage.bundles.importing.import_bundles import ImportProgress, ImportProgressCallback


@contextmanager
def show_progress() -> Iterator[ImportProgressCallback]:
    """Yield what reports progress: a bar for each phase."""
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
                tasks[progress.phase] = bar.add_task(progress.phase, total=progress.total)
            bar.update(tasks[progress.phase], completed=progress.done, total=progress.total)

        yield report
