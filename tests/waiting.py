"""Waiting for what happens in other tasks and processes."""

import time
from collections.abc import Callable

TIMEOUT_SECONDS = 600
"""Ends a test that waits in vain; processes may take a minute to start on a busy machine."""


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds, and fail after the timeout."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
