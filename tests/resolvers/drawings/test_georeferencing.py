"""Where positions of a drawing are on Earth."""

import math

import numpy as np
import pytest

from parsing.geo.projection import local_projection
from resolvers.drawings.georeferencing import place_drawing
from storage.catalog import Georeference, find_georeference

PLACE = Georeference(latitude=56.0, longitude=10.0)


def feet_from_centre(georeference: Georeference, scale: float | None, x: float, y: float) -> object:
    """Return how far east and south of the centre a position is, by the plans' own projection."""
    placement = place_drawing(georeference, scale, 200, 100)
    [(longitude, latitude)] = placement.to_degrees(np.array([(x, y)])).tolist()
    project = local_projection((georeference.longitude, georeference.latitude))
    return pytest.approx(project((longitude, latitude)), abs=1e-3)


@pytest.mark.parametrize(
    ("bearing", "east", "south"),
    [
        (0, 50, 20),
        (90, -20, 50),  # the upper edge is in the east
        (180, -50, -20),
        (-90, 20, -50),
    ],
)
def test_the_bearing_is_the_direction_of_the_upper_edge(
    bearing: float, east: float, south: float
) -> None:
    turned = Georeference(latitude=56.0, longitude=10.0, bearing=bearing)
    assert (east / 2, south / 2) == feet_from_centre(turned, 0.5, 150, 70)


@pytest.mark.parametrize("latitude", [-85.0, -33.8, 0.0, 45.5, 85.0])
def test_positions_are_those_of_plans(latitude: float) -> None:
    place = Georeference(latitude=latitude, longitude=179.9)
    assert feet_from_centre(place, 1, 20_100, -9_900) == (20_000, -9_950)


def test_longitudes_go_on_beyond_180_degrees() -> None:
    placement = place_drawing(Georeference(latitude=0, longitude=179.9999), 1.0, 0, 0)
    [(longitude, _)] = placement.to_degrees(np.array([(1_000.0, 0.0)])).tolist()
    assert 180 < longitude < 180.01


def test_without_a_scale_a_unit_is_a_pixel_at_the_zoom() -> None:
    placement = place_drawing(Georeference(60.0, 10.0, zoom=18), None, 200, 100)
    metres = 40_075_016.686 / 256 / 2**18 * math.cos(math.radians(60))
    assert placement.feet_per_unit == pytest.approx(metres / 0.3048)
    assert place_drawing(Georeference(60.0, 10.0, zoom=18), 0.1, 200, 100).feet_per_unit == 0.1


def test_scale_needs_feet_or_zoom() -> None:
    assert PLACE.has_scale(0.1)
    assert not PLACE.has_scale(None)
    assert Georeference(56.0, 10.0, zoom=1).has_scale(None)


@pytest.mark.parametrize("member", ['"latitude":86', '"longitude":-181', '"zoom":25'])
def test_what_is_out_of_range_is_none(member: str) -> None:
    good = '{"type":"Georeference","uid":"u1","latitude":1,"longitude":2,"zoom":3}'
    assert find_georeference(good.encode()) is not None
    name = member.partition(":")[0]
    changed = [member if each.startswith(name) else each for each in good[1:-1].split(",")]
    assert find_georeference(f"{{{','.join(changed)}}}".encode()) is None


def test_a_text_is_no_georeference() -> None:
    assert find_georeference(rb'{"id":"{\"type\":\"Georeference\",\"latitude\":1}"}') is None
