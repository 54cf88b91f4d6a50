"""Parse the element that gives a drawing's geographic position."""

from collections.abc import Mapping

from parsing.errors import InvalidMarkupError
from parsing.limits import check_text_length
from parsing.svg.elements import Georeference
from parsing.svg.geometry.lengths import (
    LENGTH_PATTERN,
    WHITESPACE,
    Number,
    check_magnitude,
    int_if_whole,
)


def parse_georeference(attributes: Mapping[str, str], magnitude: int) -> Georeference:
    """Parse `data-*` attributes. Raises `InvalidMarkupError` for what is missing or no number."""

    def number(name: str, missing: str | None = None) -> Number:
        text = attributes.get(f"data-{name}", missing)
        if text is None:
            raise InvalidMarkupError(f"a Georeference needs data-{name}, a number")
        length = LENGTH_PATTERN.fullmatch(
            check_text_length(text.strip(WHITESPACE), f"data-{name}", 100)
        )
        if length is None or length[2]:
            raise InvalidMarkupError(f"data-{name} is {text!r}; expected a number")
        return int_if_whole(check_magnitude(float(length[1]), f"data-{name}", magnitude))

    return Georeference(
        number("latitude"),
        number("longitude"),
        number("zoom", "0"),
        number("bearing", "0"),
        number("pitch", "0"),
    )
