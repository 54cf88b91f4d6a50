"""Pauses in long work, for the layers above."""

from storage.pauses import OBJECTS_IN_PART, build_in_parts, pause_if_due

__all__ = ["OBJECTS_IN_PART", "build_in_parts", "pause_if_due"]
