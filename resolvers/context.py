"""What a resolver is handed: the caller, the store, and loaders that live for one request.

Resolvers of sibling records ask one by one; the loaders gather what is asked in the same turn of
the event loop and make one MongoDB command of it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

import strawberry
from strawberry.dataloader import DataLoader

from resolvers.arguments import checked_slice
from resolvers.caller import Caller
from resolvers.errors import TooManyRecords
from resolvers.routers import Routers
from routing.router import Router
from storage.fields import Record
from storage.kinds import Document, Kind
from storage.networks import find_digest
from storage.paging import Page
from storage.store import Store

R = TypeVar("R", bound=Record)
Parent: TypeAlias = tuple[Any, ...]

MOST_RECORDS = 100_000
"""Records that one request may read in lists, whatever was estimated before it ran."""


MOST_KEYS = 10_000
"""Keys in one command: of the longest ids, 10 MB of the 16 that MongoDB takes."""


@dataclass(frozen=True, slots=True, eq=False)
class Relation(Generic[R]):
    """A list that each parent record has, such as the floors of an asset."""

    kind: Kind[R]
    where: Callable[..., Document]
    """From the parent's key fields to the condition that its list meets."""


@dataclass(slots=True)
class Context:
    """One request's context; made afresh for each."""

    caller: Caller
    store: Store
    base_url: str = ""
    """Where clients reach the service, for addresses within responses."""
    routers: Routers | None = None
    """Shared by all requests of a gateway."""
    _loaders: dict[Any, DataLoader[Any, Any]] = field(default_factory=dict)
    _records: int = 0

    async def one(self, kind: Kind[R], key: str) -> R | None:
        """The visible record with this key; batched with its siblings'."""

        async def load(keys: list[str]) -> Sequence[R | None]:
            found = await self.store.get_many(kind, self.caller.scope, keys)
            return [found.get(key) for key in keys]

        record: R | None = await self._loader(kind.name, load).load(key)
        return record

    async def listed(
        self,
        relation: Relation[R],
        parent: Parent,
        page: int | None,
        per_page: int | None,
        after: str | None,
    ) -> Page[R]:
        """A page of the parent's list; batched with those of the parent's siblings.

        Raises InvalidInput.
        """
        slice = checked_slice(page, per_page, after)

        async def load(parents: list[Parent]) -> Sequence[Page[R]]:
            wheres = [relation.where(*parent) for parent in parents]
            pages = await self.store.page_each(relation.kind, self.caller.scope, wheres, slice)
            return self._counted(pages)

        result: Page[R] = await self._loader((relation, slice), load).load(parent)
        return result

    async def many(self, kind: Kind[R], keys: Iterable[str]) -> dict[str, R]:
        """The visible records among `keys`, by key."""
        wanted = set(keys)
        return await self.store.get_many(kind, self.caller.scope, wanted) if wanted else {}

    async def keys(self, kind: Kind[Any], where: Document, most: int) -> list[str]:
        """The keys of up to `most` visible records that meet a condition."""
        return await self.store.keys(kind, self.caller.scope, where, most)

    async def router(self, map_id: str) -> Router | None:
        """What answers questions about the ways of a visible map; None where it is not routable."""
        digest = await find_digest(self.store.database, self.caller.scope, map_id)
        if digest is None or self.routers is None:
            return None
        return await self.routers.get(digest)

    async def drawing(self, map_id: str) -> bytes | None:
        """What a map's drawing was parsed to, as JSON; batched with its siblings'."""

        async def load(map_ids: list[str]) -> Sequence[bytes | None]:
            found = await self.store.drawings(self.caller.scope, map_ids)
            return [found.get(map_id) for map_id in map_ids]

        content: bytes | None = await self._loader("drawings", load).load(map_id)
        return content

    async def count(self, relation: Relation[Any], parent: Parent, most: int) -> int:
        """How long a list is, counted no further than `most`; for planning, never for showing."""

        async def load(parents: list[Parent]) -> list[int]:
            wheres = [relation.where(*parent) for parent in parents]
            return await self.store.count_each(relation.kind, wheres, most)

        count: int = await self._loader((relation, most), load).load(parent)
        return count

    async def page(
        self,
        kind: Kind[R],
        where: Document,
        page: int | None,
        per_page: int | None,
        after: str | None,
    ) -> Page[R]:
        """A page of all visible records that meet a condition. Raises InvalidInput."""
        slice = checked_slice(page, per_page, after)
        return self._counted([await self.store.page(kind, self.caller.scope, where, slice)])[0]

    def _counted(self, pages: list[Page[R]]) -> list[Page[R]]:
        self._records += sum(len(page.data) for page in pages)
        if self._records > MOST_RECORDS:
            raise TooManyRecords(MOST_RECORDS)
        return pages

    def _loader(self, name: Any, load: Callable[[list[Any]], Any]) -> DataLoader[Any, Any]:
        if name not in self._loaders:
            self._loaders[name] = DataLoader(load_fn=load, max_batch_size=MOST_KEYS)
        return self._loaders[name]


Info: TypeAlias = strawberry.Info[Context, None]
