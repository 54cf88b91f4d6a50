"""Answer 503 while no worker serves, in threads of the supervisor.

Imports little, because the supervisor needs it early and short of memory: the response is written
here anew, and not by what workers use. See docs/decisions/server/restarts.md.
"""

import logging
import os
import socket
import threading
from collections.abc import Sequence
from email.utils import formatdate
from functools import partial
from pathlib import Path

import msgspec

from gateway.metrics import NO_OPERATION, counters
from gateway.server.config import ServerConfig
from gateway.server.plain_server import PlainServer, build_response
from storage.errors import UnavailableCause

MAX_CONNECTIONS = 100
"""Further ones wait in the kernel's queue."""
_CODE = UnavailableCause.RESTARTING.value
_count_lock = threading.Lock()
_logger = logging.getLogger("floorgate.server")
_access_log = logging.getLogger("floorgate.access")


def start_stand_in(server_config: ServerConfig, listeners: Sequence[socket.socket]) -> PlainServer:
    """Answer the first request of each connection. Raises TlsError."""
    context = None
    if server_config.certificate:
        from gateway.server import tls

        context = tls.create_ssl_context(*map(Path, server_config.certificate))
    _logger.error("No worker is left: requests are answered 503 until one serves")
    respond = partial(_respond, server_config.headers)
    return PlainServer(listeners, respond, server_config.limits, MAX_CONNECTIONS, context)


def _respond(service_headers: Sequence[tuple[str, str]], head: bytes) -> bytes:
    """Return the response in the form that all errors have (`rest.errors`); log and count it."""
    request_id = os.urandom(16).hex()
    body = build_body(request_id)
    headers = [
        ("date", formatdate(usegmt=True)),
        *service_headers,
        ("content-type", "application/json"),
        ("retry-after", "1"),
        ("x-request-id", request_id),
    ]
    fields = {"request_id": request_id, "status": 503, "errors": [_CODE]}
    _access_log.warning("request", extra={"fields": fields})
    with _count_lock:
        counters.count_request(NO_OPERATION, 503, _CODE, seconds=0)
    response = build_response("503 Service Unavailable", headers, body)
    return response.removesuffix(body) if head.startswith(b"HEAD ") else response


def build_body(request_id: str) -> bytes:
    """Return the body of `service_unavailable_error`, whose module takes long to import."""
    body = {
        "message": "Service unavailable",
        "code": _CODE,
        "request_id": request_id,
        "docs": f"/v1/errors#{_CODE}",
    }
    return msgspec.json.encode(body)
