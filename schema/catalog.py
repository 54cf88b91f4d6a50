"""Importing catalog bundles, for operators."""

import strawberry

import resolvers.catalog
from schema.fields import resolver_field
from schema.permissions import IS_ADMIN


@strawberry.type(description="What became of the members of one kind.")
class ImportedKind:
    kind: str = strawberry.field(description="The array of the bundle, such as `units`.")
    inserted: int
    updated: int
    unchanged: int


@strawberry.type(description="What an import did, or would do.")
class ImportSummary:
    kinds: list[ImportedKind]
    notes: list[str] = strawberry.field(description="What is allowed and yet worth a look.")


@strawberry.type
class CatalogMutations:
    import_catalog = resolver_field(resolvers.catalog.import_catalog_text, ImportSummary, IS_ADMIN)
