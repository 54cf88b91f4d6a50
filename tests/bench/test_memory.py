"""What the bench of the response cache's memory asks for."""

from itertools import islice

import pytest

from bench.memory import SHAPES, list_paths
from tests.bench.load.canned import DIRECTORY


@pytest.mark.parametrize("shape", [*SHAPES])
def test_no_two_requests_are_equal(shape: str) -> None:
    paths = [*islice(list_paths(shape, DIRECTORY), 5_000)]
    assert len(set(paths)) == len(paths)
    assert len(paths) >= len(DIRECTORY.unit_ids)
