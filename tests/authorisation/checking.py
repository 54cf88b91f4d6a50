"""Send a request as some key, and hold the response to what the oracle says."""

import copy
import json
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import graphql
import httpx
from graphql import TypeInfo, TypeInfoVisitor, Visitor, visit

from rest.responses import (
    DataForm,
    DocumentForm,
    LinkedListForm,
    ListForm,
    MatrixForm,
    NoBodyForm,
    ObjectForm,
    PageForm,
    PictureForm,
)
from storage.mongo import driver
from tests.authorisation.catalog import find_markers, to_ghosts
from tests.authorisation.directory import (
    ANY,
    ANY_NUMBER,
    REQUIRED,
    REQUIRED_ARGUMENTS,
    Directory,
    View,
    find_mismatch,
)
from tests.authorisation.oracle import SCHEMA, OracleGap, run
from tests.authorisation.requests import ApiRequest, WireRequest
from tests.endpoints import ENDPOINTS
from tests.fixtures import BASE_URL
from tests.rest.error_bodies import read_error

STATUS_BY_CODE = {
    "FLAG_REQUIRED": 400,
    "PERMISSION_REQUIRED": 403,
    "NOT_FOUND": 404,
    "PRECONDITION_FAILED": 412,
    "INVALID_INPUT": 422,
}
VOLATILE_HEADERS = ("x-request-id", "date", "ratelimit", "ratelimit-policy")
ASSIGNMENTS = "attribute_assignments"
STALE_SECONDS = 20
"""How long another gateway may take to see a write, on a busy machine."""


class ApiCaller(NamedTuple):
    """The name of a key, and the experimental flags that it sends."""

    key: str
    flags: frozenset[str]


class LeakError(AssertionError):
    """A response or a log line shows something of a hidden record."""


class Expected(NamedTuple):
    """The response that the oracle expects; GraphQL has errors beside the data."""

    status: int
    body: Any = None
    errors: frozenset[tuple[str, str]] = frozenset()


@dataclass
class Checker:
    """Checks responses of gateways that share a database."""

    directory: Directory
    rights: dict[str, tuple[frozenset[str] | None, frozenset[str]]]
    keys: dict[str, str]
    clients: Sequence[httpx.AsyncClient]
    database: driver.Database
    take_log: Callable[[], str]
    """Return what was logged since the last call."""
    forget_caches: Callable[[], None] = lambda: None
    may_be_stale: bool = False
    """Whether a read may come before the write that it follows, on another gateway."""
    etags: dict[str, dict[str, str]] = field(default_factory=dict)
    """Those that were sent, by URL and by key."""
    sent: int = 0
    statuses: dict[int, int] = field(default_factory=dict)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("checker")  # in a falsifying example; what it holds is too long

    def __post_init__(self) -> None:
        self._first_assignments = copy.deepcopy(self.directory.records[ASSIGNMENTS])
        self._first_documents: list[Any] | None = None
        self._all_markers = find_markers(json.dumps(self.directory.records))

    async def reset(self) -> None:
        """Undo all writes, and forget all entity tags."""
        self.etags.clear()
        collection = self.database[ASSIGNMENTS]
        if self._first_documents is None:
            self._first_documents = await collection.find().to_list(None)
        elif self.directory.records[ASSIGNMENTS] != self._first_assignments:
            await collection.delete_many({})
            await collection.insert_many(self._first_documents)
            self.directory.records[ASSIGNMENTS] = copy.deepcopy(self._first_assignments)
        self.forget_caches()

    async def check(self, caller: ApiCaller, request: ApiRequest) -> None:
        """Send a request and others like it, and compare all responses. Raises AssertionError."""
        view = self._view(caller)
        visible = self._visible_markers(view)
        headers = await self._precondition_headers(caller, request)
        expected = self._expect(view, request, headers)

        text = f"{request.document} {request.values}"
        # A filter matches values in any case: "==ZQ0100" is also about a visible "zq0100".
        twins = {each for each in visible if f"=={each.swapcase()}" in text}
        hidden = find_markers(text) - visible - {each.swapcase() for each in twins}

        async def attempt() -> httpx.Response:
            response = await self._send(caller, request.to_wire(), headers, visible)
            self._compare(request, expected, response)
            if hidden and not (request.is_write and response.is_success and request.endpoint):
                ghost = request.rename(lambda text: to_ghosts(text, hidden))
                other = await self._send(caller, ghost.to_wire(), headers, visible)
                self._compare_ghost(expected, response, other, hidden)
            return response

        # A write must be right at once.
        response = await (attempt() if request.is_write else self._retry(attempt))
        if request.is_write:
            await self._compare_database()
        is_read = request.endpoint and request.endpoint.method == "GET"
        # The feed of changes names the moment of each request.
        is_feed = request.endpoint and request.endpoint.path == "/v1/changes"
        if is_read and not is_feed and response.status_code == 200:
            await self._compare_conditional(caller, request, response, visible)

    def _view(self, caller: ApiCaller) -> View:
        assets, permissions = self.rights[caller.key]
        return View(self.directory, assets, permissions, caller.flags, BASE_URL)

    def _visible_markers(self, view: View) -> set[str]:
        shown = {kind: view.visible(kind) for kind in self.directory.records}
        ids = {record["id"] for record in shown["maps"]}
        drawings = [drawing for id, drawing in self.directory.drawings.items() if id in ids]
        return find_markers(json.dumps([shown, drawings]))

    async def _send(
        self, caller: ApiCaller, wire: WireRequest, headers: dict[str, str], visible: Iterable[str]
    ) -> httpx.Response:
        """Send a request; nothing in the response or the log may be of a hidden record."""
        flags = ", ".join(sorted(caller.flags))
        every = {"API-Key": self.keys[caller.key], "Experimental-Flags": flags, **wire.headers}
        self.sent += 1
        client = self.clients[self.sent % len(self.clients)]
        response = await client.request(
            wire.method, wire.url, headers=every | headers, content=wire.content or None
        )
        self.statuses[response.status_code] = self.statuses.get(response.status_code, 0) + 1
        known = {*visible, *find_markers(wire.text), *find_markers(wire.url.replace("%", " "))}
        for where, text in (
            ("body", response.text),
            ("headers", str(response.headers.multi_items())),
            ("log", self.take_log()),
        ):
            if leaked := (find_markers(text) & self._all_markers) - known:
                raise LeakError(f"{sorted(leaked)} in the {where} for {caller}: {wire}\n{text}")
        return response

    async def _retry(self, attempt: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
        """Repeat a read until it sees the latest write, if it may come from elsewhere."""
        deadline = time.monotonic() + STALE_SECONDS
        while True:
            try:
                return await attempt()
            except LeakError:
                raise
            except AssertionError:
                if not self.may_be_stale or time.monotonic() > deadline:
                    raise

    def _expect(self, view: View, request: ApiRequest, headers: dict[str, str]) -> Expected:
        if request.endpoint is None:
            answer = run(view, request.document, request.encoded_values)
            return Expected(200, answer.data, frozenset(answer.errors))
        read = [row for row in ENDPOINTS if headers and row.name == request.endpoint.changes]
        documents = [request.document, *(row.document for row in read)]
        for coordinate in [each for text in documents for each in list_coordinates(text)]:
            try:
                view.check(coordinate, request.encoded_values)
            except graphql.GraphQLError as error:
                return Expected(STATUS_BY_CODE[error.message])
        if request.is_flawed:
            return Expected(422)
        before = copy.deepcopy(self.directory.records[ASSIGNMENTS])
        answer = run(view, request.document, request.encoded_values)
        for code, _ in answer.errors:
            return Expected(STATUS_BY_CODE[code])
        if headers and headers != self._current(view, headers):
            self.directory.records[ASSIGNMENTS] = before
            return Expected(412)
        return self._expect_resource(request, answer.data)

    def _current(self, view: View, headers: dict[str, str]) -> dict[str, str]:
        """Return the precondition if it holds."""
        tag = headers.get("If-Match")
        return headers if tag in ("*", self._own_tag) else {}

    def _expect_resource(self, request: ApiRequest, data: Any) -> Expected:
        assert request.endpoint is not None
        form = request.endpoint.form
        path = form.result_path
        for name in path[:-1] if isinstance(form, DataForm) else path:
            data = data[name]
            if data is None:
                return Expected(404)
        if data == ANY_NUMBER:
            return Expected(200, ANY)
        if isinstance(form, DataForm):
            return Expected(200, {"data": data[path[-1]]})
        if isinstance(form, MatrixForm):
            return Expected(200, {"data": _drop_null_names(data)})
        if isinstance(form, LinkedListForm) or (isinstance(form, ListForm) and "data" in data):
            return Expected(200, {"data": data["data"]})
        if isinstance(form, ListForm):
            return Expected(200, {"data": data})
        if isinstance(form, PageForm):
            paging = data["paging"]
            urls = {"next_url": paging.pop("next"), "prev_url": ANY}
            if paging["current_page"] == 1:
                urls["prev_url"] = None
            return Expected(200, {"data": data["data"], "paging": paging | urls})
        if isinstance(form, NoBodyForm):
            return Expected(204)
        if isinstance(form, ObjectForm | DocumentForm):
            return Expected(200, data)
        raise OracleGap(f"{__name__} does not know the form {form}")

    def _compare(self, request: ApiRequest, expected: Expected, response: httpx.Response) -> None:
        assert response.status_code == expected.status, response.text
        if request.endpoint is None:
            body = response.json()
            if "data" not in body and "LIMIT_EXCEEDED" in response.text:
                return  # decided by the operation alone, before it reads anything
            assert "data" in body, body
            mismatch = find_mismatch(expected.body, body["data"])
            codes = {each["extensions"]["code"] for each in body.get("errors", ())}
            # Which of several errors ends the operation is left to chance.
            assert bool(codes) == bool(expected.errors), (codes, expected.errors)
            assert codes <= STATUS_BY_CODE.keys()
            if sum(each in REQUIRED for each in list_coordinates(request.document)) == 1:
                assert codes == {code for code, _ in expected.errors}
        else:
            is_picture = isinstance(request.endpoint.form, PictureForm)
            is_shown = expected.status == 200 and not is_picture
            mismatch = find_mismatch(expected.body, response.json()) if is_shown else None
            if expected.status == 204:
                assert response.content == b""
            if expected.status == 404:
                assert read_error(response) == {"message": "Not found", "code": "NOT_FOUND"}
        assert mismatch is None, mismatch

    async def _compare_database(self) -> None:
        """Compare all assignments with those that the oracle has."""
        found = await self.database[ASSIGNMENTS].find().to_list(None)
        names = ("group_id", "attribute_id", "asset_id", "unit_id")
        stored = Counter(tuple(each[name] for name in names) for each in found)
        oracle = self.directory.records[ASSIGNMENTS]
        known = Counter(tuple(each[name] for name in names) for each in oracle)
        assert stored == known, f"wrongly stored {stored - known}, wrongly missing {known - stored}"

    def _compare_ghost(
        self,
        expected: Expected,
        response: httpx.Response,
        other: httpx.Response,
        hidden: set[str],
    ) -> None:
        """What a key may not see is to it as if it did not exist."""

        def describe(each: httpx.Response) -> Any:
            dropped = (*VOLATILE_HEADERS, "etag")  # links repeat what was asked for
            named = [
                (n, to_ghosts(v, hidden)) for n, v in each.headers.multi_items() if n not in dropped
            ]
            text = to_ghosts(each.text, hidden).replace(each.headers["x-request-id"], "")
            # That of changes names the moment of each request.
            text = re.sub(r'"cursor\d*":"[^"]*"', '"cursor":""', text)
            if expected.errors:
                # Without data, a limit refused the operation: `_compare` allows no other code.
                return each.status_code, json.loads(text).get("data", text)
            return each.status_code, named, text

        assert describe(other) == describe(response), "a hidden record differs from a missing one"

    async def _compare_conditional(
        self, caller: ApiCaller, request: ApiRequest, response: httpx.Response, visible: set[str]
    ) -> None:
        """Ask again: from the cache, for the head alone, and with the tags of other keys."""
        wire = request.to_wire()
        tag = response.headers["etag"]
        known = self.etags.setdefault(f"{wire.url} {sorted(caller.flags)}", {})
        others = {each for key, each in known.items() if key != caller.key} - {tag}
        known[caller.key] = tag

        async def repeat(method: str = "GET", **headers: str) -> httpx.Response:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return await self._send(caller, wire._replace(method=method), named, visible)

        def describe(each: httpx.Response) -> Any:
            return [pair for pair in each.headers.multi_items() if pair[0] not in VOLATILE_HEADERS]

        async def attempt() -> httpx.Response:
            again = await repeat()
            assert (again.status_code, again.content) == (200, response.content)
            head = await repeat("HEAD")
            assert (head.status_code, head.content) == (200, b"")
            assert describe(head) == describe(response)
            same = await repeat(If_None_Match=f'"x", {tag}')
            assert (same.status_code, same.content) == (304, b"")
            if others:
                new = await repeat(If_None_Match=", ".join(sorted(others)))
                assert (new.status_code, new.content) == (200, response.content)
            return again

        await self._retry(attempt)

    async def _precondition_headers(self, caller: ApiCaller, request: ApiRequest) -> dict[str, str]:
        """Return the precondition of a write, with the tag of the list as a key sees it."""
        self._own_tag = await self._tag(caller, request) if request.precondition else ""
        if request.precondition == "own":
            return {"If-Match": self._own_tag or '"none"'}
        if request.precondition == "other":
            other = ApiCaller("all", caller.flags)
            return {"If-Match": await self._tag(other, request) or '"none"'}
        return {"any": {"If-Match": "*"}, "no": {"If-None-Match": "*"}}.get(
            request.precondition, {}
        )

    async def _tag(self, caller: ApiCaller, request: ApiRequest) -> str:
        """Return the tag of the list that a write changes, as a key sees it; empty without one."""
        assert request.endpoint is not None
        view = self._view(caller)
        url = request.to_wire().url.removesuffix("/remove")
        visible = self._visible_markers(view)
        wire = WireRequest("GET", url, {}, b"")

        async def attempt() -> httpx.Response:
            response = await self._send(caller, wire, {}, visible)
            if response.status_code == 200 and (group := request.values.get("groupId")):
                expected = view.visible(ASSIGNMENTS, group_id=group)
                assert find_mismatch(expected, response.json()["data"]) is None
            return response

        tag: str = (await self._retry(attempt)).headers.get("etag", "")
        return tag


def list_coordinates(document: str) -> list[str]:
    """Return the fields that a document selects and that need something, in their order."""
    found: list[str] = []
    types = TypeInfo(SCHEMA)

    class Collector(Visitor):
        def enter_field(self, node: graphql.FieldNode, *_: Any) -> None:
            parent = types.get_parent_type()
            assert parent is not None
            coordinate = f"{parent.name}.{node.name.value}"
            if coordinate in REQUIRED or coordinate in REQUIRED_ARGUMENTS:
                found.append(coordinate)

    visit(graphql.parse(document), TypeInfoVisitor(types, Collector()))
    return found


def _drop_null_names(value: Any) -> Any:
    if isinstance(value, dict):
        members = {name: _drop_null_names(member) for name, member in value.items()}
        return {n: v for n, v in members.items() if v is not None or n not in ("id", "name")}
    return [*map(_drop_null_names, value)] if isinstance(value, list) else value
