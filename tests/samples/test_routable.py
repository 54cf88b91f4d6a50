"""Every unit of the demo property reaches every amenity, in either mode."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np

from parsing import plans
from resolvers.plans.translation import translate_plan
from routing.costing import TravelMode
from routing.processing import ProcessedPlan, process_plan

DEMO = Path(__file__).parents[2] / "samples" / "demo"


@cache
def process_drawing() -> tuple[ProcessedPlan, list[str], list[str]]:
    """Return the committed drawing made routable, and the locations of its units and amenities."""
    bundle = json.loads((DEMO / "bundle.json").read_bytes())
    sorts = {f["id"]: f["sort"] for f in bundle["floors"] if f["asset_id"] == "alder-court"}
    drawing = plans.read_plan({"a.svg": (DEMO / "alder-court.svg").read_bytes()}, feet_per_unit=0.1)
    reading = translate_plan(drawing, "alder-court-floor-plates", sorts)
    units = [place.id for place in reading.candidates if place.unit_id is not None]
    amenities = [place.id for place in reading.candidates if place.unit_id is None]
    return process_plan(reading.plan), units, amenities


def test_nothing_in_the_drawing_needs_repair() -> None:
    processed, _, _ = process_drawing()
    assert [check.share for check in processed.report.reachability] == [1.0, 1.0]
    assert processed.report.problems == ()


def test_every_unit_reaches_every_amenity_and_by_wheelchair_in_no_less_time() -> None:
    processed, units, amenities = process_drawing()
    walking = processed.router.matrix(units, amenities, TravelMode.FOOT)
    rolling = processed.router.matrix(units, amenities, TravelMode.WHEELCHAIR)
    assert rolling.feet.shape == walking.feet.shape == (86, 41)
    assert np.isfinite([rolling.feet, walking.feet]).all()
    assert np.isfinite(rolling.seconds).all()
    assert (rolling.seconds >= walking.seconds).all()
