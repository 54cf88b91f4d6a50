"""Counting the records of many lists with one command."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from storage.records.kinds import Document, RecordType
from storage.records.visibility import AssetScope

RunUnion: TypeAlias = Callable[[list[list[Document]]], Awaitable[list[Document]]]
"""Returns what several pipelines find."""

LIST_FIELD = "_list"


async def count_lists(
    run: RunUnion, wheres: Sequence[Document], max_count: int, by: str | None = None
) -> list[list[Document]]:
    """Return for each list, up to `max_count` records, how many have each value of a field."""
    if not wheres:
        return []
    groups = await run(
        [_build_branch(number, where, max_count, by) for number, where in enumerate(wheres)]
    )
    groups_of_lists: defaultdict[int, list[Document]] = defaultdict(list)
    for group in groups:
        groups_of_lists[group[LIST_FIELD]].append(group)
    return [groups_of_lists[number] for number in range(len(wheres))]


async def count_visible(
    run: RunUnion,
    kind: RecordType[Any],
    scope: AssetScope,
    wheres: Sequence[Document],
    max_count: int,
) -> list[int]:
    """Count the visible records that match each condition, up to `max_count`.

    For a scope with too many assets for a command, lists of one owner are counted by asset: mostly
    there is one. Other commands name the assets, which takes little beside the count itself.
    """
    counts = [0] * len(wheres)
    by_asset = [scope.needs_scan(kind, where) and _is_of_owner(where) for where in wheres]
    named = [number for number, is_by_asset in enumerate(by_asset) if not is_by_asset]
    visible = [scope.restrict(kind, wheres[number]) for number in named]
    for number, groups in zip(named, await count_lists(run, visible, max_count), strict=True):
        counts[number] = _total(groups)
    grouped = [number for number, is_by_asset in enumerate(by_asset) if is_by_asset]
    found = await count_lists(
        run, [wheres[number] for number in grouped], max_count, kind.scope_field
    )
    for number, groups in zip(grouped, found, strict=True):
        of_assets = [{kind.scope_field: group["_id"], **group} for group in groups]
        counts[number] = _total(scope.keep_visible(kind, of_assets))
        if counts[number] < _total(groups) >= max_count:
            restricted = [scope.restrict(kind, wheres[number])]
            counts[number] = _total(*await count_lists(run, restricted, max_count))
    return counts


def _is_of_owner(where: Document) -> bool:
    return any(isinstance(value, str) for value in where.values())


def _build_branch(number: int, where: Document, max_count: int, by: str | None) -> list[Document]:
    return [
        {"$match": where},
        # Without a condition MongoDB would read the documents, not an index.
        *([] if where else [{"$sort": {"_id": 1}}]),
        {"$limit": max_count},
        {"$group": {"_id": by and f"${by}", "count": {"$sum": 1}}},
        {"$project": {"count": 1, LIST_FIELD: {"$literal": number}}},
    ]


def _total(groups: Sequence[Document]) -> int:
    return sum(group["count"] for group in groups)
