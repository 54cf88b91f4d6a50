"""Types of the numpy arrays that routing passes around."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
Float32Array: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.integer]
"""Of 64 bits where they are computed, of as few as they need where they are stored."""
BoolArray: TypeAlias = NDArray[np.bool_]
