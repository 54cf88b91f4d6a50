"""Both drivers of MongoDB, as the parameters of a fixture."""

import pytest

EACH_DRIVER = ["motor", pytest.param("pymongo", marks=pytest.mark.slow)]
"""The fast tests use the default driver."""
