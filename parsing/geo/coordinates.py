"""Check longitude and latitude."""

from parsing.drawing import Coordinate
from parsing.errors import InvalidPlanError


def check_coordinate(longitude: float, latitude: float, label: str) -> Coordinate:
    """Return a coordinate in degrees of WGS 84.

    Raises `InvalidPlanError` if it is out of range; `label` names the feature in its message.
    """
    if abs(longitude) <= 180 and abs(latitude) <= 90:
        return longitude, latitude
    if abs(longitude) <= 90 and abs(latitude) <= 180:
        advice = "the two seem to have changed places"
    else:
        advice = "expected degrees of WGS 84, longitude up to 180 and latitude up to 90"
    raise InvalidPlanError(
        f"{label} is at longitude {longitude:g}, latitude {latitude:g}; {advice}"
    )
