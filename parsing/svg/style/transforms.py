"""Convert CSS transforms to the syntax of the `transform` attribute, and join transform lists.

CSS Transforms 1, section 8.
"""

import math
import re
from typing import Final

from parsing.errors import DocumentRejectedError
from parsing.svg.geometry.lengths import NUMBER_PATTERN, PX_PER_UNIT, format_number

MAX_TRANSFORM_CHARS: Final = 10_000
DEGREES_PER_UNIT: Final = {"deg": 1.0, "grad": 0.9, "rad": 180 / math.pi, "turn": 360.0}
# Fonts are not known here, so font-relative lengths take the initial size.
TRANSLATION_UNITS: Final = {**PX_PER_UNIT, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0}
UNIT_PATTERN: Final = "|".join([*DEGREES_PER_UNIT, *filter(None, TRANSLATION_UNITS)])
NUMBER_WITH_UNIT: Final = re.compile(rf"(?<![\w.])((?>{NUMBER_PATTERN}))({UNIT_PATTERN})\b")
SINGLE_AXIS_FUNCTION: Final = re.compile(r"\b(translate|scale)([XY])\(([^()]*)\)")
OTHER_AXIS_DEFAULT: Final = {"translate": "0", "scale": "1"}


def css_transform_to_attribute(text: str) -> str:
    """Convert a CSS transform to the syntax of the attribute, "" for `none`.

    >>> css_transform_to_attribute("translateX(2px) rotate(.5turn)")
    'translate(2,0) rotate(180)'
    """
    if text == "none":
        return ""
    return SINGLE_AXIS_FUNCTION.sub(_expand_axes, NUMBER_WITH_UNIT.sub(_convert_unit, text))


def concatenate_transforms(outer: str, inner: str) -> str:
    """Join two transform lists: the matrix of the result is the product of theirs.

    Raises `DocumentRejectedError` if nested groups add up to an overlong list.
    """
    if not (outer and inner):
        return outer or inner
    if len(outer) + len(inner) > MAX_TRANSFORM_CHARS:
        raise DocumentRejectedError(
            f"nested transforms are longer than {MAX_TRANSFORM_CHARS:,} characters together"
        )
    return f"{outer} {inner}"


def _convert_unit(match: re.Match[str]) -> str:
    factor = DEGREES_PER_UNIT.get(match[2]) or TRANSLATION_UNITS[match[2]]
    return format_number(float(match[1]) * factor)


def _expand_axes(match: re.Match[str]) -> str:
    other = OTHER_AXIS_DEFAULT[match[1]]
    pair = (match[3], other) if match[2] == "X" else (other, match[3])
    return f"{match[1]}({','.join(pair)})"
