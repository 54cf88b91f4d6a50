"""Transforms as style sheets write them -> as attributes do (CSS Transforms 1, section 8)."""

import math
import re
from typing import Final

from parsing.lengths import NUMBER, PX_PER_UNIT, format_number

DEGREES_PER_UNIT: Final = {"deg": 1.0, "grad": 0.9, "rad": 180 / math.pi, "turn": 360.0}
WITH_UNIT: Final = re.compile(
    rf"(?<![\w.])((?>{NUMBER}))({'|'.join([*DEGREES_PER_UNIT, *filter(None, PX_PER_UNIT)])})\b"
)
ONE_AXIS: Final = re.compile(r"\b(translate|scale)([XY])\(([^()]*)\)")
OTHER_AXIS: Final = {"translate": "0", "scale": "1"}


def attribute_transform(text: str) -> str:
    """`translateX(2px) rotate(.5turn)` -> `translate(2,0) rotate(180)`; "" for `none`."""
    if text == "none":
        return ""
    return ONE_AXIS.sub(_both_axes, WITH_UNIT.sub(_without_unit, text))


def _without_unit(match: re.Match[str]) -> str:
    factor = DEGREES_PER_UNIT.get(match[2]) or PX_PER_UNIT[match[2]]
    return format_number(float(match[1]) * factor)


def _both_axes(match: re.Match[str]) -> str:
    other = OTHER_AXIS[match[1]]
    pair = (match[3], other) if match[2] == "X" else (other, match[3])
    return f"{match[1]}({','.join(pair)})"
