"""Positions of a drawing in degrees of WGS 84.

docs/decisions/parsing/georeferences.md says how large a drawing is, and which way it is turned.
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parsing.drawing import FEET_PER_METRE
from parsing.geo.projection import ECCENTRICITY_SQUARED, SEMI_MAJOR_METRES
from storage.catalog import Georeference

METRES_PER_PIXEL: Final = 156_543.03392
"""Of a web map at the equator, at zoom 0."""
DECIMALS: Final = 7
"""Of degrees, as RFC 7946 (section 11.2) advises: a centimetre."""
MAX_METRES: Final = 50_000.0
"""From the centre of a drawing: a larger one is no building, but has a wrong scale."""

Positions = NDArray[np.float64]
"""x and y, or longitude and latitude, in rows."""


class Placement(NamedTuple):
    """Where a drawing is: the degrees of its centre, its scale, and its upward direction."""

    longitude: float
    latitude: float
    bearing: float
    feet_per_unit: float
    center_x: float
    center_y: float

    @property
    def max_units(self) -> float:
        """How far from the centre a position may be, in units of the drawing."""
        return MAX_METRES * FEET_PER_METRE / self.feet_per_unit

    def to_degrees(self, positions: Positions) -> Positions:
        """Return the longitudes and latitudes of positions of the drawing.

        The drawing lies on the plane that touches the ellipsoid at its centre, as in
        `parsing.geo.projection`. Longitudes go on beyond 180 degrees.
        """
        scale = self.feet_per_unit / FEET_PER_METRE
        right = (positions[:, 0] - self.center_x) * scale
        up = (self.center_y - positions[:, 1]) * scale
        sine, cosine = math.sin(math.radians(self.bearing)), math.cos(math.radians(self.bearing))
        east, north = right * cosine + up * sine, up * cosine - right * sine
        return _unproject(self.longitude, self.latitude, east, north)


def place_drawing(
    georeference: Georeference, feet_per_unit: float | None, width: float, height: float
) -> Placement:
    """Return where a drawing with a canvas of this size is.

    Its scale is that of the map, or else that of the zoom.
    """
    if feet_per_unit is None:
        pixel = METRES_PER_PIXEL / 2**georeference.zoom
        feet_per_unit = pixel * math.cos(math.radians(georeference.latitude)) * FEET_PER_METRE
    return Placement(
        georeference.longitude,
        georeference.latitude,
        georeference.bearing,
        feet_per_unit,
        width / 2,
        height / 2,
    )


def _unproject(
    longitude: float, latitude: float, east: NDArray[np.float64], north: NDArray[np.float64]
) -> Positions:
    """Return degrees of positions on the plane that touches the ellipsoid, in metres.

    A line at a right angle to the plane meets the ellipsoid `up` metres from it: the root of a
    quadratic equation.
    """
    sine, cosine = math.sin(math.radians(latitude)), math.cos(math.radians(latitude))
    flat = 1 - ECCENTRICITY_SQUARED
    normal = SEMI_MAJOR_METRES / math.sqrt(1 - ECCENTRICITY_SQUARED * sine * sine)
    # In a frame turned to the meridian of the centre: x through it at the equator, z to the north.
    x = normal * cosine - north * sine
    z = normal * flat * sine + north * cosine
    a = cosine**2 + sine**2 / flat
    b = x * cosine + z * sine / flat
    c = x**2 + east**2 + z**2 / flat - SEMI_MAJOR_METRES**2
    up = -c / (b + np.sqrt(np.maximum(b**2 - a * c, 0)))
    x, z = x + up * cosine, z + up * sine
    return np.column_stack(
        (
            longitude + np.degrees(np.arctan2(east, x)),
            np.degrees(np.arctan2(z, flat * np.hypot(x, east))),
        )
    )
