"""The npm packages that the running service is checked with."""

import pytest

from tests.rest.packages import Packages, install


@pytest.fixture(scope="session")
def packages() -> Packages:
    return install()
