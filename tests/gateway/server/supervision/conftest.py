"""Services that a test starts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gateway.server.processes import (
    Start,
)
from tests.gateway.server.supervision.services import Service


@pytest.fixture
def serve(start: Start, tmp_path: Path) -> Callable[..., Service]:
    return lambda **given: Service(start, tmp_path, **given)
