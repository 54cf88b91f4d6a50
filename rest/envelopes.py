"""From an operation's result to the response: where the resource is, and what surrounds it."""

from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

from rest.errors import not_found_error

JsonSchema: TypeAlias = dict[str, Any]

PAGE_URL_SCHEMAS: dict[str, JsonSchema] = {
    "prev_url": {
        "type": ["string", "null"],
        "format": "uri",
        "description": "Absolute address of the previous page; null on the first page.",
    },
    "next_url": {
        "type": ["string", "null"],
        "format": "uri",
        "description": "Absolute address of the next page; null when there is none. Follow it as "
        "it is: walking a list by it costs the same for every page.",
    },
}


@dataclass(frozen=True, slots=True)
class RequestUrl:
    """Where a request went, for the addresses of its other pages."""

    url: str
    """Absolute, without a query."""
    filters: list[tuple[str, str]]

    def for_page(self, page: int, per_page: int, after: str | None = None) -> str:
        """The address of another page of the same list."""
        query = [("per-page", str(per_page)), ("page", str(page)), *self.filters]
        if after is not None:
            query.append(("after", after))
        return f"{self.url}?{urlencode(query, quote_via=quote, safe='')}"


@dataclass(frozen=True, slots=True)
class EnvelopedBody:
    """A response's body, and the `Link` to other pages."""

    body: Any
    link_header: str | None = None


@dataclass(frozen=True, slots=True)
class Envelope:
    """What of a result is the resource: the names on the way to it."""

    result_path: tuple[str, ...]

    def get_resource(self, data: dict[str, Any]) -> Any:
        """The resource. Raises HttpError 404 where anything on the way is null."""
        value: Any = data
        for name in self.result_path:
            value = value[name]
            if value is None:
                raise not_found_error()
        return value

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """The response's body: the resource itself."""
        return EnvelopedBody(self.get_resource(data))

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """The JSON schema of what `apply` returns, from that of what `pick` does.

        Schemas with a title become components under that name.
        """
        return resource_schema


class SingleResource(Envelope):
    """One resource."""


class UnpagedList(Envelope):
    """`{data: [...]}`: a list that is never split into pages."""

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """The list without its paging."""
        return EnvelopedBody({"data": self.get_resource(data)["data"]})

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """The list envelope without paging."""
        return _list_schema(resource_schema["properties"]["data"])


class PagedList(Envelope):
    """`{paging, data}`: one page of a list, with the addresses of its neighbours."""

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """The list envelope of the specification."""
        page = self.get_resource(data)
        paging = page["paging"]
        number, per_page, after = paging["current_page"], paging["per_page"], paging["next"]
        previous_url = request_url.for_page(number - 1, per_page) if number > 1 else None
        next_url = request_url.for_page(number + 1, per_page, after) if after else None
        envelope = {
            "per_page": per_page,
            "current_page": number,
            "prev_url": previous_url,
            "next_url": next_url,
        }
        return EnvelopedBody(
            {"paging": envelope, "data": page["data"]}, _build_link_header(next_url, previous_url)
        )

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """The list envelope of the specification."""
        paging, resources = (resource_schema["properties"][name] for name in ("paging", "data"))
        numbers = {name: paging["properties"][name] for name in ("per_page", "current_page")}
        return _object_schema(
            f"{resources['items']['title']}Page",
            paging=_object_schema("Paging", **numbers, **PAGE_URL_SCHEMAS),
            data=resources,
        )


class LinkPagedList(PagedList):
    """`{data: [...]}`: one page of a list whose neighbours are told by `Link` alone."""

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """The page without its paging."""
        shaped = PagedList.wrap(self, data, request_url)
        return EnvelopedBody({"data": shaped.body["data"]}, shaped.link_header)

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """The list envelope without paging."""
        return _list_schema(resource_schema["properties"]["data"])


class DataList(Envelope):
    """`{data: [...]}`: the resources that were written."""

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """The list in its envelope."""
        return EnvelopedBody({"data": self.get_resource(data)})

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """The list envelope without paging."""
        return _list_schema(resource_schema)


class NullableData(Envelope):
    """`{data: …}`: an answer that may be that there is none."""

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """The answer in its envelope."""
        *way, last = self.result_path
        return EnvelopedBody({"data": Envelope(tuple(way)).get_resource(data)[last]})

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """The envelope, whose content may be null."""
        return _object_schema(
            f"{resource_schema['title']}Answer", data={"oneOf": [resource_schema, {"type": "null"}]}
        )


class DistanceMatrixData(Envelope):
    """`{data: {distance_method, sources}}`, without the ids and names that nobody gave."""

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """The matrix in its envelope."""
        matrix = self.get_resource(data)
        for source in matrix["sources"]:
            for waypoint in (source, *source["targets"]):
                for name in ("id", "name"):
                    if waypoint.get(name, "") is None:
                        del waypoint[name]
        return EnvelopedBody({"data": matrix})

    def json_schema(self, resource_schema: JsonSchema) -> JsonSchema:
        """The envelope, in whose waypoints id and name may be missing."""
        return _object_schema(
            f"{resource_schema['title']}Answer", data=_make_ids_optional(resource_schema)
        )


class NoContent(Envelope):
    """No content."""

    def wrap(self, data: dict[str, Any], request_url: RequestUrl) -> EnvelopedBody:
        """Nothing, whatever the operation answered."""
        return EnvelopedBody(None)


def _make_ids_optional(schema: JsonSchema) -> JsonSchema:
    source = schema["properties"]["sources"]["items"]
    target = source["properties"]["targets"]["items"]
    for waypoint in (source, target):
        waypoint["required"] = [name for name in waypoint["required"] if name not in ("id", "name")]
    return schema


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
