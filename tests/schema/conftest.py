"""Fixtures of the tests of the schema."""

from collections.abc import Iterator

import pytest

from tests.schema.executor_comparison import ExecutorComparison, open_comparison


@pytest.fixture(scope="module")
def comparison(
    mongo_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ExecutorComparison]:
    """Compiled beside interpreted execution, on a sound and on a damaged directory."""
    with open_comparison(mongo_url, tmp_path_factory.mktemp("comparison")) as comparison:
        yield comparison
