"""The progress of the processing of a plan."""

from collections.abc import Callable

ProcessingProgress = Callable[[float, str], None]
"""Called with the completed share, from 0 to 1, and the name of the next step."""


def ignore_progress(share: float, step: str) -> None:
    """Accept progress and do nothing."""
