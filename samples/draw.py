"""`python -m samples.draw` writes the demo property and its picture anew."""

from __future__ import annotations

from pathlib import Path

from samples.buildings.alder_court import build_alder_court
from samples.buildings.birch_house import build_birch_house
from samples.output.bundle import drawing_name, make_bundle
from samples.output.contact_sheet import draw_sheet
from samples.output.svg import draw_building

CHECKOUT = Path(__file__).parent.parent
DEMO = Path("samples/demo")
SHEET = Path("docs/pictures/alder-court.svg")


def make_files() -> dict[Path, bytes]:
    """File contents by path below the checkout; the same on every run."""
    main, other = build_alder_court(), build_birch_house()
    drawings = {DEMO / drawing_name(each): draw_building(each) for each in (main, other)}
    bundle = make_bundle(main, other).encode()
    return {DEMO / "bundle.json": bundle, **drawings, SHEET: draw_sheet(main)}


def write_files(checkout: Path) -> None:
    for path, content in make_files().items():
        target = checkout / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


if __name__ == "__main__":
    write_files(CHECKOUT)
