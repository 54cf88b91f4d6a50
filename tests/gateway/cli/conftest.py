"""Fixtures of the commands that need a database."""

from pathlib import Path

import pytest

from tests.gateway.floorgate_process import storage_options


@pytest.fixture
def storage(mongo_url: str, database_name: str, tmp_path: Path) -> list[str]:
    """The options that name a database of the test's own."""
    return storage_options(mongo_url, database_name, tmp_path)
