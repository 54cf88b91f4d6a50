"""Both drivers of MongoDB, as the parameters of a fixture of tests that say something about them.

These are the tests of `storage/mongo` and few others: the rest of the product is the same code with
either driver.
"""

import pytest

EACH_DRIVER = ["motor", pytest.param("pymongo", marks=pytest.mark.slow)]
"""The fast tests use the default driver."""
