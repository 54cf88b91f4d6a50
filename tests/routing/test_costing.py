"""What travel costs, in feet and seconds, by mode and connector."""

import pytest

from routing.costing import Costing, TravelMode
from routing.plan import ConnectorKind
from tests.routing.ascii_plans import CELL_FEET, process_drawing

COSTING = Costing()
WALK = COSTING.feet_per_second(TravelMode.FOOT)
ROLL = COSTING.feet_per_second(TravelMode.WHEELCHAIR)


def between_floors(
    sign: str, mode: TravelMode = TravelMode.FOOT, storeys: int = 1
) -> tuple[float, float]:
    """Feet and seconds from A up to B, which stand four cells from a connector."""
    blank = [sign] * (storeys - 1)
    router = process_drawing(f"{sign},,,A", *blank, f"{sign},,,B").router
    feet, seconds = router.matrix(["A"], ["B"], mode)
    return float(feet[0, 0]), float(seconds[0, 0])


def test_walking_speeds() -> None:
    assert pytest.approx(5.1 * 1000 / 3600 / 0.3048) == WALK
    assert pytest.approx(4.0 * 1000 / 3600 / 0.3048) == ROLL


@pytest.mark.parametrize("storeys", [1, 3])
def test_stairs_are_twenty_feet_a_storey_at_a_third_of_the_speed(storeys: int) -> None:
    feet, seconds = between_floors("s", storeys=storeys)
    walked = 8 * CELL_FEET
    assert feet == pytest.approx(walked + 20 * storeys)
    assert seconds == pytest.approx(walked / WALK + 3 * 20 * storeys / WALK)


@pytest.mark.parametrize("storeys", [1, 3])
@pytest.mark.parametrize("mode", TravelMode)
def test_a_lift_takes_half_a_minute_and_five_seconds_a_storey(
    storeys: int, mode: TravelMode
) -> None:
    feet, seconds = between_floors("e", mode, storeys)
    assert feet == pytest.approx(8 * CELL_FEET)
    assert seconds == pytest.approx(feet / COSTING.feet_per_second(mode) + 30 + 5 * storeys)


def test_an_escalator_is_twenty_feet_at_half_a_metre_a_second() -> None:
    feet, seconds = between_floors("m")
    assert feet == pytest.approx(8 * CELL_FEET + 20)
    assert seconds == pytest.approx(8 * CELL_FEET / WALK + 20 * 0.3048 / 0.5)


def test_a_ramp_is_rolled_up_at_full_speed() -> None:
    feet, seconds = between_floors("r", TravelMode.WHEELCHAIR)
    assert feet == pytest.approx(8 * CELL_FEET + COSTING.ramp_feet_per_storey)
    assert seconds == pytest.approx(feet / ROLL)


@pytest.mark.parametrize(
    ("kind", "feet", "seconds"),
    [
        (ConnectorKind.STEPS, 90, 3 * 90 / WALK),
        (ConnectorKind.ESCALATOR, 90, 90 * 0.3048 / 0.5),
        (ConnectorKind.RAMP, 90, 90 / WALK),
        (ConnectorKind.ELEVATOR, 90, 35),
        (ConnectorKind.ELEVATOR, 300, 300 / WALK),  # a funicular
    ],
)
def test_a_longer_ride_takes_longer(kind: ConnectorKind, feet: float, seconds: float) -> None:
    cost = COSTING.ride_cost(TravelMode.FOOT, kind, 1, feet)
    assert cost.feet == feet
    assert cost.seconds == pytest.approx(seconds)
