"""The LRU cache, for packages that must not import `storage`."""

from storage.cache.cache import Cache

__all__ = ["Cache"]
