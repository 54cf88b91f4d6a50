"""Measure the areas within reach on large plans: `python -m bench.isochrones`."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import click
import numpy as np
import shapely
from rich.console import Console
from rich.table import Table as Sheet

from bench.data.large_plans import build_comb, build_hall
from bench.data.office_plan import build_office
from routing.plan import Plan
from routing.processing import process_plan
from routing.search.router import Router

SEED = 7
MINUTES = (0.5, 1.0, 2.0, 4.0)
PLANS: dict[str, Callable[[], Plan]] = {
    "six floors, 504 rooms": lambda: build_office(6, 84),
    "two floors, 800 rooms on long corridors": lambda: build_comb(400, 2),
    "a hall, 100 round pillars": lambda: build_hall(10),
    "a hall, 225 round pillars": lambda: build_hall(15),
}


def measure(router: Router, source: str, minutes: float) -> tuple[list[float], int]:
    """Return the CPU milliseconds of each floor's area, and the points of all of them."""
    isochrone, taken, points = router.isochrone(source, 60 * minutes), [], 0
    for level_id in isochrone.level_ids:
        start = time.thread_time()
        area = isochrone.area(level_id)
        taken.append((time.thread_time() - start) * 1000)
        points += int(shapely.get_num_coordinates(area))
    return taken, points


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=20, show_default=True)
def main(rounds: int) -> None:
    """Measure areas from random locations."""
    sheet = Sheet("plan", "minutes", "ms a floor: median / most", "ms in all: median", "points")
    for name, build in PLANS.items():
        processed, generator = process_plan(build()), random.Random(SEED)
        ids = [location.id for location in processed.plan.locations]
        for minutes in MINUTES:
            measured = [
                measure(processed.router, generator.choice(ids), minutes) for _ in range(rounds)
            ]
            floors = np.concatenate([taken for taken, _ in measured])
            whole = np.median([sum(taken) for taken, _ in measured])
            points = np.median([count for _, count in measured])
            each = f"{np.median(floors):.0f} / {floors.max():.0f}"
            sheet.add_row(name, f"{minutes:g}", each, f"{whole:.0f}", f"{points:.0f}")
    Console(width=120).print(sheet)


if __name__ == "__main__":
    main()
