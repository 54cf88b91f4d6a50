"""Evaluate conditional processing as an English viewer without extensions (SVG 2, section 5.9)."""

from collections.abc import Mapping

from parsing.limits import check_text_length
from parsing.svg.names import CONDITION_ATTRIBUTES


def choose_switch_child(switch_choice: list[bool], attributes: dict[str, str]) -> bool:
    """Return whether to draw this child of a `switch`: only the first that meets its conditions.

    `switch_choice` is empty until a child has been chosen; the choice is added to it.
    """
    if switch_choice or not conditions_hold(attributes):
        return False
    switch_choice.append(True)
    return True


def conditions_hold(attributes: Mapping[str, str]) -> bool:
    """Return whether the conditional processing attributes of an element hold."""
    if CONDITION_ATTRIBUTES.isdisjoint(attributes):
        return True
    languages = attributes.get("systemLanguage")
    return not attributes.get("requiredExtensions") and (
        languages is None
        or any(
            part.strip().lower().partition("-")[0] == "en"
            for part in check_text_length(languages, "systemLanguage").split(",")
        )
    )
