"""Archives of the release before are read: its maps stay routable after an upgrade."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from routing.archive import pack_archive, read_version
from routing.costing import TravelMode
from routing.errors import ArchiveError
from routing.previous_format import PREVIOUS_VERSION, read_previous_router
from tests.routing.ascii_plans import process_drawing

ARCHIVE = Path(__file__).with_name("previous_archive.bin").read_bytes()
"""Of the plan below, written by the release before."""
PROCESSED = process_drawing("A.n,,e", "B.+,,e", "C,,,,e")


def test_the_archive_is_of_the_release_before() -> None:
    assert read_version(ARCHIVE) == PREVIOUS_VERSION


@pytest.mark.parametrize("mode", TravelMode)
def test_its_map_has_the_distances_of_one_processed_now(mode: TravelMode) -> None:
    router, ids = read_previous_router(ARCHIVE), [*"ABC"]
    found, expected = router.matrix(ids, ids, mode), PROCESSED.router.matrix(ids, ids, mode)
    np.testing.assert_allclose(found.feet, expected.feet, atol=1e-5)
    np.testing.assert_allclose(found.seconds, expected.seconds, atol=1e-5)
    route = router.route("B", "C", mode)
    assert route is not None
    assert route.feet == pytest.approx(expected.feet[1, 2])


def test_a_damaged_one_is_refused() -> None:
    with pytest.raises(ArchiveError):
        read_previous_router(ARCHIVE[: len(ARCHIVE) // 2])
    with pytest.raises(ArchiveError, match="is a router of version 4"):
        read_previous_router(pack_archive("router", {}, {}))
