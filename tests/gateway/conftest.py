"""What tests of the gateway read of its log."""

import logging
from collections.abc import Iterator

import pytest

from tests.gateway.log_lines import LogLines, capture_log_lines


@pytest.fixture
def lines() -> Iterator[LogLines]:
    """What the log says of requests."""
    with capture_log_lines(logging.getLogger("floorgate.access"), logging.INFO) as lines:
        yield lines
