"""Servers in processes of their own, killed at the end of the test that started them."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.gateway.server.processes import ServerProcess, Start


@pytest.fixture
def start() -> Iterator[Start]:
    with contextlib.ExitStack() as stack:

        def run(application: str = "create", **given: Any) -> ServerProcess:
            running = ServerProcess(application, **given)
            stack.callback(running.kill)
            return running

        yield run
