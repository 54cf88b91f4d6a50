"""Simple Indoor Tagging in geographic coordinates -> a drawing in feet.

What `.osm` files and GeoJSON have in common: which features belong to an indoor plan, on which
levels they are, where they lie on the ground.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from parsing.drawing import (
    Area,
    Coordinate,
    Drawing,
    Feature,
    Level,
    Lines,
    Notebook,
    Tags,
    bounds_of,
    coordinates_of,
)
from parsing.errors import InvalidPlan
from parsing.ground import to_feet
from parsing.levels import Span, UnreadableLevel, expand, key_of, parse_levels
from parsing.surroundings import Sketch, surroundings

INDOOR_KEYS: Final = frozenset(
    {"indoor", "level", "repeat_on", "room", "stairs", "elevator", "door", "entrance"}
)
DOORS: Final = frozenset({"door", "entrance"})
AREAS: Final = frozenset({"room", "corridor", "area", "level"})
# What a feature that is not indoors is called in the report: its first of these keys.
MAIN_KEYS: Final = (
    "building", "building:part", "highway", "railway", "public_transport", "amenity", "shop",
    "leisure", "landuse", "natural", "barrier", "office", "tourism", "type",
)  # fmt: skip


GROUND: Final = Span(0, 0)


class _Placed(NamedTuple):
    sketch: Sketch
    spans: tuple[Span, ...]


def draw(sketches: Iterable[Sketch], notebook: Notebook, name: str = "") -> Drawing:
    """The indoor part of what a file holds. Raises `InvalidPlan` where it has none."""
    everything = list(sketches)
    absent = {level for sketch in everything for level in _absent_levels(sketch.tags)}
    indoors = [sketch for sketch in everything if _is_indoors(sketch.tags)]
    shaped = [found for sketch in indoors if (found := _shaped(sketch, notebook))]
    placed = _placed(shaped, notebook)
    placed += _placed_around(placed, [s for s in everything if not _is_indoors(s.tags)], notebook)
    known = {end for _, spans in placed for span in spans for end in span}
    floors = [
        (sketch, levels)
        for sketch, spans in placed
        if (levels := expand(spans, known - absent, absent))
    ]
    if not floors:
        instead = "; ".join(map(str, notebook.notes())) or "nothing"
        raise InvalidPlan(
            "no feature has both an indoor tag and a level; a room is a closed way with "
            f"indoor=room and level=0. Found instead: {instead}"
        )
    flat = to_feet([sketch.geometry for sketch, _ in floors], [s.id for s, _ in floors])
    features = tuple(
        Feature(sketch.id, tuple(map(key_of, levels)), geometry, sketch.tags)
        for (sketch, levels), geometry in sorted(
            zip(floors, flat, strict=True), key=lambda pair: pair[0][0].id
        )
    )
    ordinals = sorted({level for _, levels in floors for level in levels})
    names = _level_names(features)
    storeys = tuple(Level(key_of(n), names.get(key_of(n), ""), n) for n in ordinals)
    return Drawing(storeys, features, 1.0, bounds_of(flat), notebook.notes(), "osm:id", name)


def _is_indoors(tags: Tags) -> bool:
    return tags.get("indoor") != "no" and not INDOOR_KEYS.isdisjoint(tags)


def _placed_around(
    placed: Iterable[_Placed], outdoors: Sequence[Sketch], notebook: Notebook
) -> list[_Placed]:
    """What is not indoors: grounds and buildings on the ground level, the rest only noted."""
    ground = [sketch for sketch, spans in placed if GROUND in spans and "indoor" in sketch.tags]
    around = surroundings(outdoors, ground)
    known = {sketch.id for sketch in around}
    for sketch in outdoors:
        if sketch.id not in known:
            key = next((key for key in MAIN_KEYS if key in sketch.tags), "other tags")
            notebook.add(f"not indoors: {key}")
    return [_Placed(sketch, (GROUND,)) for sketch in around]


def _shaped(sketch: Sketch, notebook: Notebook) -> Sketch | None:
    """With the geometry that the tags ask for: closed walls are lines, open rooms get closed."""
    tags, geometry = sketch.tags, sketch.geometry
    if not any(True for _ in coordinates_of(geometry)):
        notebook.add("without geometry", sketch.id)
        return None
    if isinstance(geometry, Area) and _is_linear(tags):
        closed = tuple((*ring, ring[0]) for ring in geometry.rings)
        return sketch._replace(geometry=Lines(closed))
    if isinstance(geometry, Lines) and tags.get("indoor") in AREAS and "highway" not in tags:
        if any(len(set(line)) < 3 for line in geometry.lines):
            notebook.add(f"indoor={tags['indoor']} with an outline of two points", sketch.id)
            return sketch
        notebook.add("outline not closed, closed by a straight line", sketch.id)
        return sketch._replace(geometry=Area(geometry.lines))
    return sketch


def _is_linear(tags: Tags) -> bool:
    if tags.get("area") == "yes" or tags.get("indoor") in AREAS:
        return False
    linear_highway = tags.get("highway", "elevator") != "elevator"
    return tags.get("indoor") == "wall" or linear_highway or not DOORS.isdisjoint(tags)


def _placed(sketches: Iterable[Sketch], notebook: Notebook) -> list[_Placed]:
    """With the levels that each one names, or for doors, those of the outlines they are on."""
    placed: list[_Placed] = []
    floating: list[Sketch] = []
    for sketch in sketches:
        try:
            spans = _spans(sketch.tags)
        except UnreadableLevel as error:
            notebook.add(f"not read, {error}", sketch.id)
            continue
        if spans:
            placed.append(_Placed(sketch, spans))
        else:
            floating.append(sketch)
    return placed + _attached(floating, _spans_at(placed), notebook)


def _attached(
    floating: Iterable[Sketch],
    spans_at: Mapping[Coordinate, list[Span]],
    notebook: Notebook,
) -> list[_Placed]:
    attached = []
    for sketch in floating:
        found = [span for at in coordinates_of(sketch.geometry) for span in spans_at.get(at, ())]
        if found and not DOORS.isdisjoint(sketch.tags):
            attached.append(_Placed(sketch, tuple(dict.fromkeys(found))))
        elif "indoor" in sketch.tags:
            notebook.add("no level, taken to be on level 0", sketch.id)
            attached.append(_Placed(sketch, (GROUND,)))
        else:
            notebook.add(f"not read, no level: {_described(sketch.tags)}", sketch.id)
    return attached


def _spans_at(placed: Iterable[_Placed]) -> dict[Coordinate, list[Span]]:
    spans_at: defaultdict[Coordinate, list[Span]] = defaultdict(list)
    for sketch, spans in placed:
        if "indoor" in sketch.tags:
            for at in coordinates_of(sketch.geometry):
                spans_at[at].extend(spans)
    return spans_at


def _spans(tags: Tags) -> tuple[Span, ...]:
    """What `level` and `repeat_on` say, else what `min_level` and `max_level` span."""
    texts = [tags[key] for key in ("level", "repeat_on") if tags.get(key)]
    if not texts and "min_level" in tags and "max_level" in tags:
        texts = [f"{tags['min_level']}-{tags['max_level']}"]
    return tuple(span for text in texts for span in parse_levels(text))


def _absent_levels(tags: Tags) -> tuple[float, ...]:
    """The levels that a building leaves out, as many leave out the thirteenth."""
    try:
        return expand(parse_levels(tags.get("non_existent_levels", "")))
    except UnreadableLevel:
        return ()


def _level_names(features: Iterable[Feature]) -> dict[str, str]:
    return {
        feature.levels[0]: feature.tags["name"]
        for feature in features
        if feature.tags.get("indoor") == "level"
        and len(feature.levels) == 1
        and "name" in feature.tags
    }


def _described(tags: Tags) -> str:
    key = next(key for key in ("indoor", *MAIN_KEYS, *sorted(INDOOR_KEYS), *tags) if key in tags)
    return f"{key}={tags[key]}"
