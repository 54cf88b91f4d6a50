"""The lines that are logged of connections."""

import logging
from collections.abc import Iterator

import pytest

from tests.gateway.log_lines import LogLines, capture_log_lines


@pytest.fixture
def lines() -> Iterator[LogLines]:
    """What the log says of limits of connections."""
    with capture_log_lines(logging.getLogger("floorgate.connections"), logging.INFO) as lines:
        yield lines
