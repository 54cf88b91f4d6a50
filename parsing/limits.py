"""Limits on the size of a document."""

from dataclasses import dataclass

from parsing.errors import DocumentRejectedError


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """Limits of one parse; together they bound its time and memory.

    `elements` limits the elements of the document and, separately, those that its `use` elements
    expand to. `definitions` limits the elements recorded for `use` and patterns,
    `selector_parts` the compounds of all selectors (equal beginnings count once), and
    `selector_matches` the steps of matching elements with style rules. `magnitude` is the largest
    absolute value of a number.
    """

    source_bytes: int = 20 * 1024 * 1024
    output_bytes: int = 100 * 1024 * 1024
    elements: int = 500_000
    nesting: int = 256
    attributes: int = 1_000
    definitions: int = 100_000
    style_rules: int = 20_000
    selector_parts: int = 100_000
    selector_matches: int = 2_000_000
    magnitude: int = 2**31 - 1


DEFAULT_LIMITS = DocumentLimits()


def check_text_length(text: str, name: str, max_chars: int = 10_000) -> str:
    """Return `text`. Raises `DocumentRejectedError` if an attribute to be parsed is too long."""
    if len(text) > max_chars:
        raise DocumentRejectedError(
            f"{name} has {len(text):,} characters; at most {max_chars:,} are read"
        )
    return text
