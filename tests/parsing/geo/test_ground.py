import pytest

from parsing.drawing import (
    AreaGeometry,
    Feature,
    Geometry,
    LinesGeometry,
    NoteCollector,
    PointGeometry,
    ReadingFault,
)
from parsing.errors import InvalidPlanError
from parsing.geo.ground import build_drawing_in_feet, find_ground, leave_out_remote

WEST, SOUTH = 10.0, 56.0
SQUARE = (
    (WEST, SOUTH),
    (WEST + 0.001, SOUTH),
    (WEST + 0.001, SOUTH + 0.001),
    (WEST, SOUTH + 0.001),
)


def project(shape: Geometry) -> Geometry:
    return find_ground([shape]).project_geometry(shape)


def test_the_origin_is_the_north_west_corner_and_y_grows_to_the_south() -> None:
    area = project(AreaGeometry((SQUARE,)))
    assert isinstance(area, AreaGeometry)
    xs, ys = zip(*area.rings[0], strict=True)
    assert (min(xs), min(ys)) == (0, 0)
    assert max(xs) == pytest.approx(204.7, abs=0.5)  # 62.4 m of longitude at 56 degrees north
    assert max(ys) == pytest.approx(365.3, abs=0.5)  # 111.3 m of latitude


@pytest.mark.parametrize("ring", [SQUARE[::-1], SQUARE[2:] + SQUARE[:2]])
def test_direction_and_start_of_a_ring_do_not_matter(ring: tuple[tuple[float, float], ...]) -> None:
    canonical = project(AreaGeometry((SQUARE,)))
    assert project(AreaGeometry((ring,))) == canonical


def test_a_closed_line_is_canonical_too_and_an_open_one_keeps_its_direction() -> None:
    closed = LinesGeometry(((*SQUARE, SQUARE[0]),))
    turned = LinesGeometry(((*SQUARE[2:], *SQUARE[:3]),))
    assert project(closed) == project(turned)
    line = LinesGeometry((SQUARE[:2],))
    back = LinesGeometry((SQUARE[1::-1],))
    assert project(line) != project(back)


def test_a_point_is_projected_like_the_shapes() -> None:
    ground = find_ground([AreaGeometry((SQUARE,))])
    assert ground.to_feet(SQUARE[3]) == pytest.approx((0, 0), abs=0.01)


def test_a_position_in_feet_has_the_degrees_of_the_file() -> None:
    ground = find_ground([AreaGeometry((SQUARE,))])
    for corner in SQUARE:
        assert ground.to_degrees(ground.to_feet(corner)) == pytest.approx(corner, abs=1e-7)


def features_at(*points: tuple[float, float]) -> list[Feature]:
    return [Feature(f"node/{n}", ("0",), PointGeometry(at), {}) for n, at in enumerate(points)]


def test_a_feature_miles_away_is_left_out_and_named() -> None:
    collector = NoteCollector()
    features = features_at(*SQUARE, (56.0, 10.0))
    assert leave_out_remote(features, collector) == features[:4]
    (fault,) = collector.faults
    assert fault.message.startswith("node/4 is 3,176 miles away from the rest; a plan is one")
    assert fault.part == "node/4"


def test_a_plan_across_the_180th_meridian_is_together() -> None:
    features = features_at((179.999, SOUTH), (-179.999, SOUTH))
    assert leave_out_remote(features, NoteCollector()) == features


def test_features_that_are_nowhere_together_are_an_error() -> None:
    features = features_at(*((float(degrees), SOUTH) for degrees in range(5)))
    with pytest.raises(InvalidPlanError, match=r"up to 77 miles away from each other"):
        leave_out_remote(features, NoteCollector())


def test_the_positions_of_faults_are_in_the_frame_of_the_drawing() -> None:
    collector = NoteCollector()
    collector.add_fault(ReadingFault("left out", "way/1 is", position=SQUARE[3]))
    collector.add_fault(ReadingFault("left out", "way/2 is"))
    drawing = build_drawing_in_feet((), features_at(*SQUARE), collector, "osm:id", "")
    assert drawing.faults[0].position == pytest.approx((0, 0), abs=0.01)
    assert drawing.faults[1].position is None
