"""Views have exactly what is in sight: compared with straight lines that stay within the area."""

from __future__ import annotations

import numpy as np
import pytest
from shapely import Polygon

from routing.arrays import join_tables
from routing.network.mesh import cross, find_corners, normalize, triangulate
from routing.network.views import (
    SECTOR_SLACK_RADIANS,
    all_round,
    spread_views,
    tangent_sectors,
)
from tests.routing.hard_areas import WALLS, Walls, are_clear, build_area, places_in

FRAMES = ((0.0, 0.0), (17.3, 1234.567891234567), (45.0, 1e6))


@pytest.mark.parametrize("walls", WALLS)
def test_a_place_sees_what_a_straight_line_reaches(walls: Walls) -> None:
    for jitter_feet, (degrees, offset_feet) in zip((0.0, 1e-9, 1e-3), FRAMES, strict=True):
        area = build_area(walls, jitter_feet, degrees, offset_feet)
        mesh, places = triangulate(area), places_in(area, 20)[0]
        views = spread_views(mesh, places, all_round(np.arange(len(places))))
        sights = views.sights(places, mesh.locate_cells(places))
        points = np.repeat(np.arange(len(places)), np.diff(sights.starts))
        first, second = np.indices((len(places), len(places))).reshape(2, -1)
        clear = are_clear(area, places[first], places[second])
        expected = set(zip(first[clear].tolist(), second[clear].tolist(), strict=True))
        assert set(zip(points.tolist(), sights.vertices.tolist(), strict=True)) == expected
        lines = places[points] - places[sights.vertices]
        np.testing.assert_allclose(sights.feet, np.hypot(*lines.T))


@pytest.mark.parametrize("walls", WALLS)
def test_corners_see_what_paths_around_them_lead_to_and_little_else(walls: Walls) -> None:
    area = build_area(walls, 0, 17.3, 0)
    corners, mesh, places = find_corners(area), triangulate(area), places_in(area, 200)[0]
    views = spread_views(mesh, corners.xy, tangent_sectors(corners))
    located = mesh.locate(places)
    sights = views.sights(places, mesh.cells[located])
    point, corner = np.repeat(np.arange(len(places)), np.diff(sights.starts)), sights.vertices
    first, second = np.indices((len(places), len(corners))).reshape(2, -1)
    clear = are_clear(area, places[first], corners.xy[second])
    clear &= corners.are_tangent(second, corners.xy[second] - places[first])
    seen = set(zip(point.tolist(), corner.tolist(), strict=True))
    assert seen >= set(zip(first[clear].tolist(), second[clear].tolist(), strict=True))
    # In the corner's own cell, everything is in sight.
    beyond = mesh.cells[located[point]] != mesh.cells[mesh.locate(corners.xy)][corner]
    lines = normalize(places[point] - corners.xy[corner])[beyond]
    sines = [cross(lines, side[corner[beyond]]) for side in (corners.before, corners.after)]
    assert (np.maximum(np.minimum(*sines), -np.maximum(*sines)) >= -2 * SECTOR_SLACK_RADIANS).all()


def test_the_end_of_a_thin_wall_sees_nearly_all_round() -> None:
    outline = [(0, 0), (19.99, 0), (20, 30), (20.01, 0), (40, 0), (40, 40), (0, 40)]
    area = Polygon(outline)
    corners, mesh = find_corners(area), triangulate(area)
    (tip,) = np.flatnonzero(corners.xy[:, 1] == 30)
    views = spread_views(mesh, corners.xy, tangent_sectors(corners))
    places = np.array([(1.0, 1.0), (39.0, 1.0), (1.0, 39.0), (39.0, 39.0), (18.0, 1.0)])
    sights = views.sights(places, mesh.locate_cells(places))
    for place in range(len(places)):
        assert tip in sights.vertices[sights.starts[place] : sights.starts[place + 1]]


def test_sectors_are_joined_in_order() -> None:
    both = join_tables([all_round(np.array([0])), all_round(np.array([1]))])
    assert both.origins.tolist() == [0, 0, 0, 1, 1, 1]
