"""Serve an application: bind the sockets, run one process or several, drain on a signal."""

import errno
import logging
import socket
from collections.abc import Callable
from contextlib import ExitStack

import click

from gateway.errors import StartError
from gateway.server import logs, worker
from gateway.server.config import ServerConfig, SharedMemory
from gateway.server.supervisor import Supervisor

_BACKLOG = 2048
_BIND_ERROR_HINTS = {
    errno.EADDRINUSE: "the port is in use; stop what listens there, or choose another with --port",
    errno.EACCES: "permission denied; choose a port above 1023 with --port",
    errno.EADDRNOTAVAIL: "this machine does not have that address; choose another with --host",
}


def announce_ready(url: str) -> None:
    """Print the line that tells other programs that requests are served now."""
    click.echo(f"ready {url}")


def security_headers(*, use_hsts: bool) -> tuple[tuple[str, str], ...]:
    """Return the value for `ServerConfig.headers`.

    `use_hsts` makes browsers use HTTPS alone for a year (RFC 6797). Use it only with the
    operator's certificate, here or at a proxy: with the self-signed one it would apply to
    every other service on the developer's localhost.

    >>> security_headers(use_hsts=False)
    (('x-content-type-options', 'nosniff'),)
    """
    hsts = (("strict-transport-security", "max-age=31536000"),)
    return (("x-content-type-options", "nosniff"), *(hsts if use_hsts else ()))


def serve(
    server_config: ServerConfig,
    *,
    host: str = "127.0.0.1",
    port: int = 8443,
    workers: int = 1,
    on_ready: Callable[[str], None] = announce_ready,
) -> int:
    """Serve until SIGTERM or SIGINT, drain, and return the exit status.

    `on_ready` is called with the URL (`https://host:port`) once every worker serves. Status 0:
    drained; 1: could not start, for the reason on standard error; 130: a second SIGINT cut the
    draining short.
    """
    logs.configure_logging(server_config.log_level, server_config.log_format)
    try:
        with ExitStack() as stack:
            listeners = [stack.enter_context(listener) for listener in open_listeners(host, port)]
            url = _format_url(server_config, host, listeners[0].getsockname()[1])
            return _run_workers(server_config, listeners, workers, lambda: on_ready(url))
    except StartError as error:
        logging.shutdown()  # flush, so that the error is the last line
        click.echo(f"Error: {error}", err=True)
        return 1


def _run_workers(
    server_config: ServerConfig,
    listeners: list[socket.socket],
    workers: int,
    on_ready: Callable[[], None],
) -> int:
    if workers > 1:
        return Supervisor(server_config, listeners, workers=workers, on_ready=on_ready).run()
    return worker.run_worker(server_config, listeners, SharedMemory.for_single_process(), on_ready)


def open_listeners(host: str, port: int) -> list[socket.socket]:
    """Open a listening socket for each address of the host (`localhost` has two), on one port.

    They listen before any worker runs: a port in use is reported at once, and clients that
    connect early wait instead of being refused. Port 0 takes a free one. Raises StartError.
    """
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise StartError(f"The host {host!r} is unknown: {error}") from error
    listeners: list[socket.socket] = []
    for family, _, _, _, address in dict.fromkeys(addresses):
        try:
            listeners.append(_open_listener(family, (address[0], port, *address[2:])))
        except OSError as error:
            if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) and listeners:
                continue  # `localhost` resolves to ::1 on machines without IPv6 too
            for listener in listeners:
                listener.close()
            reason = _BIND_ERROR_HINTS.get(error.errno or 0, error.strerror)
            raise StartError(f"Cannot listen on {_format_address(host, port)}: {reason}") from error
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


def _format_url(server_config: ServerConfig, host: str, port: int) -> str:
    scheme = "https" if server_config.certificate else "http"
    return f"{scheme}://{_format_address(host, port)}"


def _format_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
