"""Limits of a GraphQL operation. Imports nothing, so that settings load quickly."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Limits of one operation; `schema.query_size` looks them up by name."""

    characters: int = 50_000
    tokens: int = 2_000
    depth: int = 16
    aliases: int = 30
    breadth: int = 200
    """Fields selected of one object, fragments included."""
    cost: int = 50_000
    """Records that may be returned, and the cost of expensive fields in records.

    A nested list without a page size counts as ten.
    """
    items: int = 10_000
    """Objects and list items in arguments, times how often their field may be resolved."""
    text: int = 1_000_000
    """Characters of texts in arguments, counted in the same way."""
    response_bytes: int = 16_000_000
    """Bytes of the response, before compression."""
