"""What a resolver is handed: the caller, the store, and loaders that live for one request.

Resolvers of sibling records ask one by one; the loaders gather what is asked in the same turn of
the event loop and make one MongoDB command of it.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

import strawberry

from resolvers.arguments import checked_slice
from resolvers.caller import Caller
from resolvers.errors import TooManyRecords
from resolvers.loading import Load, Loader
from resolvers.routables import Routable
from resolvers.routers import Routers
from storage.fields import Record
from storage.kinds import Document, Kind
from storage.lookups import Lookup, Lookups
from storage.maps import MAPS, NETWORK
from storage.networks import find_digest
from storage.paging import Page
from storage.store import Store

R = TypeVar("R", bound=Record)
T = TypeVar("T")
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
    _store: Store
    base_url: str = ""
    """Where clients reach the service, for addresses within responses."""
    routers: Routers | None = None
    """Shared by all requests of a gateway."""
    lookups: Lookups | None = None
    """Shared likewise; None where everything is to be read now, as by what writes."""
    read: set[str] = field(default_factory=set)
    """The collections that the answer so far comes from."""
    is_kept_track_of: bool = True
    """Whether `read` names all that the answer comes from."""
    _loaders: dict[Any, Loader[Any, Any]] = field(default_factory=dict)
    _records: int = 0

    @property
    def store(self) -> Store:
        """For what the methods here do not offer; nobody keeps track of what is read with it."""
        self.is_kept_track_of = False
        return self._store

    def _reading(self, kind: Kind[Any]) -> Store:
        self.read.add(kind.name)
        return self._store

    def forget(self) -> None:
        """Drops what was read, so that the request may be answered from the start."""
        self._loaders.clear()
        self._records = 0

    async def one(self, kind: Kind[R], key: str) -> R | None:
        """The visible record with this key; batched with its siblings'."""

        async def read() -> R | None:
            [record] = await self.each(kind, [key])
            return record

        return await self._looked_up(kind, "", key, read)

    async def each(self, kind: Kind[R], keys: Sequence[str | None]) -> list[R | None]:
        """The visible record for each key, None where there is none; None for no key."""

        async def load(keys: list[str | None]) -> Sequence[R | None]:
            wanted = [key for key in keys if key is not None]
            found = await self.many(kind, wanted)
            return [None if key is None else found.get(key) for key in keys]

        return await self._loader(kind.name, load).load(keys)

    async def lists(
        self,
        relation: Relation[R],
        parents: Sequence[Parent],
        page: int | None,
        per_page: int | None,
        after: str | None,
    ) -> list[Page[R]]:
        """A page of each parent's list; batched with those of the parents' siblings.

        Raises InvalidInput.
        """
        slice = checked_slice(page, per_page, after)

        async def load(parents: list[Parent]) -> Sequence[Page[R]]:
            wheres = [relation.where(*parent) for parent in parents]
            store = self._reading(relation.kind)
            pages = await store.page_each(relation.kind, self.caller.scope, wheres, slice)
            return self._counted(pages)

        return await self._loader((relation, slice), load).load(parents)

    async def many(self, kind: Kind[R], keys: Iterable[str]) -> dict[str, R]:
        """The visible records among `keys`, by key."""
        wanted = set(keys)
        if not wanted:
            return {}
        return await self._reading(kind).get_many(kind, self.caller.scope, wanted)

    async def keys(self, kind: Kind[Any], where: Document, most: int) -> list[str]:
        """The keys of up to `most` visible records that meet a condition."""
        return await self._reading(kind).keys(kind, self.caller.scope, where, most)

    async def routable(self, map_id: str) -> Routable | None:
        """What answers questions about the ways of a visible map; None where it is not routable."""

        async def read() -> str | None:
            return await find_digest(self._store.database, self.caller.scope, map_id)

        digest = await self._looked_up(MAPS, NETWORK, map_id, read)
        if digest is None or self.routers is None:
            return None
        routable = await self.routers.get(digest, map_id)
        self.is_kept_track_of &= routable is not None  # a file that comes is told by no change
        return routable

    async def drawings(self, map_ids: Sequence[str | None]) -> list[bytes | None]:
        """What each map's drawing was parsed to, as JSON; None for no map."""

        async def load(map_ids: list[str | None]) -> Sequence[bytes | None]:
            wanted = [map_id for map_id in map_ids if map_id is not None]
            store = self._reading(MAPS)
            found = await store.drawings(self.caller.scope, wanted) if wanted else {}
            return [None if map_id is None else found.get(map_id) for map_id in map_ids]

        return await self._loader("drawings", load).load(map_ids)

    async def counts(
        self, relation: Relation[Any], parents: Sequence[Parent], most: int
    ) -> list[int]:
        """How long each list is, counted no further than `most`; for planning, not for showing."""

        async def load(parents: list[Parent]) -> list[int]:
            wheres = [relation.where(*parent) for parent in parents]
            return await self._reading(relation.kind).count_each(relation.kind, wheres, most)

        return await self._loader((relation, most), load).load(parents)

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
        store = self._reading(kind)
        return self._counted([await store.page(kind, self.caller.scope, where, slice)])[0]

    async def _looked_up(
        self, kind: Kind[Any], field: str, key: str, read: Callable[[], Awaitable[T | None]]
    ) -> T | None:
        self.read.add(kind.name)
        if self.lookups is None:
            return await read()
        return await self.lookups.of(Lookup(kind.name, field, self.caller.scope, key), read)

    def _counted(self, pages: list[Page[R]]) -> list[Page[R]]:
        self._records += sum(len(page.data) for page in pages)
        if self._records > MOST_RECORDS:
            raise TooManyRecords(MOST_RECORDS)
        return pages

    def _loader(self, name: Any, load: Load[Any, Any]) -> Loader[Any, Any]:
        if name not in self._loaders:
            self._loaders[name] = Loader(load, MOST_KEYS)
        return self._loaders[name]


Info: TypeAlias = strawberry.Info[Context, None]
