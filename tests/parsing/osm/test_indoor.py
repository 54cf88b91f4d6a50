import pytest

from parsing.drawing import AreaGeometry, LinesGeometry, NoteCollector, PointGeometry
from parsing.errors import DocumentRejectedError, InvalidPlanError
from parsing.osm.indoor import build_drawing
from parsing.osm.surroundings import GeoFeature

RING = ((10.0, 56.0), (10.001, 56.0), (10.001, 56.001))


def room(feature_id: str, level: str, **tags: str) -> GeoFeature:
    return GeoFeature(feature_id, {"indoor": "room", "level": level, **tags}, AreaGeometry((RING,)))


def test_features_are_sorted_by_id_and_levels_by_ordinal() -> None:
    drawing = build_drawing([room("b", "1"), room("a", "-1")], NoteCollector(), "Hall")
    assert [feature.id for feature in drawing.features] == ["a", "b"]
    assert [level.ordinal for level in drawing.levels] == [-1, 1]
    assert (drawing.name, drawing.id_key) == ("Hall", "osm:id")


def test_a_level_takes_its_name_from_its_outline() -> None:
    outline = GeoFeature(
        "o", {"indoor": "level", "level": "0", "name": "Ground"}, AreaGeometry((RING,))
    )
    drawing = build_drawing([room("a", "0-1"), outline], NoteCollector())
    assert [level.name for level in drawing.levels] == ["Ground", ""]


def test_tags_decide_between_area_and_line() -> None:
    open_room = GeoFeature("a", {"indoor": "room", "level": "0"}, LinesGeometry((RING,)))
    wall = GeoFeature("b", {"indoor": "wall", "level": "0"}, AreaGeometry((RING,)))
    first, second = build_drawing([open_room, wall], NoteCollector()).features
    assert isinstance(first.geometry, AreaGeometry)
    assert isinstance(second.geometry, LinesGeometry)


def test_a_door_without_level_is_on_the_levels_of_its_wall() -> None:
    door = GeoFeature("door", {"door": "yes"}, PointGeometry(RING[0]))
    features = build_drawing([room("a", "0"), room("b", "2"), door], NoteCollector()).features
    assert {feature.id: feature.levels for feature in features}["door"] == ("0", "2")


def test_a_plan_without_indoor_features_is_an_error_with_the_notes() -> None:
    bench = GeoFeature("n", {"amenity": "bench"}, PointGeometry(RING[0]))
    with pytest.raises(InvalidPlanError, match="Found instead: not indoors: amenity: 1"):
        build_drawing([bench], NoteCollector())


def test_features_on_too_many_levels_are_refused() -> None:
    """A small file may say that each of its rooms is on 250 levels."""
    rooms = [room(f"r{n}", "0-249") for n in range(401)]
    with pytest.raises(DocumentRejectedError, match="more than 100,000 features, each counted on"):
        build_drawing(rooms, NoteCollector())
    assert len(build_drawing(rooms[:-1], NoteCollector()).features) == 400
