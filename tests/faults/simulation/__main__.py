"""`make simulate`: play plans of one seed after another, and shrink those that fail."""

import itertools
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from bench.report import rewrite_section
from bench.soak import ProcessSample, find_growth
from tests.faults.__main__ import PAGE
from tests.faults.checking.verdict import Verdict
from tests.faults.simulation.plan import draw
from tests.faults.simulation.play import Bounds, open_site
from tests.faults.simulation.running import try_seed, try_seeds

COUNTED = (
    *("seeds", "acts", "faults met", "restarts", "requests", "acknowledged", "unknown", "503"),
    *("lost", "doubled", "stale", "not linearizable"),
)
MIN_SAMPLES = 80
"""The memory of a worker is judged from so many on: caches fill in the first ones."""
MEMORY = Path("/dev/shm")
"""Where MongoDB's data is, if there is such a place: it waits for disks."""


def draw_seeds(first: int, seconds: float) -> Iterator[int]:
    """Count seeds up until the time is over."""
    end = time.monotonic() + seconds
    yield from itertools.takewhile(lambda _: time.monotonic() < end, itertools.count(first))


@click.command()
@click.option("--seed", type=int, default=1, show_default=True, help="The first seed.")
@click.option("--seconds", type=float, default=600.0, show_default=True)
@click.option(
    "--only", help="Play these events of the seed, with logs: numbers with commas, or `all`."
)
@click.option("--workers", type=click.IntRange(1), default=4, show_default=True)
@click.option("--shrink-seconds", type=float, default=300.0, show_default=True)
@click.option("--write-docs", is_flag=True, help="Write the figures into docs/reliability.md.")
def main(
    seed: int,
    seconds: float,
    only: str | None,
    workers: int,
    shrink_seconds: float,
    write_docs: bool,
) -> None:
    """Play random plans of clients and faults; fail if one breaks a promise."""
    total, began = Verdict(), time.monotonic()
    samples = defaultdict[int, list[ProcessSample]](list)
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as directory:
        if only is not None:
            with open_site(Path(directory)) as site:
                everything = range(len(draw(seed)))
                numbers = everything if only == "all" else [int(n) for n in only.split(",")]
                outcomes = iter([try_seed(site, seed, numbers, Bounds(), 0.0)])
        else:
            outcomes = try_seeds(draw_seeds(seed, seconds), workers, directory, shrink_seconds)
        for outcome in outcomes:
            total.add(outcome.verdict)
            if outcome.process:
                samples[outcome.process[0]].append(outcome.process[1])
            if outcome.verdict.violations:
                click.echo("\n".join(outcome.describe()))
    minutes = (time.monotonic() - began) / 60
    counts = {name: f"{total.counts[name]:,}" for name in COUNTED}
    line = f"{minutes:.0f} minutes: {', '.join(f'{n} {name}' for name, n in counts.items())}."
    longest = total.maxima.get("unwritable", 0.0)
    line += f" No record was unwritable for longer than {longest:.1f} s."
    if samples:
        rss_mb = max(each.rss_mb for worker in samples.values() for each in worker)
        descriptors = max(each.descriptors for worker in samples.values() for each in worker)
        line += f" A worker, with its clients, had at most {rss_mb:.0f} MB and {descriptors}"
        line += " descriptors open between plans."
    click.echo(line)
    enough = [each for each in samples.values() if len(each) >= MIN_SAMPLES]
    growth = [text for each in enough for text in find_growth("a worker", each)]
    click.echo("\n".join(growth))
    if write_docs:
        rewrite_section(PAGE, "simulation", f"{datetime.now(UTC):%Y-%m-%d}, {line}")
    sys.exit(bool(total.violations or growth))


if __name__ == "__main__":
    main()
