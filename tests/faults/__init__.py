"""Faults of MongoDB, its network and gateways, and what clients are answered meanwhile."""

import os

import pytest

NEEDS_THE_MACHINE = pytest.mark.skipif(
    "FLOORGATE_FAULTS" not in os.environ,
    reason="needs the machine for itself: FLOORGATE_FAULTS=1, or make chaos",
)
"""Beside other tests, members that wait only two seconds for each other elect again and again."""
