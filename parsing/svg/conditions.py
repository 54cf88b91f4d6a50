"""Conditional processing: what a viewer of no extensions that reads English draws (SVG 2, 5.9)."""

from collections.abc import Mapping

from parsing.limits import check_text_length
from parsing.svg.names import CONDITION_ATTRIBUTES


def choose_switch_child(switch_choice: list[bool], attributes: dict[str, str]) -> bool:
    """Whether this child of a `switch` is the one drawn: the first whose conditions hold."""
    if switch_choice or not conditions_hold(attributes):
        return False
    switch_choice.append(True)
    return True


def conditions_hold(attributes: Mapping[str, str]) -> bool:
    """Whether the conditions on an element hold."""
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
