"""Generate the demo property and its picture: `python -m samples.draw`."""

from __future__ import annotations

from pathlib import Path

from samples.buildings.alder_court import build_alder_court
from samples.buildings.birch_house import build_birch_house
from samples.output.bundle import drawing_name, make_bundle
from samples.output.contact_sheet import draw_sheet
from samples.output.files import write_files
from samples.output.svg import draw_building

DEMO = Path("samples/demo")
SHEET = Path("docs/pictures/alder-court.svg")


def make_files() -> dict[Path, bytes]:
    """Return file contents by path below the checkout; the same on every run."""
    main, other = build_alder_court(), build_birch_house()
    drawings = {
        DEMO / drawing_name(building): draw_building(building) for building in (main, other)
    }
    bundle = make_bundle(main, other).encode()
    return {DEMO / "bundle.json": bundle, **drawings, SHEET: draw_sheet(main)}


if __name__ == "__main__":
    write_files(make_files())
