"""What a key may see, from the records of a bundle alone.

`run` answers any operation of the schema for a key with some assets, permissions and flags. It
shares nothing with the service but the schema's text. `ANY` stands for a value that it leaves open:
a time, a cursor, the length of a walk.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import graphql
from graphql import GraphQLError, GraphQLObjectType, GraphQLResolveInfo, get_named_type

from rest.names import to_snake_case
from schema.root import build_sdl
from tests.authorisation.catalog import Record
from tests.authorisation.directory import ANY, ANY_NUMBER, View, decode_cursor, error
from tests.authorisation.edges import EDGES
from tests.authorisation.lists import digest_of
from tests.authorisation.routing_edges import require_routable

SCHEMA = graphql.build_schema(build_sdl())
for _type in SCHEMA.type_map.values():
    if isinstance(_type, graphql.GraphQLEnumType) and not _type.name.startswith("__"):
        _type.coerce_output_value = str  # type: ignore[method-assign,assignment] # of `ANY`


class OracleGap(AssertionError):
    """The schema has something that the oracle does not know yet."""


class Answer(NamedTuple):
    """The data of an operation, and the code of each error with its path."""

    data: Any
    errors: set[tuple[str, str]]


def run(view: View, document: str, variables: Mapping[str, Any]) -> Answer:
    """Return the answer to an operation. Raises OracleGap."""
    result = graphql.execute_sync(
        SCHEMA,
        graphql.parse(document),
        context_value=view,
        variable_values=dict(variables),
        field_resolver=_resolve,
    )
    for each in result.errors or ():
        if each.original_error is not None and not isinstance(each.original_error, GraphQLError):
            raise each.original_error
    errors = {
        (str((each.extensions or {}).get("code")), _to_path(each.path))
        for each in result.errors or ()
    }
    for path in view.open_paths:
        _put(result.data, path, ANY_NUMBER)
    return Answer(result.data, errors)


def _put(data: Any, path: list[str | int], value: Any) -> None:
    """Put a value into a result, unless an error has taken its place."""
    *parents, last = path
    for key in parents:
        data = data and data[key]
    if data:
        data[last] = value


def _to_path(path: Iterable[Any] | None) -> str:
    return "/".join(map(str, path or ()))


def _resolve(source: Record | None, info: GraphQLResolveInfo[View], **given: Any) -> Any:
    view, coordinate = info.context, f"{info.parent_type.name}.{info.field_name}"
    view.check(coordinate, given)
    if coordinate == "Map.route":
        require_routable(view, source or {}, [given["from"], given["to"]])
        assert info.path is not None
        view.open_paths.append(info.path.as_list())
        return None
    # What it draws is in `parsed`, which is compared.
    if coordinate in ("Map.drawing", "Unit.shape"):
        assert info.path is not None
        view.open_paths.append(info.path.as_list())
        return None
    # Warnings depend on the drawing, not on the key.
    if coordinate in ("Reachable.areas", "UnitMapParse.warnings"):
        view.open_paths.append(info.path.as_list())
        return []
    # tests/resolvers/test_changes.py makes changes, and looks at what each key is told of them.
    if coordinate == "Query.changes":
        view.open_paths.append(info.path.as_list())
        return {"data": [], "cursor": ANY, "has_more": False}
    if after := given.get("after"):
        record = source or {}
        parent_id = record.get("id", record.get("group_id"))
        if decode_cursor(after)[0] != digest_of(coordinate, parent_id, given):
            raise error("INVALID_INPUT")
    if coordinate in ("Map.closable", "Query.removals"):
        assert info.path is not None
        view.open_paths.append(info.path.as_list())
        return view.page("maps", [], given)
    if coordinate.startswith("Mutation."):
        given = given["input"]
    if edge := EDGES.get(coordinate):
        return edge(view, source or {}, given)
    return _read_stored(source or {}, info, coordinate)


def _read_stored(source: Record, info: GraphQLResolveInfo[View], coordinate: str) -> Any:
    name = to_snake_case(info.field_name)
    named = get_named_type(info.return_type)
    if name in source:
        return source[name]
    if named.name == "DateTime":
        return ANY
    if isinstance(named, GraphQLObjectType) or graphql.is_non_null_type(info.return_type):
        raise OracleGap(f"tests/authorisation/edges.py does not know {coordinate}")
    return None
