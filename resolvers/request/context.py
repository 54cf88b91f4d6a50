"""The context of a request: the caller, reads of the records that it may see, and the deadline; the
resolvers of one record.

Resolvers of sibling records request one record each. Loaders collect the requests of one iteration
of the event loop and read the records with one MongoDB command.
"""

import asyncio
import math
import time
from array import array
from collections import Counter
from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field as field_of_dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar, cast

import strawberry
from msgspec import Struct, field
from msgspec.structs import replace

from resolvers.processing.process_pool import ProcessPool
from resolvers.request.caller import Caller
from resolvers.request.errors import (
    DeadlineExceededError,
    LateFieldError,
    LimitExceededError,
    UnavailableError,
)
from resolvers.request.inputs import PageArguments, Resolver, batch_resolver, find_list_error
from resolvers.routable_maps import RoutableMap, RoutableMapCache
from routing.values import Restrictions
from storage import networks
from storage.administration.audit import Origin
from storage.administration.saved_endpoints import EndpointPlan
from storage.cache.cache import Cache as Cache
from storage.cache.read_set import MAX_TAGS, Read, ReadSet, find_tags, key_tag
from storage.cache.record_cache import RecordCache, RecordCacheKey
from storage.catalog import MAPS, NETWORK_FIELD
from storage.changes.hub import ChangeHub
from storage.mongo import driver
from storage.mongo.spans import Span as Span
from storage.mongo.spans import note_long_work
from storage.records.kinds import Document, Record, RecordType
from storage.records.paging import MAX_TOTAL_COUNT, KeyRange, ListSource, Page, PageRequest
from storage.records.visibility import AssetScope
from storage.store import Store, build_page

MAX_RECORDS_PER_REQUEST = 100_000
"""Limit on the records that one operation reads in lists, and on the cost of what it returns."""


class Budget(Struct):
    """Counts what an operation does while it runs, and ends it over a limit.

    All methods but `count_bytes` raise LimitExceededError, again and again once a limit is
    exceeded.

    >>> budget = Budget(max_bytes=1_000)
    >>> budget.count_bytes(800)
    >>> budget.count_bytes(800)
    >>> budget.check_least(budget.drawing_bytes)
    Traceback (most recent call last):
    resolvers.request.errors.LimitExceededError: The response would have at least 1600 bytes, ...
    """

    max_bytes: int | None = None
    """Limit on the bytes of the response; None for none."""
    drawing_bytes: int = 0
    """The drawings in the response, a drawing as often as it is written."""
    waited_seconds: float = 0.0
    """The operation waited so long for an equal one; it counts for its deadline."""
    records_read: int = 0
    """The records of lists that were read so far."""
    cost: int = 0
    """The cost of what was returned so far, in records."""

    def count_read(self, count: int) -> None:
        """Count the records of a list that was read."""
        self.records_read += count
        if self.records_read > MAX_RECORDS_PER_REQUEST:
            raise _too_many_records()

    def count_cost(self, count: int) -> None:
        """Count records that are returned, as often as they are, or the cost of a field."""
        self.cost += count
        if self.cost > MAX_RECORDS_PER_REQUEST:
            raise _too_many_records()

    def count_bytes(self, count: int) -> None:
        """Count bytes of drawings that the response will contain.

        They are checked in the end, when the number is the same however the operation was executed.
        Until the response is written there are no copies of a drawing.
        """
        self.drawing_bytes += count

    def check_least(self, size: int) -> None:
        """Check a size that the response will have at least."""
        self.check_response(size, "at least ")

    def check_response(self, size: int, prefix: str = "") -> None:
        """Check the size of the whole response."""
        if self.max_bytes is not None and size > self.max_bytes:
            raise LimitExceededError(
                f"The response would have {prefix}{size} bytes, over the limit of "
                f"{self.max_bytes}; ask for smaller pages with perPage, or for parsed of fewer "
                "maps",
                limit="response_bytes",
                maximum=self.max_bytes,
                requested=size,
            )


def _too_many_records() -> LimitExceededError:
    return LimitExceededError(
        f"The operation returns more than {MAX_RECORDS_PER_REQUEST} records, counting each as "
        "often as it occurs and expensive fields by their cost; ask for smaller pages with perPage",
        limit="records",
        maximum=MAX_RECORDS_PER_REQUEST,
    )


K = TypeVar("K")
V = TypeVar("V")

BatchLoad = Callable[[list[K]], Awaitable[Sequence[V]]]
"""Return a value for each of some distinct keys, in their order."""


class DataLoader(Struct, Generic[K, V], eq=False):
    """Load values by key, each once, and keep them as long as the loader.

    Callers in the same iteration of the event loop share one call of `load`. More than `max_keys`
    keys are loaded by several calls, one after another.

    >>> async def load(keys):
    ...     print("load", keys)
    ...     return [key * 2 for key in keys]
    >>> async def main():
    ...     loader = DataLoader(load, 100)
    ...     return await asyncio.gather(loader.load([3, 1]), loader.load_one(2), loader.load([1]))
    >>> asyncio.run(main())
    load [3, 1, 2]
    [[6, 2], 4, [2]]
    """

    _load: BatchLoad[K, V]
    _max_keys: int
    _loads: "_Loads | None" = None
    _values: dict[K, V] = field(default_factory=dict)
    _batches: "dict[K, _LoadBatch[K]]" = field(default_factory=dict)
    """The batch in which each key is loaded, or failed to."""
    _next_batch: "_LoadBatch[K] | None" = None

    async def load(self, keys: Sequence[K]) -> list[V]:
        """Return the value of each key, which may be the exception of this key alone.

        Raise what loading a batch raised.
        """
        values = self._values
        if missing := [key for key in keys if key not in values]:
            await self._fetch(missing)
        return [values[key] for key in keys]

    def has(self, key: K) -> bool:
        """Return whether a key is loaded, or is being loaded."""
        return key in self._values or key in self._batches

    def keep(self, key: K, value: V) -> None:
        """Have the value of a key, so that it is not loaded."""
        self._values[key] = value

    async def load_one(self, key: K) -> V:
        """Return the value of one key; raise what loading it raised."""
        if key not in self._values:
            if self._next_batch is None and key not in self._batches:
                await self._lead(_LoadBatch({key: None}))
            else:
                await self._fetch((key,))
        value = self._values[key]
        if isinstance(value, Exception):
            raise value
        return value

    async def _fetch(self, keys: Sequence[K]) -> None:
        while missing := [key for key in keys if key not in self._values]:
            new = [key for key in missing if key not in self._batches]
            batch = self._next_batch if new else self._batches[missing[0]]
            if batch is None:
                await self._lead(_LoadBatch(dict.fromkeys(new)))
            else:
                batch.keys.update(dict.fromkeys(new))
                self._batches.update(dict.fromkeys(new, batch))
                await batch.ended.wait()
                if batch.error is not None:
                    raise batch.error

    async def _lead(self, batch: "_LoadBatch[K]") -> None:
        """Load a batch for all its callers, in the task of the first: a new task costs more."""
        self._next_batch = batch
        self._batches.update(dict.fromkeys(batch.keys, batch))
        try:
            if self._loads is None or not self._loads.is_sequential:
                await asyncio.sleep(0)  # others may add keys
            self._next_batch = None
            keys = [*batch.keys]
            for start in range(0, len(keys), self._max_keys):
                part = keys[start : start + self._max_keys]
                self._values.update(zip(part, await self._load(part), strict=True))
        except Exception as error:
            batch.error = error
            raise
        except BaseException:  # this caller is cancelled; another one leads then
            for key in batch.keys:
                del self._batches[key]
            raise
        finally:
            if self._next_batch is batch:
                self._next_batch = None
            batch.ended.set()


class _LoadBatch(Struct, Generic[K], eq=False):
    """Keys that are loaded together."""

    keys: dict[K, None]
    """Distinct, in the order of their requests."""
    error: Exception | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class ReadLog(Struct, eq=False):
    """The parts of collections that a response was read from.

    The response may be cached if the log is complete: a change of one of these parts then
    invalidates it.

    >>> reads = ReadLog()
    >>> reads.add("units")
    >>> reads.collections, reads.is_complete
    ({'units'}, True)
    """

    _tags: dict[str, set[int] | None] = field(default_factory=dict)
    """The tags that were read of each collection; None is all of it."""
    _keys: dict[str, KeyRange | None] = field(default_factory=dict)
    """The keys of each collection of which one page was all that was read."""
    is_complete: bool = True
    """False if the response also depends on something that is not logged."""
    is_constant: bool = False
    """True if the response depends on no data, so that it may be cached without a read."""

    @property
    def collections(self) -> set[str]:
        """The collections that were read, in part at least."""
        return {*self._tags}

    def add(
        self, collection: str, tags: Iterable[int] | None = None, keys: KeyRange | None = None
    ) -> None:
        """Log a read of a collection, or of the records with one of these tags.

        Of these, only the `keys` matter.
        """
        self._keys[collection] = None if collection in self._keys else keys
        known = self._tags.setdefault(collection, set())
        if tags is None:
            self._tags[collection] = None
        elif known is not None:
            known.update(tags)
            if len(known) > MAX_TAGS:
                self._tags[collection] = None

    def add_keys(self, kind: RecordType[Any], keys: Iterable[str]) -> None:
        """Log a read of the records with these `_id`s."""
        self.add(kind.name, map(key_tag, keys))

    def add_lists(
        self, kind: RecordType[Any], scope: AssetScope | None, wheres: Sequence[Document]
    ) -> None:
        """Log a read of the records in a scope that match one of these conditions."""
        for where in wheres:
            if self._tags.get(kind.name, ()) is None:
                self.add(kind.name)
                return  # it depends on all of the collection
            self.add(kind.name, find_tags(kind, where, scope))

    def build_read_set(self) -> ReadSet:
        """Return what was read so far."""
        return {
            name: Read(None if tags is None else array("q", tags), self._keys[name])
            for name, tags in self._tags.items()
        }

    def mark_incomplete(self) -> None:
        """Log that the response depends on something else, so that it will not be cached."""
        self.is_complete = False


class EndpointEditor(Protocol):
    """Changes the saved endpoints. It is in the gateway, which knows REST."""

    async def save(
        self,
        database: driver.Database,
        documents: Mapping[str, str],
        origin: Origin | None = None,
        *,
        breaking: bool = False,
        dry_run: bool = False,
    ) -> EndpointPlan:
        """Save the endpoints of documents, which have names: all, or none. Raises RequestError."""

    async def remove(
        self, database: driver.Database, names: Sequence[str], origin: Origin | None = None
    ) -> Sequence[str]:
        """Remove endpoints: all, or none. Raises RequestError."""


R = TypeVar("R", bound=Record)
T = TypeVar("T")
ParentKey: TypeAlias = tuple[Any, ...]

MAX_KEYS_PER_COMMAND = 10_000
"""Keys in one command: with the longest ids 10 MB, of the 16 MB that MongoDB allows."""


@dataclass(frozen=True, slots=True, eq=False)
class Relation(Generic[R]):
    """A list that each parent record has, such as the floors of an asset.

    >>> from storage.catalog import FLOORS
    >>> floors_of_asset = Relation(FLOORS, lambda asset_id: {"asset_id": asset_id})
    >>> floors_of_asset.where("alder-court")
    {'asset_id': 'alder-court'}
    """

    kind: RecordType[R]
    where: Callable[..., Document]
    """Return the condition of a parent's list, from the parent's key fields."""
    identity_length: int = 1
    """So many of the key fields tell lists apart; further ones may change with the data."""

    is_short: bool = False
    """True if its lists have a few records each, however many a page may have."""

    base: "Relation[R] | None" = None
    """The list without filters, if this is a filtered one."""

    def identify(
        self, parent: ParentKey, where: Document, filters: tuple[tuple[str, str], ...]
    ) -> Hashable:
        """Return what tells a parent's list from all others, for cursors."""
        names = where if self.base is None else self.base.where(*parent)
        return self.kind.name, tuple(sorted(names)), parent[: self.identity_length], filters


class FirstPage(NamedTuple):
    """The first page of a list that each parent record has."""

    relation: Relation[Any]
    request: PageRequest


@dataclass(frozen=True, slots=True)
class _ListKey:
    """A condition as the key of a loader."""

    text: str
    where: Document = field_of_dataclass(compare=False)


class _Loads(Struct, eq=False):
    """The loads of a request, which all contexts share that are made from its first."""

    loaders: dict[Any, DataLoader[Any, Any]] = field(default_factory=dict)
    documents: dict[str, Document] = field(default_factory=dict)
    """Documents of maps that were read with their networks, by id."""
    first_pages: dict[Hashable, list[Document]] = field(default_factory=dict)
    """Documents of lists that were read with their parents."""
    is_sequential: bool = False
    """True if one field is resolved at a time, so that none waits for what others may load."""


# A Struct: every request creates a context, and a frozen dataclass takes four times as long.
class Context(Struct, frozen=True, eq=False):
    """The context of one request; create a new one for each."""

    caller: Caller
    _store: Store
    base_url: str = ""
    """The address under which clients reach the service, for links in responses."""
    routable_map_cache: RoutableMapCache | None = None
    """Router cache shared by all requests."""
    record_cache: RecordCache | None = None
    """Record cache shared by all requests; None for mutations, which must read their own writes."""
    drawing_pool: ProcessPool | None = None
    """Processes that parse drawings, shared by all requests."""
    processing_pool: ProcessPool | None = None
    """Processes that process maps, shared by all requests."""
    origin: Origin | None = None
    """Who sends the request, and from where, for the audit log; None for this process itself."""
    change_hub: ChangeHub | None = None
    """The changes, shared by all requests; None outside of a gateway."""
    waited_seconds: float = 0.0
    """The request had waited so long for MongoDB before; it counts for the deadline."""
    has_checked_inputs: bool = False
    """True if the operation's inputs were checked before it was run, so that no field need."""
    reads_networks: bool = False
    """True to read the network of a map with the map, for a query that routes on it."""
    first_page: FirstPage | None = None
    """The page to read with the record that has the list, for a query that reads just these."""
    endpoint_editor: EndpointEditor | None = None
    """What changes the saved endpoints; None outside of a gateway."""
    precondition: Callable[["Context"], Awaitable[None]] | None = None
    """Called by a write in its transaction, with a context that reads there; raises RequestError
    if what the write depends on does not hold."""
    reads: ReadLog = field(default_factory=ReadLog)
    """The log of what was read for the response so far."""
    budget: Budget = field(default_factory=Budget)
    """It counts what the operation has cost so far, and knows what it may cost."""
    _loads: _Loads = field(default_factory=_Loads)

    def with_record_cache(self, record_cache: RecordCache | None) -> "Context":
        """Return this context with another record cache; read log and budget are shared."""
        return replace(self, record_cache=record_cache)

    def with_first_page(self, first_page: FirstPage) -> "Context":
        """Return this context for a field that gets the record with this list."""
        return replace(self, first_page=first_page)

    def with_precondition(self, precondition: Callable[["Context"], Awaitable[None]]) -> "Context":
        """Return this context for a write that depends on the data being as the client saw it."""
        return replace(self, precondition=precondition)

    def bind_precondition(self) -> Callable[[driver.Session], Awaitable[None]] | None:
        """Return the check of the precondition in a transaction, or None if there is none.

        See docs/decisions/rest/requests-and-responses.md.
        """
        check = self.precondition
        if check is None:
            return None

        async def check_in_transaction(session: driver.Session) -> None:
            store = self._store.in_transaction(session)
            await check(Context(self.caller, store, self.base_url))

        return check_in_transaction

    def bypass_caches(self) -> Store:
        """Return the store for direct access, and keep the response out of the response cache.

        Reads through the store are not logged, so nothing could invalidate the response.
        """
        self.reads.mark_incomplete()
        return self._store

    def end_loads(self) -> None:
        """Free what loaders have: they refer to this context, and would wait for the collector."""
        self._loads.loaders.clear()

    async def get_record(self, kind: RecordType[R], key: str) -> R | None:
        """Return the visible record with this key, or None.

        With the record cache, it comes from there. Without it, one of several that sibling fields
        ask for is read with the others, a parent with the first page of its list, and one that
        nothing else asks for by itself.
        """
        loader = self._get_record_loader(kind)
        if self.record_cache is not None:
            return await self.get_or_load(kind, "", key, partial(loader.load_one, key))
        if self.first_page is not None:
            await self._load_with_first_page(kind, key, self.first_page)
        elif self._loads.is_sequential and not loader.has(key):
            if self.reads_networks:
                [record] = await self._load_records(kind, [key])
            else:
                self.reads.add_keys(kind, (key,))
                record = await self._store.load_record(kind, self.caller.scope, key)
            loader.keep(key, record)
            if not isinstance(record, Exception):
                return record
        return await loader.load_one(key)

    def expect_siblings(self, *, expected: bool) -> None:
        """Say whether fields are resolved concurrently, so that their loads are to share batches.

        Until this is said, they are.
        """
        self._loads.is_sequential = not expected

    async def load_in_order(
        self, kind: RecordType[R], keys: Sequence[str | None]
    ) -> list[R | None]:
        """Return the visible record for each key; None for None and for keys without one.

        In the place of a damaged record is the exception that reading it raised.
        """
        return await self._get_record_loader(kind).load(keys)

    async def load_by_id(self, kind: RecordType[R], keys: Iterable[str]) -> dict[str, R]:
        """Return the visible records among `keys`, by key."""
        distinct = set(keys)
        if not distinct:
            return {}
        self.reads.add_keys(kind, distinct)
        return await self._store.load_records(kind, self.caller.scope, distinct)

    async def load_pages(
        self, relation: Relation[R], parents: Sequence[ParentKey], pages: PageArguments
    ) -> list[Page[R]]:
        """Return a page of each parent's list; batched with those of the parents' siblings.

        A cursor is of one of the lists; in the place of the others is an InvalidInputError. Raises
        InvalidInputError and LimitExceededError.
        """
        page_request = pages.parse()

        async def load(parents: list[ParentKey]) -> Sequence[Any]:
            wheres = [relation.where(*parent) for parent in parents]
            lists = [
                relation.identify(parent, where, pages.filters)
                for parent, where in zip(parents, wheres, strict=True)
            ]
            errors = [find_list_error(page_request, list_id) for list_id in lists]
            read = [where for where, error in zip(wheres, errors, strict=True) if error is None]
            store = self._log_lists(relation.kind, read)
            documents = None
            if self._loads.first_pages:
                documents = self._loads.first_pages.pop(
                    (relation, page_request.part, *parents), None
                )
            if documents is not None:
                found = [await build_page(relation.kind, documents, page_request)]
            else:
                found = await store.load_pages(relation.kind, self.caller.scope, read, page_request)
            self.budget.count_read(sum(len(page.data) for page in found))
            rest = iter(found)
            return [
                error or next(rest).of_list(list_id, ListSource(relation.kind, where))
                for list_id, where, error in zip(lists, wheres, errors, strict=True)
            ]

        # No command reads more than an operation may, so that counting ends in time.
        max_parents = MAX_RECORDS_PER_REQUEST // page_request.per_page or 1
        loader = self.get_loader((relation, page_request, pages.filters), load, max_parents)
        return await loader.load(parents)

    async def list_page(
        self, kind: RecordType[R], where: Document, pages: PageArguments
    ) -> Page[R]:
        """Return a page of all visible records that meet a condition.

        Raises InvalidInputError and LimitExceededError.
        """
        list_id = (kind.name, pages.filters)
        page_request = pages.parse_for_list(list_id)
        scope = self.caller.scope
        page = await self._store.list_page(kind, scope, where, page_request)
        self.reads.add(kind.name, find_tags(kind, where, scope), page.keys)
        self.budget.count_read(len(page.data))
        return page.of_list(list_id, ListSource(kind, where))

    async def count_pages(self, pages: Sequence[Page[Any]]) -> list[int | None]:
        """Return the number of visible records in each page's list, up to MAX_TOTAL_COUNT.

        Lists of one kind are counted in one command, however many fields ask for it.
        """
        counts: dict[int, int] = {}
        by_kind: dict[str, dict[int, ListSource]] = {}
        for page in pages:
            if isinstance(page.source, int):
                counts[id(page)] = min(page.source, MAX_TOTAL_COUNT)
            elif page.source is not None:
                by_kind.setdefault(page.source.kind.name, {})[id(page)] = page.source
        for sources in by_kind.values():
            found = await self._count_lists([*sources.values()])
            counts |= zip(sources, found, strict=True)
        return [counts.get(id(page)) for page in pages]

    async def _count_lists(self, sources: Sequence[ListSource]) -> list[int]:
        kind = sources[0].kind

        async def load(keys: list[_ListKey]) -> Sequence[int]:
            wheres = [key.where for key in keys]
            store = self._log_lists(kind, wheres)
            return await store.count_many(kind, wheres, MAX_TOTAL_COUNT, self.caller.scope)

        loader = self.get_loader(("total", kind.name), load)
        return await loader.load([_ListKey(repr(source.where), source.where) for source in sources])

    async def list_ids(self, kind: RecordType[Any], where: Document, limit: int) -> list[str]:
        """Return the keys of the first `limit` visible records that meet a condition."""
        store = self._log_lists(kind, [where])
        return await store.list_ids(kind, self.caller.scope, where, limit)

    async def count_lists(
        self, relation: Relation[Any], parents: Sequence[ParentKey], max_count: int
    ) -> list[int]:
        """Return the length of each parent's list, or `max_count` if it is longer.

        Use it only to plan a read: records that the caller may not see are counted too.
        """

        async def load(parents: list[ParentKey]) -> list[int]:
            wheres = [relation.where(*parent) for parent in parents]
            # Not only of the caller's assets.
            self.reads.add_lists(relation.kind, None, wheres)
            return await self._store.count_many(relation.kind, wheres, max_count)

        return await self.get_loader((relation, max_count), load).load(parents)

    async def load_routable_map(
        self, map_id: str, avoided: Restrictions | None = None
    ) -> RoutableMap | None:
        """Return the router and locations of a visible map, or None if it is not routable.

        The router uses nothing that is closed, or that is `avoided`.
        """
        return await self._load_restricted_map(
            map_id, lambda closed: closed | avoided if avoided else closed
        )

    async def load_whole_map(self, map_id: str) -> RoutableMap | None:
        """Return a visible map as `load_routable_map` does, with all that is closed."""
        return await self._load_restricted_map(map_id, lambda _: Restrictions())

    async def prepare_routes(self, map_id: str) -> None:
        """Start building what routes on a map need now."""
        network = await self._find_network(map_id)
        if network is not None and self.routable_map_cache is not None:
            self.routable_map_cache.prepare(network.digest, map_id, _to_restrictions(network))

    async def _load_restricted_map(
        self, map_id: str, restrict: Callable[[Restrictions], Restrictions]
    ) -> RoutableMap | None:
        async def load() -> tuple[str, Restrictions] | None:
            document = self._loads.documents.get(map_id)
            if document is not None:  # all reads of a query see the same
                network = networks.read_network(document)
            else:
                network = await self._find_network(map_id)
            return network and (network.digest, _to_restrictions(network))

        network = await self.get_or_load(MAPS, NETWORK_FIELD, map_id, load)
        if network is None or self.routable_map_cache is None:
            return None
        digest, closed = network
        routable = await self.routable_map_cache.get_or_restrict(digest, map_id, restrict(closed))
        if routable is None:
            # Uploading a file emits no change event, so its absence must not be cached.
            self.reads.mark_incomplete()
        return routable

    async def _find_network(self, map_id: str) -> networks.CurrentNetwork | None:
        database = self.log_keys(MAPS, [map_id]).database
        return await networks.find_network(database, self.caller.scope, map_id)

    def log_keys(self, kind: RecordType[Any], keys: Iterable[str]) -> Store:
        """Return the store, to read the records with these keys or what is stored with them."""
        self.reads.add_keys(kind, keys)
        return self._store

    def _log_lists(self, kind: RecordType[Any], wheres: Sequence[Document]) -> Store:
        self.reads.add_lists(kind, self.caller.scope, wheres)
        return self._store

    async def get_or_load(
        self, kind: RecordType[Any], field: str, key: str, load: Callable[[], Awaitable[T | None]]
    ) -> T | None:
        """Return what the record cache has of a field of a record, or else load it."""
        self.reads.add_keys(kind, [key])
        if self.record_cache is None:
            return await load()
        return await self.record_cache.get_or_load(
            RecordCacheKey(kind.name, field, self.caller.scope, key), load
        )

    def get_loader(
        self, name: Any, load: BatchLoad[Any, Any], max_keys: int = MAX_KEYS_PER_COMMAND
    ) -> DataLoader[Any, Any]:
        """Return the loader with this name, which batches what the fields of this request need."""
        loader = self._loads.loaders.get(name)
        if loader is None:
            loader = DataLoader(load, min(max_keys, MAX_KEYS_PER_COMMAND), self._loads)
            self._loads.loaders[name] = loader
        return loader

    def _get_record_loader(self, kind: RecordType[R]) -> DataLoader[str | None, R | None]:
        return self.get_loader(kind.name, partial(self._load_records, kind))

    async def _load_with_first_page(
        self, kind: RecordType[R], key: str, first_page: FirstPage
    ) -> None:
        """Read a record, and with the same command the documents that `load_pages` will need."""
        relation, request = first_page
        scope, where = self.caller.scope, relation.where(key)
        if scope.needs_scan(relation.kind, where):
            return
        store = self.log_keys(kind, [key])
        record, documents = await store.load_with_first_page(
            kind, scope, key, relation.kind, where, request
        )
        self._get_record_loader(kind).keep(key, record)
        if record is not None:
            self._loads.first_pages[relation, request.part, (key,)] = documents

    async def _load_records(
        self, kind: RecordType[R], keys: list[str | None]
    ) -> Sequence[R | None]:
        wanted = [key for key in keys if key is not None]
        if not wanted:
            return [None] * len(keys)
        store, scope = self.log_keys(kind, wanted), self.caller.scope
        if self.reads_networks and self.record_cache is None and kind.name == MAPS.name:
            documents = self._loads.documents
            found = await store.load_records(
                kind, scope, wanted, networks.NETWORK_FIELDS, documents
            )
        else:
            found = await store.load_records(kind, scope, wanted)
        return align(keys, found)


def _to_restrictions(network: networks.CurrentNetwork) -> Restrictions:
    """Return what routes do not use because it is closed."""
    closed = network.closures
    return Restrictions(
        frozenset(closed.connectors), frozenset(closed.doors), frozenset(closed.spaces)
    )


def align(keys: Sequence[str | None], values: dict[str, T]) -> list[T | None]:
    """Return the value of each key; None for None and for keys without one."""
    return [None if key is None else values.get(key) for key in keys]


Info: TypeAlias = strawberry.Info[Context, None]


def record_getter(kind: RecordType[Any], id_argument: Any, description: str) -> Resolver:
    """Return the resolver of the record with an id, of which `id_argument` is the annotation."""

    async def get(info: Info, id: str) -> Any:
        return await info.context.get_record(kind, id)

    get.__annotations__["id"], get.__doc__ = id_argument, description
    return get


def record_loader(
    kind: RecordType[Any], key: str | Callable[[Any], str | None], description: str
) -> Resolver:
    """Return the resolver of the record that the parent's field `key` names, or that it returns."""
    key_of = attrgetter(key) if isinstance(key, str) else key

    async def load(parents: Sequence[Any], info: Info) -> list[Any]:
        return await info.context.load_in_order(kind, [*map(key_of, parents)])

    load.__doc__ = description
    return batch_resolver(load)


# The deadline of an operation, and how work with bounds of its own extends it.
#
# Such work says so itself when it begins. So a field that is skipped, or that the caller may not
# select, extends nothing.


class _TimedRead(driver.OperationDeadline, kw_only=True):
    """A read, and the timer that cancels its task.

    `asyncio.timeout` does the same, and takes 3 microseconds more.
    """

    task: asyncio.Task[Any]
    ends_at: float
    """A time of the event loop, with the extensions that have ended; the timer has the others too.
    """
    extensions: int = 0
    """The number of extensions that have not ended."""
    extended_at: float = 0.0
    is_late: bool = False
    timer: Any = None
    timer_at: float = 0.0

    def start(self, when: float) -> None:
        """Start the timer; uvloop's does not know its time if that has passed."""
        self.timer_at = when
        self.timer = asyncio.get_running_loop().call_at(when, self.cancel)

    def move(self, when: float) -> None:
        """Have the read end at another time."""
        if not (self.timer.cancelled() or self.is_late):
            self.timer.cancel()
            self.start(when)

    def cancel(self) -> None:
        """End the read, which is late."""
        self.is_late = True
        self.task.cancel()


class _TimedWrite(driver.OperationDeadline, kw_only=True):
    seconds: float


_tasks_without_deadline: dict[asyncio.Task[Any], str] = {}
"""What each task within `without_deadline` does."""
ended_without_deadline: Counter[tuple[str, str]] = Counter()
"""What tasks have done there, and how it ended: it `succeeded`, `failed` or was `cancelled`."""


async def limit_read(work: Coroutine[Any, Any, T], context: Context, seconds: float) -> T:
    """Return what `work` returns; cancel it after `seconds`, with all that it has started.

    The time that the request has waited before counts. MongoDB ends its commands at that time, even
    if `extend_read` lets `work` go on.
    Raises DeadlineExceededError, or UnavailableError if MongoDB has no primary.
    """
    remaining = seconds - context.waited_seconds - context.budget.waited_seconds
    loop = asyncio.get_running_loop()
    end = loop.time() + remaining
    task: Any = asyncio.current_task(loop)
    cancellations = task.cancelling()
    read = _TimedRead(time.monotonic() + remaining, task=task, ends_at=end)
    read.start(end)
    try:
        with read:
            return await work
    except asyncio.CancelledError as error:
        if read.is_late and task.cancelling() == cancellations + 1:
            raise _deadline_exceeded(read, seconds, read.timer_at - end) from error
        raise  # somebody else has cancelled the task
    except Exception as error:
        if read.is_late:
            raise _deadline_exceeded(read, seconds, read.timer_at - end) from error
        # MongoDB may have ended a command a moment before.
        if isinstance(error, UnavailableError) and loop.time() >= end:
            raise _deadline_exceeded(read, seconds) from error
        raise
    finally:
        read.timer.cancel()
        if read.is_late:
            task.uncancel()
        context.end_loads()


def _deadline_exceeded(read: _TimedRead, seconds: float, extra_seconds: float = 0.0) -> Exception:
    """Return the error of a read that is late: without a primary, that is why."""
    if read.client is not None and (cause := driver.find_loss(read.client)):
        return UnavailableError("MongoDB has no primary", cause)
    return DeadlineExceededError(seconds + round(extra_seconds, 1))


@contextmanager
def extend_read(seconds: float) -> Iterator[None]:
    """Give the read that this runs in `seconds` more, of which it keeps what passes inside.

    For work that ends within `seconds` by itself, so that its own error comes first.
    """
    read = driver.get_operation()
    if not isinstance(read, _TimedRead):
        yield
        return
    now = asyncio.get_running_loop().time
    if not read.extensions:
        read.extended_at = now()
        read.move(read.ends_at + seconds)
    read.extensions += 1
    try:
        yield
    finally:
        read.extensions -= 1
        if not read.extensions:
            read.ends_at += now() - read.extended_at
            read.move(read.ends_at)


async def limit_write(work: Coroutine[Any, Any, T], context: Context, seconds: float) -> T:
    """Return what `work` returns; let MongoDB end its commands after `seconds`.

    `check_deadline` fails from then on.
    """
    try:
        with _TimedWrite(time.monotonic() + seconds - context.waited_seconds, seconds=seconds):
            return await work
    finally:
        context.end_loads()


def check_deadline() -> None:
    """Raise LateFieldError if it is too late to begin another write."""
    write = driver.get_operation()
    if isinstance(write, _TimedWrite) and time.monotonic() > write.end:
        raise LateFieldError(write.seconds)


@contextmanager
def without_deadline(kind: str) -> Iterator[None]:
    """Let a write take as long as it needs: its time does not count for the fields after it."""
    note_long_work()
    write = driver.get_operation()
    if not isinstance(write, _TimedWrite):
        yield
        return
    remaining = write.end - time.monotonic()
    write.end = math.inf
    task = cast("asyncio.Task[Any]", asyncio.current_task())
    _tasks_without_deadline[task] = kind
    outcome = "failed"
    try:
        yield
        outcome = "succeeded"
    except asyncio.CancelledError:
        outcome = "cancelled"
        raise
    finally:
        del _tasks_without_deadline[task]
        ended_without_deadline[kind, outcome] += 1
        write.end = time.monotonic() + remaining


def get_tasks_without_deadline() -> frozenset[asyncio.Task[Any]]:
    """Return the tasks of requests that now are within `without_deadline`."""
    return frozenset(_tasks_without_deadline)


def count_without_deadline(kind: str) -> int:
    """Return how many tasks do this within `without_deadline` now."""
    return [*_tasks_without_deadline.values()].count(kind)
