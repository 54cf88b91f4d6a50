"""Plans as small as what is asked of them, and what is read of them."""

from collections.abc import Mapping

from parsing import plans
from resolvers.plans.locations import LocationCandidate
from resolvers.plans.translation import TranslatedPlan, translate_plan
from tests.parsing.geography import Sketchbook

FLOORS = {"f1": 10, "f2": 20}


def of_osm(book: Sketchbook) -> TranslatedPlan:
    return translate_plan(plans.read_plan({"plan.osm": book.osm()}), "m")


def of_svg(
    *levels: str, floors: Mapping[str, int] | None = None, feet_per_unit: float = 0.5
) -> TranslatedPlan:
    """Levels f1, f2, ... with these shapes."""
    body = "".join(
        f'<g data-type="Level" data-tags="floor=f{number}">{shapes}</g>'
        for number, shapes in enumerate(levels, 1)
    )
    svg = f'<svg viewBox="0 0 100 100">{body}</svg>'.encode()
    drawing = plans.read_plan({"plan.svg": svg}, feet_per_unit=feet_per_unit)
    return translate_plan(drawing, "m", FLOORS if floors is None else floors)


def rect(x: float, y: float, width: float, height: float, tags: str, more: str = "") -> str:
    size = f'x="{x}" y="{y}" width="{width}" height="{height}"'
    return f'<rect {size} data-tags="{tags}" {more}/>'


def place_of(reading: TranslatedPlan, name: str) -> LocationCandidate:
    return next(place for place in reading.candidates if place.name == name)


def described(reading: TranslatedPlan) -> list[str]:
    return [str(note) for note in reading.notes]
