"""Level tags of a unit map."""

import strawberry

from schema.scalars import Timestamp


@strawberry.type(description="One value of a level tag.")
class LevelTagValue:
    name: str
    value: strawberry.ID = strawberry.field(description="An id, such as that of a floor.")
    created_at: Timestamp
    updated_at: Timestamp


@strawberry.type(description="What the levels of a map can be told apart by.")
class LevelTag:
    name: str
    key: str
    created_at: Timestamp
    updated_at: Timestamp
    values: list[LevelTagValue]
