"""Generate the demo property, templates of drawings, and pictures: `python -m samples.draw`."""

from __future__ import annotations

from pathlib import Path

from samples.buildings.alder_court import build_alder_court
from samples.buildings.birch_house import build_birch_house
from samples.output.bundle import drawing_name, make_bundle
from samples.output.contact_sheet import draw_sheet
from samples.output.files import write_files
from samples.output.svg import draw_building
from samples.templates.bundle import make_template_bundle, make_template_table
from samples.templates.elm_place import build_levels
from samples.templates.figma import draw_figma
from samples.templates.illustrator import draw_illustrator
from samples.templates.panel import draw_panel

DEMO = Path("samples/demo")
DRAWINGS = Path("samples/drawings")
PANELS = Path("docs/drawing/pictures")
SHEET = Path("docs/pictures/alder-court.svg")


def make_files() -> dict[Path, bytes]:
    """Return file contents by path below the checkout; the same on every run."""
    main, other = build_alder_court(), build_birch_house()
    drawings = {
        DEMO / drawing_name(building): draw_building(building) for building in (main, other)
    }
    bundle = make_bundle(main, other).encode()
    return {
        DEMO / "bundle.json": bundle,
        **drawings,
        SHEET: draw_sheet(main),
        **make_templates(),
    }


def make_templates() -> dict[Path, bytes]:
    """Return the templates but those that a program has saved, and pictures of two programs."""
    levels = build_levels()
    return {
        DRAWINGS / "illustrator.svg": draw_illustrator(levels),
        DRAWINGS / "figma.svg": draw_figma(levels),
        DRAWINGS / "elm-place.csv": make_template_table(levels).encode(),
        DRAWINGS / "elm-place.json": make_template_bundle(levels).encode(),
        PANELS / "illustrator-layers.svg": draw_panel(levels),
        PANELS / "figma-layers.svg": draw_panel(levels, "Elm Place (frame)"),
    }


if __name__ == "__main__":
    write_files(make_files())
