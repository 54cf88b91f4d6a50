"""Archives hold values and arrays; other bytes are an error."""

from typing import Any

import numpy as np
import pytest

from routing.archive import pack_archive, unpack_archive
from routing.errors import ArchiveError

ARRAYS: dict[str, np.ndarray[Any, Any]] = {
    "empty": np.empty((0, 3)),
    "table": np.arange(6, dtype=np.float32).reshape(2, 3),
    "big-endian": np.array([1, 2], dtype=">i4"),
    "transposed": np.arange(6).reshape(2, 3).T,
}
ARCHIVE = pack_archive("test", {"name": "caf\u00e9"}, ARRAYS)


def test_values_and_arrays_are_read_back() -> None:
    values, arrays = unpack_archive("test", ARCHIVE)
    assert values == {"name": "caf\u00e9"}
    assert [*arrays] == [*ARRAYS]
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, ARRAYS[name])


def test_arrays_are_read_only_views_of_the_buffer() -> None:
    buffer = bytearray(ARCHIVE)
    _, arrays = unpack_archive("test", buffer)
    assert np.shares_memory(arrays["table"], np.frombuffer(buffer, np.uint8))
    with pytest.raises(ValueError, match="read-only"):
        arrays["table"][0, 0] = 1


@pytest.mark.parametrize(
    ("kind", "archive", "message"),
    [
        ("test", b"", "not a routing archive"),
        ("test", b"x" * 100, "not a routing archive"),
        ("other", ARCHIVE, "This is a test of version"),
        ("test", ARCHIVE[:-70], "damaged"),
        ("test", ARCHIVE[:30], "damaged"),
    ],
)
def test_other_archives_are_an_error(kind: str, archive: bytes, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        unpack_archive(kind, archive)
