"""The map component, built once, and the page with its panels of routes."""

from collections.abc import Iterator

import pytest

from tests.clients.conftest import Site
from tests.clients.environment import build_component
from tests.clients.map.pages import World, open_world


@pytest.fixture(scope="session")
def bundle() -> None:
    """The map component as one file; the test is skipped without npm packages."""
    build_component()


@pytest.fixture(scope="module")
def opened(site: Site) -> Iterator[World]:
    """The page of routes, as the test before has left it."""
    with open_world(site) as world:
        yield world


@pytest.fixture
def world(opened: World) -> World:
    """The page of routes, opened anew."""
    opened.open()
    return opened
