"""Random requests: of every endpoint in the table, and of every field and argument of the schema.

What is new in either is requested, too. An input that nothing here has values for raises
`CannotGenerateError`: give it some in `Values`.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote, urlencode

import graphql
from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
)
from hypothesis import strategies as st

from rest.endpoint_table import ENDPOINTS, Endpoint
from rest.names import to_kebab_case, to_snake_case
from rest.parameters import VARIABLE_BY_PATH_PARAMETER
from storage.records.paging import PageCursor
from tests.authorisation.catalog import ATTRIBUTES, GROUPS, UNITS, Catalog
from tests.authorisation.oracle import ADMIN, REQUIRED, SCHEMA, Directory

Rename: TypeAlias = Callable[[str], str]
DRAWING = UNITS.format(unit="any")
MAX_DEPTH = 5


class CannotGenerateError(AssertionError):
    """Nothing here has values for an input."""


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
        if [*values] == ["svg"]:
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
        return f"{value['x']},{value['y']},{value['floorId']}" if "x" in value else value["id"]
    return str(value)


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


KIND_OF_TYPE = {
    "Asset": "assets",
    "Floor": "floors",
    "Unit": "units",
    "Map": "maps",
    "Background": "backgrounds",
    "AttributeGroup": "attribute_groups",
}
KIND_OF_NAME = {
    "asset": "assets",
    "assetId": "assets",
    "floor": "floors",
    "floorId": "floors",
    "unit": "units",
    "unitId": "units",
    "map": "maps",
    "background": "backgrounds",
    "group": "attribute_groups",
    "groupId": "attribute_groups",
}
PAGING = {"page", "perPage", "after"}


class Values:
    """Draws values of inputs: of visible and hidden records, and of none."""

    def __init__(self, directory: Directory) -> None:
        records = directory.records
        self.ids = {
            kind: [r["id"] for r in records[kind]] for kind in records if "id" in records[kind][0]
        }
        self.ids["attribute_groups"] = [*GROUPS, "none"]
        self.all_ids = [id for ids in self.ids.values() for id in ids]
        self.keys = [directory.key_of(kind, r) for kind, rs in records.items() for r in rs]
        self.records = records
        self.texts = {
            "key": sorted(
                {
                    r["key"]
                    for kind in ("asset_references", "unit_references")
                    for r in records[kind]
                }
            ),
            "mode": ["foot", "wheelchair"],
            "costing": ["pedestrian"],
            "distanceMethod": ["euclidean", "default", "pathfinding"],
            "name": ["Here"],
            "svg": [DRAWING],
        }
        self.tags = {
            "Map": sorted({tag for r in records["maps"] for tag in r["tags"]}),
            "Location": _list_terms(records),
        }

    def value(self, draw: st.DrawFn, name: str, type: Any, field_type: str) -> Any:
        """A value of an argument, or of a member of one. Raises CannotGenerateError."""
        nullable = get_nullable_type(type)
        if isinstance(nullable, GraphQLList):
            items = range(draw(st.integers(1, 2)))
            return [self.value(draw, name, nullable.of_type, field_type) for _ in items]
        if nullable.name == "WaypointInput":
            return self.waypoint(draw)
        if nullable.name == "AssignmentInput":
            return self.assignment(draw)
        if isinstance(nullable, GraphQLInputObjectType):
            members = nullable.fields.items()
            return {key: self.value(draw, key, each.type, field_type) for key, each in members}
        return self.scalar(draw, name, nullable.name, field_type)

    def scalar(self, draw: st.DrawFn, name: str, type: str, field_type: str) -> Any:
        kind = KIND_OF_TYPE.get(field_type) if name == "id" else KIND_OF_NAME.get(name)
        if kind:
            return self.id(draw, kind)
        if name == "tags" and field_type in ("MapPage", "Map"):
            terms = draw(st.lists(st.sampled_from(self.tags["Map"]), min_size=1, max_size=2))
            return ",".join(terms)
        if name == "tags":
            terms = draw(st.lists(st.sampled_from(self.tags["Location"]), min_size=1, max_size=2))
            return ",".join(draw(st.sampled_from(["", "", "-"])) + term for term in terms)
        if name in self.texts:
            return draw(st.sampled_from(self.texts[name]))
        if name == "limit":
            return draw(st.sampled_from([1, 2, 10]))
        raise CannotGenerateError(f"give values for the input {name!r} in {__name__}.Values")

    def id(self, draw: st.DrawFn, kind: str) -> str:
        """The id of a record: of the kind, of another one, or of none."""
        pool = self.ids[kind] if draw(st.integers(0, 9)) else self.all_ids
        return draw(st.sampled_from(pool))

    def cursor(self, draw: st.DrawFn, per_page: int) -> Cursor:
        return Cursor(2, per_page, draw(st.sampled_from(self.keys)))

    def waypoint(self, draw: st.DrawFn) -> dict[str, Any]:
        """A location, or a position in the hall, with a floor where it counts."""
        sort = draw(st.sampled_from(["location", "floor", "position", "both"]))
        known = draw(st.sampled_from(self.records["locations"]))
        point: dict[str, Any] = {}
        if sort != "position":
            point["id"] = known["id"] if draw(st.integers(0, 5)) else self.id(draw, "units")
        if sort != "location":
            related = [each["id"] for each in known["floors"]]
            chosen = draw(st.integers(0, 2))
            point["floorId"] = related[0] if chosen and related else self.id(draw, "floors")
        if sort in ("position", "both"):
            point |= {
                "x": draw(st.sampled_from([3.25, 51.5])),
                "y": draw(st.sampled_from([5.5, 21.0])),
            }
        return point

    def assignment(self, draw: st.DrawFn) -> dict[str, str]:
        """An assignment that mostly fits together."""
        unit = draw(st.sampled_from(self.records["units"]))
        group = draw(st.sampled_from(GROUPS))
        whole = {
            "groupId": group,
            "attributeId": draw(st.sampled_from(ATTRIBUTES[group])),
            "assetId": unit["asset_id"],
            "unitId": unit["id"],
        }
        if not draw(st.integers(0, 4)):
            whole["assetId"] = self.id(draw, "assets")
        if not draw(st.integers(0, 9)):
            whole["unitId"] = draw(st.sampled_from(self.all_ids))
        return whole


def _list_terms(records: Catalog) -> list[str]:
    tags = [tag for each in records["locations"] for tag in each["tags"]]
    terms = {_escape(tag["key"]) for tag in tags}
    return sorted(terms | {f"{_escape(tag['key'])}=={_escape(tag['value'])}" for tag in tags})


def _escape(text: str) -> str:
    return re.sub(r"([,=\\-])", r"\\\1", text)


def rest_requests(values: Values) -> st.SearchStrategy[ApiRequest]:
    """Requests of all rows of the endpoint table."""
    return st.sampled_from(ENDPOINTS).flatmap(lambda row: requests_of(row, values))


@st.composite
def requests_of(draw: st.DrawFn, endpoint: Endpoint, values: Values) -> ApiRequest:
    """A request of one endpoint."""
    [operation] = graphql.parse(endpoint.document).definitions[:1]
    assert isinstance(operation, graphql.OperationDefinitionNode)
    in_path = {VARIABLE_BY_PATH_PARAMETER.get(name, name) for name in endpoint.path_parameters}
    given: dict[str, Any] = {}
    declared = {
        node.variable.name.value: graphql.type_from_ast(SCHEMA, node.type)
        for node in operation.variable_definitions or ()
    }
    for name, type in declared.items():
        if name in PAGING:
            continue
        if name in in_path or isinstance(type, GraphQLNonNull) or draw(st.booleans()):
            given[name] = values.value(
                draw, name, type, "Map" if endpoint.path == "/v1/maps" else ""
            )
    if declared.keys() >= PAGING:
        given |= _paging(draw, values, lambda _: True)
    if "group" in given and "data" in given and draw(st.integers(0, 9)):
        given["group"] = given["data"][0]["groupId"]
    conditions = ["", "", "own", "other", "any", "no"] if endpoint.changes else [""]
    can_be_flawed = endpoint.body is not None or {*given} & {"perPage", "limit", "mode", "page"}
    return ApiRequest(
        endpoint.document,
        given,
        endpoint,
        bool(can_be_flawed) and given.get("svg") is None and not draw(st.integers(0, 11)),
        draw(st.sampled_from(conditions)),
    )


def _paging(draw: st.DrawFn, values: Values, has: Callable[[str], bool]) -> dict[str, Any]:
    """Arguments of a list: small pages, so that a request is about few records."""
    per_page = draw(st.sampled_from([1, 2, 5, 100]))
    sort = draw(st.sampled_from(["first", "first", "second", "cursor"]))
    page = {"page": 2} if sort != "first" else {}
    after = {"after": values.cursor(draw, per_page)} if sort == "cursor" else {}
    return {"perPage": per_page, **page, **after}


@st.composite
def graphql_requests(draw: st.DrawFn, values: Values) -> ApiRequest:
    """An operation with fields of any type, nested at random."""
    is_write = not draw(st.integers(0, 9))
    writer = OperationWriter(draw, values)
    root = SCHEMA.mutation_type if is_write else SCHEMA.query_type
    assert root is not None
    return writer.write("mutation" if is_write else "query", root)


@dataclass
class OperationWriter:
    """Writes one operation."""

    draw: st.DrawFn
    values: Values
    left: int = 14
    """How many more fields with fields of their own it may have."""
    declared: list[str] = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)
    names: int = 0

    def write(self, operation: str, root: GraphQLObjectType) -> ApiRequest:
        body = self.selection(root, MAX_DEPTH)
        head = f"({', '.join(self.declared)})" if self.declared else ""
        return ApiRequest(f"{operation} Any{head} {body}", self.given)

    def selection(self, type: GraphQLObjectType, depth: int) -> str:
        """Some fields of a type."""
        fields = type.fields
        leaves = [name for name in fields if is_leaf_type(get_named_type(fields[name].type))]
        edges = [name for name in fields if name not in leaves]
        if "data" in edges:  # a page
            return (
                f"{{ {self.field(fields, 'data', depth)} paging {{ hasNext next currentPage }} }}"
            )
        if type in (SCHEMA.query_type, SCHEMA.mutation_type):
            leaves, edges = [], [*fields]
        chosen = self.some(leaves, 3)
        if edges and depth > 0 and self.left > 0:
            chosen += self.some(edges, 2)
        parts = [self.field(fields, name, depth - 1) for name in chosen]
        return f"{{ {' '.join(parts) or '__typename'} }}"

    def some(self, names: Sequence[str], most: int) -> list[str]:
        if not names:
            return []
        return self.draw(st.lists(st.sampled_from(names), min_size=1, max_size=most, unique=True))

    def field(self, fields: dict[str, GraphQLField], name: str, depth: int) -> str:
        """A field with its arguments, under a name of its own if it has any."""
        definition = fields[name]
        arguments = self.arguments(definition, get_named_type(definition.type).name, name)
        alias = f"{name}{self.number()}: " if arguments or not self.draw(st.integers(0, 9)) else ""
        inner = get_named_type(definition.type)
        if not isinstance(inner, GraphQLObjectType):
            return f"{alias}{name}{arguments}"
        self.left -= 1
        beneath = self.selection(inner, depth)
        if not self.draw(st.integers(0, 7)):
            beneath = f"{{ ... on {inner.name} {beneath} }}"
        return f"{alias}{name}{arguments} {beneath}"

    def arguments(self, definition: GraphQLField, type: str, name: str) -> str:
        texts = []
        is_admin = any(key.endswith(f".{name}") and REQUIRED[key] == ADMIN for key in REQUIRED)
        drawn = _paging(self.draw, self.values, bool) if definition.args.keys() >= PAGING else {}
        for argument_name, argument in definition.args.items():
            if argument_name in drawn:
                texts.append(self.argument(argument_name, argument, drawn[argument_name]))
            elif argument_name in PAGING:
                continue
            elif isinstance(argument.type, GraphQLNonNull) or self.draw(st.booleans()):
                if is_admin:
                    value = self.any_value(argument.type)
                else:
                    value = self.values.value(self.draw, argument_name, argument.type, type)
                texts.append(self.argument(argument_name, argument, value))
        return f"({', '.join(texts)})" if texts else ""

    def any_value(self, type: Any) -> Any:
        """A value for a field that no key here may use."""
        nullable = get_nullable_type(type)
        if isinstance(nullable, GraphQLList):
            return [self.any_value(nullable.of_type)]
        kinds = {"Boolean": False, "Float": 1.0, "Int": 1}
        return kinds.get(nullable.name, self.draw(st.sampled_from(self.values.all_ids)))

    def argument(self, name: str, argument: GraphQLArgument, value: Any) -> str:
        """A variable, or the value itself."""
        if not isinstance(value, Cursor) and name != "svg" and self.draw(st.booleans()):
            return f"{name}: {to_literal(value)}"
        variable = f"v{self.number()}"
        self.declared.append(f"${variable}: {argument.type}")
        self.given[variable] = value
        return f"{name}: ${variable}"

    def number(self) -> int:
        self.names += 1
        return self.names


def to_literal(value: Any) -> str:
    """Return a value in GraphQL's own notation."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {to_literal(v)}" for name, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(to_literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
