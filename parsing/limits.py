"""How large a document may be before it is refused."""

from dataclasses import dataclass

from parsing.errors import DocumentRejectedError


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """Bounds on one parse; together they bound its time and memory.

    `source_bytes` and `output_bytes` bound both ends. `elements` counts what the document has
    and what its `use` elements expand to. `definitions` counts the elements kept aside because
    a `use` refers to them, `selector_matches` the comparisons of style rules with elements.
    `magnitude` bounds every number that is read as one.
    """

    source_bytes: int = 20 * 1024 * 1024
    output_bytes: int = 100 * 1024 * 1024
    elements: int = 500_000
    nesting: int = 256
    attributes: int = 1_000
    definitions: int = 100_000
    style_rules: int = 20_000
    selector_matches: int = 2_000_000
    magnitude: int = 2**31 - 1


DEFAULT_LIMITS = DocumentLimits()


def check_text_length(text: str, name: str, max_chars: int = 10_000) -> str:
    """The text of an attribute that is taken apart; raises `Refused` when it is overlong."""
    if len(text) > max_chars:
        raise DocumentRejectedError(
            f"{name} has {len(text):,} characters; at most {max_chars:,} are read"
        )
    return text
