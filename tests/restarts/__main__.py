"""`make restarts`: restart gateways under load, and fail if a client notices."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from rich.console import Console

from bench.load.machine import load_average
from bench.report import ROOT, ReportTable, rewrite_section
from tests.restarts.restarts import BALANCERS, Outcome, find_balancers, measure_all

PAGE = ROOT / "docs" / "reliability.md"


def build_table(outcomes: Sequence[Outcome]) -> ReportTable:
    """Return what clients saw of each kind of restart."""
    return ReportTable(
        "Restarts",
        ("restarts", "number", "seconds", "requests", "200 or 204", "other", "longest answer, s"),
        [
            (
                outcome.title,
                str(outcome.restarts),
                f"{outcome.seconds:.0f}",
                f"{outcome.answers.count:,}",
                f"{outcome.answers.count - outcome.answers.failures.total():,}",
                f"{outcome.answers.failures.total():,}",
                f"{outcome.answers.longest:.2f}",
            )
            for outcome in outcomes
        ],
    )


@click.command()
@click.option("--rate", type=click.FloatRange(1), default=200.0, show_default=True)
@click.option("--restarts", type=click.IntRange(1), default=10, show_default=True)
@click.option("--write-docs", is_flag=True, help="Write the table into docs/reliability.md.")
def main(rate: float, restarts: int, write_docs: bool) -> None:
    """Restart gateways under load; fail if a request is not answered 200 or 204, or if HAProxy,
    nginx or Caddy is not installed."""
    console = Console()
    outcomes: list[Outcome] = []
    with TemporaryDirectory(prefix="floorgate-restarts-") as scratch:
        for outcome in measure_all(Path(scratch), rate, restarts):
            outcomes.append(outcome)
            failures = dict(outcome.answers.failures) or "no failure"
            line = f"{outcome.title}: {failures} (load {load_average():.1f})"
            console.print(line, highlight=False)
    missing = [each.program for each in BALANCERS if each not in find_balancers()]
    for program in missing:
        console.print(f"{program} is not installed (Debian: apt-get install {program}): left out.")
    table = build_table(outcomes)
    console.print(table.to_rich_table())
    if write_docs:
        rewrite_section(PAGE, "restarts", table.to_markdown())
        run = f"{datetime.now(UTC):%Y-%m-%d}, {rate:g} requests per second."
        rewrite_section(PAGE, "restart-run", run)
    # What was not tried has not passed.
    sys.exit(any(outcome.answers.failures for outcome in outcomes) or bool(missing))


if __name__ == "__main__":
    main()
