"""The place on Earth that a drawing names."""

from collections.abc import Mapping

from parsing.elements import Georeference
from parsing.errors import InvalidMarkup
from parsing.lengths import LENGTH, SPACE, Number, checked, shortest
from parsing.limits import bounded


def read_georeference(attributes: Mapping[str, str], magnitude: int) -> Georeference:
    """From its `data-*` attributes; raises `InvalidMarkup` for what is no number."""

    def number(name: str, missing: str | None = None) -> Number:
        text = attributes.get(f"data-{name}", missing)
        if text is None:
            raise InvalidMarkup(f"a Georeference needs data-{name}, a number")
        length = LENGTH.fullmatch(bounded(text.strip(SPACE), f"data-{name}", 100))
        if length is None or length[2]:
            raise InvalidMarkup(f"data-{name} is {text!r}; expected a number")
        return shortest(checked(float(length[1]), f"data-{name}", magnitude))

    return Georeference(
        number("latitude"),
        number("longitude"),
        number("zoom", "0"),
        number("bearing", "0"),
        number("pitch", "0"),
    )
