"""A request of either API, before it belongs to a key."""

import base64
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote, urlencode

from rest.endpoint_files import Endpoint
from rest.names import to_kebab_case, to_snake_case
from storage.records.paging import PageCursor
from tests.authorisation.lists import digest_of

Rename: TypeAlias = Callable[[str], str]


class Cursor(NamedTuple):
    """The cursor of a page, before it is encoded."""

    coordinate: str
    """Of the list's field."""
    parent_id: str | None
    filters: dict[str, Any]
    page: int
    per_page: int
    position: tuple[str | int, ...]
    """Of the record that the page follows."""

    def encode(self) -> str:
        digest = digest_of(self.coordinate, self.parent_id, self.filters) or b"unknown."
        return PageCursor(digest, self.page, self.per_page, self.position).encode()

    def rename(self, change: Rename) -> "Cursor":
        """Return the cursor of the renamed list, after the renamed key."""
        return self._replace(
            parent_id=self.parent_id and change(self.parent_id),
            filters=_map_texts(self.filters, change),
            position=tuple(
                change(value) if isinstance(value, str) else value for value in self.position
            ),
        )


class EnumWord(str):
    """A value of an enum, which has no quotation marks where an operation writes it."""

    __slots__ = ()


class NodeId(NamedTuple):
    """A node id, before it is encoded."""

    type: str
    key: tuple[str, ...]

    def encode(self) -> str:
        """Return it as the service writes it."""
        key = self.key[0] if len(self.key) == 1 else "/".join(self.key)
        if len(self.key) > 1 and (key.count("/") >= len(self.key) or key.startswith("[")):
            key = json.dumps(self.key, ensure_ascii=False, separators=(",", ":"))
        text = f"{self.type}:{key}".encode()
        return base64.urlsafe_b64encode(text).rstrip(b"=").decode()

    @classmethod
    def decode(cls, text: str) -> "NodeId":
        """Read one that `encode` wrote."""
        padding = "=" * (-len(text) % 4)
        type, _, key = base64.urlsafe_b64decode(text + padding).decode().partition(":")
        if key.startswith('["'):
            return cls(type, tuple(json.loads(key)))
        is_joined = type in ("LevelTag", "UnitReference", "Assignment", "Attribute")
        return cls(type, tuple(key.split("/")) if is_joined else (key,))


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
        """The variables, with cursors and node ids as the service writes them."""
        return {name: _encode(value) for name, value in self.values.items()}

    def _to_rest(self, endpoint: Endpoint) -> WireRequest:
        values = self.encoded_values
        path = {
            name: quote(values.pop(variable), safe="")
            for name, variable in endpoint.path_parameters.items()
        }
        url = endpoint.path.format_map(path)
        flaw = {"page": "x", "limit": "x", "mode": "x"} if self.is_flawed else {}
        if endpoint.body is None:
            query = {
                endpoint.query_names.get(name) or to_kebab_case(name): _to_parameter(value)
                for name, value in values.items()
            }
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


def _encode(value: Any) -> Any:
    if isinstance(value, Cursor | NodeId):
        return value.encode()
    return [*map(_encode, value)] if isinstance(value, list) else value


def _to_parameter(value: Any) -> str:
    if isinstance(value, dict):
        if "x" in value:
            return f"{value['x']},{value['y']},{value['floorId']}"
        if "attributeId" in value:
            parts = (value["groupId"], value["attributeId"])
            return "/".join(re.sub(r"([/\\])", r"\\\1", part) for part in parts)
        if "key" in value:
            return f"{value['key']}:{value['value']}"
        return f"unit:{value['unitId']}" if "unitId" in value else str(value["id"])
    if isinstance(value, list):
        return ",".join(re.sub(r"([,\\])", r"\\\1", item) for item in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _to_members(value: Any) -> Any:
    if isinstance(value, dict):
        return {to_snake_case(name): _to_members(member) for name, member in value.items()}
    return [*map(_to_members, value)] if isinstance(value, list) else value


def _map_texts(value: Any, change: Rename) -> Any:
    if isinstance(value, Cursor):
        return value.rename(change)
    if isinstance(value, NodeId):
        return value._replace(key=tuple(map(change, value.key)))
    if isinstance(value, dict):
        return {name: _map_texts(member, change) for name, member in value.items()}
    if isinstance(value, list):
        return [_map_texts(item, change) for item in value]
    return change(value) if isinstance(value, str) else value
