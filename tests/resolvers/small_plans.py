"""Small plans, drawn as SVG or OSM and translated, and what a test reads from them."""

from collections.abc import Mapping

from parsing import plans
from resolvers.plans.translation import LocationCandidate, TranslatedPlan, translate_plan
from storage.catalog import UNIT_ID_TAG, Location, LocationFloor, LocationTag
from tests.parsing.geography import OsmPlanBuilder

FLOORS = {"f1": 10, "f2": 20}


def translate_osm(builder: OsmPlanBuilder) -> TranslatedPlan:
    return translate_plan(plans.read_plan({"plan.osm": builder.to_osm()}), "m")


def translate_svg(
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


def candidate_named(translated: TranslatedPlan, name: str) -> LocationCandidate:
    return next(place for place in translated.candidates if place.name == name)


def notes_of(translated: TranslatedPlan) -> list[str]:
    return [str(note) for note in translated.notes]


def existing(
    id: str,
    x: float = 0,
    y: float = 0,
    unit_id: str | None = None,
    floor_id: str | None = "f1",
) -> Location:
    """Return a location that the map of a plan has before it is processed."""
    floors = [LocationFloor(id=floor_id)] if floor_id else []
    tags = [LocationTag(key=UNIT_ID_TAG, value=unit_id)] if unit_id else []
    return Location(
        id=id, asset_id="a", unit_map_id="m", name=id, x=x, y=y, floors=floors, tags=tags
    )
