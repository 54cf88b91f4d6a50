"""Conversion between units of length."""

from __future__ import annotations

from typing import Final

FEET_PER_METRE: Final = 1 / 0.3048
"""The international foot is 0.3048 m exactly."""
