"""A data directory that must be left without processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.storage.embedded.test_embedded_mongo import nothing_left
from tests.waiting import wait_until


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """A directory with a name that shells stumble over; no process may be left behind for it."""
    path = tmp_path / "my dätä 数据"
    yield path
    wait_until(lambda: nothing_left(path))
