"""Let tests of the gateway read its log."""

import logging
from collections.abc import Iterator

import pytest

from tests.gateway.log_lines import LogLines, capture_log_lines


@pytest.fixture
def lines() -> Iterator[LogLines]:
    """Yield the lines about requests."""
    with capture_log_lines(logging.getLogger("floorgate.access"), logging.INFO) as lines:
        yield lines
