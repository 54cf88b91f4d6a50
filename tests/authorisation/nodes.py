"""The fields that find nodes, and the ids of nodes, for a key that sees some records."""

import base64
from collections.abc import Callable
from typing import Any, TypeAlias

from graphql import GraphQLError

from tests.authorisation.catalog import Record
from tests.authorisation.directory import NODES, WAYS_TO_NODES, View
from tests.authorisation.requests import NodeId

Edge: TypeAlias = Callable[[View, Record, dict[str, Any]], Any]


def _find_node(view: View, text: str) -> Record | None:
    """Return the record of a node id. Raises GraphQLError."""
    type, key = NodeId.decode(text)
    view.check(WAYS_TO_NODES.get(type, ""), {})
    kind, fields = NODES[type]
    if type == "Attribute":
        group = view.one(kind, group_id=key[0])
        found = [a for a in group["attributes"] if a["attribute_id"] == key[1]] if group else []
        record = {**found[0], "group_id": key[0]} if found else None
    else:
        record = view.one(kind, **dict(zip(fields, key, strict=True)))
    return record and {**record, "__typename": type}


def _find_nodes(view: View, source: Record, given: dict[str, Any]) -> list[Any]:
    nodes: list[Any] = []
    for text in given["ids"]:
        try:
            nodes.append(_find_node(view, text))
        except GraphQLError as failed:
            nodes.append(failed)
    return nodes


def _node_id(type: str) -> Edge:
    fields = NODES[type][1]
    return lambda view, source, given: NodeId(type, tuple(source[f] for f in fields)).encode()


def _entity_id(type: str) -> Edge:
    node_id = _node_id(type)

    def find(view: View, source: Record, given: dict[str, Any]) -> str:
        text = base64.urlsafe_b64decode(node_id(view, source, given) + "==").decode()
        return text.partition(":")[2]

    return find


NODE_EDGES: dict[str, Edge] = {
    "Query.node": lambda view, source, given: _find_node(view, given["id"]),
    "Query.nodes": _find_nodes,
    **{f"{type}.nodeId": _node_id(type) for type in NODES},
    **{f"{type}.id": _entity_id(type) for type, (_, fields) in NODES.items() if fields != ("id",)},
}
