"""Resolvers of nodes: records of every kind, by an id that is unique among all of them.

A node id is the GraphQL type and the key of a record in base64url. Clients pass it on as it is.
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeAlias

import strawberry

from resolvers.attributes import GroupAttribute, find_attribute
from resolvers.request.caller import ADMINISTER, READ_ATTRIBUTES, Requirement, requirement_of_kind
from resolvers.request.context import Context, Info
from resolvers.request.errors import MAX_QUOTED_CHARACTERS, InvalidInputError, RequestError
from resolvers.request.inputs import Items, argument
from storage.administration.api_keys import ApiKey, list_api_keys
from storage.bundles.description import FIELDS, SHARED
from storage.catalog import ATTRIBUTE_GROUPS, RECORD_TYPES
from storage.records.kinds import RecordType, format_key, get_stored_keys, parse_values

MAX_NODE_IDS = 100
MAX_NODE_ID_CHARACTERS = 8_000
"""Length of a node id: that of a key of three ids of 255 characters is below it."""
EXAMPLE = "VW5pdDp1Z3dvMnRmaXpubQ"

Key: TypeAlias = tuple[str, ...]
"""The identifying fields of a record."""
LoadNodes: TypeAlias = Callable[[Context, Sequence[Key]], Awaitable[Sequence[Any]]]
"""Return the visible record for each key; None without one, an exception for a damaged one."""


class NodeType(NamedTuple):
    """Records that are nodes of one GraphQL type."""

    name: str
    record_type: type
    key_fields: Key
    load: LoadNodes
    requirement: Requirement

    def key_of(self, record: Any) -> Key:
        """Return the identifying fields of a record."""
        return tuple([getattr(record, field) for field in self.key_fields])


async def _load_records(
    kind: RecordType[Any], context: Context, keys: Sequence[Key]
) -> Sequence[Any]:
    """Load records of the catalog, which may be stored under either of two keys."""
    candidates = [get_stored_keys(kind, key) for key in keys]
    records = iter(
        await context.load_in_order(kind, [each for found in candidates for each in found])
    )
    loaded = []
    for key, found in zip(keys, candidates, strict=True):
        of_key = [next(records) for _ in found]
        loaded.append(next((each for each in of_key if _has_key(kind, each, key)), None))
    return loaded


def _has_key(kind: RecordType[Any], record: Any, key: Key) -> bool:
    if record is None or isinstance(record, Exception):
        return record is not None
    return all(
        getattr(record, name) == value for name, value in zip(kind.key_fields, key, strict=True)
    )


async def _load_attributes(context: Context, keys: Sequence[Key]) -> Sequence[Any]:
    groups = await context.load_in_order(ATTRIBUTE_GROUPS, [group_id for group_id, _ in keys])
    return [
        find_attribute(group, attribute_id)
        for group, (_, attribute_id) in zip(groups, keys, strict=True)
    ]


async def _load_api_keys(context: Context, keys: Sequence[Key]) -> Sequence[ApiKey | None]:
    found = {key.id: key for key in await list_api_keys(context.bypass_caches().database)}
    return [found.get(key_id) for (key_id,) in keys]


def _node_type(kind: RecordType[Any]) -> NodeType:
    load = partial(_load_records, kind)
    return NodeType(
        kind.struct.__name__, kind.struct, kind.key_fields, load, requirement_of_kind(kind.name)
    )


NODE_TYPES = (
    *map(_node_type, RECORD_TYPES),
    NodeType(
        "Attribute",
        GroupAttribute,
        ("group_id", "attribute_id"),
        _load_attributes,
        READ_ATTRIBUTES,
    ),
    NodeType("ApiKey", ApiKey, ("id",), _load_api_keys, ADMINISTER),
)
_BY_NAME = {each.name: each for each in NODE_TYPES}
_BY_RECORD_TYPE = {each.record_type: each for each in NODE_TYPES}
_BY_KIND = {kind.name: _BY_RECORD_TYPE[kind.struct] for kind in RECORD_TYPES}


def describe_record_field(type_name: str, field: str) -> str | None:
    """Return what a field of a record means, as in bundles; None for what is no field of theirs.

    >>> describe_record_field("Unit", "floor_id"), describe_record_field("Route", "feet")
    ('The id of the floor that the unit is on.', None)
    """
    own = FIELDS.get(type_name)
    description = own and (own.get(field) or SHARED.get(field))
    return description.text if description else None


def type_name_of(record: Any) -> str:
    """Return the GraphQL type of a record that is a node."""
    return _BY_RECORD_TYPE[type(record)].name


def get_entity_id(record: strawberry.Parent[Any]) -> str:
    """Its identifying fields with slashes between them; as a JSON array if one has a slash."""
    return format_key(_BY_RECORD_TYPE[type(record)].key_of(record))


def get_node_id(record: strawberry.Parent[Any]) -> str:
    """Opaque id that is unique among all types: `node` takes it."""
    node_type = _BY_RECORD_TYPE[type(record)]
    return _encode(node_type, node_type.key_of(record))


def _encode(node_type: NodeType, key: Sequence[str]) -> str:
    text = f"{node_type.name}:{format_key(key)}"
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def build_node_id(kind: str | None, record_id: str | None) -> str | None:
    """Return the node id of a record of a kind; None for what names no record of the catalog.

    >>> build_node_id("units", "ugwo2tfiznm"), build_node_id("units", None)
    ('VW5pdDp1Z3dvMnRmaXpubQ', None)
    """
    node_type = _BY_KIND.get(kind or "")
    values = parse_values(node_type.key_fields, record_id or "") if node_type else None
    return _encode(node_type, values) if node_type and values else None


def parse_node_id(node_id: str) -> tuple[NodeType, Key]:
    """Return the type and the key in a node id. Raises ValueError.

    >>> parse_node_id("VW5pdDp1Z3dvMnRmaXpubQ")[1]
    ('ugwo2tfiznm',)
    """
    if len(node_id) <= MAX_NODE_ID_CHARACTERS:
        with suppress(ValueError):  # also of what is not base64 or UTF-8
            padded = node_id + "=" * (-len(node_id) % 4)
            text = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
            name, _, key_text = text.partition(":")
            node_type = _BY_NAME.get(name)
            values = node_type and parse_values(node_type.key_fields, key_text)
            # A second id of a record would be a second record in the cache of a client.
            if node_type and values and _encode(node_type, values) == node_id:
                return node_type, tuple(values)
    raise ValueError(
        "must be a node id as the service returns it in nodeId, such as"
        f" {EXAMPLE}, not {node_id[:MAX_QUOTED_CHARACTERS]!r}"
    )


NodeIdArgument: TypeAlias = Annotated[
    strawberry.ID, argument("A `nodeId` that the service has returned.", example=EXAMPLE)
]
NodeIdsArgument: TypeAlias = Annotated[
    list[strawberry.ID],
    argument(
        "Values of `nodeId` that the service has returned.",
        Items(0, MAX_NODE_IDS, "ids"),
        example=[EXAMPLE],
    ),
]


async def get_node(info: Info, id: NodeIdArgument) -> Any:
    """Get a record of any type by its `nodeId`; null if there is none that the API key sees.

    It needs the flag and the permission of the fields that lead to such records.
    """
    [node] = await load_nodes(info.context, [id], ["id"])
    if isinstance(node, Exception):
        raise node
    return node


async def get_nodes(info: Info, ids: NodeIdsArgument) -> list[Any]:
    """Get records of any types by their `nodeId`, in the order of `ids`, as `node` does."""
    return await load_nodes(info.context, ids, [f"ids[{index}]" for index in range(len(ids))])


async def load_nodes(context: Context, ids: Sequence[str], inputs: Iterable[str]) -> list[Any]:
    """Return the record or the error of each id; `inputs` are the names of the ids."""
    nodes: list[Any] = [None] * len(ids)
    wanted: dict[NodeType, list[tuple[int, Key]]] = {}
    for position, (node_id, name) in enumerate(zip(ids, inputs, strict=True)):
        try:
            node_type, key = parse_node_id(node_id)
            node_type.requirement.check(context.caller)
        except ValueError as error:
            nodes[position] = InvalidInputError(**{name: str(error)})
        except RequestError as error:
            nodes[position] = error
        else:
            wanted.setdefault(node_type, []).append((position, key))
    loads = (
        node_type.load(context, [key for _, key in keys]) for node_type, keys in wanted.items()
    )
    for keys, loaded in zip(wanted.values(), await asyncio.gather(*loads), strict=True):
        for (position, _), node in zip(keys, loaded, strict=True):
            nodes[position] = node
    return nodes
