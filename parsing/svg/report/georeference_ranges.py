"""Check the ranges of a Georeference."""

from collections.abc import Iterator
from typing import Final

from parsing.svg.elements import Georeference

RANGES: Final = {
    "latitude": (-90, 90),
    "longitude": (-180, 180),
    "zoom": (0, 24),
    "bearing": (-360, 360),
    "pitch": (0, 90),
}


def find_out_of_range(georeference: Georeference) -> Iterator[str]:
    """Iterate over what is out of range.

    >>> [*find_out_of_range(Georeference(123, 0, 18, 0, 0))]
    ['latitude is 123']
    >>> [*find_out_of_range(Georeference(-90.5, 180.5, 24, 360, 90))]
    ['latitude is -90.5', 'longitude is 180.5']
    """
    for name, value in georeference._asdict().items():
        low, high = RANGES[name]
        if not low <= value <= high:
            yield f"{name} is {value}"
