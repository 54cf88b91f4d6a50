"""What a GraphQL operation may ask for at most. Imports nothing: settings read it first."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Bounds of one operation; the names are those that complaints use."""

    characters: int = 50_000
    tokens: int = 2_000
    depth: int = 16
    aliases: int = 30
    breadth: int = 200
    """Fields of one object, fragments included."""
    cost: int = 50_000
    """Records that may be returned; a nested list without page size counts as ten."""
    items: int = 10_000
    """Objects and list items in arguments, counted for each time their field may be resolved."""
    waypoints: int = 50
    """Waypoints in one list: a distance matrix has at most 50 pairs."""
