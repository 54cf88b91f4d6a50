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
    iter_coordinates,
    shorten,
)
from parsing.errors import InvalidPlanError
from parsing.geo.projection import build_drawing_in_feet, leave_out_remote, limit_features
from parsing.osm.tags import (
    LEVEL_KEYS,
    GeoFeature,
    LevelSpan,
    UnreadableLevelError,
    expand_spans,
    find_surroundings,
    format_level,
    normalize_levels,
    parse_levels,
    translate_tags,
)

INDOOR_KEYS: Final = frozenset(
    {
        "indoor", "level", "repeat_on", "room", "stairs", "elevator", "door", "entrance",
        "buildingpart", "level_id", "level_name",
    }
)  # fmt: skip
DOOR_KEYS: Final = frozenset({"door", "entrance"})
# The report names a feature that is not indoors by the first of these keys that it has.
MAIN_KEYS: Final = (
    "building", "building:part", "highway", "railway", "public_transport", "amenity", "shop",
    "leisure", "landuse", "natural", "barrier", "office", "tourism", "type",
)  # fmt: skip
PATH_TAGS: Final[Tags] = {"highway": "footway"}
# A line with one of these keys is something else than a path.
LINE_KEYS: Final = frozenset(
    {*MAIN_KEYS, "conveying", "door", "elevator", "entrance", "man_made", "ramp", "stairs", "wall"}
)
GROUND_LEVEL: Final = LevelSpan(0, 0)


class _FeatureSpans(NamedTuple):
    """A feature and the level spans that its tags name."""

    feature: GeoFeature
    spans: tuple[LevelSpan, ...]


def build_drawing(
    features: Iterable[GeoFeature], collector: NoteCollector, name: str = ""
) -> Drawing:
    """Build a drawing from the indoor features of a file.

    Raises `InvalidPlanError` if no feature has an indoor tag and a level.
    """
    all_features = [translate_tags(feature, collector) for feature in features]
    placed = _select_indoor_plan(all_features, collector)
    absent = {level for feature in all_features for level in _absent_levels(feature.tags)}
    expanded = leave_out_remote(_expand_levels(placed, absent, collector), collector)
    return _build_from_levels(_read_lines_as_paths(expanded, collector), collector, name)


def levels_of(tags: Tags) -> tuple[str, ...]:
    """Return the ids of the levels that tags name, or () if they are missing or unreadable."""
    try:
        return tuple(map(format_level, expand_spans(parse_levels(normalize_levels(tags["level"])))))
    except (KeyError, UnreadableLevelError):
        return ()


def _select_indoor_plan(
    features: Sequence[GeoFeature], collector: NoteCollector
) -> list[_FeatureSpans]:
    """Return the features that belong to the plan; note the others."""
    indoors = [feature for feature in features if _is_indoors(feature.tags)]
    outdoors = [feature for feature in features if not _is_indoors(feature.tags)]
    shaped = [fixed for feature in indoors if (fixed := _fix_geometry(feature, collector))]
    known = frozenset(feature.tags.get("level", "") for feature in indoors)
    placed = _place_on_levels(shaped, known, collector)
    return placed + _place_surroundings(placed, outdoors, collector)


def _expand_levels(
    placed: Sequence[_FeatureSpans], absent: Set[float], collector: NoteCollector
) -> list[Feature]:
    """Expand level spans to levels. Raises `InvalidPlanError` if no feature is on any."""
    present = {end for _, spans in placed for span in spans for end in span} - absent
    expanded = limit_features(
        Feature(feature.id, tuple(map(format_level, levels)), feature.geometry, feature.tags)
        for feature, spans in placed
        if (levels := expand_spans(spans, present, absent))
    )
    if not expanded:
        instead = "; ".join(map(str, collector.notes())) or "nothing"
        raise InvalidPlanError(
            "no feature has both an indoor tag and a level; a room is a closed way with "
            f"indoor=room and level=0. Found instead: {instead}"
        )
    return expanded


def _read_lines_as_paths(features: list[Feature], collector: NoteCollector) -> list[Feature]:
    """Make plain lines footways in a plan that draws no space: it is a network of paths."""
    if any(
        isinstance(feature.geometry, AreaGeometry) and "indoor" in feature.tags
        for feature in features
    ):
        return features
    read = []
    for feature in features:
        if isinstance(feature.geometry, LinesGeometry) and LINE_KEYS.isdisjoint(feature.tags):
            collector.add("line in a plan without rooms, read as a path", feature.id)
            feature = feature._replace(tags={**feature.tags, **PATH_TAGS})
        read.append(feature)
    return read


def _build_from_levels(features: Sequence[Feature], collector: NoteCollector, name: str) -> Drawing:
    """Build a drawing of features in degrees, sorted by id, since files differ in their order."""
    ordered = sorted(features, key=lambda feature: feature.id)
    names = _level_names(ordered)
    ids = {level for feature in ordered for level in feature.levels}
    levels = tuple(
        DrawnLevel(level, names.get(level, ""), float(level)) for level in sorted(ids, key=float)
    )
    return build_drawing_in_feet(levels, ordered, collector, "osm:id", name)


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
    is_room = tags.get("indoor") in AREA_VALUES and "highway" not in tags
    if isinstance(geometry, LinesGeometry) and is_room:
        if any(len(set(line)) < 3 for line in geometry.lines):
            collector.add(f"indoor={tags['indoor']} with an outline of two points", feature.id)
            return feature
        collector.add("outline not closed, closed by a straight line", feature.id)
        return feature._replace(geometry=AreaGeometry(geometry.lines))
    return feature


def _is_linear(tags: Tags) -> bool:
    if tags.get("area") == "yes" or tags.get("indoor") in AREA_VALUES:
        return False
    # The outline of highway=elevator is a shaft; every other highway is a centre line.
    linear_highway = tags.get("highway", "elevator") != "elevator"
    return tags.get("indoor") == "wall" or linear_highway or not DOOR_KEYS.isdisjoint(tags)


def _place_on_levels(
    features: Iterable[GeoFeature], known: Set[str], collector: NoteCollector
) -> list[_FeatureSpans]:
    """Place features on the levels that they name; doors that name none, on those of their wall."""
    placed: list[_FeatureSpans] = []
    without_level: list[GeoFeature] = []
    for feature in features:
        try:
            spans = _parse_spans(feature, known, collector)
        except UnreadableLevelError as error:
            position = next(iter(iter_coordinates(feature.geometry)), None)
            message = f"{feature.id} has {error}"
            collector.leave_out("unreadable level", message, feature.id, position=position)
            continue
        if spans:
            placed.append(_FeatureSpans(feature, spans))
        else:
            without_level.append(feature)
    return placed + _place_without_level(without_level, placed, collector)


def _place_without_level(
    features: Sequence[GeoFeature], placed: Sequence[_FeatureSpans], collector: NoteCollector
) -> list[_FeatureSpans]:
    """Place doors on the levels of their wall, then all else that is indoors on the ground."""
    walls = _index_spans(placed)
    doors, others = [], []
    for feature in features:
        is_door = not DOOR_KEYS.isdisjoint(feature.tags)
        if is_door and (spans := _spans_of_wall(feature, walls)):
            doors.append(_FeatureSpans(feature, spans))
        elif "indoor" in feature.tags and not (placed and feature.tags["indoor"] == "level"):
            collector.add("no level, assumed to be on level 0", feature.id)
            others.append(_FeatureSpans(feature, (GROUND_LEVEL,)))
    assumed = _index_spans(others)
    read = {feature.id for feature, _ in (*doors, *others)}
    for feature in (feature for feature in features if feature.id not in read):
        if not DOOR_KEYS.isdisjoint(feature.tags) and _spans_of_wall(feature, assumed):
            doors.append(_FeatureSpans(feature, (GROUND_LEVEL,)))
        else:
            collector.add(f"not read, no level: {_describe_tags(feature.tags)}", feature.id)
    return doors + others


def _spans_of_wall(
    feature: GeoFeature, walls: Mapping[Coordinate, list[LevelSpan]]
) -> tuple[LevelSpan, ...]:
    points = iter_coordinates(feature.geometry)
    return tuple(dict.fromkeys(span for point in points for span in walls.get(point, ())))


def _index_spans(placed: Iterable[_FeatureSpans]) -> dict[Coordinate, list[LevelSpan]]:
    """Map each vertex of an outline to its levels: a door shares a node with the wall it is in."""
    spans_at: defaultdict[Coordinate, list[LevelSpan]] = defaultdict(list)
    for feature, spans in placed:
        if "indoor" in feature.tags:
            for point in iter_coordinates(feature.geometry):
                spans_at[point].extend(spans)
    return spans_at


def _parse_spans(
    feature: GeoFeature, known: Set[str], collector: NoteCollector
) -> tuple[LevelSpan, ...]:
    """Parse `level` and `repeat_on`, or if both are missing what stands in for them.

    These are `min_level` and `max_level`, else the first of `LEVEL_KEYS` that has levels.
    """
    tags = feature.tags
    texts = [tags[key] for key in ("level", "repeat_on") if tags.get(key)]
    if not texts and "min_level" in tags and "max_level" in tags:
        texts = [f"{tags['min_level']}-{tags['max_level']}"]
    if not texts:
        return _parse_other_levels(feature, collector)
    spans: list[LevelSpan] = []
    for text in texts:
        normalized = normalize_levels(text, known)
        spans += parse_levels(normalized)
        if normalized != "".join(text.split()):
            collector.add(shorten(f"level={text} read as {normalized}"), feature.id)
    return tuple(spans)


def _parse_other_levels(feature: GeoFeature, collector: NoteCollector) -> tuple[LevelSpan, ...]:
    for key in LEVEL_KEYS[1:]:
        # On a building, `levels` is a number of storeys.
        if key in feature.tags and not (key == "levels" and "building" in feature.tags):
            try:
                spans = parse_levels(normalize_levels(feature.tags[key]))
            except UnreadableLevelError:
                continue
            collector.add(f"level taken from {key}", feature.id)
            return spans
    return ()


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
