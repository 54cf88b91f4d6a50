"""The running service with the demo property, and the npm packages that it is checked with."""

from collections.abc import Iterator

import pytest

from tests.rest.demo_service import DemoService, demo_service
from tests.rest.packages import Packages, install


@pytest.fixture(scope="session")
def demo(mongo_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoService]:
    with demo_service(mongo_url, tmp_path_factory.mktemp("demo")) as service:
        yield service


@pytest.fixture(scope="session")
def packages() -> Packages:
    installed = install()
    if isinstance(installed, str):
        pytest.skip(installed)
    return installed
