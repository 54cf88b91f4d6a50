"""Conditional processing: what a viewer of no extensions that reads English draws (SVG 2, 5.9)."""

from collections.abc import Mapping

from parsing.limits import bounded
from parsing.names import CONDITIONS


def choose(chosen: list[bool], attributes: dict[str, str]) -> bool:
    """Whether this child of a `switch` is the one drawn: the first whose conditions hold."""
    if chosen or not applies(attributes):
        return False
    chosen.append(True)
    return True


def applies(attributes: Mapping[str, str]) -> bool:
    """Whether the conditions on an element hold."""
    if CONDITIONS.isdisjoint(attributes):
        return True
    languages = attributes.get("systemLanguage")
    return not attributes.get("requiredExtensions") and (
        languages is None
        or any(
            part.strip().lower().partition("-")[0] == "en"
            for part in bounded(languages, "systemLanguage").split(",")
        )
    )
