"""A server that fails first, and keeps what it was asked."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

ERROR = {
    "message": "page must be 1 or more",
    "code": "INVALID_INPUT",
    "fields": {"page": ["must be 1 or more"]},
    "request_id": "r1",
    "docs": "https://floorgate.example/docs/errors#invalid_input",
}
ANSWERS: dict[str, tuple[int, object, dict[str, str]]] = {
    "down": (503, {"code": "UNAVAILABLE"}, {"Retry-After": "0"}),
    "broken": (500, {"code": "INTERNAL"}, {}),
    "invalid": (422, ERROR, {}),
    "array": (500, b"[1, 2]", {}),  # not the service's, but of something before it
    "null": (500, b"null", {}),
    "text": (500, b'"none"', {}),
    "html": (500, b"<h1>None</h1>", {}),
    "login": (200, b"<h1>Log in</h1>", {}),
    "list": (200, [{"data": []}], {}),
    "members": (200, {"items": []}, {}),
    "zipped": (200, b"not gzip", {"Content-Encoding": "gzip"}),
    "hours": (429, {"code": "RATE_LIMITED"}, {"Retry-After": "7200"}),
    "later": (429, {"code": "RATE_LIMITED"}, {"Retry-After": "3600"}),
    "closed": (503, {}, {"Retry-After": "Tue, 31 Dec 2999 23:59:59 GMT"}),
    "moved": (301, b"", {"Location": "https://floorgate.example/v1"}),
    "minute": (503, {"code": "UNAVAILABLE"}, {"Retry-After": "60"}),
    "expired": (410, {"code": "CHANGES_EXPIRED"}, {}),
    "permission": (403, {"code": "PERMISSION_REQUIRED"}, {}),
}
"""What a client gets each time, by the kind of the map."""
OF_PROXIES = {"gateway": 502, "late": 504}
"""The statuses of a proxy, by the kind of the map, for the first request during a restart."""
OUTAGE, EXPIRED = 7, 9
"""Changes come after so many requests without an answer, and are expired at the last of these."""
TIMERS_ARE_EARLY_SECONDS = 0.1


@dataclass
class UnsteadyService:
    """What the server was asked, by the name of the map: `/v1/maps/<name>/levels/tags`."""

    url: str = ""
    requests: dict[str, list[Message]] = field(default_factory=dict)
    not_before: dict[str, float] = field(default_factory=dict)
    early: list[str] = field(default_factory=list)
    """Maps that were asked for again before the time that `Retry-After` had named."""


@contextmanager
def serve() -> Iterator[UnsteadyService]:
    """Serve until the block ends."""
    service = UnsteadyService()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            name = (
                urlsplit(self.path).path.split("/", 3)[-1].split("/")[0]
            )  # proxies get whole addresses
            requests = service.requests.setdefault(name, [])
            requests.append(self.headers)
            if time.time() < service.not_before.get(name, 0) - TIMERS_ARE_EARLY_SECONDS:
                service.early.append(name)
            kind = name.partition("-")[0]
            is_first = len(requests) == 1
            if kind == "seconds" and is_first:
                service.not_before[name] = time.time() + 1
                self.answer(429, {}, {"Retry-After": "1"})
            elif kind == "date" and is_first:
                moment = int(time.time()) + 2
                service.not_before[name] = moment
                self.answer(503, {}, {"Retry-After": formatdate(moment, usegmt=True)})
            elif kind in OF_PROXIES and is_first:
                self.answer(OF_PROXIES[kind], b"<h1>nginx</h1>")
            elif kind == "changes":
                position = (len(requests) - 1) % EXPIRED
                if position < OUTAGE:
                    self.answer(*ANSWERS["down"])
                elif position == OUTAGE:
                    self.answer(200, {"data": [], "cursor": "now", "has_more": True})
                else:
                    self.answer(*ANSWERS["expired"])
            elif kind == "gone" or (kind == "lost" and is_first):
                self.close_connection = True
            elif kind == "cut" and is_first:
                self.answer(200, b'{"data"', {"Content-Length": "100"})
                self.close_connection = True
            elif kind == "elsewhere":  # at another origin, which would be asked for another map
                location = f"http://localhost:{server.server_port}/v1/maps/moved{name}/levels/tags"
                self.answer(307, None, {"Location": location, "Content-Length": "0"})
            elif kind in ANSWERS:
                self.answer(*ANSWERS[kind])
            elif self.headers["If-None-Match"] == '"1"':
                own = {"X-Request-Id": "second", "Content-Length": "0"}  # as some proxies send
                self.answer(304, None, {"ETag": '"1"', **own})
            else:
                self.answer(200, {"data": []}, {"ETag": '"1"', "X-Request-Id": "first"})

        def do_CONNECT(self) -> None:
            service.requests.setdefault(self.path, []).append(self.headers)
            self.answer(502, b"")

        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            service.requests.setdefault(self.path.split("/")[3], []).append(self.headers)
            self.answer(200, {})

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            requests = service.requests.setdefault(self.path.split("/")[4], [])
            requests.append(self.headers)
            if len(requests) == 1:
                self.answer(503, {}, {"Retry-After": "0"})
            else:
                self.answer(204, None)

        def answer(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            content = b"" if body is None else content
            own = {"Content-Type": "application/json", "Content-Length": str(len(content))}
            self.send_response(status)
            for name, value in {**({} if body is None else own), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            if body is not None:
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
