"""Build a drawing in feet from features with Simple Indoor Tagging in degrees.

OpenStreetMap XML and GeoJSON share these steps: select the features of the indoor plan, place them
on levels, project them. https://wiki.openstreetmap.org/wiki/Simple_Indoor_Tagging
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
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
# The report names a feature that is not indoors by the first of these keys that it has.
MAIN_KEYS: Final = (
    "building", "building:part", "highway", "railway", "public_transport", "amenity", "shop",
    "leisure", "landuse", "natural", "barrier", "office", "tourism", "type",
)  # fmt: skip
GROUND_LEVEL: Final = LevelSpan(0, 0)


class _FeatureSpans(NamedTuple):
    """A feature and the level spans that its tags name."""

    feature: GeoFeature
    spans: tuple[LevelSpan, ...]


class _FeatureLevels(NamedTuple):
    """A feature and the levels it is on, from the lowest."""

    feature: GeoFeature
    levels: tuple[float, ...]


def build_drawing(
    features: Iterable[GeoFeature], collector: NoteCollector, name: str = ""
) -> Drawing:
    """Build a drawing from the indoor features of a file.

    Raises `InvalidPlanError` if no feature has an indoor tag and a level.
    """
    all_features = list(features)
    placed = _select_indoor_plan(all_features, collector)
    absent = {level for feature in all_features for level in _absent_levels(feature.tags)}
    return _project_drawing(_expand_levels(placed, absent, collector), collector, name)


def _select_indoor_plan(
    features: Sequence[GeoFeature], collector: NoteCollector
) -> list[_FeatureSpans]:
    """Return the features that belong to the plan; note the others."""
    indoors = [feature for feature in features if _is_indoors(feature.tags)]
    outdoors = [feature for feature in features if not _is_indoors(feature.tags)]
    shaped = [fixed for feature in indoors if (fixed := _fix_geometry(feature, collector))]
    placed = _place_on_levels(shaped, collector)
    return placed + _place_surroundings(placed, outdoors, collector)


def _expand_levels(
    placed: Sequence[_FeatureSpans], absent: Set[float], collector: NoteCollector
) -> list[_FeatureLevels]:
    """Expand level spans to levels. Raises `InvalidPlanError` if no feature is on any."""
    known = {end for _, spans in placed for span in spans for end in span}
    expanded = [
        _FeatureLevels(feature, levels)
        for feature, spans in placed
        if (levels := expand_spans(spans, known - absent, absent))
    ]
    if not expanded:
        instead = "; ".join(map(str, collector.notes())) or "nothing"
        raise InvalidPlanError(
            "no feature has both an indoor tag and a level; a room is a closed way with "
            f"indoor=room and level=0. Found instead: {instead}"
        )
    return expanded


def _project_drawing(
    placed: Sequence[_FeatureLevels], collector: NoteCollector, name: str
) -> Drawing:
    """Project features to feet and sort them by id, since files differ in their order."""
    projected = project_to_feet(
        [feature.geometry for feature, _ in placed], [feature.id for feature, _ in placed]
    )
    features = sorted(
        (
            Feature(feature.id, tuple(map(format_level, levels)), geometry, feature.tags)
            for (feature, levels), geometry in zip(placed, projected, strict=True)
        ),
        key=lambda feature: feature.id,
    )
    names = _level_names(features)
    levels = tuple(
        DrawnLevel(format_level(ordinal), names.get(format_level(ordinal), ""), ordinal)
        for ordinal in sorted({level for _, levels in placed for level in levels})
    )
    bounds = compute_bounds(projected)
    return Drawing(levels, tuple(features), 1.0, bounds, collector.notes(), "osm:id", name)


def _is_indoors(tags: Tags) -> bool:
    return tags.get("indoor") != "no" and not INDOOR_KEYS.isdisjoint(tags)


def _place_surroundings(
    placed: Iterable[_FeatureSpans], outdoors: Sequence[GeoFeature], collector: NoteCollector
) -> list[_FeatureSpans]:
    """Place grounds and buildings around the rooms on the ground level; note the rest."""
    ground = [
        feature for feature, spans in placed if GROUND_LEVEL in spans and "indoor" in feature.tags
    ]
    surroundings = find_surroundings(outdoors, ground)
    surrounding_ids = {feature.id for feature in surroundings}
    for feature in outdoors:
        if feature.id not in surrounding_ids:
            key = next((key for key in MAIN_KEYS if key in feature.tags), "other tags")
            collector.add(f"not indoors: {key}")
    return [_FeatureSpans(feature, (GROUND_LEVEL,)) for feature in surroundings]


def _fix_geometry(feature: GeoFeature, collector: NoteCollector) -> GeoFeature | None:
    """Make a closed wall or door a line and an open room an area, as their tags say.

    Returns None for a feature without coordinates.
    """
    tags, geometry = feature.tags, feature.geometry
    if not any(True for _ in iter_coordinates(geometry)):
        collector.add("without geometry", feature.id)
        return None
    if isinstance(geometry, AreaGeometry) and _is_linear(tags):
        closed = tuple((*ring, ring[0]) for ring in geometry.rings)
        return feature._replace(geometry=LinesGeometry(closed))
    if isinstance(geometry, LinesGeometry) and _is_open_room(tags):
        if any(len(set(line)) < 3 for line in geometry.lines):
            collector.add(f"indoor={tags['indoor']} with an outline of two points", feature.id)
            return feature
        collector.add("outline not closed, closed by a straight line", feature.id)
        return feature._replace(geometry=AreaGeometry(geometry.lines))
    return feature


def _is_open_room(tags: Tags) -> bool:
    return tags.get("indoor") in AREA_VALUES and "highway" not in tags


def _is_linear(tags: Tags) -> bool:
    if tags.get("area") == "yes" or tags.get("indoor") in AREA_VALUES:
        return False
    # The outline of highway=elevator is a shaft; every other highway is a centre line.
    linear_highway = tags.get("highway", "elevator") != "elevator"
    return tags.get("indoor") == "wall" or linear_highway or not DOOR_KEYS.isdisjoint(tags)


def _place_on_levels(
    features: Iterable[GeoFeature], collector: NoteCollector
) -> list[_FeatureSpans]:
    """Place features on the levels that they name; doors that name none, on those of their wall."""
    placed: list[_FeatureSpans] = []
    without_level: list[GeoFeature] = []
    for feature in features:
        try:
            spans = _parse_spans(feature.tags)
        except UnreadableLevelError as error:
            collector.add(f"not read, {error}", feature.id)
            continue
        if spans:
            placed.append(_FeatureSpans(feature, spans))
        else:
            without_level.append(feature)
    return placed + _place_without_level(without_level, _index_spans(placed), collector)


def _place_without_level(
    features: Iterable[GeoFeature],
    spans_at: Mapping[Coordinate, list[LevelSpan]],
    collector: NoteCollector,
) -> list[_FeatureSpans]:
    placed = []
    for feature in features:
        spans = [
            span for point in iter_coordinates(feature.geometry) for span in spans_at.get(point, ())
        ]
        if spans and not DOOR_KEYS.isdisjoint(feature.tags):
            placed.append(_FeatureSpans(feature, tuple(dict.fromkeys(spans))))
        elif "indoor" in feature.tags:
            collector.add("no level, assumed to be on level 0", feature.id)
            placed.append(_FeatureSpans(feature, (GROUND_LEVEL,)))
        else:
            collector.add(f"not read, no level: {_describe_tags(feature.tags)}", feature.id)
    return placed


def _index_spans(placed: Iterable[_FeatureSpans]) -> dict[Coordinate, list[LevelSpan]]:
    """Map each vertex of an outline to its levels: a door shares a node with the wall it is in."""
    spans_at: defaultdict[Coordinate, list[LevelSpan]] = defaultdict(list)
    for feature, spans in placed:
        if "indoor" in feature.tags:
            for point in iter_coordinates(feature.geometry):
                spans_at[point].extend(spans)
    return spans_at


def _parse_spans(tags: Tags) -> tuple[LevelSpan, ...]:
    """Parse `level` and `repeat_on`, or if both are missing `min_level` and `max_level`."""
    texts = [tags[key] for key in ("level", "repeat_on") if tags.get(key)]
    if not texts and "min_level" in tags and "max_level" in tags:
        texts = [f"{tags['min_level']}-{tags['max_level']}"]
    return tuple(span for text in texts for span in parse_levels(text))


def _absent_levels(tags: Tags) -> tuple[float, ...]:
    """Parse the levels that a building skips in its numbering, often the thirteenth."""
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
