"""Simple Indoor Tagging in geographic coordinates -> a drawing in feet.

What `.osm` files and GeoJSON have in common: which features belong to an indoor plan, on which
levels they are, where they lie on the ground.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from parsing.drawing import (
    AREA_VALUES,
    AreaGeometry,
    Coordinate,
    Drawing,
    DrawnLevel,
    Feature,
    LinesGeometry,
    NoteCollector,
    Tags,
    compute_bounds,
    iter_coordinates,
)
from parsing.errors import InvalidPlanError
from parsing.geo.ground import project_to_feet
from parsing.osm.levels import (
    LevelSpan,
    UnreadableLevelError,
    expand_spans,
    format_level,
    parse_levels,
)
from parsing.osm.surroundings import GeoFeature, find_surroundings

INDOOR_KEYS: Final = frozenset(
    {"indoor", "level", "repeat_on", "room", "stairs", "elevator", "door", "entrance"}
)
DOOR_KEYS: Final = frozenset({"door", "entrance"})
# What a feature that is not indoors is called in the report: its first of these keys.
MAIN_KEYS: Final = (
    "building", "building:part", "highway", "railway", "public_transport", "amenity", "shop",
    "leisure", "landuse", "natural", "barrier", "office", "tourism", "type",
)  # fmt: skip


GROUND_LEVEL: Final = LevelSpan(0, 0)


class _PlacedFeature(NamedTuple):
    feature: GeoFeature
    spans: tuple[LevelSpan, ...]


def build_drawing(
    sketches: Iterable[GeoFeature], notebook: NoteCollector, name: str = ""
) -> Drawing:
    """The indoor part of what a file holds. Raises `InvalidPlan` where it has none."""
    everything = list(sketches)
    absent = {level for sketch in everything for level in _absent_levels(sketch.tags)}
    indoors = [sketch for sketch in everything if _is_indoors(sketch.tags)]
    shaped = [found for sketch in indoors if (found := _fix_geometry(sketch, notebook))]
    placed = _place_on_levels(shaped, notebook)
    placed += _place_surroundings(
        placed, [s for s in everything if not _is_indoors(s.tags)], notebook
    )
    known = {end for _, spans in placed for span in spans for end in span}
    floors = [
        (sketch, levels)
        for sketch, spans in placed
        if (levels := expand_spans(spans, known - absent, absent))
    ]
    if not floors:
        instead = "; ".join(map(str, notebook.notes())) or "nothing"
        raise InvalidPlanError(
            "no feature has both an indoor tag and a level; a room is a closed way with "
            f"indoor=room and level=0. Found instead: {instead}"
        )
    flat = project_to_feet([sketch.geometry for sketch, _ in floors], [s.id for s, _ in floors])
    features = tuple(
        Feature(sketch.id, tuple(map(format_level, levels)), geometry, sketch.tags)
        for (sketch, levels), geometry in sorted(
            zip(floors, flat, strict=True), key=lambda pair: pair[0][0].id
        )
    )
    ordinals = sorted({level for _, levels in floors for level in levels})
    names = _level_names(features)
    storeys = tuple(
        DrawnLevel(format_level(n), names.get(format_level(n), ""), n) for n in ordinals
    )
    return Drawing(storeys, features, 1.0, compute_bounds(flat), notebook.notes(), "osm:id", name)


def _is_indoors(tags: Tags) -> bool:
    return tags.get("indoor") != "no" and not INDOOR_KEYS.isdisjoint(tags)


def _place_surroundings(
    placed: Iterable[_PlacedFeature], outdoors: Sequence[GeoFeature], notebook: NoteCollector
) -> list[_PlacedFeature]:
    """What is not indoors: grounds and buildings on the ground level, the rest only noted."""
    ground = [
        sketch for sketch, spans in placed if GROUND_LEVEL in spans and "indoor" in sketch.tags
    ]
    around = find_surroundings(outdoors, ground)
    known = {sketch.id for sketch in around}
    for sketch in outdoors:
        if sketch.id not in known:
            key = next((key for key in MAIN_KEYS if key in sketch.tags), "other tags")
            notebook.add(f"not indoors: {key}")
    return [_PlacedFeature(sketch, (GROUND_LEVEL,)) for sketch in around]


def _fix_geometry(sketch: GeoFeature, notebook: NoteCollector) -> GeoFeature | None:
    """With the geometry that the tags ask for: closed walls are lines, open rooms get closed."""
    tags, geometry = sketch.tags, sketch.geometry
    if not any(True for _ in iter_coordinates(geometry)):
        notebook.add("without geometry", sketch.id)
        return None
    if isinstance(geometry, AreaGeometry) and _is_linear(tags):
        closed = tuple((*ring, ring[0]) for ring in geometry.rings)
        return sketch._replace(geometry=LinesGeometry(closed))
    if (
        isinstance(geometry, LinesGeometry)
        and tags.get("indoor") in AREA_VALUES
        and "highway" not in tags
    ):
        if any(len(set(line)) < 3 for line in geometry.lines):
            notebook.add(f"indoor={tags['indoor']} with an outline of two points", sketch.id)
            return sketch
        notebook.add("outline not closed, closed by a straight line", sketch.id)
        return sketch._replace(geometry=AreaGeometry(geometry.lines))
    return sketch


def _is_linear(tags: Tags) -> bool:
    if tags.get("area") == "yes" or tags.get("indoor") in AREA_VALUES:
        return False
    linear_highway = tags.get("highway", "elevator") != "elevator"
    return tags.get("indoor") == "wall" or linear_highway or not DOOR_KEYS.isdisjoint(tags)


def _place_on_levels(
    sketches: Iterable[GeoFeature], notebook: NoteCollector
) -> list[_PlacedFeature]:
    """With the levels that each one names, or for doors, those of the outlines they are on."""
    placed: list[_PlacedFeature] = []
    floating: list[GeoFeature] = []
    for sketch in sketches:
        try:
            spans = _parse_spans(sketch.tags)
        except UnreadableLevelError as error:
            notebook.add(f"not read, {error}", sketch.id)
            continue
        if spans:
            placed.append(_PlacedFeature(sketch, spans))
        else:
            floating.append(sketch)
    return placed + _place_without_level(floating, _index_spans(placed), notebook)


def _place_without_level(
    floating: Iterable[GeoFeature],
    spans_at: Mapping[Coordinate, list[LevelSpan]],
    notebook: NoteCollector,
) -> list[_PlacedFeature]:
    attached = []
    for sketch in floating:
        found = [span for at in iter_coordinates(sketch.geometry) for span in spans_at.get(at, ())]
        if found and not DOOR_KEYS.isdisjoint(sketch.tags):
            attached.append(_PlacedFeature(sketch, tuple(dict.fromkeys(found))))
        elif "indoor" in sketch.tags:
            notebook.add("no level, taken to be on level 0", sketch.id)
            attached.append(_PlacedFeature(sketch, (GROUND_LEVEL,)))
        else:
            notebook.add(f"not read, no level: {_describe_tags(sketch.tags)}", sketch.id)
    return attached


def _index_spans(placed: Iterable[_PlacedFeature]) -> dict[Coordinate, list[LevelSpan]]:
    spans_at: defaultdict[Coordinate, list[LevelSpan]] = defaultdict(list)
    for sketch, spans in placed:
        if "indoor" in sketch.tags:
            for at in iter_coordinates(sketch.geometry):
                spans_at[at].extend(spans)
    return spans_at


def _parse_spans(tags: Tags) -> tuple[LevelSpan, ...]:
    """What `level` and `repeat_on` say, else what `min_level` and `max_level` span."""
    texts = [tags[key] for key in ("level", "repeat_on") if tags.get(key)]
    if not texts and "min_level" in tags and "max_level" in tags:
        texts = [f"{tags['min_level']}-{tags['max_level']}"]
    return tuple(span for text in texts for span in parse_levels(text))


def _absent_levels(tags: Tags) -> tuple[float, ...]:
    """The levels that a building leaves out, as many leave out the thirteenth."""
    try:
        return expand_spans(parse_levels(tags.get("non_existent_levels", "")))
    except UnreadableLevelError:
        return ()


def _level_names(features: Iterable[Feature]) -> dict[str, str]:
    return {
        feature.levels[0]: feature.tags["name"]
        for feature in features
        if feature.tags.get("indoor") == "level"
        and len(feature.levels) == 1
        and "name" in feature.tags
    }


def _describe_tags(tags: Tags) -> str:
    key = next(key for key in ("indoor", *MAIN_KEYS, *sorted(INDOOR_KEYS), *tags) if key in tags)
    return f"{key}={tags[key]}"
