"""Fixtures of the commands that need a database."""

import pytest


@pytest.fixture
def storage(mongo_url: str, database_name: str) -> list[str]:
    """The options that name a database of the test's own."""
    return ["--mongo-url", mongo_url, "--database", database_name]
