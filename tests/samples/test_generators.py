"""The committed samples are what their generators write."""

from types import ModuleType

import pytest

from samples import draw, venue
from samples.output.files import CHECKOUT


@pytest.mark.parametrize("generator", [draw, venue])
def test_the_committed_files_are_what_the_generator_writes(generator: ModuleType) -> None:
    stale = [
        str(path)
        for path, content in generator.make_files().items()
        if (CHECKOUT / path).read_bytes() != content
    ]
    assert stale == [], f"run python -m {generator.__name__}"
