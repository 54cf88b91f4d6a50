"""A request of either API, before it belongs to a key."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote, urlencode

from rest.endpoint_table import Endpoint
from rest.names import to_kebab_case, to_snake_case
from rest.parameters import VARIABLE_BY_PATH_PARAMETER
from storage.records.paging import PageCursor

Rename: TypeAlias = Callable[[str], str]


class Cursor(NamedTuple):
    """The cursor of a page, before it is encoded."""

    page: int
    per_page: int
    last_key: str


class WireRequest(NamedTuple):
    """A request as it is sent, without the headers of its key."""

    method: str
    url: str
    headers: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        """Everything that the client has sent."""
        return f"{self.url} {self.headers} {self.content.decode()}"


@dataclass(frozen=True)
class ApiRequest:
    """A REST request of an endpoint, or a GraphQL request where there is none."""

    document: str
    values: dict[str, Any]
    """By variable."""
    endpoint: Endpoint | None = None
    is_flawed: bool = False
    """Whether it breaks a rule, beside what it asks for."""
    precondition: str = ""
    """Of a write: the list as `own` or an `other` key sees it, `any` list, or `no` list."""

    @property
    def is_write(self) -> bool:
        return self.document.startswith("mutation")

    def rename(self, change: Rename) -> "ApiRequest":
        """Return the request with every text that was drawn changed."""
        document = self.document if self.endpoint else change(self.document)
        return replace(self, document=document, values=_map_texts(self.values, change))

    def to_wire(self) -> WireRequest:
        """Return what to send."""
        if self.endpoint is None:
            content = {"query": self.document, "variables": self.encoded_values}
            headers = {"Content-Type": "application/json"}
            return WireRequest("POST", "/graphql", headers, json.dumps(content).encode())
        return self._to_rest(self.endpoint)

    @property
    def encoded_values(self) -> dict[str, Any]:
        """The variables, with cursors as the service writes them."""
        return {
            name: PageCursor(*value).encode() if isinstance(value, Cursor) else value
            for name, value in self.values.items()
        }

    def _to_rest(self, endpoint: Endpoint) -> WireRequest:
        values = self.encoded_values
        variables = {
            name: VARIABLE_BY_PATH_PARAMETER.get(name, name) for name in endpoint.path_parameters
        }
        path = {name: quote(values.pop(variable), safe="") for name, variable in variables.items()}
        url = endpoint.path.format_map(path)
        flaw = {"page": "x", "limit": "x", "mode": "x"} if self.is_flawed else {}
        if endpoint.body is None:
            query = {to_kebab_case(name): _to_parameter(value) for name, value in values.items()}
            query |= flaw
            return WireRequest(
                endpoint.method, f"{url}?{urlencode(query)}" if query else url, {}, b""
            )
        headers = {"Content-Type": endpoint.body.media_type}
        if "svg" in values:
            query = {name: _to_parameter(value) for name, value in values.items() if name != "svg"}
            url = f"{url}?{urlencode(query)}" if query else url
            return WireRequest(endpoint.method, url, headers, values["svg"].encode())
        data = values["data"] if [*values] == ["data"] else _to_members(values)
        body = {"data": "x" if self.is_flawed else _to_members(data)}
        return WireRequest(endpoint.method, url, headers, json.dumps(body).encode())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Write a falsifying example."""
        printer.text(self.describe())

    def describe(self) -> str:
        """Return the request as it is sent."""
        wire = self.to_wire()
        condition = f" if {self.precondition}" if self.precondition else ""
        return f"<{wire.method} {wire.url} {wire.content.decode()}{condition}>"


def _to_parameter(value: Any) -> str:
    if isinstance(value, dict):
        if "x" in value:
            return f"{value['x']},{value['y']},{value['floorId']}"
        return f"unit:{value['unitId']}" if "unitId" in value else str(value["id"])
    if isinstance(value, list):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _to_members(value: Any) -> Any:
    if isinstance(value, dict):
        return {to_snake_case(name): _to_members(member) for name, member in value.items()}
    return [*map(_to_members, value)] if isinstance(value, list) else value


def _map_texts(value: Any, change: Rename) -> Any:
    if isinstance(value, Cursor):
        return value._replace(last_key=change(value.last_key))
    if isinstance(value, dict):
        return {name: _map_texts(member, change) for name, member in value.items()}
    if isinstance(value, list):
        return [_map_texts(item, change) for item in value]
    return change(value) if isinstance(value, str) else value
