"""From an operation's result to the response: where the resource is, and what surrounds it."""

from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

from rest.errors import not_found

JsonSchema: TypeAlias = dict[str, Any]

PAGE_ADDRESSES: dict[str, JsonSchema] = {
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
class Address:
    """Where a request went, for the addresses of its other pages."""

    url: str
    """Absolute, without a query."""
    filters: list[tuple[str, str]]

    def of_page(self, page: int, per_page: int, after: str | None = None) -> str:
        """The address of another page of the same list."""
        query = [("per-page", str(per_page)), ("page", str(page)), *self.filters]
        if after is not None:
            query.append(("after", after))
        return f"{self.url}?{urlencode(query, quote_via=quote, safe='')}"


@dataclass(frozen=True, slots=True)
class Shaped:
    """A response's body, and the `Link` to other pages."""

    body: Any
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a result is the resource: the names on the way to it."""

    path: tuple[str, ...]

    def pick(self, data: dict[str, Any]) -> Any:
        """The resource. Raises HttpError 404 where anything on the way is null."""
        value: Any = data
        for name in self.path:
            value = value[name]
            if value is None:
                raise not_found()
        return value

    def apply(self, data: dict[str, Any], address: Address) -> Shaped:
        """The response's body: the resource itself."""
        return Shaped(self.pick(data))

    def described(self, picked: JsonSchema) -> JsonSchema:
        """The JSON schema of what `apply` returns, from that of what `pick` does.

        Schemas with a title become components under that name.
        """
        return picked


class One(Shape):
    """One resource."""


class Listed(Shape):
    """`{data: [...]}`: a list that is never split into pages."""

    def apply(self, data: dict[str, Any], address: Address) -> Shaped:
        """The list without its paging."""
        return Shaped({"data": self.pick(data)["data"]})

    def described(self, picked: JsonSchema) -> JsonSchema:
        """The list envelope without paging."""
        return _listed(picked["properties"]["data"])


class Paged(Shape):
    """`{paging, data}`: one page of a list, with the addresses of its neighbours."""

    def apply(self, data: dict[str, Any], address: Address) -> Shaped:
        """The list envelope of the specification."""
        page = self.pick(data)
        paging = page["paging"]
        number, per_page, after = paging["current_page"], paging["per_page"], paging["next"]
        previous_url = address.of_page(number - 1, per_page) if number > 1 else None
        next_url = address.of_page(number + 1, per_page, after) if after else None
        envelope = {
            "per_page": per_page,
            "current_page": number,
            "prev_url": previous_url,
            "next_url": next_url,
        }
        return Shaped({"paging": envelope, "data": page["data"]}, _link(next_url, previous_url))

    def described(self, picked: JsonSchema) -> JsonSchema:
        """The list envelope of the specification."""
        paging, resources = (picked["properties"][name] for name in ("paging", "data"))
        numbers = {name: paging["properties"][name] for name in ("per_page", "current_page")}
        return _object(
            f"{resources['items']['title']}Page",
            paging=_object("Paging", **numbers, **PAGE_ADDRESSES),
            data=resources,
        )


class Unenveloped(Paged):
    """`{data: [...]}`: one page of a list whose neighbours are told by `Link` alone."""

    def apply(self, data: dict[str, Any], address: Address) -> Shaped:
        """The page without its paging."""
        shaped = Paged.apply(self, data, address)
        return Shaped({"data": shaped.body["data"]}, shaped.link)

    def described(self, picked: JsonSchema) -> JsonSchema:
        """The list envelope without paging."""
        return _listed(picked["properties"]["data"])


class Echo(Shape):
    """`{data: [...]}`: the resources that were written."""

    def apply(self, data: dict[str, Any], address: Address) -> Shaped:
        """The list in its envelope."""
        return Shaped({"data": self.pick(data)})

    def described(self, picked: JsonSchema) -> JsonSchema:
        """The list envelope without paging."""
        return _listed(picked)


class Enclosed(Shape):
    """`{data: …}`: an answer that may be that there is none."""

    def apply(self, data: dict[str, Any], address: Address) -> Shaped:
        """The answer in its envelope."""
        *way, last = self.path
        return Shaped({"data": Shape(tuple(way)).pick(data)[last]})

    def described(self, picked: JsonSchema) -> JsonSchema:
        """The envelope, whose content may be null."""
        return _object(f"{picked['title']}Answer", data={"oneOf": [picked, {"type": "null"}]})


class Matrix(Shape):
    """`{data: {distance_method, sources}}`, without the ids and names that nobody gave."""

    def apply(self, data: dict[str, Any], address: Address) -> Shaped:
        """The matrix in its envelope."""
        matrix = self.pick(data)
        for source in matrix["sources"]:
            for waypoint in (source, *source["targets"]):
                for name in ("id", "name"):
                    if waypoint.get(name, "") is None:
                        del waypoint[name]
        return Shaped({"data": matrix})

    def described(self, picked: JsonSchema) -> JsonSchema:
        """The envelope, in whose waypoints id and name may be missing."""
        return _object(f"{picked['title']}Answer", data=_without_required(picked))


class Nothing(Shape):
    """No content."""

    def apply(self, data: dict[str, Any], address: Address) -> Shaped:
        """Nothing, whatever the operation answered."""
        return Shaped(None)


def _without_required(schema: JsonSchema) -> JsonSchema:
    source = schema["properties"]["sources"]["items"]
    target = source["properties"]["targets"]["items"]
    for waypoint in (source, target):
        waypoint["required"] = [name for name in waypoint["required"] if name not in ("id", "name")]
    return schema


def _listed(resources: JsonSchema) -> JsonSchema:
    return _object(f"{resources['items']['title']}List", data=resources)


def _object(title: str, **members: JsonSchema) -> JsonSchema:
    return {"title": title, "type": "object", "required": [*members], "properties": members}


def _link(next_url: str | None, previous_url: str | None) -> str | None:
    links = [
        f'<{url}>; rel="{relation}"'
        for url, relation in ((next_url, "next"), (previous_url, "prev"))
        if url
    ]
    return ", ".join(links) or None
