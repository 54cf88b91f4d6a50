"""Check random buildings until the time is over: `python -m tests.routing.fuzz --minutes 10`."""

import itertools
import time
import traceback

import click
from rich.progress import track

from tests.routing.fuzz.buildings import build
from tests.routing.fuzz.checks import check_building


@click.command()
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), default=1.0)
@click.option("--first", type=int, default=0, show_default=True, help="First seed.")
def main(minutes: float, first: int) -> None:
    """Check one building after another; print the seeds of those that fail."""
    end = time.monotonic() + 60 * minutes
    seeds = itertools.takewhile(lambda _: time.monotonic() < end, itertools.count(first))
    count, failed = 0, []
    for seed in track(seeds, "Buildings", total=None):
        count += 1
        try:
            check_building(build(seed), seed)
        except Exception:
            failed.append(seed)
            click.echo(f"seed {seed}\n{traceback.format_exc()}")
    click.echo(f"{count} buildings from seed {first} on; failed: {failed or 'none'}")
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
