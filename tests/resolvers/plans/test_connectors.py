"""Features by their tags, what leads from floor to floor, and doors that are inferred."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import shapely
from shapely import Point

from parsing import plans
from parsing.drawing import AreaGeometry, Drawing, Feature, Geometry, LinesGeometry, PointGeometry
from parsing.errors import InvalidPlanError
from resolvers.plans import tag_classification
from resolvers.plans.tag_classification import (
    MAX_CROSSINGS,
    Segments,
    TagMatcher,
    find_tangled,
    leave_out_tangles,
)
from resolvers.plans.translation import TranslatedPlan, is_used, translate_plan
from resolvers.processing.build_task import BuildTask, ProcessingRequest
from resolvers.processing.network_build import build_network
from resolvers.request.errors import InvalidInputError
from routing.costing import TravelMode
from routing.plan import Connector, ConnectorKind, Direction, Plan, SpaceKind
from routing.processing import process_plan
from routing.space.doors import DoorOrigin
from routing.space.plan_repair import repair_plan
from routing.space.walkable import WalkableLevel, build_walkable_levels
from routing.values import ignore_progress
from samples.buildings.generated_plans import build_demo
from tests.parsing.geography import Metres, OsmPlanBuilder, box
from tests.real_plans.catalog import require_plan
from tests.resolvers.small_plans import notes_of, rect, translate_osm, translate_svg

THREE = {"f1": 1, "f2": 2, "f3": 3}


def only_connector(translated: TranslatedPlan) -> Connector:
    (connector,) = translated.plan.connectors
    return connector


@pytest.mark.parametrize(
    ("tags", "kind"),
    [
        ("highway=elevator", ConnectorKind.ELEVATOR),
        ("indoor=room;elevator=yes", ConnectorKind.ELEVATOR),
        ("indoor=room;room=elevator", ConnectorKind.ELEVATOR),
        ("highway=steps", ConnectorKind.STEPS),
        ("indoor=corridor;stairs=yes", ConnectorKind.STEPS),
        ("indoor=room;room=stairs", ConnectorKind.STEPS),
        ("highway=steps;conveying=yes", ConnectorKind.ESCALATOR),
        ("conveying=forward", ConnectorKind.ESCALATOR),
        ("indoor=area;ramp=yes", ConnectorKind.RAMP),
    ],
)
def test_shapes_of_one_ref_are_one_connector_on_every_level(tags: str, kind: str) -> None:
    shape = rect(0, 0, 4, 4, f"{tags};ref=a;name=North")
    connector = only_connector(translate_svg(shape, rect(40, 40, 4, 4, f"{tags};ref=a")))
    assert (connector.kind, connector.name) == (kind, "North")
    assert {level: place.bounds[0] for level, place in connector.entrances.items()} == {
        "f1": 0,
        "f2": 20,
    }


def test_shapes_without_ref_are_one_where_they_stand_above_one_another() -> None:
    lift = rect(0, 0, 4, 4, "highway=elevator")
    apart = rect(40, 0, 4, 4, "highway=elevator")
    translated = translate_svg(lift + apart, lift)
    assert sorted(len(c.entrances) for c in translated.plan.connectors) == [1, 2]
    assert notes_of(translated) == ["connectors joined by their position: 1 (f2#1)"]


def test_stairs_that_a_mezzanine_does_not_have_join_the_levels_around_it() -> None:
    stairs = rect(0, 0, 4, 4, "highway=steps")
    builder = OsmPlanBuilder()
    for level in ("0", "1"):
        builder.add_way(box(0, 0, 4, 4), indoor="room", room="stairs", level=level)
    builder.add_way(box(40, 0, 44, 4), indoor="room", level="0.5")
    assert set(only_connector(translate_osm(builder)).entrances) == {"m-level-0", "m-level-1"}
    # A whole storey in between is another matter: nobody drew them there.
    translated = translate_svg(stairs, rect(40, 0, 4, 4, "indoor=room"), stairs, floors=THREE)
    assert [len(c.entrances) for c in translated.plan.connectors] == [1, 1]


def test_lines_drawn_on_both_storeys_are_one_flight() -> None:
    builder = OsmPlanBuilder()
    for level in ("0", "1"):
        builder.add_way([(0, 0), (0, 5)], highway="steps", level=level)
        builder.add_way([(3, 0), (3, 5)], highway="steps", conveying="yes", level=level)
        builder.add_way([(4.5, 0), (4.5, 5)], highway="steps", conveying="yes", level=level)
    connectors = translate_osm(builder).plan.connectors
    assert [(c.kind, len(c.entrances)) for c in connectors] == [
        (ConnectorKind.STEPS, 2), (ConnectorKind.ESCALATOR, 2), (ConnectorKind.ESCALATOR, 2)
    ]  # fmt: skip


def test_a_flight_drawn_as_a_line_joins_no_more_than_two_levels() -> None:
    """The next one begins at the other end of the landing, though here one lies above it."""
    builder = OsmPlanBuilder()
    for level in ("0", "1", "2", "3"):
        builder.add_way([(0, 0), (0, 5)], highway="steps", conveying="yes", level=level)
    connectors = translate_osm(builder).plan.connectors
    assert [set(c.entrances) for c in connectors] == [
        {"m-level-0", "m-level-1"}, {"m-level-2", "m-level-3"}
    ]  # fmt: skip


def test_escalators_of_opposite_directions_are_never_one() -> None:
    builder = OsmPlanBuilder()
    for level, way in (("0", "forward"), ("1", "backward")):
        builder.add_way([(0, 0), (0, 5)], highway="steps", incline="up", conveying=way, level=level)
    assert len(translate_osm(builder).plan.connectors) == 2


def test_the_flights_of_one_staircase_may_lie_beside_each_other() -> None:
    lower = rect(0, 0, 4, 4, "indoor=room;highway=steps")
    near = rect(4, 0, 4, 4, "indoor=room;highway=steps")
    translated = translate_svg(lower, near)
    connector = only_connector(translated)
    assert (len(connector.entrances), connector.confidence) == (2, 0.7)
    assert notes_of(translated) == ["connectors joined as they lie near each other: 1 (f2#1)"]


@pytest.mark.parametrize(
    "upper",
    [
        rect(4, 0, 4, 4, "indoor=room;highway=elevator"),  # another kind
        rect(14, 0, 4, 4, "indoor=room;highway=steps"),  # 5 ft apart
        rect(5, 0, 4, 4, "indoor=room;highway=steps")
        + rect(0, 5, 4, 4, "indoor=room;highway=steps"),  # which of the two?
    ],
)
def test_shafts_that_are_near_only_by_chance_are_not_joined(upper: str) -> None:
    translated = translate_svg(rect(0, 0, 4, 4, "indoor=room;highway=steps"), upper)
    assert all(len(connector.entrances) == 1 for connector in translated.plan.connectors)


HALLS = rect(10, 0, 40, 10, "indoor=corridor")


def test_stairs_on_one_level_lead_to_the_only_one_beside_it_with_floor_there() -> None:
    stairs = rect(6, 0, 4, 10, "indoor=room;highway=steps")
    connector = only_connector(translate_svg(HALLS + stairs, HALLS))
    assert (set(connector.entrances), connector.confidence) == ({"f1", "f2"}, 0.6)
    # Up or down?
    three = translate_svg(HALLS, HALLS + stairs, HALLS, floors=THREE)
    assert set(only_connector(three).entrances) == {"f2"}
    # No floor at their end.
    elsewhere = translate_svg(HALLS + stairs, rect(30, 0, 40, 10, "indoor=corridor"))
    assert set(only_connector(elsewhere).entrances) == {"f1"}
    # Steps in a hall lead from one part of it to another.
    steps = rect(6, 0, 4, 10, "indoor=area;stairs=yes")
    assert set(only_connector(translate_svg(HALLS + steps, HALLS)).entrances) == {"f1"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("E1-ST-09", ConnectorKind.STEPS),
        ("Treppenhaus 2", ConnectorKind.STEPS),
        ("Lift B", ConnectorKind.ELEVATOR),
        ("Lift lobby", None),
        ("Stair hall", None),
        ("Office 12", None),
    ],
)
def test_rooms_named_as_stairs_are_stairs_where_nothing_is_tagged_as_a_connector(
    name: str, kind: ConnectorKind | None
) -> None:
    room = rect(0, 0, 4, 4, f"indoor=room;name={name}")
    plan = translate_svg(room, room).plan
    assert [(c.kind, c.confidence) for c in plan.connectors] == ([(kind, 0.7)] if kind else [])
    assert translate_svg(room, rect(40, 0, 4, 4, "indoor=room")).plan.connectors == ()
    lift = rect(20, 0, 4, 4, "highway=elevator;ref=a")
    assert len(translate_svg(room + lift, room + lift).plan.connectors) == 1


def test_a_lift_drawn_as_shaft_and_as_node_is_one_lift() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 2, 2), indoor="room", elevator="yes", level="-1;0", wheelchair="no")
    builder.add_node((1, 1), highway="elevator", level="-1;0")
    connector = only_connector(translate_osm(builder))
    assert {place.geom_type for place in connector.entrances.values()} == {"Polygon"}
    assert connector.wheelchair is False


def test_refs_of_two_towers_do_not_join_their_lifts() -> None:
    builder = OsmPlanBuilder()
    builder.add_node((1, 1), highway="elevator", level="0;1", ref="1")
    builder.add_node((90, 1), highway="elevator", level="0;1", ref="1")
    builder.add_node((1, 1.5), highway="elevator", level="2", ref="1")
    plan = translate_osm(builder).plan
    assert sorted(len(connector.entrances) for connector in plan.connectors) == [2, 3]


@pytest.mark.parametrize(
    ("tags", "metres"), [("highway=elevator", 9), ("highway=steps", 45), ("ramp=yes", 45)]
)
def test_one_ref_at_two_ends_of_a_site_is_two_connectors(tags: str, metres: int) -> None:
    """Each building of a campus has a lift 1."""
    key, value = tags.split("=")
    ends = {}
    for offset in (metres, metres + 3):
        builder = OsmPlanBuilder()
        for level, x in (("0", 0), ("1", offset)):
            shaft = box(x, 0, x + 1, 1)
            builder.add_way(shaft, **{"indoor": "room", key: value, "level": level, "ref": "1"})
        translated = translate_osm(builder)
        ends[offset] = [len(connector.entrances) for connector in translated.plan.connectors]
        notes = notes_of(translated)
    assert ends == {metres: [2], metres + 3: [1, 1]}
    assert notes == ["same ref, but too far apart to be one connector: 1 (way/2)"]


def stairs_between(start: Metres, end: Metres, **tags: str) -> Connector:
    """A flight drawn from start to end; the ground floor lies west, the upper one east."""
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 10, 10), indoor="corridor", level="0")
    builder.add_way(box(20, 0, 30, 10), indoor="corridor", level="1")
    builder.add_way([start, (15, 5), end], **{"highway": "steps", "level": "0;1", **tags})
    return only_connector(translate_osm(builder))


WEST, EAST = (9.0, 5.0), (21.0, 5.0)


@pytest.mark.parametrize(
    ("start", "end", "incline", "is_low_in_the_west"),
    [
        (WEST, EAST, "", True),  # each end fits one floor only
        (EAST, WEST, "", True),
        (WEST, EAST, "up", True),
        (WEST, EAST, "down", False),
        (WEST, EAST, "-30%", False),
        (EAST, WEST, "up", False),
    ],
)
def test_a_flight_drawn_as_a_line_ends_where_it_lands(
    start: Metres, end: Metres, incline: str, is_low_in_the_west: bool
) -> None:
    tags = {"incline": incline} if incline else {}
    places = stairs_between(start, end, **tags).entrances
    low, high = places["m-level-0"], places["m-level-1"]
    assert isinstance(low, Point)
    assert isinstance(high, Point)
    assert (low.x < high.x) == is_low_in_the_west


@pytest.mark.parametrize(
    ("start", "end", "conveying", "direction"),
    [
        (WEST, EAST, "forward", Direction.UP),
        (EAST, WEST, "forward", Direction.DOWN),
        (WEST, EAST, "backward", Direction.DOWN),
        (WEST, EAST, "reversible", None),
        (WEST, EAST, "yes", None),
    ],
)
def test_an_escalator_moves_the_way_that_it_is_drawn(
    start: Metres, end: Metres, conveying: str, direction: Direction | None
) -> None:
    connector = stairs_between(start, end, conveying=conveying)
    assert (connector.kind, connector.direction) == (ConnectorKind.ESCALATOR, direction)


@pytest.mark.parametrize("fault", ["access=no", "disused=yes", "operational_status=out_of_order"])
def test_a_lift_out_of_order_is_out_of_service(fault: str) -> None:
    lift = rect(0, 0, 4, 4, "highway=elevator;ref=a")
    broken = rect(0, 0, 4, 4, f"highway=elevator;ref=a;{fault}")
    assert only_connector(translate_svg(lift, lift)).is_in_service
    assert not only_connector(translate_svg(lift, broken)).is_in_service


# Floors


def test_the_sort_of_the_floors_orders_the_levels_and_counts_storeys() -> None:
    lift = rect(0, 0, 4, 4, "highway=elevator;ref=a")
    translated = translate_svg(lift, lift, floors={"f1": 30, "f2": -7, "f3": 4})
    assert [(level.id, level.ordinal) for level in translated.plan.levels] == [("f2", 0), ("f1", 2)]


def test_a_level_of_no_floor_is_an_error_that_lists_the_floors() -> None:
    with pytest.raises(
        InvalidInputError, match="names the floor 'f1', which the asset does not have"
    ):
        translate_svg(rect(0, 0, 4, 4, "indoor=room"), floors={"a": 0, "b": 1})
    nameless = (
        b'<svg><g data-type="Level"><rect width="1" height="1" data-tags="indoor=room"/></g></svg>'
    )
    drawing = plans.read_plan({"a.svg": nameless}, feet_per_unit=1.0)
    with pytest.raises(
        InvalidInputError, match=r"data-tags need floor=<id>, .*the floors are: a, b"
    ):
        translate_plan(drawing, "m", {"a": 0, "b": 1})
    assert translate_plan(drawing, "m", {"a": 0}).plan.levels[0].id == "a"


def test_a_lift_between_floors_of_equal_height_is_an_error() -> None:
    lift = rect(0, 0, 4, 4, "highway=elevator;ref=a;name=Lift")
    with pytest.raises(
        InvalidInputError, match="Lift joins the floors 'f1' and 'f2', which both have"
    ):
        translate_svg(lift, lift, floors={"f1": 0, "f2": 0})
    apart = rect(0, 0, 4, 4, "indoor=room")
    assert translate_svg(apart, apart, floors={"f1": 0, "f2": 0}).plan.spaces


BENT: list[Metres] = [(10, 3), (10, 33), (40, 33)]
"""60 m along the line, 42 m from end to end."""


def ride_metres(builder: OsmPlanBuilder) -> dict[tuple[str, str], Any]:
    """The lengths of rides upwards, by the levels that they lead from and to."""
    network = process_plan(translate_osm(builder).plan).networks[TravelMode.FOOT]
    portals, ids = network.portals, [level.rpartition("-")[2] for level in network.level_ids]
    return {
        (ids[portals[link.start].level], ids[portals[link.end].level]): pytest.approx(
            link.cost.feet * 0.3048, abs=0.2
        )
        for link in network.links
        if portals[link.start].level < portals[link.end].level
    }


def draw_halls(*corners: tuple[float, float]) -> OsmPlanBuilder:
    builder = OsmPlanBuilder()
    for level, (x, y) in enumerate(corners):
        builder.add_way(box(x - 2, y - 2, x + 2, y + 2), indoor="corridor", level=str(level))
    return builder


@pytest.mark.parametrize("kind", ["steps", "footway", "elevator"])
def test_a_ride_is_as_long_as_its_line(kind: str) -> None:
    builder = draw_halls(BENT[0], BENT[-1])
    builder.add_way(BENT, highway=kind, level="0;1")
    assert ride_metres(builder) == {("0", "1"): 42.4 if kind == "elevator" else 60}


@pytest.mark.parametrize("ref", [{}, {"ref": "a"}])
def test_the_same_line_on_both_levels_leads_from_end_to_end(ref: dict[str, str]) -> None:
    builder = draw_halls(BENT[0], BENT[-1])
    for level, line in (("0", BENT), ("1", BENT[::-1])):
        builder.add_way(line, ramp="yes", level=level, **ref)
    assert ride_metres(builder) == {("0", "1"): 60}


def test_a_line_is_left_where_the_floor_between_its_ends_is() -> None:
    builder = draw_halls(BENT[0], (8, 20), BENT[-1])
    builder.add_way(BENT, ramp="yes", level="0;1;2")
    assert ride_metres(builder) == {("0", "1"): 15, ("1", "2"): 45, ("0", "2"): 60}


def test_flights_of_one_ref_add_up() -> None:
    builder = draw_halls(BENT[0], BENT[-1], (60, 33))
    builder.add_way(BENT, highway="steps", ref="a", level="0;1", incline="up")
    builder.add_way([(60, 33), BENT[-1]], highway="steps", ref="a", level="1;2", incline="down")
    assert ride_metres(builder) == {("0", "1"): 60, ("1", "2"): 20, ("0", "2"): 80}


@pytest.mark.parametrize(
    ("upper", "metres"),
    [((0, 0), 120 * 0.3048), ((0.5, 0), 120 * 0.3048), ((30, 0), 30)],
    ids=["one place", "drawn inexactly", "two ends"],
)
def test_a_ramp_of_areas_is_as_long_as_its_ends_are_apart(upper: Metres, metres: float) -> None:
    builder = OsmPlanBuilder()
    for level, (x, y) in (("0", (0, 0)), ("1", upper)):
        builder.add_way(box(x, y, x + 4, y + 4), indoor="corridor", level=level)
        builder.add_way(box(x, y, x + 4, y + 4), ramp="yes", ref="a", level=level)
    assert ride_metres(builder) == {("0", "1"): metres}


@pytest.mark.parametrize(
    ("tags", "reaches"),
    [
        ({"highway": "steps"}, False),
        ({"area:highway": "steps"}, False),
        ({"indoor": "area", "stairs": "yes"}, False),
        ({"highway": "steps", "ramp:wheelchair": "yes"}, True),
        ({"highway": "steps", "wheelchair": "yes"}, True),
        ({"highway": "footway"}, True),
    ],
)
def test_steps_on_one_level_are_no_way_for_wheelchairs(tags: dict[str, str], reaches: bool) -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 40, 4), indoor="corridor", level="0")
    builder.add_way(box(18, 0, 22, 4), level="0", **tags)
    for x in (2, 38):
        builder.add_node((x, 2), amenity="bench", level="0")
    on_foot, on_wheels = process_plan(translate_osm(builder).plan).report.reachability
    assert (on_foot.share, on_wheels.share == 1) == (1, reaches)


AREA = AreaGeometry((((0, 0), (9, 0), (9, 9)),))
LINE = LinesGeometry((((0, 0), (9, 0)),))
POINT = PointGeometry((0, 0))


def feature(geometry: Geometry, levels: tuple[str, ...] = ("0",), **tags: str) -> Feature:
    return Feature("way/1", levels, geometry, tags)


@pytest.mark.parametrize(
    ("value", "expected"), [("yes", True), ("books", True), ("no", False), ("vacant", False)]
)
def test_a_matcher_without_values_takes_all_but_no_and_vacancy(value: str, expected: bool) -> None:
    assert TagMatcher("shop").matches({"shop": value}) == expected


def test_only_areas_are_spaces() -> None:
    assert tag_classification.get_space_kind(feature(AREA, indoor="room")) is SpaceKind.ROOM
    assert tag_classification.get_space_kind(feature(AREA, highway="footway")) is SpaceKind.AREA
    assert tag_classification.get_space_kind(feature(LINE, indoor="room")) is None


def test_a_footway_on_several_levels_is_a_ramp() -> None:
    assert tag_classification.get_connector_kind(feature(LINE, ("0", "1"), highway="footway")) is (
        ConnectorKind.RAMP
    )
    assert tag_classification.get_connector_kind(feature(LINE, highway="footway")) is None


def test_points_and_passable_barriers_block_nothing() -> None:
    assert tag_classification.is_barrier(feature(LINE, indoor="wall"))
    assert not tag_classification.is_barrier(feature(POINT, barrier="bollard"))
    assert not tag_classification.is_barrier(feature(LINE, barrier="gate"))


def test_a_feature_is_named_after_what_it_is_but_not_after_its_vacancy() -> None:
    assert tag_classification.get_display_name(feature(AREA, name="Books", shop="books")) == "Books"
    assert tag_classification.get_display_name(feature(AREA, shop="books")) == "books"
    assert tag_classification.get_display_name(feature(AREA, shop="vacant")) == "way/1"


FLOOR = rect(0, 0, 100, 40, "indoor=corridor", 'id="hall"') + rect(0, 40, 50, 40, "indoor=room")


def star(corners: int, tags: str = "indoor=corridor") -> str:
    """An outline in which nearly all sides cross each other."""
    turns = [2 * math.pi * at * (corners // 2 - 1) / corners for at in range(corners)]
    points = " ".join(f"{50 + 40 * math.cos(a):.6f},{20 + 15 * math.sin(a):.6f}" for a in turns)
    return f'<polygon id="star" points="{points}" data-tags="{tags}"/>'


def grid(lines: int) -> str:
    """Walls across each other."""
    at = [f"{100 * (number + 0.5) / lines:.4f}" for number in range(lines)]
    rows = (f'<path d="M-1 {y} H101" data-tags="barrier=wall"/>' for y in at)
    columns = (f'<path id="x{x}" d="M{x} -1 V101" data-tags="barrier=wall"/>' for x in at)
    return "".join((*rows, *columns))


def svg_of(shapes: str) -> bytes:
    level = f'<g data-type="Level" data-tags="floor=f1">{shapes}</g>'
    return f'<svg viewBox="0 0 100 100">{level}</svg>'.encode()


def draw(shapes: str) -> Drawing:
    return plans.read_plan({"plan.svg": svg_of(shapes)}, feet_per_unit=1)


def report_on(shapes: str, **options: Any) -> dict[str, Any]:
    request = ProcessingRequest("m", {"plan.svg": svg_of(shapes)}, "svg", "a", 1.0, **options)
    return build_network(BuildTask(request, "a", None, {}, []), ignore_progress).report


@pytest.mark.parametrize("kind", ["indoor=corridor", "indoor=room", "highway=steps", "door=yes"])
def test_an_outline_that_crosses_itself_everywhere_is_left_out_with_its_place(kind: str) -> None:
    report = report_on(FLOOR + star(2_001, kind))
    assert report["problem_counts"]["element-left-out"] == 1
    [problem] = [
        problem
        for group in report["groups"]
        for problem in group["problems"]
        if problem["part"] == "star"
    ]
    assert "more than 20,000 crossings" in problem["message"]
    assert 10 <= problem["x"] <= 90
    assert 5 <= problem["y"] <= 35
    assert not any(note.startswith(tag_classification.CAUSE) for note in report["notes"])


def test_an_outline_that_crosses_itself_a_little_stays() -> None:
    drawing = draw(FLOOR + star(51))
    assert leave_out_tangles(drawing, is_used) is drawing


def test_of_walls_across_each_other_the_last_are_left_out() -> None:
    drawing = leave_out_tangles(draw(FLOOR + grid(200)), is_used)
    walls = [feature for feature in drawing.features if "barrier" in feature.tags]
    assert 295 <= len(walls) <= 300
    assert [fault.part for fault in drawing.faults][-1] == "x99.7500"
    assert "hall" in {feature.id for feature in drawing.features}


def test_spaces_have_precedence_over_walls_that_are_drawn_first() -> None:
    drawing = leave_out_tangles(draw(grid(200) + FLOOR), is_used)
    assert "hall" in {feature.id for feature in drawing.features}


def test_what_a_plan_does_not_use_may_cross() -> None:
    drawing = draw(FLOOR + star(2_001, "decoration=yes"))
    assert leave_out_tangles(drawing, is_used) is drawing


def test_a_strict_reader_rejects_such_plans() -> None:
    with pytest.raises(InvalidPlanError, match="'star' crosses itself"):
        report_on(FLOOR + star(2_001), strict=True)


@pytest.mark.parametrize("block_pairs", [1, 1_000, 10**9])
def test_crossings_are_counted_as_shapely_does(
    block_pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(3)
    shapes: list[Segments] = [random.uniform(0, 10, (3, 2, 2)).round() for _ in range(30)]
    lines = np.asarray(shapely.linestrings(np.concatenate(shapes)))
    first, second = shapely.STRtree(lines).query(lines, predicate="intersects")
    count = sum(
        bool(lines[i].crosses(lines[j]) and not lines[i].touches(lines[j]))
        for i, j in zip(first, second, strict=True)
        if i < j
    )
    assert 0 < count < MAX_CROSSINGS
    monkeypatch.setattr(tag_classification, "MAX_BLOCK_PAIRS", block_pairs)
    monkeypatch.setattr(tag_classification, "MAX_CROSSINGS", count)
    assert find_tangled(shapes) == {}
    monkeypatch.setattr(tag_classification, "MAX_CROSSINGS", count - 1)
    assert len(find_tangled(shapes)) == 1


SHOW_DOORS = (
    "apb-dresden", "rennes2-bat-s", "rennes2-presidence", "ibm-triview", "addenbrookes-final",
    "cpc4-final", "multicentro", "spbstu-polymap", "gare-de-lyon", "cdg-airport",
    "shanghaitech-merge2",
)  # fmt: skip


def translate(name: str) -> TranslatedPlan:
    """A real plan; skips the test where it is absent."""
    return translate_plan(plans.read_plan(require_plan(name).read()), "m")


def without_doors(plan: Plan) -> Iterator[tuple[WalkableLevel, WalkableLevel]]:
    """Each level with its doors, and with none of them."""
    repaired, _ = repair_plan(plan)
    shown, _ = build_walkable_levels(repaired)
    bare, _ = build_walkable_levels(replace(repaired, doors=()))
    yield from zip(shown, bare, strict=True)


def count_right(
    levels: Iterator[tuple[WalkableLevel, WalkableLevel]],
) -> dict[float, Counter[bool]]:
    """Whether inferred doors join the two spaces that a drawn door joins, by confidence."""
    found: defaultdict[float, Counter[bool]] = defaultdict(Counter)
    for shown, bare in levels:
        drawn = [o.piece_indexes for o in shown.openings if o.origin is not DoorOrigin.INFERRED]
        joined = {frozenset(pair) for pair in drawn}
        for opening in bare.openings:
            room_id = opening.door_id.removeprefix("inferred:")
            own = {i for i in opening.piece_indexes if bare.floor.pieces[i].room_id == room_id}
            # Of a room without a drawn door nobody knows where it is.
            if own & {index for pair in joined for index in pair}:
                found[opening.confidence][frozenset(opening.piece_indexes) in joined] += 1
    return found


def test_in_the_demo_building_nearly_all_doors_are_inferred_where_they_are() -> None:
    total = sum(count_right(without_doors(build_demo())).values(), Counter[bool]())
    assert total[True] >= 0.9 * total.total() > 100


@pytest.mark.slow
def test_inferred_doors_of_real_plans_are_as_often_right_as_their_confidence_says() -> None:
    found: defaultdict[float, Counter[bool]] = defaultdict(Counter)
    for name in SHOW_DOORS:
        for confidence, counts in count_right(without_doors(translate(name).plan)).items():
            found[confidence] += counts
    often = {
        confidence: counts[True] / counts.total()
        for confidence, counts in found.items()
        if counts.total() >= 40
    }
    assert sorted(often) == [0.3, 0.42, 0.5, 0.6, 0.7, 0.9]
    assert all(share >= confidence for confidence, share in often.items()), often
    total = sum(found.values(), Counter[bool]())
    assert total[True] >= 0.86 * total.total()
