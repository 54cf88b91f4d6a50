"""Plans to measure on: the demo building, and a real shopping centre where its file is there."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from bench.data.plans import build_demo
from parsing import plans
from resolvers.plans.translation import translate_plan
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
