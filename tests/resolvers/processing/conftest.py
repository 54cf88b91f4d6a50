"""Pools of processes for tests."""

from collections.abc import AsyncIterator

import anyio
import pytest
from anyio.abc import TaskGroup

from resolvers.processing import process_pool
from resolvers.processing.process_pool import ProcessPool


@pytest.fixture
async def pool(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ProcessPool]:
    """A pool in which work ends by its CPU time alone, however busy the machine is."""
    monkeypatch.setattr(process_pool, "WALL_SECONDS_PER_CPU_SECOND", 1_000.0)
    async with ProcessPool(1) as pool:
        yield pool


@pytest.fixture
async def tasks() -> AsyncIterator[TaskGroup]:
    async with anyio.create_task_group() as group:
        yield group
        group.cancel_scope.cancel()
