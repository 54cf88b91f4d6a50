"""Rehearse a restore, and print what was compared: `python -m tests.drill`."""

import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.drill.drill import Outcome, run_drill


def main() -> int:
    """Run the drill. Exit status 1: some response is not what it was."""
    console = Console()
    with tempfile.TemporaryDirectory(prefix="floorgate-drill-") as folder:
        outcomes = run_drill(Path(folder), console.print)
    by_endpoint: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_endpoint[outcome.name.split()[0]].append(outcome)
    table = Table("Endpoint", "Requests", "Bytes", "Changed in between", "Empty", "Running")
    for endpoint, group in by_endpoint.items():
        table.add_row(
            endpoint,
            str(len(group)),
            f"{sum(len(outcome.before.body) for outcome in group):,}",
            str(sum(outcome.changed for outcome in group)),
            _describe(outcome.empty == outcome.before for outcome in group),
            _describe(outcome.running == outcome.before for outcome in group),
        )
    console.print(table)
    different = [outcome.name for outcome in outcomes if not outcome.is_equal]
    for name in different:
        console.print(f"DIFFERS: {name}", markup=False)
    return 1 if different else 0


def _describe(equal: Iterable[bool]) -> str:
    different = sum(not each for each in equal)
    return f"{different} DIFFER" if different else "equal"


if __name__ == "__main__":
    sys.exit(main())
