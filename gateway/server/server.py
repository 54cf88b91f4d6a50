"""Serve an application: bind the sockets, run one process or several, drain on a signal."""

import errno
import logging
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gateway import rate_limits
from gateway.errors import StartError, TlsError
from gateway.server import logs, supervisor
from gateway.server.config import Address, ServerConfig, SharedMemory
from gateway.server.supervisor import Handover, Supervisor, measure_shared_memory
from storage.mongo import shared_memory

if TYPE_CHECKING:
    from gateway.server.metrics_server import MetricsServer

_MAX_PORT = 65_535
_DEFAULT_PORT = 8443
_METRICS_PORT = 9090
_logger = logging.getLogger("floorgate.server")


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
    port: int = _DEFAULT_PORT,
    listeners: Sequence[socket.socket] = (),
    workers: int = 1,
    metrics_address: Address | None = None,
    metrics_listeners: Sequence[socket.socket] = (),
    on_ready: Callable[[str], None] = announce_ready,
    fixed_options: Mapping[str, str] | None = None,
) -> int:
    """Serve until SIGTERM or SIGINT, drain, and return the exit status.

    `listeners` are those of `get_listeners` for this host and port, if they are open already, and
    `metrics_listeners` those of `get_metrics_listeners`.
    `on_ready` is called with the URL (`https://host:port`) once every worker serves. Status 0:
    drained; 1: could not start, for the reason on standard error; 130: a second SIGINT cut the
    draining short. SIGHUP runs this program anew in this process, with the same `fixed_options`
    and without calling `on_ready` again.
    """
    fixed_options = {"--host": host, "--port": str(port), **(fixed_options or {})}
    try:
        predecessor = supervisor.receive_handover()
        is_check = predecessor is not None and predecessor.is_check
        # A check says on standard error what is wrong, and the log file is that of the service.
        logs.configure_logging(
            server_config.log_level,
            server_config.log_format,
            None if is_check else server_config.log_file,
        )
        if predecessor is not None and predecessor.is_check:
            _check_start(server_config, predecessor, fixed_options, workers, metrics_address)
            return 0
        with ExitStack() as stack:
            listeners = listeners or get_listeners(predecessor, host, port)
            for listener in listeners:
                stack.enter_context(listener)
            url = _format_url(server_config, host, listeners[0].getsockname()[1])
            metrics_listeners = metrics_listeners or get_metrics_listeners(
                predecessor, metrics_address
            )
            return Supervisor(
                server_config,
                listeners,
                workers=workers,
                on_ready=lambda: on_ready(url),
                fixed_options=fixed_options,
                predecessor=predecessor,
                metrics_server=_create_metrics_server(
                    predecessor, metrics_address, metrics_listeners
                ),
            ).run()
    except (StartError, TlsError) as error:
        logging.shutdown()  # flush, so that the error is the last line
        click.echo(f"Error: {error}", err=True)
        return 1


def _check_start(
    server_config: ServerConfig,
    predecessor: Handover,
    fixed_options: Mapping[str, str],
    workers: int,
    metrics_address: Address | None,
) -> None:
    """Raise StartError or TlsError if this program cannot take over from another."""
    from gateway.server import tls  # only here: a supervisor takes less memory without

    predecessor.check_options(fixed_options, workers)
    shared = (
        shared_memory.create_shared_memory(predecessor.slots),
        rate_limits.create_shared_memory(),
    )
    predecessor.check_memory(measure_shared_memory(*shared))
    for descriptor in shared:
        os.close(descriptor)
    if server_config.log_file is not None:
        logs.check_log_file(server_config.log_file)
    if predecessor.metrics is None or metrics_address != predecessor.metrics.address:
        for listener in open_metrics_listeners(metrics_address):
            listener.close()
    server_config.create_application(SharedMemory.for_single_process())
    if server_config.certificate is not None:  # the application may have created it
        certificate, key = server_config.certificate
        tls.create_ssl_context(Path(certificate), Path(key))


def get_listeners(predecessor: Handover | None, host: str, port: int) -> list[socket.socket]:
    """Return the sockets of the previous program, or of systemd, or open new ones.

    Raises StartError.
    """
    if predecessor is not None:
        return [socket.socket(fileno=descriptor) for descriptor in predecessor.listeners]
    return supervisor.take_listeners() or open_listeners(host, port)


def get_metrics_listeners(
    predecessor: Handover | None, address: Address | None
) -> list[socket.socket]:
    """Return the sockets of the previous program, if metrics had this address, or open new ones.

    Raises StartError, but not after a reload: the service goes on, without metrics.
    """
    before = None if predecessor is None else predecessor.metrics
    if before is not None and before.address == address:
        return [socket.socket(fileno=descriptor) for descriptor in before.listeners]
    for descriptor in () if before is None else before.listeners:
        os.close(descriptor)
    try:
        return open_metrics_listeners(address)
    except StartError as error:
        if predecessor is None:
            raise
        click.echo(f"Error: {error}", err=True)
        return []


def open_metrics_listeners(address: Address | None) -> list[socket.socket]:
    """Bind sockets for metrics, if there is an address. Raises StartError."""
    return [] if address is None else open_listeners(*address, option="--metrics-address")


def _create_metrics_server(
    predecessor: Handover | None, address: Address | None, listeners: Sequence[socket.socket]
) -> "MetricsServer | None":
    """Create what serves metrics, with the totals of the previous program."""
    before = None if predecessor is None else predecessor.metrics
    totals = None if before is None else before.totals
    if address is None or not listeners:
        if totals is not None:
            os.close(totals)
        return None
    from gateway.server.metrics_server import MetricsServer  # only here: it takes memory

    shown = address._replace(port=listeners[0].getsockname()[1])
    _logger.info("Metrics are served on http://%s/metrics", shown)
    return MetricsServer(address, listeners, totals)


def open_listeners(host: str, port: int, option: str = "--port") -> list[socket.socket]:
    """Bind a socket for each address of the host (`localhost` has two), on one port.

    A port in use is reported at once. The sockets listen when the first worker serves: until then
    clients are refused, and proxies try another gateway. Port 0 takes a free one.
    Raises StartError.
    """
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise StartError(f"The host {host!r} is unknown: {error}") from error
    listeners: list[socket.socket] = []
    for family, _, _, _, found in dict.fromkeys(addresses):
        try:
            listeners.append(_open_listener(family, (found[0], port, *found[2:])))
        except OSError as error:
            if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) and listeners:
                continue  # `localhost` resolves to ::1 on machines without IPv6 too
            for listener in listeners:
                listener.close()
            address = Address(host, port)
            reason = _explain_bind_error(error, address, option)
            raise StartError(f"Cannot listen on {address}: {reason}") from error
        port = listeners[0].getsockname()[1]
    return listeners


def _open_listener(family: int, address: tuple[object, ...]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener


def _explain_bind_error(error: OSError, address: Address, option: str) -> str | None:
    """Return why an address cannot be listened on, with the option and the variable to change.

    >>> denied = OSError(errno.EACCES, "Permission denied")
    >>> _explain_bind_error(denied, Address("127.0.0.1", 443), "--port")
    'permission denied; choose a port above 1023: --port 8443, or FLOORGATE_PORT=8443'
    """
    is_main = option == "--port"
    host, port = address
    match error.errno:
        case errno.EADDRINUSE:
            port = port + 1 if port < _MAX_PORT else _DEFAULT_PORT
            remedy = "the port is in use; stop what listens there, or choose another"
        case errno.EACCES:
            port = _DEFAULT_PORT if is_main else _METRICS_PORT
            remedy = "permission denied; choose a port above 1023"
        case errno.EADDRNOTAVAIL:
            host, option = "127.0.0.1", "--host" if is_main else option
            remedy = "this machine does not have that address; choose another"
        case _:
            return error.strerror
    value = str(Address(host, port)) if not is_main else host if option == "--host" else str(port)
    variable = f"FLOORGATE_{option[2:].replace('-', '_').upper()}"
    return f"{remedy}: {option} {value}, or {variable}={value}"


def _format_url(server_config: ServerConfig, host: str, port: int) -> str:
    scheme = "https" if server_config.certificate else "http"
    return f"{scheme}://{Address(host, port)}"
