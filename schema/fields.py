"""How a resolver becomes a field: the type it shows, its demand, its docstring as description."""

import inspect
from collections.abc import Callable
from typing import Any

import strawberry

from resolvers.request.input_checks import check_inputs
from schema.permissions import RequirementExtension


def resolver_field(
    resolver: Callable[..., Any], graphql_type: Any, *requirements: RequirementExtension
) -> Any:
    """A field that `resolver` answers and that the schema shows as `type`.

    Resolvers are annotated with storage records; the schema alone knows the GraphQL types.
    """
    return strawberry.field(
        resolver=check_inputs(resolver),
        graphql_type=graphql_type,
        description=inspect.getdoc(resolver),
        extensions=list(requirements),
    )
