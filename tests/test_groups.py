"""Tests that share something run one after the other, on one worker."""

import os

import pytest


@pytest.mark.xdist_group("groups")
@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="one process runs all tests")
def test_the_plugin_that_divides_the_tests_knows_their_groups(
    request: pytest.FixtureRequest,
) -> None:
    # It sets a private member, which another release of pytest may not have.
    assert request.node.nodeid.endswith("@groups")
