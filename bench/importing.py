"""Measure the cost of importing: `python -m bench.importing --units 1000000`.

Writes a bundle, imports it into an empty embedded MongoDB and a second time unchanged, exports it,
and prints a line of JSON per step: seconds in total and by phase, CPU seconds and peak memory of
this process, and the load average, which shows how far the seconds can be trusted.
"""

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import orjson

from storage.bundles.exporting import export_bundle
from storage.bundles.importing.import_bundles import ImportProgress, import_bundles
from storage.embedded.embedded_mongo import run_embedded_mongo
from storage.mongo import driver
from storage.mongo.connection import DriverName

TIMEOUT_SECONDS = 60


class Measurement:
    """Seconds by phase, CPU seconds and peak memory since it was created."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.cpu_began = time.process_time()
        self.ends: dict[str, float] = {}

    def record_progress(self, progress: ImportProgress) -> None:
        """Record the time of a phase's latest progress."""
        self.ends[progress.phase] = time.monotonic()

    def to_json(self, name: str, **more: Any) -> str:
        """Return the measurement as JSON."""
        starts = [self.began, *self.ends.values()]
        phases = {
            phase: round(end - start, 1)
            for (phase, end), start in zip(self.ends.items(), starts, strict=False)
        }
        peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        measured = {
            "name": name,
            "seconds": round(time.monotonic() - self.began, 1),
            "phase_seconds": phases,
            "cpu_seconds": round(time.process_time() - self.cpu_began, 1),
            "peak_mb": round(peak_kb / 1024),
            "load": round(os.getloadavg()[0], 1),
            **more,
        }
        return orjson.dumps(measured).decode()


async def measure_import(url: str, driver_name: DriverName, bundle: Path) -> None:
    """Import twice, export once, and print each measurement."""
    client = driver.connect(url, driver_name, TIMEOUT_SECONDS)
    database = client["bench"]
    for name in ("import", "import again"):
        measurement = Measurement()
        summary = await import_bundles(database, [bundle], progress=measurement.record_progress)
        click.echo(measurement.to_json(name, total=str(summary.total)))
    measurement = Measurement()
    size = 0
    async for part in export_bundle(database):
        size += len(part)
    click.echo(measurement.to_json("export", bytes=size))
    await driver.close(client)


@click.command()
@click.option("--units", type=click.IntRange(0), default=100_000, show_default=True)
@click.option("--form", type=click.Choice(["lines", "arrays"]), default="lines", show_default=True)
@click.option(
    "--driver",
    "driver_name",
    type=click.Choice(["motor", "pymongo"]),
    default="motor",
    show_default=True,
)
def main(units: int, form: str, driver_name: DriverName) -> None:
    """Measure an import."""
    with tempfile.TemporaryDirectory() as directory:
        bundle = Path(directory) / "bundle"
        with bundle.open("wb") as file:
            subprocess.run(
                [sys.executable, "-m", "bench.bundle", f"--units={units}", f"--form={form}"],
                stdout=file,
                check=True,
            )
        with run_embedded_mongo(Path(directory)) as url:
            asyncio.run(measure_import(url, driver_name, bundle))


if __name__ == "__main__":
    main()
