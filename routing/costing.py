"""Speeds and penalties of travel: one frozen object of settings for both travel modes.

The defaults are the service's published figures. Lengths are in feet, times in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from routing.arrays import FloatArray
from routing.plan import Connector, ConnectorKind
from routing.values import FEET_PER_METRE
from routing.values import TravelMode as TravelMode

FEET_PER_SECOND_PER_KMH = FEET_PER_METRE * 1000 / 3600


SECONDS_PER_FOOT_OF_TIE = 1e-7
"""A foot adds so much to the cost of a route: of routes of the same time the shortest wins."""


class RideCost(NamedTuple):
    """Cost of one ride on a connector, from one level to another."""

    feet: float
    seconds: float


Cost = TypeVar("Cost", float, FloatArray)


def cost_of(seconds: Cost, feet: Cost) -> Cost:
    """Return what fastest routes are chosen by: the time, and between equal times the length.

    It adds up along a route, as both do, so that all parts of a search choose the same one.
    """
    return seconds + SECONDS_PER_FOOT_OF_TIE * feet


def seconds_of(costs: FloatArray, feet: FloatArray) -> FloatArray:
    """Return the time of routes from their costs and lengths; inf where both are."""
    seconds = costs.copy()
    reached = np.isfinite(feet)
    seconds[reached] -= SECONDS_PER_FOOT_OF_TIE * feet[reached]
    return seconds


@dataclass(frozen=True)
class Costing:
    """Walking speeds, and the cost of each kind of connector.

    Stairs and escalators are as long as they are drawn, but no shorter than these feet a storey.
    """

    foot_kmh: float = 5.1
    wheelchair_kmh: float = 4.0
    steps_feet_per_storey: float = 20.0
    steps_share_of_speed: float = 1 / 3
    escalator_feet_per_storey: float = 20.0
    escalator_feet_per_second: float = 0.5 * FEET_PER_METRE
    ramp_feet_per_storey: float = 120.0
    """A storey of ten feet at a slope of 1 in 12, if a ramp is drawn without its length."""
    elevator_entry_seconds: float = 30.0
    elevator_seconds_per_storey: float = 5.0
    wheelchair_door_feet: float = 0.80 * FEET_PER_METRE
    attach_feet: float = 6.0
    """Maximum distance of a waypoint, or of an entrance of a connector, from the walkable area."""

    def feet_per_second(self, mode: TravelMode) -> float:
        """Return the walking speed of `mode` on level floor."""
        kmh = self.foot_kmh if mode is TravelMode.FOOT else self.wheelchair_kmh
        return kmh * FEET_PER_SECOND_PER_KMH

    def allows(self, mode: TravelMode, connector: Connector) -> bool:
        """Return whether `mode` can use the connector at all."""
        if not connector.is_in_service:
            return False
        if mode is TravelMode.FOOT:
            return True
        # None means that the source says nothing; lifts and ramps are then taken to be accessible.
        return not connector.has_steps and connector.wheelchair is not False

    def ride_cost(
        self, mode: TravelMode, kind: ConnectorKind, storeys: float, feet: float = 0.0
    ) -> RideCost:
        """Return the cost of riding `storeys` on a connector of this kind that is `feet` long.

        >>> Costing().ride_cost(TravelMode.FOOT, ConnectorKind.ELEVATOR, 2, feet=6.0)
        RideCost(feet=6.0, seconds=40.0)
        """
        speed = self.feet_per_second(mode)
        if kind is ConnectorKind.ELEVATOR:
            seconds = self.elevator_entry_seconds + self.elevator_seconds_per_storey * storeys
            # No lift, however inclined, is faster than walking straight to its other end.
            return RideCost(feet, max(seconds, feet / speed))
        if kind is ConnectorKind.STEPS:
            feet = max(feet, self.steps_feet_per_storey * storeys)
            speed *= self.steps_share_of_speed
        elif kind is ConnectorKind.ESCALATOR:
            feet = max(feet, self.escalator_feet_per_storey * storeys)
            speed = self.escalator_feet_per_second
        return RideCost(feet, feet / speed)
