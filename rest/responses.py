"""Make responses of the results of operations: their form, members, bytes and entity tags."""

import base64
import hashlib
import re
from base64 import b64decode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Final, Literal, get_args
from urllib.parse import quote, urlencode

import orjson
from msgspec import Struct
from starlette.datastructures import Headers
from starlette.responses import Response

from rest.errors import JSON_MEDIA_TYPE, not_found_error
from schema.endpoint_directives import ResponseForm
from schema.errors import PreconditionFailedError
from schema.execution import pause_if_due
from schema.operation_inputs import JsonSchema
from schema.query_size import estimate_bytes

DATA: Final = "data"
"""Member of most bodies, with the resources."""
LINK_HEADER = "Link"
"""RFC 8288."""
TOTAL_COUNT = "total_count"
"""Member of a page, if the request asks for it."""
TOTAL_COUNT_HEADER = "Floorgate-Total-Count"
WARNINGS_HEADER = "Floorgate-Warnings"
MAX_WARNINGS_HEADER_BYTES = 2_000
"""Warnings that would make the header longer are left out of it."""
PICTURE_HEADERS = {"Content-Security-Policy": "default-src 'none'; sandbox"}
"""An SVG that is opened as a page may run nothing."""
MAX_NAME_CHARACTERS = 40
"""Length up to which the id of an element is in the header."""
DECIMAL_BOUND = 999_999_999_999
"""Largest number that a structured header may have (RFC 9651, 3.3.2)."""
OPTIONAL_WAYPOINT_MEMBERS = frozenset({"id", "name"})

_PRINTABLE = re.compile(r"[\x20-\x7e]+")

BYTES_IN_PART = 1_000_000
"""Estimated bytes that are written before a look at the clock: they take up to 4 ms."""

LONGEST_URL_CHARACTERS = 32_768
"""Bound of a page's URL in the description: what a request may have, encoded, and a cursor."""

PAGE_URL_SCHEMAS: dict[str, JsonSchema] = {
    name: {
        "type": ["string", "null"],
        "format": "uri",
        "maxLength": LONGEST_URL_CHARACTERS,
        "description": description,
    }
    for name, description in {
        "prev_url": "Absolute URL of the previous page; null on the first page.",
        "next_url": "Absolute URL of the next page; null if there is none. Follow it unchanged: "
        "then every page costs the same, however far it is.",
    }.items()
}


# Structs: every request creates them, and a frozen dataclass takes four times as long.
class RequestUrl(Struct, frozen=True):
    """The URL of a request, for the URLs of other pages of the same list."""

    base_url: str
    """Absolute, without a query; of the service, if there is a `path`."""
    filters: list[tuple[str, str]]
    fields: tuple[str, ...] | None = None
    """The members of resources that the response has; None for all."""
    path: str = ""
    """A template such as `/v1/maps/{map}`."""
    path_params: dict[str, str] = {}

    @property
    def url(self) -> str:
        """Absolute, without a query.

        >>> RequestUrl("https://maps.example", [], None, "/v1/maps/{map}", {"map": "a/b"}).url
        'https://maps.example/v1/maps/a%2Fb'
        """
        quoted = {name: quote(value, safe="") for name, value in self.path_params.items()}
        return self.base_url + self.path.format_map(quoted)

    def for_page(self, page: int, per_page: int | None, after: str | None = None) -> str:
        """Return the URL of another page; without its size, if no request says that.

        >>> RequestUrl("https://maps.example/v1/maps", [("tags", "ils")]).for_page(2, 20)
        'https://maps.example/v1/maps?per-page=20&page=2&tags=ils'
        """
        sizes = [] if per_page is None else [("per-page", str(per_page))]
        query = [*sizes, ("page", str(page)), *self.filters]
        if after is not None:
            query.append(("after", after))
        # `quote` writes a space as %20; a plus sign means one only in forms, not in URIs (RFC
        # 3986).
        return f"{self.url}?{urlencode(query, quote_via=quote, safe='')}"


class FormedBody(Struct, frozen=True):
    """The body of a response, and the headers that depend on the result."""

    body: Any
    """A value to write as JSON, or bytes as they are."""
    headers: dict[str, str] = {}
    media_type: str | None = None
    """If it is not that of the form."""


class Form:
    """The form of a response: where the resource is in a result, and what is made of it."""

    status: ClassVar[int] = 200
    reads_networks: ClassVar[bool] = False
    """True if the operation routes on the map that it reads."""
    is_in_data: ClassVar[bool] = False
    """True if the body has the resource, or a list of them, in `data`."""

    def __init__(
        self,
        *result_path: str,
        media_type: str = JSON_MEDIA_TYPE,
        is_nullable: bool = False,
        variables: Collection[str] = ("page", "perPage", "after"),
    ) -> None:
        self.result_path = result_path
        """The response names that lead to the resource."""
        self.media_type = media_type
        self.is_nullable = is_nullable
        """True if the resource may be null."""
        self.has_pages = "page" in variables
        self.has_sizes = "perPage" in variables
        self.has_cursors = "after" in variables

    def get_resource(self, data: dict[str, Any]) -> Any:
        """Return the resource. Raises HttpError 404 if anything on the path is null."""
        value: Any = data
        for name in self.result_path:
            value = value[name]
            if value is None:
                raise not_found_error()
        return value

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> FormedBody:
        """Return the body: the resource itself."""
        return FormedBody(self.get_resource(data))

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """Return the JSON schema of the body, from that of the resource.

        Schemas with a title become components under that name.
        """
        return resource_schema


class ObjectForm(Form):
    """One resource."""


class DocumentForm(Form):
    """A document with a media type of its own, which a response has as a whole."""


class PictureForm(DocumentForm):
    """A picture: SVG or PNG.

    >>> data = {"picture": {"format": "png", "content": "iVBORw=="}}
    >>> PictureForm("picture").wrap(data, RequestUrl("/v1", [])).media_type
    'image/png'
    """

    media_types: ClassVar = {"svg": "image/svg+xml", "png": "image/png"}

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> FormedBody:
        picture = self.get_resource(data)
        is_text, content = picture["format"] == "svg", picture["content"]
        body = content.encode() if is_text else b64decode(content)
        return FormedBody(body, PICTURE_HEADERS, self.media_types[picture["format"]])


class DrawingForm(DocumentForm):
    """A parsed map; the header `Floorgate-Warnings` has the warnings of the same parse.

    >>> warnings = [{"code": "text", "is_note": False, "count": 2, "places": []}]
    >>> result = {"parse": {"map": {}, "warnings": warnings}}
    >>> DrawingForm("parse", "map").wrap(result, RequestUrl("/v1", [])).headers
    {'Floorgate-Warnings': 'text;count=2'}
    """

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> FormedBody:
        warnings = data[self.result_path[0]].get("warnings", ())
        header = _build_warnings_header(warnings)
        body = self.get_resource(data)
        return FormedBody(body, {} if header is None else {WARNINGS_HEADER: header})


class ListForm(Form):
    """`{data: [...]}`: a complete list, such as the resources written, or the only page of one."""

    is_in_data = True

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> FormedBody:
        """Return the list, without its paging."""
        resource = self.get_resource(data)
        return FormedBody({DATA: resource[DATA] if isinstance(resource, dict) else resource})

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        return _list_schema(resource_schema.get("properties", {}).get(DATA, resource_schema))


class PageForm(Form):
    """`{paging, data}`: one page of a list, with the URLs of the pages before and after it."""

    is_in_data = True

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> FormedBody:
        page = self.get_resource(data)
        paging = page["paging"]
        number, per_page, cursor = paging["current_page"], paging["per_page"], paging["next"]
        after = cursor if self.has_cursors else None
        size = per_page if self.has_sizes else None
        previous_url = next_url = None
        if self.has_pages and number > 1:
            # Without a cursor: cursors lead only forwards.
            previous_url = request_url.for_page(number - 1, size)
        if self.has_pages and cursor:
            next_url = request_url.for_page(number + 1, size, after)
        shown = {
            "per_page": per_page,
            "current_page": number,
            "prev_url": previous_url,
            "next_url": next_url,
        }
        link = _build_link_header(next_url, previous_url)
        headers = {} if link is None else {LINK_HEADER: link}
        if (count := page.get(TOTAL_COUNT)) is not None:
            headers[TOTAL_COUNT_HEADER] = str(count)
        return FormedBody({"paging": shown, DATA: page[DATA]}, headers)

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        paging, resources = (resource_schema["properties"][name] for name in ("paging", DATA))
        numbers = {name: paging["properties"][name] for name in ("per_page", "current_page")}
        return object_schema(
            f"{resources['items']['title']}Page",
            paging=object_schema("Paging", **numbers, **PAGE_URL_SCHEMAS),
            data=resources,
        )


class LinkedListForm(PageForm):
    """`{data: [...]}`: one page of a list, with the header `Link` but no `paging`."""

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> FormedBody:
        page = super().wrap(data, request_url)
        return FormedBody({DATA: page.body[DATA]}, page.headers)

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        return _list_schema(resource_schema["properties"][DATA])


class DataForm(Form):
    """`{data: ...}`: a resource, or null.

    >>> DataForm("map", "route").wrap({"map": {"route": None}}, RequestUrl("/v1/maps/m1", [])).body
    {'data': None}
    """

    is_in_data = True

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> FormedBody:
        """Return the resource or null. Raises HttpError 404 if its parent is null."""
        *parents, last = self.result_path
        return FormedBody({DATA: Form(*parents).get_resource(data)[last]})

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """Return the schema of the resource, or null if it may be null."""
        either = {"oneOf": [resource_schema, {"type": "null"}]}
        # A schema without a type is that of any value.
        data = either if self.is_nullable and "type" in resource_schema else resource_schema
        return object_schema(_name_after(resource_schema, "Answer"), data=data)


class MatrixForm(Form):
    """`{data: {distance_method, sources}}`; waypoints without id or name lack these members."""

    reads_networks = True
    is_in_data = True

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> FormedBody:
        """Return the matrix without members `id` and `name` that are null."""
        matrix = self.get_resource(data)
        # Every source has the same targets.
        waypoints = chain(matrix["sources"], matrix["sources"][0]["targets"])
        if all(None not in map(waypoint.get, OPTIONAL_WAYPOINT_MEMBERS) for waypoint in waypoints):
            return FormedBody({DATA: matrix})
        sources = [
            {
                **_drop_missing_names(source),
                "targets": [_drop_missing_names(target) for target in source["targets"]],
            }
            for source in matrix["sources"]
        ]
        return FormedBody({DATA: {**matrix, "sources": sources}})

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """Return the schema of the matrix; `id` and `name` of its waypoints are not required."""
        return object_schema(
            f"{resource_schema['title']}Answer", data=_make_names_optional(resource_schema)
        )


class NoBodyForm(Form):
    status = 204

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> FormedBody:
        """Return no body; the result of the operation does not matter."""
        return FormedBody(None)


FORMS: Final[Mapping[ResponseForm, type[Form]]] = {
    ResponseForm.PAGE: PageForm,
    ResponseForm.LINKED_LIST: LinkedListForm,
    ResponseForm.LIST: ListForm,
    ResponseForm.OBJECT: ObjectForm,
    ResponseForm.DATA: DataForm,
    ResponseForm.DOCUMENT: DocumentForm,
    ResponseForm.NONE: NoBodyForm,
    ResponseForm.MATRIX: MatrixForm,
    ResponseForm.DRAWING: DrawingForm,
    ResponseForm.PICTURE: PictureForm,
}
MEDIA_TYPES: Final = {
    "ParsedMap": "application/vnd.map+json",
    "GeoJson": "application/geo+json",  # RFC 7946
    "Picture": PictureForm.media_types["svg"],
}
"""Media types of documents, by their GraphQL type."""


def _drop_missing_names(waypoint: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in waypoint.items()
        if value is not None or name not in OPTIONAL_WAYPOINT_MEMBERS
    }


def _make_names_optional(schema: JsonSchema) -> JsonSchema:
    """Return the schema of objects that may lack `id` and `name`, in all its parts."""
    changed = {
        name: {key: _make_names_optional(value) for key, value in part.items()}
        if name == "properties"
        else _make_names_optional(part)
        if name == "items"
        else part
        for name, part in schema.items()
    }
    # Absent instead of null, so the schema must not require them.
    if "required" in changed:
        changed["required"] = [
            name for name in changed["required"] if name not in OPTIONAL_WAYPOINT_MEMBERS
        ]
    return changed


def _list_schema(resources: JsonSchema) -> JsonSchema:
    return object_schema(_name_after(resources["items"], "List"), data=resources)


def _name_after(schema: JsonSchema, suffix: str) -> str | None:
    """Return the name of a schema with another in it; those of scalars have no name."""
    return f"{schema['title']}{suffix}" if "title" in schema else None


def object_schema(title: str | None, **members: JsonSchema) -> JsonSchema:
    named = {} if title is None else {"title": title}
    return {**named, "type": "object", "required": [*members], "properties": members}


def _build_link_header(next_url: str | None, previous_url: str | None) -> str | None:
    links = [
        f'<{url}>; rel="{relation}"'
        for url, relation in ((next_url, "next"), (previous_url, "prev"))
        if url
    ]
    return ", ".join(links) or None


def _format_decimal(number: float) -> str:
    return f"{min(max(number, -DECIMAL_BOUND), DECIMAL_BOUND):.3f}".rstrip("0").rstrip(".")


def _build_warnings_header(warnings: Iterable[dict[str, Any]]) -> str | None:
    """Return a list of tokens, the causes, with parameters (RFC 9651, 3.1), or None."""
    header = ""
    for warning in warnings:
        if warning["is_note"]:
            continue
        item = f"{', ' if header else ''}{warning['code']};count={warning['count']}"
        for place in warning["places"][:1]:
            item += f";line={place['line']}" if place["line"] else ""
            if place["x"] is not None:
                item += f";x={_format_decimal(place['x'])};y={_format_decimal(place['y'])}"
            name = place["name"]
            if name and len(name) <= MAX_NAME_CHARACTERS and _PRINTABLE.fullmatch(name):
                escaped = name.replace("\\", "\\\\").replace('"', '\\"')
                item += f';name="{escaped}"'
        if len(header) + len(item) > MAX_WARNINGS_HEADER_BYTES:
            break
        header += item
    return header or None


def select_fields(body: Any, names: Collection[str], *, is_in_data: bool = False) -> Any:
    """Return a body with only these members of its resources, which are in `data` if it has some.

    >>> select_fields({"data": {"id": "u1", "name": "101"}}, ["id"], is_in_data=True)
    {'data': {'id': 'u1'}}
    """
    if is_in_data or isinstance(body.get(DATA), list | dict):
        return {**body, DATA: _select(body[DATA], names)}
    return _select(body, names)


def _select(value: Any, names: Collection[str]) -> Any:
    if isinstance(value, list):
        return [_select(item, names) for item in value]
    if value is None:
        return None
    return {name: member for name, member in value.items() if name in names}


async def write_json(value: Any, check_size: Callable[[int], None] | None = None) -> bytes:
    """Return a value as JSON, and let other requests run in between.

    `check_size` receives the bytes written so far, from time to time, and may raise.

    >>> import asyncio
    >>> asyncio.run(write_json({"data": ["a", {}], "paging": None}))
    b'{"data":["a",{}],"paging":null}'
    """
    pieces: list[bytes] = []
    size = 0
    for piece in _iter_pieces(value):
        pieces.append(piece)
        size += len(piece)
        if check_size is not None:
            check_size(size)
        await pause_if_due()
    return b"".join(pieces)


def _iter_pieces(value: Any) -> Iterator[bytes]:
    size = estimate_bytes(value)
    if size <= BYTES_IN_PART or not value or not isinstance(value, (list, dict)):
        yield orjson.dumps(value)
    elif isinstance(value, dict):
        separator = b"{"
        for name, member in value.items():
            yield separator + orjson.dumps(name) + b":"
            yield from _iter_pieces(member)
            separator = b","
        yield b"}"
    else:
        separator = b"["
        count = max(1, len(value) * BYTES_IN_PART // size)
        for start in range(0, len(value), count):
            yield separator
            if count > 1:
                yield orjson.dumps(value[start : start + count])[1:-1]
            else:
                yield from _iter_pieces(value[start])
            separator = b","
        yield b"]"


VARY = "API-Key, Experimental-Flags, Accept-Encoding, Origin"
# no-cache: a client may keep the response but must revalidate it each time (RFC 9111, 5.2.2.4).
RESPONSE_HEADERS = {"Cache-Control": "private, no-cache", "Vary": VARY}


def encode_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Return headers as they are sent.

    >>> encode_headers({"Content-Type": "image/png"})
    [(b'content-type', b'image/png')]
    """
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]


ENCODED_RESPONSE_HEADERS = encode_headers(RESPONSE_HEADERS)


class CompleteResponse(Response):
    """A response that takes its headers as they are, which takes a fifth of the time."""

    def __init__(
        self, body: bytes, status: int, media_type: str, headers: Iterable[tuple[bytes, bytes]]
    ) -> None:
        self.body, self.status_code, self.background = body, status, None
        self.raw_headers = [
            *headers,
            (b"content-length", str(len(body)).encode()),
            (b"content-type", media_type.encode()),
        ]


# Entity tags, and requests that depend on them (RFC 9110: 8.8.3, 13.1).


Encoding = Literal["zstd", "gzip", "identity"]
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)

_ENTITY_TAG = re.compile(r'(W/)?("[\x21\x23-\x7e\x80-\xff]*")')


_TAGGED_HEADERS = frozenset({b"link", b"floorgate-total-count"})
"""Headers that can change while the body stays: with a 304, clients would keep the old ones."""


def compute_etag(body: bytes, headers: Collection[tuple[bytes, bytes]] = ()) -> str:
    """Compute a strong entity tag: 128 bits of SHA-256 over the unencoded body and some headers."""
    hashed = hashlib.sha256(body)
    if not _TAGGED_HEADERS.isdisjoint(dict(headers)):  # without a loop: most have none
        for name, value in headers:
            if name in _TAGGED_HEADERS:
                hashed.update(b"\0%b:%b" % (name, value))
    digest = hashed.digest()[:16]
    return f'"{base64.urlsafe_b64encode(digest).decode().rstrip("=")}"'


def etag_for_encoding(tag: str, encoding: Encoding) -> str:
    """Return the tag of the encoded body. Each coding needs its own (RFC 9110, 8.8.3.3)."""
    return tag if encoding == "identity" else f'{tag[:-1]}-{encoding}"'


def etag_matches(if_none_match: bytes | None, tag: str) -> bool:
    """Return whether `If-None-Match` matches the tag, by weak comparison (RFC 9110, 13.1.2).

    Join repeated headers with commas. A malformed header matches nothing.

    >>> etag_matches(b'W/"abc", "def"', '"abc"')
    True
    """
    if if_none_match is None:
        return False
    header = if_none_match.decode("latin-1").strip()
    given = (opaque for _, opaque in _ENTITY_TAG.findall(header))
    return header in (tag, "*") or tag.removeprefix("W/") in given


def find_encoding(if_none_match: bytes, tag: str, asked: Encoding) -> Encoding | None:
    """Return the encoding of a body with this tag, if `If-None-Match` names it in any.

    A client that has the body in another encoding than it asks for has the same content.
    """
    for encoding in (asked, *ENCODINGS):
        if etag_matches(if_none_match, etag_for_encoding(tag, encoding)):
            return encoding
    return None


@dataclass(frozen=True, slots=True)
class Precondition:
    """The entity tags that a write depends on.

    >>> Precondition(if_match='"abc"', if_none_match=None).check('"abc"')
    """

    if_match: str | None
    if_none_match: str | None

    @classmethod
    def from_headers(cls, headers: Headers) -> "Precondition | None":
        """Return the precondition of a request, or None if it has none."""
        values = [
            ", ".join(headers.getlist(name)) if name in headers else None
            for name in ("if-match", "if-none-match")
        ]
        return None if values == [None, None] else cls(*values)

    def check(self, tag: str | None) -> None:
        """Compare with the tag of the current representation, in any content coding.

        None is for no representation, and `*` stands for any. Raises PreconditionFailedError.
        """
        current = {etag_for_encoding(tag, encoding) for encoding in ENCODINGS if tag}
        if self.if_match is not None and not self._matches(self.if_match, current, strongly=True):
            raise PreconditionFailedError(
                "If-Match: must hold the current ETag; it has changed, so read again"
            )
        if self.if_none_match is not None and self._matches(self.if_none_match, current):
            raise PreconditionFailedError("If-None-Match: must not match the current ETag")

    @staticmethod
    def _matches(header: str, current: set[str], *, strongly: bool = False) -> bool:
        """Compare as RFC 9110, 8.8.3.2, defines: a weak tag never matches strongly."""
        tags = _ENTITY_TAG.findall(header)
        given = {tag for weak, tag in tags if not (weak and strongly)}
        return bool(current) and (header.strip() == "*" or not given.isdisjoint(current))
