"""Making maps routable, for operators."""

import strawberry
from strawberry.scalars import JSON

import resolvers.processing
from schema.fields import resolved
from schema.permissions import ADMINISTERS


@strawberry.type(description="What became of a map that was processed.")
class ProcessedMap:
    is_routable: bool
    report: JSON = strawberry.field(
        description="Counts, self-checks and what was found wrong with the plan."
    )


@strawberry.type
class ProcessingMutations:
    process_map = resolved(resolvers.processing.process_map, ProcessedMap, ADMINISTERS)
