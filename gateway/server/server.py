"""Serve an application: bind the sockets, run one process or several, drain on a signal."""

import errno
import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from gateway import rate_limits
from gateway.errors import StartError, TlsError
from gateway.server import logs, supervisor
from gateway.server.config import ServerConfig, SharedMemory
from gateway.server.supervisor import Handover, Supervisor, measure_shared_memory
from storage.mongo import shared_memory

_MAX_PORT = 65_535
_DEFAULT_PORT = 8443
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
    metrics_address: str | None = None,
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
    fixed_options["--metrics-address"] = metrics_address or "none"
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
            _check_start(server_config, predecessor, fixed_options, workers)
            return 0
        with ExitStack() as stack:
            listeners = listeners or get_listeners(predecessor, host, port)
            for listener in listeners:
                stack.enter_context(listener)
            url = _format_url(server_config, host, listeners[0].getsockname()[1])
            shown = metrics_listeners or get_metrics_listeners(predecessor, metrics_address)
            if shown:
                address = _format_address(*shown[0].getsockname()[:2])
                _logger.info("Metrics are served on http://%s/metrics", address)
            return Supervisor(
                server_config,
                listeners,
                workers=workers,
                on_ready=lambda: on_ready(url),
                fixed_options=fixed_options,
                predecessor=predecessor,
                metrics_listeners=shown,
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
) -> None:
    """Raise StartError or TlsError if this program cannot take over from another."""
    from gateway.server import tls  # only here: a supervisor takes less memory without

    write_counter = shared_memory.create_shared_memory(predecessor.slots)
    memory_bytes = measure_shared_memory(write_counter, rate_limits.create_shared_memory())
    predecessor.check(fixed_options, workers, memory_bytes)
    if server_config.log_file is not None:
        logs.check_log_file(server_config.log_file)
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


def get_metrics_listeners(predecessor: Handover | None, address: str | None) -> list[socket.socket]:
    """Return the sockets of the previous program, or bind new ones if there is an address.

    Raises StartError.
    """
    if predecessor is not None:
        return [socket.socket(fileno=descriptor) for descriptor in predecessor.metrics_listeners]
    if address is None:
        return []
    host, _, port = address.rpartition(":")
    try:
        return open_listeners(host.strip("[]"), int(port))
    except StartError as error:
        reason = str(error).partition(";")[0]
        raise StartError(f"{reason}; choose another --metrics-address") from error


def open_listeners(host: str, port: int) -> list[socket.socket]:
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
    for family, _, _, _, address in dict.fromkeys(addresses):
        try:
            listeners.append(_open_listener(family, (address[0], port, *address[2:])))
        except OSError as error:
            if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) and listeners:
                continue  # `localhost` resolves to ::1 on machines without IPv6 too
            for listener in listeners:
                listener.close()
            reason = _explain_bind_error(error, port)
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
    except OSError:
        listener.close()
        raise
    return listener


def _explain_bind_error(error: OSError, port: int) -> str | None:
    """Return why a port cannot be listened on, with the option and the variable to change.

    >>> _explain_bind_error(OSError(errno.EACCES, "Permission denied"), 443)
    'permission denied; choose a port above 1023: --port 8443, or FLOORGATE_PORT=8443'
    """
    match error.errno:
        case errno.EADDRINUSE:
            other = port + 1 if port < _MAX_PORT else _DEFAULT_PORT
            remedy = "the port is in use; stop what listens there, or choose another"
        case errno.EACCES:
            other = _DEFAULT_PORT
            remedy = "permission denied; choose a port above 1023"
        case errno.EADDRNOTAVAIL:
            return (
                "this machine does not have that address; choose another: --host 127.0.0.1, or"
                " FLOORGATE_HOST=127.0.0.1"
            )
        case _:
            return error.strerror
    return f"{remedy}: --port {other}, or FLOORGATE_PORT={other}"


def _format_url(server_config: ServerConfig, host: str, port: int) -> str:
    scheme = "https" if server_config.certificate else "http"
    return f"{scheme}://{_format_address(host, port)}"


def _format_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
