"""What a client can avoid: kinds of connectors, and what is outdoors."""

from collections.abc import Collection
from typing import Annotated, Final, TypeAlias

from resolvers.request.input_rules import Each, Items, OneOf, Rule, argument
from routing.network.restrictions import Restrictions
from routing.plan import ConnectorKind

AVOIDABLE_KINDS: Final = {
    "stairs": ConnectorKind.STEPS,
    "escalators": ConnectorKind.ESCALATOR,
    "lifts": ConnectorKind.ELEVATOR,
}
OUTDOORS: Final = "outdoors"
AVOIDABLE: Final = (*AVOIDABLE_KINDS, OUTDOORS)
AVOID_RULES: Final[tuple[Rule, ...]] = (
    Items(0, len(AVOIDABLE), "values"),
    Each(OneOf(*AVOIDABLE)),
)
AVOID_DESCRIPTION: Final = (
    "What not to use: stairs, escalators, lifts, outdoors. Straight lines take no account of it."
)

Avoid: TypeAlias = Annotated[
    list[str] | None,
    argument("What not to use: stairs, escalators, lifts, outdoors.", *AVOID_RULES,
             example=["stairs"]),
]  # fmt: skip


def to_restrictions(avoid: Collection[str] | None) -> Restrictions | None:
    """Return the restrictions that values of `AVOIDABLE` stand for; None without any.

    >>> to_restrictions(["stairs", "outdoors"]).connector_kinds
    frozenset({<ConnectorKind.STEPS: 'steps'>})
    """
    if not avoid:
        return None
    names = frozenset(avoid)
    kinds = frozenset(kind for name, kind in AVOIDABLE_KINDS.items() if name in names)
    return Restrictions(connector_kinds=kinds, outdoors=OUTDOORS in names)
