"""Answer one request of each connection, in threads of the supervisor, which imports little."""

import contextlib
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from gateway.server.config import ConnectionLimits

if TYPE_CHECKING:
    import ssl

_RETRY_SECONDS = 1.0
_PIECE_BYTES = 1 << 16


class PlainServer:
    """Accepts connections until it is stopped; beyond `max_connections` they wait in the kernel."""

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        respond: Callable[[bytes], bytes],
        limits: ConnectionLimits,
        max_connections: int,
        tls_context: "ssl.SSLContext | None" = None,
    ) -> None:
        """Send what `respond` makes of the head of a request, in the thread of its connection."""
        self._respond = respond
        self._limits = limits
        self._max_connections = max_connections
        self._tls_context = tls_context
        self._slots = threading.Semaphore(max_connections)
        self._is_open, self._stopped = socket.socketpair()
        for listener in listeners:
            threading.Thread(target=self._accept, args=(listener.dup(),), daemon=True).start()

    def stop(self) -> None:
        """Accept no more connections; those that were accepted are answered."""
        self._is_open.close()

    def wait(self) -> None:
        """Wait, once it is stopped, until all connections have ended, which are bounded in time."""
        for _ in range(self._max_connections):
            self._slots.acquire()

    def _accept(self, listener: socket.socket) -> None:
        # Else this thread might be the one that gets a signal just before the program is replaced.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        listener.setblocking(False)
        awaited = [listener, self._stopped]
        while self._slots.acquire() and self._stopped not in select.select(awaited, (), ())[0]:
            try:
                sock, _ = listener.accept()
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()
            except BlockingIOError:  # the client has left
                self._slots.release()
            except (OSError, RuntimeError):  # no descriptor or no thread is free
                self._slots.release()
                time.sleep(_RETRY_SECONDS)
        listener.close()
        self._slots.release()

    def _serve(self, sock: socket.socket) -> None:
        # The client may be too slow, or gone, or speak something else.
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            stack.callback(self._slots.release)
            stack.enter_context(sock)
            sock.settimeout(self._limits.handshake_seconds)
            if self._tls_context is not None:
                sock = stack.enter_context(self._tls_context.wrap_socket(sock, server_side=True))
            if head := self._read_head(sock):
                sock.settimeout(self._limits.header_seconds)
                sock.sendall(self._respond(head))
                if self._tls_context is None:
                    sock.shutdown(socket.SHUT_WR)
                for _ in _receive(sock, self._limits.linger_seconds):
                    pass

    def _read_head(self, sock: socket.socket) -> bytes:
        """Return what is sent until the end of a head; empty if it is too long or does not end."""
        head = b""
        for piece in _receive(sock, self._limits.header_seconds):
            head += piece
            if b"\r\n\r\n" in head:  # with the begin of a body, perhaps
                return head
            if len(head) > self._limits.max_url_bytes + self._limits.max_header_bytes:
                break
        return b""


def build_response(status: str, headers: Iterable[tuple[str, str]], body: bytes) -> bytes:
    """Return a response, after which the connection closes."""
    framing = ("content-length", str(len(body))), ("connection", "close")
    lines = "".join(f"{name}: {value}\r\n" for name, value in [*headers, *framing])
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("latin-1") + body


def _receive(sock: socket.socket, seconds: float) -> Iterator[bytes]:
    """Yield what a client sends until it closes, or the time is over."""
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 0:
        sock.settimeout(left)
        if not (piece := sock.recv(_PIECE_BYTES)):
            return
        yield piece
