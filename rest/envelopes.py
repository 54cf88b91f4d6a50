"""Envelopes: from an operation's result to the body of the response."""

import re
from base64 import b64decode
from collections.abc import Iterable
from itertools import chain
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from msgspec import Struct

from rest.errors import not_found_error
from schema.operation_inputs import JsonSchema

LINK_HEADER = "Link"
"""RFC 8288."""
TOTAL_COUNT = "totalCount"
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

LONGEST_URL_CHARACTERS = 32_768
"""Bound of a page's URL in the description: what a request may have, encoded, and a cursor."""

PAGE_URL_SCHEMAS: dict[str, JsonSchema] = {
    "prev_url": {
        "type": ["string", "null"],
        "format": "uri",
        "maxLength": LONGEST_URL_CHARACTERS,
        "description": "Absolute URL of the previous page; null on the first page.",
    },
    "next_url": {
        "type": ["string", "null"],
        "format": "uri",
        "maxLength": LONGEST_URL_CHARACTERS,
        "description": "Absolute URL of the next page; null if there is none. Follow it unchanged: "
        "then every page costs the same, however far it is.",
    },
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

    def for_page(self, page: int, per_page: int, after: str | None = None) -> str:
        """Return the URL of another page.

        >>> RequestUrl("https://maps.example/v1/maps", [("tags", "ils")]).for_page(2, 20)
        'https://maps.example/v1/maps?per-page=20&page=2&tags=ils'
        """
        query = [("per-page", str(per_page)), ("page", str(page)), *self.filters]
        if after is not None:
            query.append(("after", after))
        # `quote` writes a space as %20; a plus sign means one only in forms, not in URIs (RFC
        # 3986).
        return f"{self.url}?{urlencode(query, quote_via=quote, safe='')}"


class EnvelopedBody(Struct, frozen=True):
    """The body of a response, and the headers that depend on the result."""

    body: Any
    """A value to write as JSON, or bytes as they are."""
    headers: dict[str, str] = {}
    media_type: str | None = None
    """If it is not that of the envelope."""


class Envelope:
    """The response names that lead to the resource in a result, and the form of the response."""

    status: ClassVar[int] = 200
    media_type: ClassVar[str] = "application/json"

    def __init__(self, *result_path: str) -> None:
        self.result_path = result_path

    def get_resource(self, data: dict[str, Any]) -> Any:
        """Return the resource. Raises HttpError 404 if anything on the path is null."""
        value: Any = data
        for name in self.result_path:
            value = value[name]
            if value is None:
                raise not_found_error()
        return value

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """Return the body: the resource itself."""
        return EnvelopedBody(self.get_resource(data))

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """Return the JSON schema of the body, from that of the resource.

        Schemas with a title become components under that name.
        """
        return resource_schema


class SingleResource(Envelope):
    """One resource."""


class DocumentResource(SingleResource):
    """A document in a format of its own, which a response has as a whole."""


class GeoJsonResource(DocumentResource):
    """A map as GeoJSON (RFC 7946)."""

    media_type = "application/geo+json"


class PictureResource(DocumentResource):
    """A picture: SVG or PNG.

    >>> data = {"picture": {"format": "png", "content": "iVBORw=="}}
    >>> PictureResource("picture").wrap(data, RequestUrl("/v1", [])).media_type
    'image/png'
    """

    media_type = "image/svg+xml"
    media_types: ClassVar = {"svg": media_type, "png": "image/png"}

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """Return the bytes of the picture."""
        picture = self.get_resource(data)
        is_text, content = picture["format"] == "svg", picture["content"]
        body = content.encode() if is_text else b64decode(content)
        return EnvelopedBody(body, PICTURE_HEADERS, self.media_types[picture["format"]])


class ParsedMapResource(DocumentResource):
    """A drawing as a viewer draws it."""

    media_type = "application/vnd.map+json"


class MapParse(ParsedMapResource):
    """A parsed map; the header `Floorgate-Warnings` has the warnings of the same parse.

    >>> warnings = [{"code": "text", "is_note": False, "count": 2, "places": []}]
    >>> result = {"parsedUnitMap": {"map": {}, "warnings": warnings}}
    >>> MapParse("parsedUnitMap", "map").wrap(result, RequestUrl("/v1", [])).headers
    {'Floorgate-Warnings': 'text;count=2'}
    """

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """Return the map, and the header if there are warnings."""
        parse = data[self.result_path[0]]
        header = _build_warnings_header(parse.get("warnings", ()))
        return EnvelopedBody(parse["map"], {} if header is None else {WARNINGS_HEADER: header})


class UnpagedList(Envelope):
    """`{data: [...]}`: a list without pages."""

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """Return the list without its paging."""
        return EnvelopedBody({"data": self.get_resource(data)["data"]})

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """Return the schema of a list without paging."""
        return _list_schema(resource_schema["properties"]["data"])


class PagedList(Envelope):
    """`{paging, data}`: one page of a list, with the URLs of the pages before and after it."""

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """Return the page with its paging."""
        page = self.get_resource(data)
        paging = page["paging"]
        number, per_page, after = paging["current_page"], paging["per_page"], paging["next"]
        # Without a cursor: cursors lead only forwards.
        previous_url = request_url.for_page(number - 1, per_page) if number > 1 else None
        next_url = request_url.for_page(number + 1, per_page, after) if after else None
        envelope = {
            "per_page": per_page,
            "current_page": number,
            "prev_url": previous_url,
            "next_url": next_url,
        }
        link = _build_link_header(next_url, previous_url)
        headers = {} if link is None else {LINK_HEADER: link}
        if (count := page.get(TOTAL_COUNT)) is not None:
            headers[TOTAL_COUNT_HEADER] = str(count)
        return EnvelopedBody({"paging": envelope, "data": page["data"]}, headers)

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """Return the schema of a page."""
        paging, resources = (resource_schema["properties"][name] for name in ("paging", "data"))
        numbers = {name: paging["properties"][name] for name in ("per_page", "current_page")}
        return _object_schema(
            f"{resources['items']['title']}Page",
            paging=_object_schema("Paging", **numbers, **PAGE_URL_SCHEMAS),
            data=resources,
        )


class LinkPagedList(PagedList):
    """`{data: [...]}`: one page of a list, with the header `Link` but no `paging`."""

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """Return the page without its paging."""
        page = super().wrap(data, request_url)
        return EnvelopedBody({"data": page.body["data"]}, page.headers)

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """Return the schema of a list without paging."""
        return _list_schema(resource_schema["properties"]["data"])


class DataList(Envelope):
    """`{data: [...]}`: a complete list, such as the resources written."""

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """Return the list."""
        return EnvelopedBody({"data": self.get_resource(data)})

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """Return the schema of a list without paging."""
        return _list_schema(resource_schema)


class NullableData(Envelope):
    """`{data: ...}`: a resource or null.

    >>> route = NullableData("map", "route")
    >>> route.wrap({"map": {"route": None}}, RequestUrl("/v1/maps/m1/route", [])).body
    {'data': None}
    """

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """Return the resource or null. Raises HttpError 404 if its parent is null."""
        *parents, last = self.result_path
        return EnvelopedBody({"data": Envelope(*parents).get_resource(data)[last]})

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """Return the schema of the resource or null."""
        return _object_schema(
            f"{resource_schema['title']}Answer", data={"oneOf": [resource_schema, {"type": "null"}]}
        )


class DataResource(Envelope):
    """`{data: {...}}`: one resource.

    >>> DataResource("closures").wrap({"closures": {}}, RequestUrl("/v1/maps/m1", [])).body
    {'data': {}}
    """

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """Return the resource as `data`."""
        return EnvelopedBody({"data": self.get_resource(data)})

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """Return the schema of the resource as `data`."""
        return _object_schema(f"{resource_schema['title']}Answer", data=resource_schema)


class MatrixData(Envelope):
    """`{data: {distance_method, sources}}`; waypoints without id or name lack these members."""

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """Return the matrix without members `id` and `name` that are null."""
        matrix = self.get_resource(data)
        # Every source has the same targets.
        waypoints = chain(matrix["sources"], matrix["sources"][0]["targets"])
        if all(None not in map(waypoint.get, OPTIONAL_WAYPOINT_MEMBERS) for waypoint in waypoints):
            return EnvelopedBody({"data": matrix})
        sources = [
            {
                **_drop_missing_names(source),
                "targets": [_drop_missing_names(target) for target in source["targets"]],
            }
            for source in matrix["sources"]
        ]
        return EnvelopedBody({"data": {**matrix, "sources": sources}})

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """Return the schema of the matrix; `id` and `name` of its waypoints are not required."""
        return _object_schema(
            f"{resource_schema['title']}Answer", data=_make_names_optional(resource_schema)
        )


class NoContent(Envelope):
    """No body."""

    status = 204

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """Return no body; the result of the operation does not matter."""
        return EnvelopedBody(None)


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
    return _object_schema(f"{resources['items']['title']}List", data=resources)


def _object_schema(title: str, **members: JsonSchema) -> JsonSchema:
    return {"title": title, "type": "object", "required": [*members], "properties": members}


def _build_link_header(next_url: str | None, previous_url: str | None) -> str | None:
    links = [
        f'<{url}>; rel="{relation}"'
        for url, relation in ((next_url, "next"), (previous_url, "prev"))
        if url
    ]
    return ", ".join(links) or None


def _format_decimal(number: float) -> str:
    """Return a decimal as a structured header has it."""
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
