"""Making maps routable, for operators."""

import strawberry
from strawberry.scalars import JSON

import resolvers.processing.pipeline
from schema.fields import resolver_field
from schema.permissions import IS_ADMIN


@strawberry.type(description="What became of a map that was processed.")
class ProcessedMap:
    is_routable: bool
    report: JSON = strawberry.field(
        description="Counts, self-checks and what was found wrong with the plan."
    )


@strawberry.type
class ProcessingMutations:
    process_map = resolver_field(resolvers.processing.pipeline.process_map, ProcessedMap, IS_ADMIN)
