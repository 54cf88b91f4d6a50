"""Servers in processes of their own, killed at the end of the test that started them."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.gateway.server.processes import ServerProcess, Start


@pytest.fixture
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    with contextlib.ExitStack() as stack:

        def run(application: str = "create", **given: Any) -> ServerProcess:
            log = tmp_path_factory.mktemp("server") / "log"
            running = ServerProcess(log, application, **given)
            stack.callback(running.kill)
            return running

        yield run
