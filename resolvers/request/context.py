"""What a resolver is handed: the caller, the store, and loaders that live for one request.

Resolvers of sibling records ask one by one; the loaders gather what is asked in the same turn of
the event loop and make one MongoDB command of it.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

import strawberry

from resolvers.networks.routable_maps import RoutableMap
from resolvers.networks.router_cache import RouterCache
from resolvers.request.arguments import parse_page_request
from resolvers.request.caller import Caller
from resolvers.request.errors import TooManyRecordsError
from resolvers.request.loading import BatchLoad, Loader
from storage.cache.record_cache import RecordCache, RecordCacheKey
from storage.maps import MAPS, NETWORK_FIELD
from storage.networks import find_network_digest
from storage.records.fields import Record
from storage.records.kinds import Document, Kind
from storage.records.paging import Page
from storage.store import Store

R = TypeVar("R", bound=Record)
T = TypeVar("T")
ParentKey: TypeAlias = tuple[Any, ...]

MAX_RECORDS_PER_REQUEST = 100_000
"""Records that one request may read in lists, whatever was estimated before it ran."""


MAX_KEYS_PER_COMMAND = 10_000
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
    router_cache: RouterCache | None = None
    """Shared by all requests of a gateway."""
    record_cache: RecordCache | None = None
    """Shared likewise; None where everything is to be read now, as by what writes."""
    collections_read: set[str] = field(default_factory=set)
    """The collections that the answer so far comes from."""
    reads_tracked: bool = True
    """Whether `read` names all that the answer comes from."""
    _loaders: dict[Any, Loader[Any, Any]] = field(default_factory=dict)
    _record_count: int = 0

    @property
    def untracked_store(self) -> Store:
        """For what the methods here do not offer; nobody keeps track of what is read with it."""
        self.reads_tracked = False
        return self._store

    def _tracked_store(self, kind: Kind[Any]) -> Store:
        self.collections_read.add(kind.name)
        return self._store

    def reset_reads(self) -> None:
        """Drops what was read, so that the request may be answered from the start."""
        self._loaders.clear()
        self._record_count = 0

    async def load(self, kind: Kind[R], key: str) -> R | None:
        """The visible record with this key; batched with its siblings'."""

        async def read() -> R | None:
            [record] = await self.load_aligned(kind, [key])
            return record

        return await self._get_or_load(kind, "", key, read)

    async def load_aligned(self, kind: Kind[R], keys: Sequence[str | None]) -> list[R | None]:
        """The visible record for each key, None where there is none; None for no key."""

        async def load(keys: list[str | None]) -> Sequence[R | None]:
            wanted = [key for key in keys if key is not None]
            found = await self.load_many(kind, wanted)
            return [None if key is None else found.get(key) for key in keys]

        return await self._get_loader(kind.name, load).load(keys)

    async def load_pages(
        self,
        relation: Relation[R],
        parents: Sequence[ParentKey],
        page: int | None,
        per_page: int | None,
        after: str | None,
    ) -> list[Page[R]]:
        """A page of each parent's list; batched with those of the parents' siblings.

        Raises InvalidInput.
        """
        slice = parse_page_request(page, per_page, after)

        async def load(parents: list[ParentKey]) -> Sequence[Page[R]]:
            wheres = [relation.where(*parent) for parent in parents]
            store = self._tracked_store(relation.kind)
            pages = await store.load_pages(relation.kind, self.caller.scope, wheres, slice)
            return self._count_records(pages)

        return await self._get_loader((relation, slice), load).load(parents)

    async def load_many(self, kind: Kind[R], keys: Iterable[str]) -> dict[str, R]:
        """The visible records among `keys`, by key."""
        wanted = set(keys)
        if not wanted:
            return {}
        return await self._tracked_store(kind).load_records(kind, self.caller.scope, wanted)

    async def list_keys(self, kind: Kind[Any], where: Document, limit: int) -> list[str]:
        """The keys of up to `most` visible records that meet a condition."""
        return await self._tracked_store(kind).list_keys(kind, self.caller.scope, where, limit)

    async def load_routable_map(self, map_id: str) -> RoutableMap | None:
        """What answers questions about the ways of a visible map; None where it is not routable."""

        async def read() -> str | None:
            return await find_network_digest(self._store.database, self.caller.scope, map_id)

        digest = await self._get_or_load(MAPS, NETWORK_FIELD, map_id, read)
        if digest is None or self.router_cache is None:
            return None
        routable = await self.router_cache.get_or_load(digest, map_id)
        self.reads_tracked &= routable is not None  # a file that comes is told by no change
        return routable

    async def load_drawings(self, map_ids: Sequence[str | None]) -> list[bytes | None]:
        """What each map's drawing was parsed to, as JSON; None for no map."""

        async def load(map_ids: list[str | None]) -> Sequence[bytes | None]:
            wanted = [map_id for map_id in map_ids if map_id is not None]
            store = self._tracked_store(MAPS)
            found = await store.load_drawings(self.caller.scope, wanted) if wanted else {}
            return [None if map_id is None else found.get(map_id) for map_id in map_ids]

        return await self._get_loader("drawings", load).load(map_ids)

    async def count_lists(
        self, relation: Relation[Any], parents: Sequence[ParentKey], max_count: int
    ) -> list[int]:
        """How long each list is, counted no further than `most`; for planning, not for showing."""

        async def load(parents: list[ParentKey]) -> list[int]:
            wheres = [relation.where(*parent) for parent in parents]
            return await self._tracked_store(relation.kind).count_many(
                relation.kind, wheres, max_count
            )

        return await self._get_loader((relation, max_count), load).load(parents)

    async def list_page(
        self,
        kind: Kind[R],
        where: Document,
        page: int | None,
        per_page: int | None,
        after: str | None,
    ) -> Page[R]:
        """A page of all visible records that meet a condition. Raises InvalidInput."""
        slice = parse_page_request(page, per_page, after)
        store = self._tracked_store(kind)
        return self._count_records([await store.list_page(kind, self.caller.scope, where, slice)])[
            0
        ]

    async def _get_or_load(
        self, kind: Kind[Any], field: str, key: str, read: Callable[[], Awaitable[T | None]]
    ) -> T | None:
        self.collections_read.add(kind.name)
        if self.record_cache is None:
            return await read()
        return await self.record_cache.get_or_load(
            RecordCacheKey(kind.name, field, self.caller.scope, key), read
        )

    def _count_records(self, pages: list[Page[R]]) -> list[Page[R]]:
        self._record_count += sum(len(page.data) for page in pages)
        if self._record_count > MAX_RECORDS_PER_REQUEST:
            raise TooManyRecordsError(MAX_RECORDS_PER_REQUEST)
        return pages

    def _get_loader(self, name: Any, load: BatchLoad[Any, Any]) -> Loader[Any, Any]:
        if name not in self._loaders:
            self._loaders[name] = Loader(load, MAX_KEYS_PER_COMMAND)
        return self._loaders[name]


Info: TypeAlias = strawberry.Info[Context, None]
