"""Servers in processes of their own, and the lines that are logged."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.gateway.server.processes import ServerProcess, Start


@pytest.fixture
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts servers, which are killed at the end of the test."""
    with contextlib.ExitStack() as stack:

        def run(application: str = "create", **given: Any) -> ServerProcess:
            log = tmp_path_factory.mktemp("server") / "log"
            running = ServerProcess(log, application, **given)
            stack.callback(running.kill)
            return running

        yield run
