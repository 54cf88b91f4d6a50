"""Translate drawings of floor plans into the plan that routing processes."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from shapely import MultiPolygon, Point, Polygon
from shapely.geometry.base import BaseGeometry

from parsing.drawing import (
    Drawing,
    DrawnLevel,
    Feature,
    NoteCollector,
    PointGeometry,
    ReadingNote,
    SourcePlace,
    Tags,
)
from parsing.osm.tags import find_level_in_name, is_building, is_site
from resolvers.plans import tag_classification as tagging
from resolvers.plans.connectors import LevelStack, find_connectors
from resolvers.plans.shapes import (
    PlanGeometry,
    ShapeIndex,
    TooManyRingsError,
    label_point,
    to_shape,
    union_shapes,
)
from resolvers.request.errors import InvalidInputError
from routing.plan import (
    Barrier,
    Connector,
    Door,
    Level,
    PartSource,
    Plan,
    PlanLocation,
    Space,
    SpaceKind,
)
from storage.bundles.drawings import ShownLevel, find_floor_id
from storage.catalog import UNIT_ID_TAG

# Find the features that become locations, with their positions and tags.


MAX_OUTSIDE_FEET: Final = 50.0
"""A point farther than this from every space belongs to something else, such as a house nearby."""
COORDINATE_DECIMALS: Final = 3
OMITTED_TAGS: Final = frozenset({"name", "level", "repeat_on"})
"""Tags that fields of the location repeat."""


class LocationCandidate(NamedTuple):
    """A location that may be written, in the map's units; it stands on the first of its levels.

    `unit_id` is the unit that it stands for, if any.
    """

    id: str
    feature: Feature
    name: str
    x: float
    y: float
    levels: tuple[str, ...]
    tags: Mapping[str, str]
    unit_id: str | None = None

    @property
    def level(self) -> str:
        return self.levels[0]


def find_location_candidates(
    drawing: Drawing,
    map_id: str,
    shapes: Iterable[tuple[Feature, PlanGeometry]],
    walkable: Mapping[str, ShapeIndex],
    obstacles: Mapping[str, ShapeIndex],
    notes: NoteCollector,
) -> Iterator[LocationCandidate]:
    """Yield a candidate for each unit and each amenity or other point of interest.

    A drawing with an `id_key` (OpenStreetMap, IMDF) has no units: each of its rooms becomes one.
    In a drawing without any room, such as a network of paths, named doors, points and areas are
    candidates too.
    """
    ordinals = {level.id: level.ordinal or 0 for level in drawing.levels}
    has_units = any(_is_unit(feature, drawing) for feature in drawing.features)
    seen: set[str] = set()
    for feature, shape in shapes:
        is_unit = _is_unit(feature, drawing)
        is_named_place = not has_units and _is_named_place(feature)
        if not (is_unit or is_named_place or _is_of_interest(feature)):
            continue
        level = min(feature.levels, key=lambda key: (abs(ordinals[key]), ordinals[key]))
        if tagging.get_space_kind(feature) is None and not _is_near(shape, walkable.get(level)):
            notes.add("point of interest outside the plan", feature.id)
            continue
        if feature.unit_id is not None and feature.unit_id in seen:
            notes.add("unit drawn more than once, located at its first shape", feature.unit_id)
            continue
        seen.add(feature.unit_id or "")
        location_id = f"{map_id}-{feature.id.replace('/', '-')}"
        unit_id = (feature.unit_id or location_id) if is_unit else None
        position = _label_position(shape, obstacles.get(level), drawing.feet_per_unit)
        levels = (level, *(other for other in feature.levels if other != level))
        tags = _build_tags(feature, drawing.id_key, unit_id)
        yield LocationCandidate(
            location_id,
            feature,
            tagging.get_display_name(feature),
            *position,
            levels,
            tags,
            unit_id,
        )


def _is_unit(feature: Feature, drawing: Drawing) -> bool:
    if drawing.id_key is None:
        return feature.unit_id is not None
    is_room = (
        feature.tags.get("indoor") == "room" and tagging.get_space_kind(feature) is SpaceKind.ROOM
    )
    return is_room and tagging.get_connector_kind(feature) is None


def _is_of_interest(feature: Feature) -> bool:
    matches = tagging.matches_any(tagging.POINT_OF_INTEREST_MATCHERS, feature.tags)
    return matches and not tagging.is_door(feature) and not is_site(feature.tags)


def _is_named_place(feature: Feature) -> bool:
    """Return whether a plan without rooms leads to a feature: a named door, point or area."""
    is_place = isinstance(feature.geometry, PointGeometry) or (
        tagging.get_space_kind(feature) is SpaceKind.AREA
    )
    return is_place and "name" in feature.tags and tagging.get_connector_kind(feature) is None


def _is_near(shape: PlanGeometry, walkable: ShapeIndex | None) -> bool:
    return walkable is None or walkable.distance_to(shape) <= MAX_OUTSIDE_FEET


def _label_position(
    shape: PlanGeometry, obstacles: ShapeIndex | None, feet_per_unit: float
) -> tuple[float, float]:
    valid: BaseGeometry = shape if shape.is_valid else shape.buffer(0)
    free = obstacles.subtract_from(valid) if obstacles is not None and valid.area else valid
    point = label_point(shape if free.is_empty else free)
    return round(point.x / feet_per_unit, COORDINATE_DECIMALS), round(
        point.y / feet_per_unit, COORDINATE_DECIMALS
    )


def _build_tags(feature: Feature, id_key: str | None, unit_id: str | None) -> dict[str, str]:
    own_tags = {
        key: value for key, value in feature.tags.items() if key not in OMITTED_TAGS and value
    }
    service_tags = {UNIT_ID_TAG: unit_id, "svc:type": "unit", "indoor": "room"} if unit_id else {}
    if tagging.matches_any(tagging.POINT_OF_INTEREST_MATCHERS, feature.tags):
        service_tags["svc:amenity"] = "yes"
    if id_key:
        service_tags[id_key] = feature.id
    return service_tags | own_tags


POINTS: Final = (
    "N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE", "S", "SSW", "SW", "WSW", "W", "WNW", "NW",
    "NNW",
)  # fmt: skip
"""Points of the compass, clockwise."""


def is_one_way(tags: Tags) -> bool:
    """Return whether a door is tagged as passable in one direction only."""
    return tags.get("oneway") in ("yes", "-1") or tags.get("oneway:foot") in ("yes", "-1")


def parse_direction(tags: Tags) -> tuple[float, float] | None:
    """Return the direction of a one-way door, a unit vector; None without a readable one.

    `direction` is in degrees clockwise from north, or a point of the compass; in a drawing, north
    is up. `oneway=-1` is against it. x is to the east, y to the south.

    >>> parse_direction({"oneway": "yes", "direction": "E"})
    (1.0, 0.0)
    """
    text = tags.get("direction", "").strip().upper()
    if text in POINTS:
        degrees = POINTS.index(text) * 360 / len(POINTS)
    else:
        try:
            degrees = float(text.removesuffix("°"))
        except ValueError:
            return None
    if not math.isfinite(degrees):
        return None
    sign = -1.0 if "-1" in (tags.get("oneway"), tags.get("oneway:foot")) else 1.0
    east, north = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    # Adding 0 turns -0.0 into 0.0.
    return round(sign * east, 9) + 0.0, round(-sign * north, 9) + 0.0


def assign_floors(
    drawing: Drawing,
    map_id: str,
    floor_sorts: Mapping[str, int] | None,
    notes: NoteCollector,
) -> Drawing:
    """Return the drawing with floor ids as level ids, its levels ordered from the lowest.

    `floor_sorts` maps floor id to `sort`. A level's ordinal becomes its floor's rank by `sort`,
    which tells which floor is higher but not by how much. Without `floor_sorts`, ids are made up,
    and levels that have no ordinal are numbered. Raises InvalidInputError.
    """
    if floor_sorts is None:
        ids = {level.id: f"{map_id}-level-{level.id}" for level in drawing.levels}
        ordinals = _number_levels(drawing.levels, notes)
    else:
        ids = {level.id: _floor_id_of(level, drawing, floor_sorts) for level in drawing.levels}
        ranks = {sort: rank for rank, sort in enumerate(sorted(set(floor_sorts.values())))}
        ordinals = {level: float(ranks[floor_sorts[floor]]) for level, floor in ids.items()}
    levels = [
        DrawnLevel(ids[level.id], level.name, ordinals[level.id], ids[level.id])
        for level in drawing.levels
    ]
    features = tuple(
        feature._replace(levels=tuple(ids[level] for level in feature.levels))
        for feature in drawing.features
    )
    return replace(
        drawing,
        levels=tuple(sorted(levels, key=lambda level: (level.ordinal or 0.0, level.id))),
        features=features,
        faults=tuple(
            fault._replace(levels=tuple(ids[level] for level in fault.levels if level in ids))
            for fault in drawing.faults
        ),
    )


def _number_levels(levels: Iterable[DrawnLevel], notes: NoteCollector) -> dict[str, float]:
    """Return the ordinal of each level: its own, or if any has none, those that the names say.

    If not all names say another storey, the levels are drawn from the lowest to the highest.
    """
    ordinals = {level.id: level.ordinal for level in levels}
    own = {level_id: ordinal for level_id, ordinal in ordinals.items() if ordinal is not None}
    if len(own) == len(ordinals):
        return own
    named = {level_id: find_level_in_name(level_id) for level_id in ordinals}
    if all(named.values()) and len({*named.values()}) == len(named):
        for level_id, number in named.items():
            notes.add("level numbered by its name", f"{level_id} is {number}")
        return {level_id: float(number) for level_id, number in named.items()}
    if len(ordinals) > 1:
        message = "levels without a number, taken in the order of the drawing from the lowest"
        for level_id in ordinals:
            notes.add(message, level_id)
    return {level_id: float(index) for index, level_id in enumerate(ordinals)}


def _floor_id_of(level: DrawnLevel, drawing: Drawing, floor_sorts: Mapping[str, int]) -> str:
    shown = ShownLevel(level.id, level.floor_id, level.is_numbered)
    floor_id = find_floor_id(shown, floor_sorts, is_only_level=len(drawing.levels) == 1)
    if floor_id is not None:
        return floor_id
    known = ", ".join(sorted(floor_sorts)) or "none"
    if not level.floor_id:
        name = level.name or level.id
        raise InvalidInputError(
            source=f"Level {name!r} does not say which floor it shows: its data-tags need "
            f"floor=<id>, or its name, as in 'Level 2: floor=<id>'; the floors are: {known}"
        )
    raise InvalidInputError(
        source=f"Level {level.name!r} names the floor {level.floor_id!r}, which the asset does not "
        f"have; its floors are: {known}"
    )


def order_storeys(
    connectors: Iterable[Connector],
    drawing: Drawing,
    floor_sorts: Mapping[str, int] | None,
    notes: NoteCollector,
) -> Iterator[Connector]:
    """Yield the connectors that join storeys one above another.

    One between two levels of the same ordinal would be a ride of no length. Raises
    InvalidInputError if these are floors of the catalog, which say so by mistake.
    """
    ordinals = {level.id: level.ordinal for level in drawing.levels}
    for connector in connectors:
        by_ordinal: dict[float | None, str] = {}
        for floor_id in connector.entrances:
            other = by_ordinal.setdefault(ordinals[floor_id], floor_id)
            if other != floor_id and floor_sorts is not None:
                raise InvalidInputError(
                    source=f"{connector.name or connector.id} joins the floors {other!r} and "
                    f"{floor_id!r}, which both have sort {floor_sorts[floor_id]}; the higher one "
                    "needs the greater sort"
                )
        if len(by_ordinal) == len(connector.entrances):
            yield connector
        else:
            notes.add("left out, connects levels of the same ordinal", connector.id)


DEFAULT_FOOTPATH_FEET: Final = 5.0
"""Width of a footway that is drawn as a line and has no width tag."""
BRANCH_FEET: Final = 3.0
"""Width of a branch: that of a door."""
MAX_BRANCH_FEET: Final = 30.0
"""Halls around line-drawn footways are rarely wider; what lies farther away has its own
way."""


MAX_TOUCH_FEET: Final = 1.0
"""A place this near to open floor needs no branch; a site's grounds this near to a room belong to
the plan."""


class PlacedPoint(NamedTuple):
    """A door or point of interest that a footway may lead to."""

    id: str
    level: str
    point: Point


def iter_footpaths(
    drawn: Iterable[tuple[Feature, PlanGeometry]],
    open_levels: set[str],
    outlines: Mapping[str, BaseGeometry],
) -> Iterator[Space]:
    """Buffer line-drawn footways to their width.

    Skip levels with an outline and no drawn corridors: there, all of the outline outside the rooms
    is walkable already.
    """
    for feature, shape in drawn:
        (level, *_) = feature.levels
        if not tagging.is_footpath(feature) or (level in outlines and level not in open_levels):
            continue
        half_feet = (tagging.parse_width_feet(feature.tags) or DEFAULT_FOOTPATH_FEET) / 2
        strip = shape.buffer(half_feet, cap_style="flat", join_style="mitre")
        if isinstance(strip, Polygon | MultiPolygon) and not strip.is_empty:
            name, outdoors = feature.tags.get("name", ""), tagging.is_outdoors(feature.tags)
            yield Space(feature.id, level, strip, SpaceKind.AREA, name, is_outdoors=outdoors)


def iter_branches(
    points: Iterable[PlacedPoint],
    footpaths: Mapping[str, ShapeIndex],
    open_floor: Mapping[str, ShapeIndex],
    obstacles: Sequence[Mapping[str, ShapeIndex]],
    notes: NoteCollector,
) -> Iterator[Space]:
    """Yield a straight branch from a footway to each point beside it that no open floor reaches.

    A footway drawn as a line stands for the hall around it, which is not drawn. `obstacles` are the
    rooms and barriers that a branch must not cross.
    """
    for id_, level, point in points:
        if level not in footpaths or open_floor[level].distance_to(point) <= MAX_TOUCH_FEET:
            continue
        line = footpaths[level].shortest_line_to(point)
        is_blocked = any(index[level].overlaps(line) for index in obstacles if level in index)
        if line.length <= MAX_BRANCH_FEET and not is_blocked:
            notes.add("joined by a straight line to the footway beside it", id_)
            strip = line.buffer(BRANCH_FEET / 2, cap_style="square")
            yield Space(f"branch:{id_}", level, strip, SpaceKind.AREA)


NO_PLACE: Final = SourcePlace("")

FeatureShape = tuple[Feature, PlanGeometry]


@dataclass(frozen=True)
class TranslatedPlan:
    """A drawing as a plan in feet, with the locations that may be written for it.

    `candidates` are in the map's units and have the ids of the plan's locations. `notes` report
    features that were skipped or changed. The levels of `drawing` have the ids of their floors.
    """

    plan: Plan
    candidates: tuple[LocationCandidate, ...]
    notes: tuple[ReadingNote, ...]
    drawing: Drawing
    map_id: str


def translate_plan(
    drawing: Drawing, map_id: str, floor_sorts: Mapping[str, int] | None = None
) -> TranslatedPlan:
    """Translate a drawing, in its own frame of reference but in feet.

    `floor_sorts` maps the ids of the catalog's floors to `sort`, for a drawing with levels that
    name floors; without it, each level becomes a new floor. Raises InvalidInputError for a level
    that names no such floor, and for connected floors of equal `sort`.
    """
    notes = NoteCollector(drawing.places)
    drawing = assign_floors(drawing, map_id, floor_sorts, notes)
    drawn = list(_iter_shapes(drawing, notes))
    outlines = _build_outlines(drawn)
    spaces = list(_iter_spaces(drawn))
    open_levels = {space.level_id for space in spaces if space.kind is not SpaceKind.ROOM}
    footpaths = list(iter_footpaths(drawn, open_levels, outlines))
    spaces += footpaths
    spaces += list(_iter_site_grounds(drawn, spaces, notes))
    barriers = list(_iter_barriers(drawn))
    grounds = _index_by_level([(s.level_id, s.polygon) for s in spaces] + list(outlines.items()))
    obstacles = _index_by_level((barrier.level_id, barrier.geometry) for barrier in barriers)
    rooms = _index_spaces(space for space in spaces if space.kind is SpaceKind.ROOM)
    open_floor = _index_spaces(space for space in spaces if space.kind is not SpaceKind.ROOM)
    ordinals = {level.id: level.ordinal or 0.0 for level in drawing.levels}
    stack = LevelStack(ordinals, grounds, open_floor, rooms)
    found = find_connectors(drawn, stack, drawing.id_key != "osm:id", notes)
    connectors = tuple(order_storeys(found, drawing, floor_sorts, notes))
    candidates = tuple(find_location_candidates(drawing, map_id, drawn, grounds, obstacles, notes))
    doors = tuple(_iter_doors(drawn, notes))
    locations = [_to_location(candidate, drawing.feet_per_unit) for candidate in candidates]
    path_index = _index_spaces(footpaths)
    points = _iter_points(doors, locations)
    spaces += iter_branches(points, path_index, open_floor, (rooms, obstacles), notes)
    for feature in drawing.features:
        if not is_used(feature):
            notes.add(f"not used, {_describe_tags(feature)}", feature.id)
    levels = tuple(
        Level(level.id, level.ordinal or 0.0, level.name, outlines.get(level.id))
        for level in drawing.levels
    )
    sources = _build_sources(drawing, candidates)
    plan = Plan(
        levels, tuple(spaces), tuple(barriers), doors, connectors, tuple(locations), sources
    )
    return TranslatedPlan(plan, candidates, (*drawing.notes, *notes.notes()), drawing, map_id)


def part_id(feature: Feature, level: str) -> str:
    """Return the id of a feature's part on one of its levels."""
    return feature.id if len(feature.levels) == 1 else f"{feature.id}@{level}"


def _build_sources(
    drawing: Drawing, candidates: Iterable[LocationCandidate]
) -> dict[str, PartSource]:
    """Return what the parts of a plan, and its locations, are made from."""
    sources: dict[str, PartSource] = {}
    for feature in filter(is_used, drawing.features):
        source = _to_source(feature, drawing)
        sources[feature.id] = source
        if len(feature.levels) > 1:
            sources |= {part_id(feature, level): source for level in feature.levels}
    for each in candidates:
        sources.setdefault(each.id, _to_source(each.feature, drawing))
    return sources


def _to_source(feature: Feature, drawing: Drawing) -> PartSource:
    place = drawing.places.get(feature.id, NO_PLACE)
    return PartSource(feature.id, feature.tags.get("name", "").strip(), place.file, place.line)


def _iter_shapes(drawing: Drawing, notes: NoteCollector) -> Iterator[FeatureShape]:
    for feature in drawing.features:
        try:
            shape = to_shape(feature.geometry, drawing.feet_per_unit)
        except TooManyRingsError:
            notes.add("not read, too many rings", feature.id)
            continue
        if shape.is_empty:
            notes.add("outline that encloses nothing", feature.id)
        else:
            yield feature, shape


def _build_outlines(drawn: Iterable[FeatureShape]) -> dict[str, Polygon | MultiPolygon]:
    pairs = ((level, s) for f, s in drawn if tagging.is_outline(f) for level in f.levels)
    return {
        level: outline
        for level, shapes in _group_by_level(pairs).items()
        if isinstance(outline := union_shapes(shapes), Polygon | MultiPolygon)
    }


def _iter_spaces(drawn: Iterable[FeatureShape]) -> Iterator[Space]:
    """Yield the spaces; all shapes of a unit on a level make one space."""
    units: dict[tuple[str, str], Space] = {}
    for feature, shape in drawn:
        kind = tagging.get_space_kind(feature)
        if kind is None or not isinstance(shape, Polygon | MultiPolygon):
            continue
        for level in feature.levels:
            name = feature.tags.get("name", "")
            needs_door = not tagging.matches_any(tagging.CLOSED_ROOM_MATCHERS, feature.tags)
            space = Space(
                part_id(feature, level), level, shape, kind, name, needs_door,
                tagging.is_outdoors(feature.tags), tagging.is_private(feature),
            )  # fmt: skip
            if feature.unit_id is None:
                yield space
                continue
            known = units.setdefault((feature.unit_id, level), space)
            if known is not space:
                both = union_shapes([known.polygon, shape])
                if isinstance(both, Polygon | MultiPolygon):
                    private = known.is_private and space.is_private
                    units[feature.unit_id, level] = replace(known, polygon=both, is_private=private)
    yield from units.values()


def _iter_site_grounds(
    drawn: Sequence[FeatureShape], spaces: Iterable[Space], notes: NoteCollector
) -> Iterator[Space]:
    """Yield the grounds of a site, without its buildings, if the plan's spaces lie on it."""
    buildings = union_shapes(shape for feature, shape in drawn if is_building(feature.tags))
    rooms = _index_by_level((space.level_id, space.polygon) for space in spaces)
    for feature, shape in drawn:
        if not is_site(feature.tags):
            continue
        level, *_ = feature.levels
        if level not in rooms or rooms[level].distance_to(shape) > MAX_TOUCH_FEET:
            notes.add("grounds on which no room lies", feature.id)
            continue
        grounds = union_shapes([shape]).difference(buildings)
        if isinstance(grounds, Polygon | MultiPolygon) and not grounds.is_empty:
            name = feature.tags.get("name", "")
            yield Space(feature.id, level, grounds, SpaceKind.AREA, name, is_outdoors=True)


def _iter_barriers(drawn: Iterable[FeatureShape]) -> Iterator[Barrier]:
    for feature, shape in drawn:
        if tagging.is_barrier(feature) and not isinstance(shape, Point):
            for level in feature.levels:
                yield Barrier(level, shape, feature.id)


def _iter_doors(drawn: Iterable[FeatureShape], notes: NoteCollector) -> Iterator[Door]:
    """Yield the doors. If all of many are locked, none is, and likewise private."""
    doors = [(feature, shape) for feature, shape in drawn if tagging.is_door(feature)]
    locked = {
        feature.id
        for feature, _ in doors
        if tagging.matches_any(tagging.LOCKED_MATCHERS, feature.tags)
    }
    private = {feature.id for feature, _ in doors if feature.tags.get("access") == "private"}
    for marked, mark in ((locked, "locked"), (private, "private")):
        if len(marked) == len(doors) >= tagging.MIN_DOORS_ALL_LOCKED:
            for feature_id in sorted(marked):
                notes.add(f"door {mark} as all others are, read as open", feature_id)
            marked.clear()
    for feature, shape in doors:
        width = tagging.parse_width_feet(feature.tags)
        wheelchair = tagging.WHEELCHAIR_ACCESS.get(feature.tags.get("wheelchair", ""))
        is_locked = feature.id in locked
        one_way = parse_direction(feature.tags) if is_one_way(feature.tags) else None
        if is_one_way(feature.tags) and one_way is None:
            notes.add("one-way door without a direction, read as one in both ways", feature.id)
        for level in feature.levels:
            door_id = part_id(feature, level)
            yield Door(
                door_id, level, shape, width, wheelchair, is_locked, one_way,
                feature.id in private,
            )  # fmt: skip


def _iter_points(doors: Iterable[Door], locations: Iterable[PlanLocation]) -> Iterator[PlacedPoint]:
    """Yield what a footway may lead to: points of interest outside all rooms, and doors."""
    for location in locations:
        if location.space_id is None:
            yield PlacedPoint(location.id, location.level_id, Point(location.x, location.y))
    for door in doors:
        if not door.is_locked:
            yield PlacedPoint(door.id, door.level_id, door.geometry.centroid)


def _to_location(candidate: LocationCandidate, feet_per_unit: float) -> PlanLocation:
    space_id = (
        part_id(candidate.feature, candidate.level)
        if tagging.get_space_kind(candidate.feature)
        else None
    )
    x_feet, y_feet = candidate.x * feet_per_unit, candidate.y * feet_per_unit
    return PlanLocation(candidate.id, candidate.level, x_feet, y_feet, candidate.name, space_id)


def _group_by_level(pairs: Iterable[tuple[str, BaseGeometry]]) -> dict[str, list[BaseGeometry]]:
    shapes: defaultdict[str, list[BaseGeometry]] = defaultdict(list)
    for level, shape in pairs:
        shapes[level].append(shape)
    return shapes


def _index_by_level(pairs: Iterable[tuple[str, BaseGeometry]]) -> dict[str, ShapeIndex]:
    return {level: ShapeIndex(shapes) for level, shapes in _group_by_level(pairs).items()}


def _index_spaces(spaces: Iterable[Space]) -> dict[str, ShapeIndex]:
    return _index_by_level((space.level_id, space.polygon) for space in spaces)


def is_used(feature: Feature) -> bool:
    """Return whether a plan has anything of a feature."""
    return (
        tagging.get_space_kind(feature) is not None
        or tagging.get_connector_kind(feature) is not None
        or tagging.is_door(feature)
        or tagging.is_barrier(feature)
        or tagging.is_outline(feature)
        or is_site(feature.tags)
        or is_building(feature.tags)
        or tagging.is_footpath(feature)
        or tagging.matches_any(tagging.POINT_OF_INTEREST_MATCHERS, feature.tags)
    )


def _describe_tags(feature: Feature) -> str:
    keys = ("indoor", "highway", "barrier", "room", "level", *feature.tags)
    key = next((key for key in keys if key in feature.tags), None)
    return f"{key}={feature.tags[key]}" if key else "no tags"
