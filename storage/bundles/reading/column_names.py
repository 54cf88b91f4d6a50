"""Places in spreadsheets: what messages say instead of the path of a field."""

import re
from collections.abc import Mapping

_PLACE = re.compile(r"(?P<row>(?P<sheet>.+)[:,] row \d+)(?P<column>, column \".*\")?\.(?P<path>.+)")

_BOUND = re.compile(
    r"Expected `(?:str|float|int)`(?P<length> of length)? (?P<sign>[<>]=?) (?P<bound>[-\d.]+)"
)
_SIGNS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}


def to_plain_words(message: str) -> str:
    """Return a message about a bound without the types of a program.

    >>> to_plain_words("Expected `float` > 0.0")
    'expected a number of more than 0'
    >>> to_plain_words("Expected `str` of length <= 255")
    'expected text of at most 255 characters'
    """
    if not (match := _BOUND.fullmatch(message)):
        return message
    bound = f"{_SIGNS[match['sign']]} {float(match['bound']):,g}"
    return (
        f"expected text of {bound} characters"
        if match["length"]
        else (f"expected a number of {bound}")
    )


class ColumnNames:
    """The columns that the fields of each sheet were read from.

    >>> names = ColumnNames()
    >>> names.add('building.xlsx: sheet "Units"', {"floor_id": "Floor"})
    >>> names.describe('building.xlsx: sheet "Units", row 17.floor_id')
    'building.xlsx: sheet "Units", row 17, column "Floor"'
    >>> names.describe("oak.json: $.units[17].floor_id")
    'oak.json: $.units[17].floor_id'
    """

    def __init__(self) -> None:
        self._headers: dict[str, Mapping[str, str]] = {}

    def add(self, sheet: str, headers: Mapping[str, str]) -> None:
        """Add the headers of a sheet by field."""
        self._headers[sheet] = headers

    def describe(self, place: str) -> str:
        """Return a place with the name of a column, if it is in a spreadsheet."""
        match = self._headers and _PLACE.fullmatch(place)
        if not match or match["sheet"] not in self._headers:
            return place
        if match["column"]:
            return f"{match['row']}{match['column']}"
        field = re.split(r"[.\[]", match["path"])[0]
        return f'{match["row"]}, column "{self._headers[match["sheet"]].get(field, field)}"'
