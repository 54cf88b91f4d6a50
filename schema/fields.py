"""Fields from resolvers, and GraphQL types from the result types that resolvers declare."""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import strawberry

from resolvers.request.input_checks import check_inputs
from schema.definitions import Cost
from schema.permissions import RequirementExtension


def resolver_field(
    resolver: Callable[..., Any],
    graphql_type: Any,
    *requirements: RequirementExtension,
    cost: int = 0,
) -> Any:
    """Return a field of `graphql_type` that `resolver` answers; its docstring is the description.

    `cost` is in records, in addition to those that the field returns.

    Resolvers are annotated with storage records; only the schema knows the GraphQL types.
    """
    return strawberry.field(
        resolver=check_inputs(resolver),
        graphql_type=graphql_type,
        description=inspect.getdoc(resolver),
        extensions=list(requirements),
        directives=[Cost(weight=str(cost))] if cost else [],
    )


@cache
def output_type(result_type: type, name: str | None = None, **graphql_types: Any) -> Any:
    """Return the GraphQL type with the fields of `result_type`, which a resolver returns.

    The docstring is the description; a text in `Annotated` describes a field. A `str` named `id`
    or `…_id` is an ID. `graphql_types` gives the types of fields that hold storage records.
    Instances of `result_type` are resolved without conversion.

    >>> from typing import NamedTuple
    >>> class Step(NamedTuple):
    ...     "One step of a route."
    ...     floor_id: str
    ...     feet: Annotated[float, "How long it is."]
    >>> output_type(Step).__annotations__ == {"floor_id": strawberry.ID, "feet": float}
    True
    """
    annotations: dict[str, Any] = {}
    members: dict[str, Any] = {"__module__": __name__, "__annotations__": annotations}
    for field_name, hint in get_type_hints(result_type, include_extras=True).items():
        description = None
        if get_origin(hint) is Annotated:
            hint, description = get_args(hint)
        annotations[field_name] = graphql_types.get(field_name) or _output_hint(field_name, hint)
        members[field_name] = strawberry.field(description=description)
    made = type(name or result_type.__name__, (), members)
    return strawberry.type(made, description=inspect.getdoc(result_type))


def _output_hint(name: str, hint: Any) -> Any:
    if name == "id" or name.endswith("_id"):
        return strawberry.ID if hint is str else strawberry.ID | None
    if get_origin(hint) is list:
        [item] = get_args(hint)
        return list[_output_hint("", item)]  # type: ignore[misc]
    has_fields = isinstance(hint, type) and "__annotations__" in vars(hint)
    return output_type(hint) if has_fields else hint
