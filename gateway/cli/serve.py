"""`floorgate serve`: start the service, with the demo property on request.

The server, the application and their libraries take a second to import. They are imported within
functions, so that other commands do not wait for them, and the supervisor does without most.
"""

import functools
import logging
import socket
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from gateway.settings import ALL_OPTIONS, Settings, env_file_option, with_settings

if TYPE_CHECKING:
    from gateway.server.config import Application, ServerConfig, SharedMemory


LOOPBACK_HOSTS = ("127.0.0.1", "::1", "localhost")

_logger = logging.getLogger("floorgate.server")


@click.command()
@click.option("--demo", is_flag=True, help="Load the demo property and print a key for it.")
@env_file_option
@with_settings(*ALL_OPTIONS)
def serve(demo: bool, settings: Settings) -> None:
    """Serve /v1 and /graphql until SIGTERM; print one line when ready. SIGHUP reloads."""
    if bool(settings.tls_cert) != bool(settings.tls_key):
        raise click.UsageError("--tls-cert and --tls-key must be used together")
    if settings.behind_proxy and settings.tls_cert:
        raise click.UsageError("--behind-proxy serves plain HTTP and excludes --tls-cert")
    from gateway.server import logs, server, supervisor

    predecessor = supervisor.receive_handover()
    is_check = predecessor is not None and predecessor.is_check
    with ExitStack() as stack:
        listeners: list[socket.socket] = []
        metrics_listeners: list[socket.socket] = []
        if not is_check:
            # Before anything else starts: a port that cannot be had is reported at once.
            listeners = server.get_listeners(predecessor, settings.host, settings.port)
            metrics_listeners = server.get_metrics_listeners(predecessor, settings.metrics_address)
            for listener in (*listeners, *metrics_listeners):
                stack.enter_context(listener)
            if settings.log_file is not None:
                logs.check_log_file(settings.log_file)
        certificate = _get_certificate_paths(settings, is_check=is_check)
        on_ready: Callable[[str], None] = server.announce_ready
        if not is_check:
            started = _start_mongod(settings, stack)
            if demo and predecessor is None:
                if started is not None:
                    started.result()
                on_ready = _load_demo(settings, certificate, stack)
        status = server.serve(
            _build_server_config(settings, certificate),
            host=settings.host,
            port=settings.port,
            listeners=listeners,
            workers=settings.workers,
            metrics_address=settings.metrics_address,
            metrics_listeners=metrics_listeners,
            on_ready=functools.partial(_announce_and_warn, on_ready, settings),
            fixed_options={"--data-dir": str(settings.data_dir.resolve())},
        )
    sys.exit(status)


def _start_mongod(settings: Settings, stack: ExitStack) -> Future[str] | None:
    """Start the embedded mongod, if used, while the workers start, which wait for it.

    They report why it does not start. The supervisor keeps it running while a worker is replaced.
    """
    if settings.mongo_url:
        return None
    from storage.embedded import embedded_mongo

    pool = stack.enter_context(ThreadPoolExecutor(1))
    return pool.submit(stack.enter_context, embedded_mongo.run_embedded_mongo(settings.data_dir))


def _load_demo(
    settings: Settings, certificate: tuple[str, str] | None, stack: ExitStack
) -> Callable[[str], None]:
    """Load the demo property, and return what announces the service with a key for it."""
    from gateway.cli.demo import build_announcement, create_key, load_demo

    load_demo(settings)
    return build_announcement(stack.enter_context(create_key(settings)), certificate)


def _build_server_config(settings: Settings, certificate: tuple[str, str] | None) -> "ServerConfig":
    from gateway.server import server
    from gateway.server.config import ConnectionLimits, ServerConfig

    return ServerConfig(
        functools.partial(create_application, settings),
        certificate,
        ConnectionLimits(
            max_connections=settings.max_connections,
            max_connections_per_address=(
                0 if settings.behind_proxy else settings.max_connections_per_address
            ),
        ),
        proxy_hops=settings.proxy_hops if settings.behind_proxy else 0,
        drain_seconds=settings.drain_seconds,
        drain_notice_seconds=settings.drain_notice_seconds,
        headers=server.security_headers(
            use_hsts=settings.behind_proxy or settings.tls_cert is not None
        ),
        log_level=settings.log_level,
        log_format=settings.log_format,
        log_file=settings.log_file,
    )


def create_application(settings: Settings, shared: "SharedMemory") -> "Application":
    """Create the application in a worker, which imports it."""
    from gateway import app

    return app.create_application(settings, shared)


def _announce_and_warn(announce: Callable[[str], None], settings: Settings, url: str) -> None:
    """Announce the service, and warn where clients of others could decide its links."""
    announce(url)
    if not settings.base_url and (settings.behind_proxy or settings.host not in LOOPBACK_HOSTS):
        _logger.warning(
            "Without --base-url, paging links begin with the Host header of each request, which"
            " any client can forge: set --base-url to the address that clients use"
        )


def _get_certificate_paths(settings: Settings, *, is_check: bool) -> tuple[str, str] | None:
    if settings.behind_proxy:
        return None
    if settings.tls_cert and settings.tls_key:
        return str(settings.tls_cert), str(settings.tls_key)
    from gateway.server import tls
    from gateway.server.config import self_signed_paths

    certificate, key = self_signed_paths(settings.data_dir)
    # Neither a worker that is replaced nor a check must renew what other workers serve.
    if not (is_check and certificate.exists() and key.exists()):
        tls.ensure_certificate(settings.data_dir)
    return str(certificate), str(key)
