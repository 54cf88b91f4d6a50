"""Weights of content negotiation: `Accept` and `Accept-Encoding` (RFC 9110, 12.4.2)."""

import re

# Some old Java clients leave out the zero (`*/*; q=.2`) and others send more than three decimals.
_WEIGHT = re.compile(r"0?\.[0-9]+|0\.?|1(?:\.0*)?")


def parse_weights(header: str) -> dict[str, float]:
    """Return the weight of each member of a header, by its name in lower case.

    A weight is 1 where none is given and 0 where it is malformed. Other parameters are ignored.

    >>> parse_weights("gzip;q=0.8, zstd, *;q=0")
    {'gzip': 0.8, 'zstd': 1.0, '*': 0.0}
    """
    weights = {}
    for member in header.lower().split(","):
        name, *parameters = member.split(";")
        weights[name.strip()] = _find_weight(parameters)
    return weights


def accepts_html(accept: str) -> bool:
    """Return whether a client is a browser, by its `Accept` header: those name HTML.

    >>> accepts_html("text/html,application/xhtml+xml,*/*;q=0.8"), accepts_html("*/*")
    (True, False)
    """
    return parse_weights(accept).get("text/html", 0.0) > 0


def _find_weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            return float(value) if _WEIGHT.fullmatch(value.strip()) else 0.0
    return 1.0
