"""Types of the numpy arrays that routing passes around."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
Float32Array: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.integer]
"""Of 64 bits where they are computed, of as few as they need where they are stored."""
BoolArray: TypeAlias = NDArray[np.bool_]


def shrink(array: NDArray[Any]) -> NDArray[Any]:
    """Return signed integers in as few bytes as they need, and other arrays as they are.

    >>> shrink(np.array([-1, 300])).dtype
    dtype('int16')
    """
    if array.dtype.kind != "i" or not array.size:
        return array
    # A negative number, as unsigned types would turn sums with signed ones into floats.
    return array.astype(np.min_scalar_type(min(array.min(), -1 - array.max())), copy=False)
