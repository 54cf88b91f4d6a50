"""What mutations return: the records that they changed, so that a client's cache is up to date."""

from typing import Any

import strawberry
from strawberry.scalars import JSON

import resolvers.administration.api_keys
import resolvers.administration.imports
import resolvers.attributes
import resolvers.closures
import resolvers.maps
import resolvers.processed_maps
from resolvers.administration.imports import PlannedOperation
from resolvers.attributes import MAX_ASSIGNMENTS
from resolvers.request.input_rules import Items
from resolvers.request.kinds import RecordKind
from schema.administration import ApiKey
from schema.fields import bounded_field, output_type, resolver_field
from schema.types import Assignment, Closures, Map, Unit


@strawberry.type(description="The assignments that were made, and their units.")
class AssignUnitAttributesPayload:
    assignments: list[Assignment] = bounded_field(
        "The assignments of the request, in its order.", Items(1, MAX_ASSIGNMENTS)
    )
    units = resolver_field(resolvers.attributes.load_changed_units, list[Unit] | None)


@strawberry.type(description="The assignments that were removed, and their units.")
class UnassignUnitAttributesPayload:
    assignments: list[Assignment] = strawberry.field(
        name="removedAssignments",
        description="The assignments of the request, in its order, whether the unit had the "
        "attribute or not: remove them from a cache.",
    )
    units = resolver_field(resolvers.attributes.load_changed_units, list[Unit] | None)


@strawberry.type(description="The map, and what is closed on it.")
class SetClosuresPayload:
    map = resolver_field(resolvers.maps.load_changed_map, Map | None)
    closures: Closures = strawberry.field(description="What is closed from now on.")


@strawberry.type(description="The map, whether it is routable, and what is wrong with its plan.")
class ProcessMapPayload:
    map = resolver_field(resolvers.maps.load_changed_map, Map | None)
    is_routable: bool = strawberry.field(
        description="Whether there are routes and walking distances on the map now."
    )
    report: JSON = strawberry.field(
        description="What is reached, and what to put right in the plan: causes, remedies, places."
    )


def _api_key_payload(result_type: Any, name: str, **fields: Any) -> Any:
    return output_type(result_type, name, api_key=ApiKey, **fields)


CreateApiKeyPayload = _api_key_payload(
    resolvers.administration.api_keys.CreatedApiKey, "CreateApiKeyPayload"
)
RotateApiKeyPayload = _api_key_payload(
    resolvers.administration.api_keys.RotatedApiKey, "RotateApiKeyPayload", replaced=ApiKey
)
UpdateApiKeyPayload = _api_key_payload(
    resolvers.administration.api_keys.ChangedApiKey, "UpdateApiKeyPayload"
)
RevokeApiKeyPayload = _api_key_payload(
    resolvers.administration.api_keys.ChangedApiKey, "RevokeApiKeyPayload"
)
RecordChange = output_type(
    resolvers.administration.imports.RecordChange, kind=RecordKind, operation=PlannedOperation
)
ChangePlan = output_type(
    resolvers.administration.imports.ChangePlan,
    changes=list[RecordChange],  # type: ignore[valid-type]
)
ImportCatalogPayload = output_type(
    resolvers.administration.imports.ImportResult, "ImportCatalogPayload", plan=ChangePlan
)
RemoveRecordsPayload = output_type(
    resolvers.administration.imports.ImportResult, "RemoveRecordsPayload", plan=ChangePlan
)
