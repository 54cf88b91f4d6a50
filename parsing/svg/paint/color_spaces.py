"""Convert the colour spaces of CSS Color 4 to sRGB."""

import cmath
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

Triple = tuple[float, float, float]
Matrix = tuple[Triple, Triple, Triple]

# CSS Color 4, chapter 18. That of Lab adapts from the white D50, too.
OKLAB_TO_LMS: Final[Matrix] = (
    (1.0, 0.3963377774, 0.2158037573),
    (1.0, -0.1055613458, -0.0638541728),
    (1.0, -0.0894841775, -1.291485548),
)
LMS_TO_LINEAR: Final[Matrix] = (
    (4.0767416621, -3.3077115913, 0.2309699292),
    (-1.2684380046, 2.6097574011, -0.3413193965),
    (-0.0041960863, -0.7034186147, 1.707614701),
)
XYZ_D50_TO_LINEAR: Final[Matrix] = (
    (3.1341358529, -1.6173863321, -0.4906619460),
    (-0.9787954765, 1.9162543774, 0.0334427312),
    (0.0719553799, -0.2289768264, 1.4053860351),
)
P3_TO_LINEAR: Final[Matrix] = (
    (1.2249401763, -0.2249401763, 0.0),
    (-0.0420569547, 1.0420569547, 0.0),
    (-0.0196375546, -0.0786360456, 1.0982736001),
)
WHITE_D50: Final[Triple] = (0.9642956764, 1.0, 0.8251046025)
EPSILON: Final = 216 / 24389
KAPPA: Final = 24389 / 27
HUNDRED_PERCENT: Final[Mapping[str, Triple]] = {
    "lab": (100.0, 125.0, 125.0),
    "lch": (100.0, 150.0, 1.0),
    "oklab": (1.0, 0.4, 0.4),
    "oklch": (1.0, 0.4, 1.0),
}
"""The components of a colour, by its function, that are written as 100%."""


def to_srgb(space: str, components: Sequence[float]) -> Triple | None:
    """Return red, green and blue from 0 to 1, or None for a space that is not known.

    Hues are in turns. What sRGB does not have is clipped, as in browsers.

    >>> [round(part, 2) for part in to_srgb("display-p3", (0.5, 0.2, 0))]
    [0.54, 0.17, 0.0]
    """
    if space in ("lch", "oklch"):
        lightness, chroma, turns = components
        color = cmath.rect(max(chroma, 0.0), turns * math.tau)
        return to_srgb(space.replace("ch", "ab"), (lightness, color.real, color.imag))
    to_linear = TO_LINEAR.get(space)
    if to_linear is None:
        return None
    red, green, blue = (_encode(min(max(part, 0.0), 1.0)) for part in to_linear(components))
    return red, green, blue


def _lab_to_linear(components: Sequence[float]) -> Triple:
    lightness, a, b = components
    y = (min(max(lightness, 0.0), 100.0) + 16) / 116
    roots = y + a / 500, y, y - b / 200
    ratios = (root**3 if root**3 > EPSILON else (116 * root - 16) / KAPPA for root in roots)
    xyz = [ratio * white for ratio, white in zip(ratios, WHITE_D50, strict=True)]
    return _multiply(XYZ_D50_TO_LINEAR, xyz)


def _oklab_to_linear(components: Sequence[float]) -> Triple:
    lightness, a, b = components
    roots = _multiply(OKLAB_TO_LMS, (min(max(lightness, 0.0), 1.0), a, b))
    return _multiply(LMS_TO_LINEAR, [root**3 for root in roots])


def _p3_to_linear(components: Sequence[float]) -> Triple:
    return _multiply(P3_TO_LINEAR, _decode(components))


def _decode(components: Sequence[float]) -> Triple:
    """Return linear components of gamma-encoded ones, negative ones as their mirror images."""
    red, green, blue = (
        part / 12.92
        if abs(part) <= 0.04045
        else math.copysign(((abs(part) + 0.055) / 1.055) ** 2.4, part)
        for part in components
    )
    return red, green, blue


def _encode(part: float) -> float:
    return 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055


def _multiply(matrix: Matrix, vector: Sequence[float]) -> Triple:
    one, two, three = (
        sum(factor * part for factor, part in zip(row, vector, strict=True)) for row in matrix
    )
    return one, two, three


TO_LINEAR: Final[Mapping[str, Callable[[Sequence[float]], Sequence[float]]]] = {
    "srgb": _decode,
    "srgb-linear": tuple,
    "display-p3": _p3_to_linear,
    "lab": _lab_to_linear,
    "oklab": _oklab_to_linear,
}
"""Functions that return linear red, green and blue of sRGB."""
