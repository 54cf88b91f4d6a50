"""Plans as small as what is asked of them, and what is read of them."""

from collections.abc import Mapping

from parsing import plans
from resolvers.plan_places import Place
from resolvers.plans import PlanReading, plan_of
from tests.parsing.geography import Sketchbook

FLOORS = {"f1": 10, "f2": 20}


def of_osm(book: Sketchbook) -> PlanReading:
    return plan_of(plans.read({"plan.osm": book.osm()}), "m")


def of_svg(
    *levels: str, floors: Mapping[str, int] | None = None, feet_per_unit: float = 0.5
) -> PlanReading:
    """Levels f1, f2, ... with these shapes."""
    body = "".join(
        f'<g data-type="Level" data-tags="floor=f{number}">{shapes}</g>'
        for number, shapes in enumerate(levels, 1)
    )
    svg = f'<svg viewBox="0 0 100 100">{body}</svg>'.encode()
    drawing = plans.read({"plan.svg": svg}, feet_per_unit=feet_per_unit)
    return plan_of(drawing, "m", FLOORS if floors is None else floors)


def rect(x: float, y: float, width: float, height: float, tags: str, more: str = "") -> str:
    size = f'x="{x}" y="{y}" width="{width}" height="{height}"'
    return f'<rect {size} data-tags="{tags}" {more}/>'


def place_of(reading: PlanReading, name: str) -> Place:
    return next(place for place in reading.places if place.name == name)


def described(reading: PlanReading) -> list[str]:
    return [str(note) for note in reading.notes]
