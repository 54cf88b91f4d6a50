"""Compute the sizes that font-relative and viewport-relative units refer to."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from parsing.svg.geometry.lengths import NUMBER_PATTERN, PX_PER_UNIT, Viewport, parse_length

DEFAULT_SIZE: Final = 16.0
NORMAL_LINE_HEIGHT: Final = 1.2
"""CSS 2.1, section 10.8.1: between 1.0 and 1.2. The metrics of fonts are not known here."""
STEP: Final = 1.2
"""Between `larger` and `smaller` (CSS Fonts 4, section 2.5)."""
SIZE_BY_KEYWORD: Final = {
    "xx-small": 9.0,
    "x-small": 10.0,
    "small": 13.0,
    "medium": 16.0,
    "large": 18.0,
    "x-large": 24.0,
    "xx-large": 32.0,
    "xxx-large": 48.0,
}
MAX_SIZE: Final = 10_000.0
"""Browsers limit the size of fonts too; without a limit, nested `em` grow without end."""
SHORTHAND: Final = re.compile(
    rf"(?:^|\s)((?>{NUMBER_PATTERN})(?:%|[a-z]+)|{'|'.join(SIZE_BY_KEYWORD)}|larger|smaller)"
    r"(?:\s*/\s*(\S+))?\s+\S"
)


class FontSizes(NamedTuple):
    """The size and the height of a line in px, of an element and of the root; and the viewport."""

    size: float = DEFAULT_SIZE
    line_height: float | None = None  # in sizes of the font; None is `normal`
    root_size: float = DEFAULT_SIZE
    root_line_height: float | None = None
    viewport: Viewport = Viewport(300, 150)

    def enter(self, controls: Mapping[str, str]) -> "FontSizes":
        """Return the sizes for an element that sets these properties."""
        size, line_height = controls.get("font-size"), controls.get("line-height")
        if shorthand := SHORTHAND.search(controls.get("font", "").lower()):
            size, line_height = size or shorthand[1], line_height or shorthand[2] or "normal"
        inner = self
        if size:
            inner = inner._replace(size=self._parse_size(size.strip().lower()))
        if line_height:
            inner = inner._replace(line_height=inner._parse_line_height(line_height.strip()))
        return inner

    def as_root(self) -> "FontSizes":
        """Return the sizes for what is inside the root element."""
        return self._replace(root_size=self.size, root_line_height=self.line_height)

    @property
    def px_per_unit(self) -> Mapping[str, float]:
        """Pixels per unit of length, for all units of CSS Values 4, sections 6.1 and 6.2."""
        return _px_per_unit(self)

    def _parse_size(self, text: str) -> float:
        if text in SIZE_BY_KEYWORD:
            return SIZE_BY_KEYWORD[text]
        if text in ("larger", "smaller"):
            size: float | None = self.size * (STEP if text == "larger" else 1 / STEP)
        else:
            size = parse_length(text, self.size, self.px_per_unit)
        return self.size if size is None or size < 0 else min(size, MAX_SIZE)

    def _parse_line_height(self, text: str) -> float | None:
        if text == "normal":
            return None
        is_factor = re.fullmatch(NUMBER_PATTERN, text) is not None
        height = float(text) if is_factor else parse_length(text, self.size, self.px_per_unit)
        if height is None or height < 0:
            return self.line_height
        return height if is_factor else height / (self.size or 1)


@lru_cache
def _px_per_unit(sizes: FontSizes) -> Mapping[str, float]:
    width, height = sizes.viewport
    line_height = NORMAL_LINE_HEIGHT if sizes.line_height is None else sizes.line_height
    root_line_height = sizes.root_line_height
    if root_line_height is None:
        root_line_height = NORMAL_LINE_HEIGHT
    one_percent = {"w": width / 100, "h": height / 100, "i": width / 100, "b": height / 100}
    one_percent["min"], one_percent["max"] = min(width, height) / 100, max(width, height) / 100
    return {
        **PX_PER_UNIT,
        "em": sizes.size,
        "ex": sizes.size / 2,
        "ch": sizes.size / 2,
        "ic": sizes.size,
        "cap": sizes.size,
        "lh": sizes.size * line_height,
        "rem": sizes.root_size,
        "rex": sizes.root_size / 2,
        "rch": sizes.root_size / 2,
        "ric": sizes.root_size,
        "rlh": sizes.root_size * root_line_height,
        **{
            f"{kind}v{side}": length
            for kind in ("", "s", "l", "d")
            for side, length in one_percent.items()
        },
    }
