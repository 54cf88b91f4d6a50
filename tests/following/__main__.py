"""`python -m tests.following`: kill primaries and workers many times while clients follow."""

import asyncio
import itertools
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.following.failover import follow_through, run_service


@click.command()
@click.option("--kills", type=click.IntRange(1), default=20, show_default=True)
def main(kills: int) -> None:
    """Kill the primary and the workers in turn; fail if a follower misses an acknowledged write."""
    with (
        TemporaryDirectory(prefix="floorgate-following-") as folder,
        run_service(Path(folder)) as service,
    ):
        began = time.monotonic()
        turns = itertools.cycle([service.kill_primary, service.kill_workers])
        acknowledged, followers = asyncio.run(
            follow_through(service, [*itertools.islice(turns, kills)])
        )
        seconds = time.monotonic() - began
    click.echo(f"{kills} kills, {len(acknowledged)} acknowledged writes, {seconds:.0f} s")
    has_problems = False
    for follower in followers:
        problems = follower.find_problems(acknowledged)
        has_problems |= bool(problems)
        name, received = type(follower).__name__, len(follower.received)
        summary = ", ".join(problems) or "none lost"
        click.echo(f"{name}: {received} changes over {follower.connections} connections, {summary}")
    sys.exit(has_problems)


if __name__ == "__main__":
    main()
