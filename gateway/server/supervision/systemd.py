"""What systemd passes to a service, and what a service tells it (sd_listen_fds, sd_notify)."""

import contextlib
import os
import socket
import time

_FIRST_DESCRIPTOR = 3


def take_listeners() -> list[socket.socket]:
    """Return the listening sockets that systemd opened for this process, if any."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return []
    count = int(os.environ.get("LISTEN_FDS", "0"))
    listeners = [socket.socket(fileno=_FIRST_DESCRIPTOR + number) for number in range(count)]
    for listener in listeners:
        listener.set_inheritable(False)
    return listeners


def notify_ready() -> None:
    """Tell systemd that the service serves, after a start or a reload."""
    _notify("READY=1")


def notify_reloading() -> None:
    """Tell systemd that a reload has begun."""
    _notify(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")


def notify_stopping() -> None:
    """Tell systemd that the service stops."""
    _notify("STOPPING=1")


def _notify(state: str) -> None:
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):  # an abstract address
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.sendto(state.encode(), address)
