"""A server's configuration can be sent to other processes, and its limits fit together."""

import pickle
from dataclasses import fields
from functools import partial
from pathlib import Path

from gateway.app import create_application
from gateway.server.config import ConnectionLimits, ServerConfig
from gateway.settings import Settings

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
