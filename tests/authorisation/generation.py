"""Random requests: of every endpoint in the table, and of every field and argument of the schema.

What is new in either is requested, too. An input that `Values` has nothing for raises
`CannotGenerateError`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import graphql
from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
)
from hypothesis import strategies as st

from rest.endpoint_files import Endpoint
from rest.names import to_camel_case
from tests.authorisation.directory import OPERATORS, REQUIRED
from tests.authorisation.lists import PAGING, ROOT_LISTS
from tests.authorisation.oracle import SCHEMA
from tests.authorisation.requests import ApiRequest, Cursor, EnumWord, NodeId
from tests.authorisation.values import Values
from tests.endpoints import ENDPOINTS

MAX_DEPTH = 5


def rest_requests(values: Values) -> st.SearchStrategy[ApiRequest]:
    """Requests of all rows of the endpoint table."""
    return st.sampled_from(ENDPOINTS).flatmap(lambda row: requests_of(row, values))


@st.composite
def requests_of(draw: st.DrawFn, endpoint: Endpoint, values: Values) -> ApiRequest:
    """A request of one endpoint."""
    [operation] = graphql.parse(endpoint.document).definitions[:1]
    assert isinstance(operation, graphql.OperationDefinitionNode)
    in_path = {*endpoint.path_parameters.values()}
    given: dict[str, Any] = {}
    declared = {
        node.variable.name.value: graphql.type_from_ast(SCHEMA, node.type)
        for node in operation.variable_definitions or ()
    }
    for name, type in declared.items():
        if name in PAGING:
            continue
        if name in in_path or isinstance(type, GraphQLNonNull) or draw(st.booleans()):
            parent = "Map" if endpoint.path == "/v1/maps" else ""
            given[name] = values.value(draw, name, type, parent, given.get("map"))
            # Few maps are routable, and most errors about waypoints show on those alone.
            if name == "map" and "WaypointInput" in endpoint.document and draw(st.integers(0, 3)):
                given[name] = values.routable_map(draw)
    if endpoint.body is None:
        # A query has a waypoint's position, or else its id.
        position, ids = ("x", "y", "floorId"), ("id", "unitId")
        for name in {"from", "to"} & given.keys():
            shown = position if "x" in given[name] else ids
            given[name] = {key: value for key, value in given[name].items() if key in shown}
    if "perPage" in declared:
        given |= values.paging(draw, *_find_list(endpoint, given), by_relay=False)
    if "groupId" in given and "data" in given and draw(st.integers(0, 9)):
        given["groupId"] = given["data"][0]["groupId"]
    conditions = ["", "", "own", "other", "any", "no"] if endpoint.changes else [""]
    can_be_flawed = endpoint.body is not None or {*given} & {"perPage", "limit", "mode", "page"}
    return ApiRequest(
        endpoint.document,
        given,
        endpoint,
        bool(can_be_flawed) and given.get("svg") is None and not draw(st.integers(0, 11)),
        draw(st.sampled_from(conditions)),
    )


def _find_list(endpoint: Endpoint, given: dict[str, Any]) -> tuple[str, str | None, dict[str, Any]]:
    """Return the field of the list that an endpoint returns, its parent and its filters."""
    *parents, name = map(to_camel_case, endpoint.form.result_path)
    if not parents:
        return f"Query.{name}", None, dict(given)
    [parent] = parents
    variable = "groupId" if parent == "attributeGroup" else parent
    filters = {key: value for key, value in given.items() if key != variable}
    return f"{parent[0].upper()}{parent[1:]}.{name}", given[variable], filters


@st.composite
def graphql_requests(draw: st.DrawFn, values: Values) -> ApiRequest:
    """An operation with fields of any type, nested at random."""
    is_write = not draw(st.integers(0, 9))
    writer = OperationWriter(draw, values)
    root = SCHEMA.mutation_type if is_write else SCHEMA.query_type
    assert root is not None
    return writer.write("mutation" if is_write else "query", root)


def _find_paths() -> dict[str, list[str]]:
    """Return the shortest way to each type from the root, by fields that need no argument."""
    assert SCHEMA.query_type is not None
    paths: dict[str, list[str]] = {SCHEMA.query_type.name: []}
    pending = [SCHEMA.query_type]
    for type in pending:
        for name, definition in type.fields.items():
            inner = get_named_type(definition.type)
            needs = any(isinstance(each.type, GraphQLNonNull) for each in definition.args.values())
            denied = REQUIRED.get(f"{type.name}.{name}") in OPERATORS
            if not isinstance(inner, GraphQLObjectType) or needs or denied:
                continue
            if inner.name not in paths:
                paths[inner.name] = [*paths[type.name], name]
                pending.append(inner)
    return paths


PATHS = _find_paths()


def has_path_to(type: GraphQLObjectType) -> bool:
    """Return whether lists lead to a type, without an id."""
    return type.name in PATHS


@st.composite
def requests_along(draw: st.DrawFn, coordinate: str, values: Values) -> ApiRequest:
    """An operation on all records of a type that follows one edge of theirs."""
    type_name, name = coordinate.split(".")
    type = SCHEMA.type_map[type_name]
    assert isinstance(type, GraphQLObjectType)
    writer = OperationWriter(draw, values, left=0)
    definition = type.fields[name]
    inner = get_named_type(definition.type)
    assert isinstance(inner, GraphQLObjectType)
    texts = [
        writer.argument(key, each, values.value(draw, key, each.type, inner.name))
        for key, each in definition.args.items()
        if isinstance(each.type, GraphQLNonNull)
    ]
    given = f"({', '.join(texts)})" if texts else ""
    body = f"{name}{given} {writer.leaves(inner)}"
    for step in reversed(PATHS[type_name]):
        body = f"{step} {{ {body} }}"
    return writer.request("query", f"{{ {body} }}")


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
        return self.request(operation, self.selection(root, MAX_DEPTH))

    def request(self, operation: str, body: str) -> ApiRequest:
        head = f"({', '.join(self.declared)})" if self.declared else ""
        return ApiRequest(f"{operation} Any{head} {body}", self.given)

    def selection(self, type: GraphQLObjectType, depth: int) -> str:
        """Some fields of a type."""
        fields = type.fields
        leaves = [name for name in fields if is_leaf_type(get_named_type(fields[name].type))]
        edges = [name for name in fields if name not in leaves]
        if "paging" in edges:  # a page
            if not self.draw(st.integers(0, 3)):
                info = "pageInfo { hasNextPage hasPreviousPage startCursor endCursor }"
                return f"{{ {self.field(fields, 'edges', depth)} {info} totalCount }}"
            return (
                f"{{ {self.field(fields, 'data', depth)} paging {{ hasNext next currentPage }} }}"
            )
        if "cursor" in leaves and "node" in edges:  # a record of a page
            return f"{{ cursor {self.field(fields, 'node', depth)} }}"
        if type in (SCHEMA.query_type, SCHEMA.mutation_type):
            leaves, edges = [], [*fields]
        chosen = self.some(leaves, 3)
        if edges and depth > 0 and self.left > 0:
            chosen += self.some(edges, 2)
        parts = [self.field(fields, name, depth - 1) for name in chosen]
        return f"{{ {' '.join(parts) or '__typename'} }}"

    def leaves(self, type: GraphQLObjectType, depth: int = 1) -> str:
        """All fields of a type that are values, of a page's records, too."""
        names = []
        for name, definition in type.fields.items():
            inner = get_named_type(definition.type)
            if is_leaf_type(inner):
                names.append(name + self.arguments(definition, type.name, name))
            elif isinstance(inner, GraphQLObjectType) and not definition.args and depth:
                names.append(f"{name} {self.leaves(inner, depth - 1)}")
        return f"{{ {' '.join(names)} }}" if names else "{ __typename }"

    def some(self, names: Sequence[str], most: int) -> list[str]:
        if not names:
            return []
        return self.draw(st.lists(st.sampled_from(names), min_size=1, max_size=most, unique=True))

    def field(self, fields: dict[str, GraphQLField], name: str, depth: int) -> str:
        """A field with its arguments, under a name of its own if it has any."""
        definition = fields[name]
        named = get_named_type(definition.type)
        # The key of a location's tag says more than that its value is a text.
        about = "Location" if name == "tag" else named.name
        arguments = self.arguments(definition, about, name)
        alias = f"{name}{self.number()}: " if arguments or not self.draw(st.integers(0, 9)) else ""
        inner = get_named_type(definition.type)
        if isinstance(inner, GraphQLInterfaceType):
            beneath = self.node(depth) if definition.args else "{ __typename nodeId }"
            return f"{alias}{name}{arguments} {beneath}"
        if not isinstance(inner, GraphQLObjectType):
            return f"{alias}{name}{arguments}"
        self.left -= 1
        beneath = self.selection(inner, depth)
        if not self.draw(st.integers(0, 7)):
            beneath = f"{{ ... on {inner.name} {beneath} }}"
        return f"{alias}{name}{arguments} {beneath}"

    def node(self, depth: int) -> str:
        """A selection on a node of the type that was drawn last, and of other types."""
        drawn = [each for each in self.given.values() if isinstance(each, (NodeId, list))]
        last = drawn[-1] if isinstance(drawn[-1], NodeId) else drawn[-1][0]
        type = SCHEMA.type_map[last.type]
        assert isinstance(type, GraphQLObjectType)
        self.left -= 1
        return f"{{ __typename nodeId ... on {type.name} {self.selection(type, depth)} }}"

    def arguments(self, definition: GraphQLField, type: str, name: str) -> str:
        texts = []
        is_admin = any(key.endswith(f".{name}") and REQUIRED[key] in OPERATORS for key in REQUIRED)
        drawn: dict[str, Any] = {}
        if "perPage" in definition.args:
            # Most are of another list, as filters and parents differ; those of REST are not.
            coordinate = self.draw(st.sampled_from([*ROOT_LISTS]))
            drawn = self.values.paging(self.draw, coordinate, None, {}, by_relay=True)
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
        if isinstance(nullable, GraphQLInputObjectType):
            return {name: self.any_value(each.type) for name, each in nullable.fields.items()}
        if isinstance(nullable, GraphQLEnumType):
            return EnumWord(self.draw(st.sampled_from([*nullable.values])))
        kinds = {"Boolean": False, "Float": 1.0, "Int": 1}
        return kinds.get(nullable.name, self.draw(st.sampled_from(self.values.all_ids)))

    def argument(self, name: str, argument: GraphQLArgument, value: Any) -> str:
        """A variable, or the value itself."""
        is_encoded = isinstance(value, (Cursor, NodeId)) or (
            isinstance(value, list) and isinstance(value[0], NodeId)
        )
        if not is_encoded and name != "svg" and self.draw(st.booleans()):
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
    return value if isinstance(value, EnumWord) else json.dumps(value, ensure_ascii=False)
