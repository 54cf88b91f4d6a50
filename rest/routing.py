"""Routes matched on the path as it was sent.

An id may hold any character. Servers decode a path before routing, which would make two segments of
an id with `/` in it; here the path is split first and decoded after.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote, unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from rest.errors import HttpError, method_not_allowed

Handler = Callable[[Request], Awaitable[ASGIApp]]

MOST_ID_CHARACTERS = 255
_BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class PathRoute(BaseRoute):
    """All methods of one path such as `/v1/assets/{asset}`."""

    def __init__(self, path: str, handlers: Mapping[str, Handler]) -> None:
        self.path = path
        self.segments = path.split("/")
        self.handlers = dict(handlers)
        if "GET" in self.handlers:
            self.handlers["HEAD"] = self.handlers["GET"]
        self.allowed = sorted([*self.handlers, "OPTIONS"])

    @property
    def is_literal(self) -> bool:
        """Whether the path has no parameter."""
        return "{" not in self.path

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """A full match when every segment fits; the method decides later."""
        if scope["type"] != "http":
            return Match.NONE, {}
        sent = raw_segments(scope)
        if len(sent) != len(self.segments):
            return Match.NONE, {}
        parameters: dict[str, str | None] = {}
        for wanted, raw in zip(self.segments, sent, strict=True):
            text = decoded(raw)
            if wanted.startswith("{"):
                parameters[wanted[1:-1]] = text
            elif text != wanted:
                return Match.NONE, {}
        return Match.FULL, {"path_params": parameters, "floorgate.route": self.path}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers with the method's handler."""
        request = Request(scope, receive, send)
        handler = self.handlers.get(request.method)
        response: ASGIApp
        try:
            if handler is not None:
                response = await handler(request)
            elif request.method == "OPTIONS":
                response = Response(status_code=204, headers={"Allow": ", ".join(self.allowed)})
            else:
                raise method_not_allowed(self.allowed)
        except HttpError as error:
            response = error.response()
        await response(scope, receive, send)


def raw_segments(scope: Scope) -> list[bytes]:
    """The path's segments as they were sent, still encoded."""
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    return raw.split(b"/")


def decoded(segment: bytes) -> str | None:
    """A segment's text, or None when it cannot be an id (RFC 3986, 2.1; UTF-8)."""
    if _BROKEN_ESCAPE.search(segment):
        return None
    try:
        text = unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        return None
    return text if len(text) <= MOST_ID_CHARACTERS and "\0" not in text else None
