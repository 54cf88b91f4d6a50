"""Gateways for tests of what is cached: they use their caches however slow the machine is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway.app import Gateway
from gateway.settings import Settings
from storage.cache import change_feed
from tests.fixtures import run_gateway
from tests.waiting import TIMEOUT_SECONDS


@pytest.fixture
def never_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is cached stays valid, and writes wait, however late the change stream reports."""
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 3600.0)
    monkeypatch.setattr(change_feed, "REPORT_SECONDS", 3600.0)


@asynccontextmanager
async def run_following_gateway(settings: Settings) -> AsyncIterator[Gateway]:
    """A gateway that follows the changes of its database: until then, it caches nothing."""
    async with run_gateway(settings) as gateway:
        assert gateway.state is not None
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while gateway.state.change_feed.take_snapshot() is None:
                await asyncio.sleep(0.01)
        yield gateway
