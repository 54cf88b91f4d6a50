"""Databases that nothing has prepared."""

import pytest


@pytest.fixture
def database_name(fresh_database_name: str) -> str:
    """The name of a database that does not exist yet."""
    return fresh_database_name
