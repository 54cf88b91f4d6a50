"""What becomes of other records when one is removed, from the references that kinds declare."""

from collections.abc import Callable, Sequence
from functools import cache
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

from storage.catalog import RECORD_TYPES, RECORD_TYPES_BY_NAME
from storage.records.kinds import Document, ForeignKey, RecordType, RemovalEffect, stored_name


class Link(NamedTuple):
    """A way in which records of a kind depend on an owner."""

    kind: RecordType[Any]
    effect: RemovalEffect
    condition: Callable[[Sequence[str]], Document]
    """Given the keys of owners, returns the condition on the records that depend on them."""
    path: str
    """Of the field that names the owner."""
    is_same_asset: bool = True
    """Whether owner and dependent have one `asset_id`, by which more indexes can be used."""


@cache
def get_links(owner: str) -> tuple[Link, ...]:
    """Return how other records depend on those of a kind.

    >>> [(link.kind.name, link.effect) for link in get_links("maps")]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('backgrounds', 'remove'), ('units', 'clear'), ('level_tags', 'remove'),
     ('locations', 'remove')]
    """
    links = []
    for kind in RECORD_TYPES:
        for key in kind.foreign_keys:
            if key.kind == owner:
                is_same_asset = ("asset_id", "asset_id") in key.equal_fields
                links.append(Link(kind, key.on_removal, _refer_by(key), key.field, is_same_asset))
        links += [
            Link(kind, "remove", made.condition, made.path)
            for made in kind.made_for
            if made.kind == owner
        ]
    return tuple(links)


def _refer_by(key: ForeignKey) -> Callable[[Sequence[str]], Document]:
    return lambda keys: {stored_name(key.field): {"$in": [*keys]}}


def _sort_owners_first() -> tuple[RecordType[Any], ...]:
    graph: dict[str, set[str]] = {kind.name: set() for kind in RECORD_TYPES}
    for kind in RECORD_TYPES:
        for link in get_links(kind.name):
            if link.effect != "clear":
                graph[link.kind.name].add(kind.name)
    return tuple(RECORD_TYPES_BY_NAME[name] for name in TopologicalSorter(graph).static_order())


OWNERS_FIRST = _sort_owners_first()
"""All kinds, each after those with which its records are removed. `RECORD_TYPES` has backgrounds
before their maps."""
