"""Lists as query parameters: the service reads one parameter with commas between the items."""

import re


def join(items: object) -> object:
    r"""Return the text of a list; what is no list stays as it is.

    >>> join(["units", "a,b"])
    'units,a\\,b'
    """
    if not isinstance(items, list):
        return items
    return ",".join(re.sub(r"([\\,])", r"\\\1", str(item)) for item in items)
