"""Types of the numpy arrays that routing passes around."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
Float32Array: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.integer]
"""Of 64 bits where they are computed, of as few as they need where they are stored."""
BoolArray: TypeAlias = NDArray[np.bool_]
Part = TypeVar("Part")


def shrink(array: NDArray[Any]) -> NDArray[Any]:
    """Return signed integers in as few bytes as they need, and other arrays as they are.

    >>> shrink(np.array([-1, 300])).dtype
    dtype('int16')
    """
    if array.dtype.kind != "i" or not array.size:
        return array
    # A negative number, as unsigned types would turn sums with signed ones into floats.
    return array.astype(np.min_scalar_type(min(array.min(), -1 - array.max())), copy=False)


def shrink_all(part: Part) -> Part:
    """Return a dataclass with its arrays, and those of the dataclasses in it, shrunk."""
    values: Any = {field.name: getattr(part, field.name) for field in fields(part)}  # type: ignore[arg-type]
    shrunk = {
        name: shrink(value) if isinstance(value, np.ndarray) else shrink_all(value)
        for name, value in values.items()
        if isinstance(value, np.ndarray) or is_dataclass(value)
    }
    return replace(part, **shrunk)  # type: ignore[type-var]
