"""The work of process pools, done in the process of the test.

To start another takes two seconds of CPU time, mostly for imports. That work is done in processes,
and within limits, is tested in `tests/resolvers/processing`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from resolvers.processing import build_process
from resolvers.processing.process_pool import ProcessPool
from routing.values import ignore_progress


@contextmanager
def work_here() -> Iterator[None]:
    """Let every pool run its calls here, at once."""

    async def run(
        pool: ProcessPool,
        function: Callable[..., Any],
        *arguments: Any,
        progress: Callable[[float, str], None] = ignore_progress,
        **limits: Any,
    ) -> Any:
        if function is build_process.build_network:
            return function(*arguments, progress)
        return function(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProcessPool, "run", run)
        yield
