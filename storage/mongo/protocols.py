"""Types of the MongoDB client: the methods of both drivers that Floorgate uses.

Motor and PyMongo's asyncio client share no base class. Where one returns a value and the other an
awaitable (`Client.start_session`, `Client.close`, `Collection.aggregate`), call the function of
`storage.mongo.driver` instead.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, TypeAlias, TypeVar

from bson import Timestamp
from pymongo import DeleteMany, DeleteOne, IndexModel, UpdateOne
from pymongo.results import DeleteResult, UpdateResult

from storage.records.kinds import Document

T = TypeVar("T")

Filter: TypeAlias = Mapping[str, Any]
FieldProjection: TypeAlias = Mapping[str, Any] | Sequence[str]
Pipeline: TypeAlias = Sequence[Mapping[str, Any]]
Update: TypeAlias = Mapping[str, Any] | Pipeline
SortOrder: TypeAlias = Sequence[tuple[str, int]]
WriteOperation: TypeAlias = UpdateOne | DeleteOne | DeleteMany


class Cursor(Protocol):
    """The documents of a query, fetched when read."""

    def __aiter__(self) -> AsyncIterator[Document]: ...

    def sort(self, key: str | SortOrder, direction: int | None = None) -> "Cursor": ...

    def hint(self, index: SortOrder) -> "Cursor": ...

    def to_list(self, length: int | None) -> Awaitable[list[Document]]: ...


class RawCursor(Protocol):
    """The BSON of a query's documents, a reply of MongoDB at a time."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...


class Session(Protocol):
    """A client session: a transaction or a snapshot."""

    session_id: Mapping[str, Any]

    async def __aenter__(self) -> "Session": ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    @property
    def operation_time(self) -> Timestamp | None: ...

    def end_session(self) -> Awaitable[None]: ...

    def with_transaction(self, callback: Callable[["Session"], Awaitable[T]]) -> Awaitable[T]: ...


class Collection(Protocol):
    """A collection."""

    @property
    def name(self) -> str: ...

    @property
    def read_preference(self) -> object: ...

    def aggregate(self, pipeline: Pipeline, **options: Any) -> Cursor | Awaitable[Cursor]: ...

    def bulk_write(
        self,
        requests: Sequence[WriteOperation],
        *,
        ordered: bool = True,
        session: Session | None = None,
    ) -> Awaitable[object]: ...

    def create_index(self, keys: str | SortOrder, *, unique: bool = False) -> Awaitable[str]: ...

    def create_indexes(self, indexes: Sequence[IndexModel]) -> Awaitable[list[str]]: ...

    def count_documents(self, filter: Filter) -> Awaitable[int]: ...

    def delete_many(
        self, filter: Filter, *, session: Session | None = None
    ) -> Awaitable[DeleteResult]: ...

    def delete_one(
        self, filter: Filter, *, session: Session | None = None
    ) -> Awaitable[DeleteResult]: ...

    def distinct(
        self, key: str, filter: Filter | None = None, *, session: Session | None = None
    ) -> Awaitable[list[Any]]: ...

    def drop(self) -> Awaitable[None]: ...

    def drop_index(self, index_or_name: str) -> Awaitable[None]: ...

    def find(
        self,
        filter: Filter | None = None,
        projection: FieldProjection | None = None,
        *,
        skip: int = 0,
        limit: int = 0,
        sort: SortOrder | None = None,
        batch_size: int = 0,
        session: Session | None = None,
    ) -> Cursor: ...

    def find_one(
        self,
        filter: Filter | None = None,
        projection: FieldProjection | None = None,
        *,
        session: Session | None = None,
    ) -> Awaitable[Document | None]: ...

    def find_one_and_update(
        self,
        filter: Filter,
        update: Update,
        *,
        return_document: bool = False,
        session: Session | None = None,
    ) -> Awaitable[Document | None]: ...

    def find_raw_batches(
        self,
        filter: Filter,
        *,
        limit: int = 0,
        sort: SortOrder | None = None,
        session: Session | None = None,
    ) -> RawCursor: ...

    def insert_many(
        self,
        documents: Sequence[Mapping[str, Any]],
        *,
        ordered: bool = True,
        bypass_document_validation: bool | None = None,
        session: Session | None = None,
    ) -> Awaitable[object]: ...

    def insert_one(
        self, document: Document, *, session: Session | None = None
    ) -> Awaitable[object]: ...

    def with_options(self, **options: Any) -> "Collection": ...

    def update_many(self, filter: Filter, update: Update) -> Awaitable[UpdateResult]: ...

    def update_one(
        self,
        filter: Filter,
        update: Update,
        *,
        upsert: bool = False,
        bypass_document_validation: bool | None = None,
        session: Session | None = None,
    ) -> Awaitable[UpdateResult]: ...


class Database(Protocol):
    """A database."""

    @property
    def name(self) -> str: ...

    @property
    def client(self) -> "Client": ...

    def __getitem__(self, collection: str) -> Collection: ...

    def command(
        self, command: str | Mapping[str, Any], value: Any = 1, **options: Any
    ) -> Awaitable[Document]: ...

    def create_collection(self, name: str, **options: Any) -> Awaitable[Collection]: ...

    def drop_collection(self, name: str) -> Awaitable[object]: ...

    def list_collection_names(self) -> Awaitable[list[str]]: ...


class Client(Protocol):
    """A client: connections to one MongoDB."""

    @property
    def admin(self) -> Database: ...

    def __getitem__(self, database: str) -> Database: ...

    def close(self) -> Awaitable[None] | None: ...

    def drop_database(self, name: str) -> Awaitable[None]: ...

    def start_session(
        self, *, causal_consistency: bool | None = None, snapshot: bool | None = False
    ) -> Session | Awaitable[Session]: ...
