"""Plans to measure on, such as a real shopping centre if it is there, and parts of networks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from bench.data.plans import build_demo
from parsing import plans
from resolvers.plans.translation import translate_plan
from routing.costing import TravelMode
from routing.network.network import Network
from routing.network.restrictions import Restrictions, close_connectors, close_floor
from routing.processing import ProcessedPlan, process_plan

CASERNE = Path(os.environ.get("FLOORGATE_PLANS", "../shared/data")) / "caserne" / "caserne.osm"


@cache
def process_demo() -> ProcessedPlan:
    return process_plan(build_demo())


@cache
def process_caserne() -> ProcessedPlan:
    """The shopping centre; skips the test where its file is absent."""
    if not CASERNE.exists():
        pytest.skip(f"{CASERNE} is absent")
    drawing = plans.read_plan({CASERNE.name: CASERNE.read_bytes()})
    return process_plan(translate_plan(drawing, "caserne").plan)


def restrict_networks(
    networks: Mapping[TravelMode, Network], restrictions: Restrictions
) -> dict[TravelMode, Network]:
    """Return the networks of a map without what is restricted.

    Only levels where floor is closed are built again. A network that loses nothing is the same
    object.
    """
    return close_connectors(close_floor(networks, restrictions), restrictions)
