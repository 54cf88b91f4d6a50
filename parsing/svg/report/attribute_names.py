"""Find attributes that are called almost `data-type`, which are not read."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from parsing.svg.naming.layer_names import is_type

TYPE_ATTRIBUTE: Final = "data-type"
NEAR_TYPE_ATTRIBUTE: Final = re.compile(r"(?!(?-i:data-type)\Z)data[-_]?type", re.IGNORECASE)


def may_misspell_type(text: bytes) -> bool:
    """Return whether a drawing may have such attributes; this is cheap."""
    folded, name = text.lower(), TYPE_ATTRIBUTE.encode()
    return b"datatype" in folded or b"data_type" in folded or folded.count(name) > text.count(name)


def find_misspelt_types(attributes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Iterate over names and values of attributes that were probably meant to be `data-type`.

    >>> [*find_misspelt_types({"dataType": "Level", "Data-type": "12"})]
    [('dataType', 'Level')]
    """
    for name, value in attributes.items():
        if NEAR_TYPE_ATTRIBUTE.fullmatch(name) and is_type(value):
            yield name, value
