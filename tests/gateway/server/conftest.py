"""Servers in processes of their own, and the lines that are logged."""

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.gateway.log_lines import LogLines, capture_log_lines
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


@pytest.fixture
def lines() -> Iterator[LogLines]:
    """What the log says of requests."""
    with capture_log_lines(logging.getLogger("floorgate.access"), logging.INFO) as lines:
        yield lines
