"""Serving: sockets bound first, then one process or several, one `ready` line, a graceful end."""

import errno
import logging
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack

import click

from gateway.errors import StartError
from gateway.server import logs, worker
from gateway.server.supervisor import Supervisor
from gateway.server.worker import GatewayService

_BACKLOG = 2048
_BIND_ERROR_HINTS = {
    errno.EADDRINUSE: "is in use: stop what listens there, or choose another with --port",
    errno.EACCES: "may not be opened by this user: choose one above 1023 with --port",
    errno.EADDRNOTAVAIL: "is at no address of this machine: choose another with --host",
}


def announce_ready(url: str) -> None:
    """The line that tells other programs that requests are served from now on."""
    click.echo(f"ready {url}")


def security_headers(*, use_hsts: bool) -> tuple[tuple[str, str], ...]:
    """For `Service.headers`; `is_pinned` tells browsers to use HTTPS alone for a year (RFC 6797).

    Pin where the operator's own certificate is shown, here or by a proxy. Never with the
    self-signed one: it would pin every other service on the developer's localhost.
    """
    pin = (("strict-transport-security", "max-age=31536000"),)
    return (("x-content-type-options", "nosniff"), *(pin if use_hsts else ()))


def serve(
    service: GatewayService,
    *,
    host: str = "127.0.0.1",
    port: int = 8443,
    workers: int = 1,
    environment: Mapping[str, str] | None = None,
    on_ready: Callable[[str], None] = announce_ready,
) -> int:
    """Serves until SIGTERM or SIGINT, drains, and returns the exit status.

    `on_ready` gets the address (`https://host:port`) once every worker serves. `environment` is
    set for the application, in this process or in the workers. 0: drained; 1: could not start,
    one sentence says why on standard error; 130: a second SIGINT cut the draining short.
    """
    logs.configure_logging(service.log_level, service.log_format)
    try:
        with ExitStack() as opened:
            listeners = [opened.enter_context(each) for each in open_listeners(host, port)]
            address = _format_url(service, host, listeners[0].getsockname()[1])
            return _run_workers(
                service, listeners, workers, environment or {}, lambda: on_ready(address)
            )
    except StartError as error:
        logging.shutdown()  # writes what waits, so that the sentence comes last
        click.echo(f"Error: {error}", err=True)
        return 1


def _run_workers(
    service: GatewayService,
    listeners: list[socket.socket],
    workers: int,
    environment: Mapping[str, str],
    on_ready: Callable[[], None],
) -> int:
    if workers > 1:
        return Supervisor(
            service, listeners, workers=workers, environment=environment, on_ready=on_ready
        ).run()
    os.environ.update(environment)
    return worker.run_worker(service, listeners, on_ready)


def open_listeners(host: str, port: int) -> list[socket.socket]:
    """Listening sockets, one for each address of the host (`localhost` has two), on one port.

    They listen before any worker runs: a port in use is known at once, and clients that connect
    early wait instead of being refused. Port 0 takes a free one. `StartError` says what is wrong.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise StartError(f"The host {host!r} is unknown: {error}") from error
    listeners: list[socket.socket] = []
    for family, _, _, _, address in dict.fromkeys(found):
        try:
            listeners.append(_open_listener(family, (address[0], port, *address[2:])))
        except OSError as error:
            if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) and listeners:
                continue  # `localhost` names ::1 on machines without IPv6 too
            for listener in listeners:
                listener.close()
            cause = _BIND_ERROR_HINTS.get(error.errno or 0, f"cannot be opened: {error.strerror}")
            raise StartError(f"Port {port} of {host} {cause}") from error
        port = listeners[0].getsockname()[1]
    return listeners


def _open_listener(family: int, address: tuple[object, ...]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _format_url(service: GatewayService, host: str, port: int) -> str:
    scheme = "https" if service.certificate else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
