"""Waiting for what happens in other tasks and processes."""

import time
from collections.abc import Callable

TIMEOUT_SECONDS = 600
"""Ends a test that waits in vain; processes may take a minute to start on a busy machine."""


def wait_until(
    condition: Callable[[], bool], what: str = "it happens", seconds: float = TIMEOUT_SECONDS
) -> None:
    """Wait until the condition holds, and fail after the timeout."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:.0f} seconds"
        time.sleep(0.02)
