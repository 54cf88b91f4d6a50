"""The shared world as the tests of resolvers read it."""

from tests.resolvers.conftest import directory

__all__ = ["directory"]
