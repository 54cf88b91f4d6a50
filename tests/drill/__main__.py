"""Rehearse a restore, and print what was compared: `python -m tests.drill`."""

import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console

from bench.report import ROOT, ReportTable, rewrite_section
from tests.drill.drill import Outcome, run_drill
from tests.endpoints import ENDPOINTS

PAGE = ROOT / "docs" / "reliability.md"
_TITLES = {row.number: f"`{row.method} {row.path}`" for row in ENDPOINTS}


def build_table(outcomes: Sequence[Outcome]) -> ReportTable:
    """Return what was compared of each endpoint."""
    by_endpoint: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_endpoint[outcome.name.split()[0]].append(outcome)
    return ReportTable(
        "Responses before and after the restore",
        ("endpoint", "requests", "bytes", "changed in between", "restored empty", "while running"),
        [
            (
                _TITLES.get(endpoint, "`POST /graphql`"),
                str(len(group)),
                f"{sum(len(outcome.before.body) for outcome in group):,}",
                str(sum(outcome.changed for outcome in group)),
                _describe(outcome.empty == outcome.before for outcome in group),
                _describe(outcome.running == outcome.before for outcome in group),
            )
            for endpoint, group in by_endpoint.items()
        ],
    )


def _describe(equal: Iterable[bool]) -> str:
    different = sum(not each for each in equal)
    return f"{different} DIFFER" if different else "equal"


def summarise(outcomes: Sequence[Outcome]) -> str:
    """Return what was compared of all endpoints."""
    endpoints = {outcome.name.split()[0] for outcome in outcomes}
    size = sum(len(outcome.before.body) for outcome in outcomes)
    changed = sum(outcome.changed for outcome in outcomes)
    different = sum(not outcome.is_equal for outcome in outcomes)
    return (
        f"{len(outcomes)} requests to {len(endpoints)} endpoints, {size:,} bytes."
        f" {changed} responses were others in between, {different} after a restore."
    )


@click.command()
@click.option("--write-docs", is_flag=True, help="Write a summary into docs/reliability.md.")
def main(write_docs: bool) -> None:
    """Save a service and restore it; fail if a response is not what it was."""
    console = Console()
    with tempfile.TemporaryDirectory(prefix="floorgate-drill-") as folder:
        outcomes = run_drill(Path(folder), console.print)
    table = build_table(outcomes)
    console.print(table.to_rich_table())
    if write_docs:
        rewrite_section(PAGE, "drill", f"{datetime.now(UTC):%Y-%m-%d}: {summarise(outcomes)}")
    different = [outcome.name for outcome in outcomes if not outcome.is_equal]
    for name in different:
        console.print(f"DIFFERS: {name}", markup=False)
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
