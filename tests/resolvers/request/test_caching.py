"""The LRU cache is offered to packages above `resolvers` under a name of its own."""

from graphql import build_schema

from resolvers.request import caching
from schema import execution
from storage.cache import cache


def test_it_is_the_cache_of_storage() -> None:
    assert caching.__all__ == ["Cache"]
    assert caching.Cache is cache.Cache


def test_operations_are_cached_in_it() -> None:
    executor = execution.Executor(build_schema("type Query { unit: String }"))
    assert isinstance(executor._operation_cache, caching.Cache)
