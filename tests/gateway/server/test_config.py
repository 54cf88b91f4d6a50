"""A server's configuration can be sent to other processes, and its limits fit together."""

import pickle
from dataclasses import FrozenInstanceError, fields
from functools import partial
from pathlib import Path

import pytest

from gateway.app import create_application
from gateway.server.config import AppWithFastPath, ConnectionLimits, ServerConfig
from gateway.settings import Settings
from tests.gateway import small_app
from tests.gateway.server.processes import Start, get

PROXY_IDLE_SECONDS = 60
"""nginx and AWS ALB keep an idle connection to a server that long, and lose a request that they
send when the server has closed it first."""


def test_a_configuration_survives_pickling_for_worker_processes() -> None:
    config = ServerConfig(
        partial(create_application, Settings(base_url="https://maps.example")),
        ("cert.pem", "key.pem"),
        ConnectionLimits(header_seconds=1.5, max_headers=7),
        proxy_hops=2,
        drain_seconds=3,
        drain_notice_seconds=4,
        headers=(("x-content-type-options", "nosniff"),),
        log_level="debug",
        log_format="text",
        log_file=Path("gateway.log"),
    )
    copy: ServerConfig = pickle.loads(pickle.dumps(config))
    for field in fields(ServerConfig):
        if field.name != "create_application":
            assert getattr(copy, field.name) == getattr(config, field.name) != field.default
    assert isinstance(copy.create_application, partial)
    assert copy.create_application.func is create_application
    assert copy.create_application.args == (Settings(base_url="https://maps.example"),)


def test_a_function_within_a_function_cannot_be_sent_to_workers() -> None:
    def create(_: object) -> AppWithFastPath:
        raise NotImplementedError

    with pytest.raises(AttributeError, match="local object"):
        pickle.dumps(ServerConfig(create))


def test_without_more_a_service_speaks_plain_http_with_the_default_limits() -> None:
    config = ServerConfig(small_app.create)
    assert (config.certificate, config.limits, config.headers) == (None, ConnectionLimits(), ())


def test_a_configuration_cannot_be_changed_while_it_is_served() -> None:
    with pytest.raises(FrozenInstanceError):
        ServerConfig(small_app.create).drain_seconds = 1  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        ConnectionLimits().max_headers = 1  # type: ignore[misc]


def test_idle_connections_outlast_the_timeouts_of_proxies() -> None:
    assert ConnectionLimits().keep_alive_seconds > PROXY_IDLE_SECONDS


def test_no_limit_makes_another_one_void() -> None:
    limits = ConnectionLimits()
    assert 0 < limits.linger_seconds < limits.header_seconds
    assert limits.header_seconds < limits.body_idle_seconds < limits.body_seconds
    assert limits.grace_seconds < limits.body_idle_seconds
    assert limits.max_connections_per_address < limits.max_connections
    assert limits.max_unread_bytes_per_address < limits.max_unread_bytes
    assert limits.max_url_bytes < limits.max_header_bytes
    assert limits.max_headers * len("a: b\r\n") < limits.max_header_bytes


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_the_limits_of_the_configuration_hold_in_every_worker(workers: int, start: Start) -> None:
    limits = {"max_url_bytes": 30, "max_headers": 8}
    address = start(workers=workers, service={"limits": limits}).address()
    assert get(f"{address}/pid").status_code == 200
    for _ in range(4):  # whichever worker answers
        rejected = get(f"{address}/pid?{'x' * 30}")
        assert rejected.status_code == 414
        assert "30 bytes" in rejected.text
