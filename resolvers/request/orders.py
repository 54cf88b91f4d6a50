"""The orders in which clients can list records; their words are those of REST."""

from enum import StrEnum
from typing import Annotated, Any, NamedTuple

from resolvers.request.enums import graphql_enum
from resolvers.request.input_rules import OneOf, argument
from storage.records.paging import Order

DESCENDING = "_desc"


class UnitOrder(StrEnum):
    """What units are sorted by."""

    ID = "id"
    ID_DESC = "id_desc"
    NAME = "name"
    NAME_DESC = "name_desc"
    UPDATED_AT = "updated_at"
    UPDATED_AT_DESC = "updated_at_desc"


class FloorOrder(StrEnum):
    """What floors are sorted by."""

    SORT = "sort"
    SORT_DESC = "sort_desc"
    ID = "id"
    ID_DESC = "id_desc"


graphql_enum(
    UnitOrder,
    "What units are sorted by, and then by their id.",
    id="By id.",
    id_desc="By id, the last first.",
    name="By name, by code point, so 1001 comes before 101.",
    name_desc="By name, the last first.",
    updated_at="By the time of the last change.",
    updated_at_desc="By the time of the last change, the last first.",
)
graphql_enum(
    FloorOrder,
    "What floors are sorted by, and then by their id.",
    sort="By `sort`, which is from the lowest up.",
    sort_desc="By `sort`, from the highest down.",
    id="By id.",
    id_desc="By id, the last first.",
)


class Orders(NamedTuple):
    """The orders of the lists of one kind: the default, and the annotation of the argument."""

    default: StrEnum
    annotation: Any

    def parse(self, word: str | None) -> Order:
        """Return the order that a word stands for.

        >>> UNIT_ORDERS.parse("name_desc")
        Order(field='name', is_descending=True)
        """
        word = word or self.default.value
        field = word.removesuffix(DESCENDING)
        return Order(None if field == "id" else field, word.endswith(DESCENDING))


UNIT_ORDERS = Orders(
    UnitOrder.ID,
    Annotated[
        UnitOrder | None,
        argument(
            "What units are sorted by, with `_desc` the last first: their `id`, their `name` (by"
            " code point, so 1001 comes before 101) or the time of their last change, and then"
            " their id.",
            OneOf(*(each.value for each in UnitOrder)),
            example=UnitOrder.UPDATED_AT_DESC.value,
        ),
    ],
)
FLOOR_ORDERS = Orders(
    FloorOrder.SORT,
    Annotated[
        FloorOrder | None,
        argument(
            "What floors are sorted by, with `_desc` the last first: `sort`, which is from the"
            " lowest up, and then their id, or their `id` alone.",
            OneOf(*(each.value for each in FloorOrder)),
            example=FloorOrder.SORT_DESC.value,
        ),
    ],
)
