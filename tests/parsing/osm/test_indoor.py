"""What the elements of OpenStreetMap become: rings, surroundings, features on levels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsing.drawing import AreaGeometry, NoteCollector, PointGeometry
from parsing.errors import DocumentRejectedError, InvalidPlanError
from parsing.osm.extracts import OpenRingError, join_rings
from parsing.osm.indoor import build_drawing
from parsing.osm.tags import GeoFeature, find_surroundings, is_building, is_site

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


def square(feature_id: str, west: float, size: float, **tags: str) -> GeoFeature:
    east = west + size
    ring = ((west, 0.0), (east, 0.0), (east, size), (west, size))
    return GeoFeature(feature_id, tags, AreaGeometry((ring,)))


def test_buildings_cover_the_ground() -> None:
    assert is_building({"building": "yes"}) and is_building({"building:part": "tower"})
    assert not is_building({"building": "roof"})  # people walk below
    assert not is_building({"building": "no"}) and not is_building({})


def test_sites_are_walkable_grounds() -> None:
    assert is_site({"shop": "mall"}) and is_site({"highway": "pedestrian"})
    assert not is_site({"shop": "mall", "building": "yes"})
    assert not is_site({"shop": "mall", "indoor": "room"})
    assert not is_site({"shop": "bakery"})


def test_sites_around_rooms_are_found_with_their_buildings() -> None:
    mall = square("mall", 0, 10, shop="mall")
    kiosk = square("kiosk", 5, 1, building="yes")
    elsewhere = square("elsewhere", 50, 1, building="yes")
    other_mall = square("other mall", 90, 10, shop="mall")
    room = square("room", 1, 1, indoor="room")
    assert find_surroundings([kiosk, elsewhere, mall, other_mall], [room]) == [mall, kiosk]
    assert find_surroundings([mall], []) == []


def test_pieces_are_joined_whichever_way_they_run() -> None:
    assert join_rings(["ab", "cb", "cda"]) == [("a", "b", "c", "d")]


def test_each_closed_piece_is_a_ring_of_its_own() -> None:
    assert join_rings(["abca", "xyzx"]) == [("a", "b", "c"), ("x", "y", "z")]


def test_many_pieces_at_one_node_take_linear_time() -> None:
    """In quadratic time, this would take a minute."""
    spokes = range(1, 50_000)
    pieces = [(n, 0) for n in spokes] + [(n, -n, 0) for n in spokes]
    assert sum(map(len, join_rings(pieces))) == 3 * len(spokes)


@pytest.mark.parametrize(("pieces", "end"), [(["ab", "bc"], "c"), (["aba"], "a")])
def test_open_pieces_are_an_error_with_their_end(pieces: list[str], end: str) -> None:
    with pytest.raises(OpenRingError) as error:
        join_rings(pieces)
    assert error.value.end == end


@given(st.integers(3, 30), st.sets(st.integers(0, 29)), st.randoms())
def test_a_ring_in_any_pieces_in_any_order_is_that_ring(
    size: int, cuts: set[int], random: object
) -> None:
    ends = sorted({cut % size for cut in cuts} | {0})
    pieces = [
        [n % size for n in range(start, stop + 1)]
        for start, stop in zip(ends, [*ends[1:], size], strict=True)
    ]
    pieces = [piece[::-1] if random.random() < 0.5 else piece for piece in pieces]  # type: ignore[attr-defined]
    random.shuffle(pieces)  # type: ignore[attr-defined]
    (ring,) = join_rings(pieces)
    steps = {frozenset(pair) for pair in zip(ring, [*ring[1:], ring[0]], strict=True)}
    assert steps == {frozenset({n, (n + 1) % size}) for n in range(size)}
