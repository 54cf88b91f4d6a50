"""Find the handler of a request by its path, and stop working for clients that have gone.

An id may contain any character. Servers decode a path before routing, which splits an id with `/`
in it into two segments; here the path is split first and decoded after.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypeAlias, TypeVar
from urllib.parse import quote, unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from rest.errors import (
    HttpError,
    from_graphql_error,
    method_not_allowed_error,
    not_found_error,
)
from rest.scope_members import SCOPE_ROUTE, ClientDisconnectedError
from schema.errors import PreconditionFailedError
from schema.operation_inputs import ID

Handler = Callable[[Request], Awaitable[ASGIApp]]

SegmentTree: TypeAlias = dict[Any, Any]
"""Maps a segment to the tree of following segments, and `END_OF_PATH` to a route."""

ANY_SEGMENT = object()
END_OF_PATH = object()
_BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class PathRoute:
    """All methods of one path such as `/v1/assets/{asset}`."""

    def __init__(
        self,
        path: str,
        handlers: Mapping[str, Handler],
        answer_error: Callable[[Request, HttpError], ASGIApp] = lambda request, error: error,
    ) -> None:
        self.path = path
        self.answer_error = answer_error
        self.segments = path.split("/")
        self._parameters = [
            (position, segment[1:-1])
            for position, segment in enumerate(self.segments)
            if segment.startswith("{")
        ]
        self.handlers = dict(handlers)
        if "GET" in self.handlers:
            # A HEAD has the header fields of a GET (RFC 9110, 9.3.2).
            self.handlers["HEAD"] = self.handlers["GET"]
        self.allowed_methods = sorted([*self.handlers, "OPTIONS"])

    def read_parameters(self, path_segments: Sequence[str | None]) -> dict[str, str | None]:
        """Return the parameters of a path. One that cannot be an id is None or empty."""
        parameters = {}
        for position, name in self._parameters:
            text = path_segments[position]
            parameters[name] = text if not text or ID.check(text) is None else None
        return parameters

    async def handle(
        self, path_segments: Sequence[str | None], scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Respond with the method's handler to a request for this path."""
        scope[SCOPE_ROUTE] = self.path
        scope["path_params"] = self.read_parameters(path_segments)
        request = Request(scope, receive, send)
        handler = self.handlers.get(scope["method"])
        response: ASGIApp
        try:
            if handler is not None:
                response = await handler(request)
            elif scope["method"] == "OPTIONS":
                response = Response(
                    status_code=204, headers={"Allow": ", ".join(self.allowed_methods)}
                )
            else:
                raise method_not_allowed_error(self.allowed_methods)
        except HttpError as error:
            response = self.answer_error(request, error)
        try:
            await response(scope, receive, send)
        except PreconditionFailedError as error:  # it is not known before the entity tag is
            answer = self.answer_error(request, from_graphql_error(error))
            await answer(scope, receive, send)


class RouteTree:
    """All paths in one tree of segments, with at most two branches for each of a request."""

    def __init__(self, routes: Iterable[PathRoute]) -> None:
        self._tree: SegmentTree = {}
        for route in routes:
            branch = self._tree
            for segment in route.segments:
                branch = branch.setdefault(ANY_SEGMENT if segment.startswith("{") else segment, {})
            branch[END_OF_PATH] = route

    def find(self, path_segments: Sequence[str | None]) -> PathRoute | None:
        """Return the route that fits; a literal segment goes before a parameter.

        Raises HttpError 404 for a path that has a route without the slash at its end.
        """
        found = _find(self._tree, path_segments, 0)
        has_slash = path_segments[-1] == "" and not (found and found.path.endswith("/"))
        meant = _find(self._tree, path_segments[:-1], 0) if has_slash else None
        if meant and not meant.path.endswith("/"):
            raise not_found_error(f"{meant.path} has no slash at its end")
        return found


class PathRouter:
    """An application with the routes of some paths.

    `list_routes` is called by the first request: no gateway needs its routes to begin to serve.
    `others` answers all other requests, and what is not HTTP.
    """

    def __init__(self, list_routes: Callable[[], Iterable[PathRoute]], others: ASGIApp) -> None:
        self._list_routes = list_routes
        self._others = others

    @cached_property
    def _tree(self) -> RouteTree:
        return RouteTree(self._list_routes())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond with the route that fits the path; it looks at the method."""
        answer = self._others
        if scope["type"] == "http":
            segments = split_path(scope)
            try:
                route = self._tree.find(segments)
            except HttpError as error:
                answer = error
            else:
                if route is not None:
                    answer = partial(route.handle, segments)
        await answer(scope, receive, send)


def _find(branch: SegmentTree, segments: Sequence[str | None], start: int) -> PathRoute | None:
    """Return the route of what follows a place; turn back where a literal leads nowhere."""
    for place in range(start, len(segments)):
        literal, parameter = branch.get(segments[place]), branch.get(ANY_SEGMENT)
        if literal is not None and parameter is not None:
            if (found := _find(literal, segments, place + 1)) is not None:
                return found
            literal = None
        following = parameter if literal is None else literal
        if following is None:
            return None
        branch = following
    route: PathRoute | None = branch.get(END_OF_PATH)
    return route


def split_path(scope: Scope) -> Sequence[str | None]:
    """Return the segments of a path, each decoded, or None if it cannot be."""
    # `raw_path` is optional in ASGI.
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    if b"%" in raw or not raw.isascii():
        return [decode_segment(segment) for segment in raw.split(b"/")]
    return raw.decode().split("/")


def decode_segment(segment: bytes) -> str | None:
    """Return a segment's text, or None if it has none (RFC 3986, 2.1; UTF-8).

    >>> decode_segment(b"plan%2Fone")
    'plan/one'
    """
    if _BROKEN_ESCAPE.search(segment):
        return None
    try:
        return unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        return None


T = TypeVar("T")

WATCH_AFTER_SECONDS = 0.1
"""A shorter request is not watched: that would cost more than it could save."""


async def run_while_connected(work: Coroutine[Any, Any, T], receive: Receive) -> T:
    """Return what `work` returns; cancel it if the client closes the connection.

    Use it once the body has been read. Raises ClientDisconnectedError.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task(loop)
    assert task is not None
    earlier_cancellations = task.cancelling()
    watch: asyncio.Task[None] | None = None
    has_left = False

    async def cancel_when_left() -> None:
        nonlocal has_left
        await wait_for_disconnect(receive)
        has_left = True
        task.cancel()

    def start() -> None:
        nonlocal watch
        watch = asyncio.create_task(cancel_when_left())

    timer = loop.call_later(WATCH_AFTER_SECONDS, start)
    try:
        return await work
    except asyncio.CancelledError:
        if has_left and task.uncancel() <= earlier_cancellations:
            raise ClientDisconnectedError from None
        raise
    finally:
        timer.cancel()
        if watch is not None:
            watch.cancel()


async def wait_for_disconnect(receive: Receive) -> None:
    """Return when the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
