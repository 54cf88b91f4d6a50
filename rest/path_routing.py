"""Routing by the path as the client sent it.

An id may contain any character. Servers decode a path before routing, which splits an id with `/`
in it into two segments; here the path is split first and decoded after.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import quote, unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from rest.errors import HttpError, method_not_allowed_error
from rest.scope_members import SCOPE_ERROR_CODES, SCOPE_ROUTE
from schema.operation_inputs import is_id

Handler = Callable[[Request], Awaitable[ASGIApp]]

SegmentTree: TypeAlias = dict[Any, Any]
"""From a segment to the tree of following segments; from `END_OF_PATH` to a route."""

ANY_SEGMENT = object()
END_OF_PATH = None
_BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class PathRoute:
    """All methods of one path such as `/v1/assets/{asset}`."""

    def __init__(self, path: str, handlers: Mapping[str, Handler]) -> None:
        self.path = path
        self.segments = path.split("/")
        self.handlers = dict(handlers)
        if "GET" in self.handlers:
            # A HEAD has the header fields of a GET (RFC 9110, 9.3.2).
            self.handlers["HEAD"] = self.handlers["GET"]
        self.allowed_methods = sorted([*self.handlers, "OPTIONS"])

    def build_scope(self, path_segments: Sequence[str | None]) -> Scope:
        """Return the members to add to the scope of a request for this path."""
        parameters = {
            segment[1:-1]: text
            for segment, text in zip(self.segments, path_segments, strict=True)
            if segment.startswith("{")
        }
        return {"route": self, "path_params": parameters, SCOPE_ROUTE: self.path}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond with the method's handler."""
        request = Request(scope, receive, send)
        handler = self.handlers.get(request.method)
        response: ASGIApp
        try:
            if handler is not None:
                response = await handler(request)
            elif request.method == "OPTIONS":
                response = Response(
                    status_code=204, headers={"Allow": ", ".join(self.allowed_methods)}
                )
            else:
                raise method_not_allowed_error(self.allowed_methods)
        except HttpError as error:
            scope[SCOPE_ERROR_CODES] = [error.code]
            response = error.to_response()
        await response(scope, receive, send)


class PathRouter(BaseRoute):
    """All paths in one tree of segments: routing costs the same for any number of paths."""

    def __init__(self, routes: Iterable[PathRoute]) -> None:
        self._tree: SegmentTree = {}
        for route in routes:
            branch = self._tree
            for segment in route.segments:
                branch = branch.setdefault(ANY_SEGMENT if segment.startswith("{") else segment, {})
            branch[END_OF_PATH] = route

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return a full match if the path fits; `PathRoute.handle` looks at the method."""
        if scope["type"] != "http":
            return Match.NONE, {}
        segments = [decode_segment(raw) for raw in split_raw_path(scope)]
        route = _find_route(self._tree, segments, 0)
        return (Match.NONE, {}) if route is None else (Match.FULL, route.build_scope(segments))

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond with the route that matched."""
        await scope["route"].handle(scope, receive, send)


def _find_route(
    tree: SegmentTree, path_segments: list[str | None], position: int
) -> PathRoute | None:
    """Return the route that fits; a literal segment goes before a parameter."""
    if position == len(path_segments):
        return tree.get(END_OF_PATH)
    for segment in (path_segments[position], ANY_SEGMENT):
        # A segment that cannot be an id is None as well and must not end the path.
        if segment in tree and segment is not END_OF_PATH:
            route = _find_route(tree[segment], path_segments, position + 1)
            if route is not None:
                return route
    return None


def split_raw_path(scope: Scope) -> list[bytes]:
    """Return the path's segments as sent, still percent-encoded."""
    # `raw_path` is optional in ASGI.
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    return raw.split(b"/")


def decode_segment(segment: bytes) -> str | None:
    """Return a segment's text, or None if it cannot be an id (RFC 3986, 2.1; UTF-8).

    >>> decode_segment(b"plan%2Fone")
    'plan/one'
    """
    try:
        if b"%" not in segment:
            text = segment.decode()
        elif _BROKEN_ESCAPE.search(segment):
            return None
        else:
            text = unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        return None
    # Empty segments become 404 in the handler; here they are part of paths such as `/v1/`.
    return text if not text or is_id(text) else None
