"""What a client can avoid: kinds of connectors, and what is outdoors."""

from collections.abc import Collection
from enum import StrEnum
from typing import Annotated, Final, TypeAlias

from resolvers.request.inputs import Each, Items, OneOf, Rule, argument
from resolvers.request.kinds import graphql_enum
from routing.values import ConnectorKind, Restrictions


class Avoidable(StrEnum):
    """What a client can avoid."""

    STAIRS = "stairs"
    ESCALATORS = "escalators"
    LIFTS = "lifts"
    OUTDOORS = "outdoors"


graphql_enum(
    Avoidable,
    "What routes can avoid.",
    stairs="Stairs.",
    escalators="Escalators and moving walkways between floors.",
    lifts="Lifts.",
    outdoors="Whatever is not in a building.",
)
graphql_enum(
    ConnectorKind,
    "What carries people between floors.",
    elevator="A lift.",
    steps="Stairs.",
    escalator="An escalator or a moving walkway.",
    ramp="A ramp.",
)

AVOIDABLE_KINDS: Final = {
    Avoidable.STAIRS: ConnectorKind.STEPS,
    Avoidable.ESCALATORS: ConnectorKind.ESCALATOR,
    Avoidable.LIFTS: ConnectorKind.ELEVATOR,
}
AVOID_RULES: Final[tuple[Rule, ...]] = (
    Items(0, len(Avoidable), "values"),
    Each(OneOf(*(each.value for each in Avoidable))),
)
AVOID_DESCRIPTION: Final = (
    "What not to use: stairs, escalators, lifts, outdoors. Straight lines take no account of it."
)

Avoid: TypeAlias = Annotated[
    list[Avoidable] | None,
    argument("What not to use: stairs, escalators, lifts, outdoors.", *AVOID_RULES,
             example=["stairs"]),
]  # fmt: skip


def to_restrictions(avoid: Collection[str] | None) -> Restrictions | None:
    """Return the restrictions that values of `Avoidable` stand for; None without any.

    >>> to_restrictions(["stairs", "outdoors"]).connector_kinds
    frozenset({<ConnectorKind.STEPS: 'steps'>})
    """
    if not avoid:
        return None
    names = frozenset(avoid)
    kinds = frozenset(kind for name, kind in AVOIDABLE_KINDS.items() if name in names)
    return Restrictions(connector_kinds=kinds, outdoors=Avoidable.OUTDOORS in names)
