"""Fields from resolvers, and GraphQL types from the result types that resolvers declare."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import MISSING, dataclass
from datetime import datetime
from functools import cache
from inspect import Parameter, getdoc, isasyncgenfunction, signature
from types import NoneType
from typing import Annotated, Any, Optional, get_args, get_origin, get_type_hints

import strawberry

from resolvers.request import inputs
from resolvers.request.context import Info
from resolvers.request.errors import InvalidInputError
from resolvers.request.inputs import check_inputs
from resolvers.request.times import DateTime
from schema.definitions import NULL_ON_ERROR, Cost, Requirement, RequirementExtension


def resolver_field(
    resolver: Callable[..., Any],
    graphql_type: Any,
    *requirements: Requirement,
    cost: int = 0,
    nullable: bool = True,
) -> Any:
    """Return a field of `graphql_type` that `resolver` answers; its docstring is the description.

    `cost` is in records, in addition to those that the field returns. The field is nullable, so
    that its error leaves the fields around it their data; with `nullable=False` it is as
    `graphql_type` says.

    An async generator makes the field of a subscription: each item is the field's value in one
    event, and closing the generator ends the stream.

    Resolvers are annotated with storage records; only the schema knows the GraphQL types.
    """
    make_field: Any = strawberry.subscription if isasyncgenfunction(resolver) else strawberry.field
    is_made_nullable = nullable and not _is_nullable(graphql_type)
    return make_field(
        resolver=check_inputs(resolver),
        graphql_type=_make_nullable(graphql_type) if is_made_nullable else graphql_type,
        metadata={NULL_ON_ERROR: is_made_nullable},
        description=inspect.getdoc(resolver),
        extensions=[*map(RequirementExtension, requirements)],
        directives=[Cost(weight=str(cost))] if cost else [],
    )


def _is_nullable(graphql_type: Any) -> bool:
    if isinstance(graphql_type, str):
        return graphql_type.endswith("| None")
    return NoneType in get_args(graphql_type)


def _make_nullable(graphql_type: Any) -> Any:
    if isinstance(graphql_type, str):
        return f"{graphql_type} | None"
    return Optional[graphql_type]  # noqa: UP045 - `|` does not take generic types of strings


@cache
def output_type(result_type: type, name: str | None = None, **graphql_types: Any) -> Any:
    """Return the GraphQL type with the fields of `result_type`, which a resolver returns.

    The docstring is the description; a text in `Annotated` describes a field, and rules after it
    bound it. A `str` named `id` or `…_id` is an ID. `graphql_types` gives the types of fields
    that hold storage records. Instances of `result_type` are resolved without conversion.

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
        description: str | None = None
        rules: list[inputs.Rule] = []
        if get_origin(hint) is Annotated:
            hint, description, *rules = get_args(hint)
        annotations[field_name] = graphql_types.get(field_name) or _output_hint(field_name, hint)
        members[field_name] = inputs.ruled_field(description, *rules)
    made = type(name or result_type.__name__, (), members)
    return strawberry.type(made, description=inspect.getdoc(result_type))


def _output_hint(name: str, hint: Any) -> Any:
    if name == "id" or name.endswith("_id"):
        return strawberry.ID if hint is str else strawberry.ID | None
    if hint is datetime:
        return DateTime
    if get_origin(hint) is list:
        [item] = get_args(hint)
        return list[_output_hint("", item)]  # type: ignore[misc]
    has_fields = isinstance(hint, type) and "__annotations__" in vars(hint)
    return output_type(hint) if has_fields else hint


# Fields of mutations: each takes one `input`, and returns a payload type.
#
# Resolvers have keyword parameters like those of queries; the input type of a mutation is made of
# them, with their descriptions, rules and defaults.


INPUT = "input"
"""The only argument of every mutation."""


def mutation_field(
    resolver: Callable[..., Awaitable[Any]],
    payload: Any,
    *requirements: Requirement,
    cost: int = 0,
) -> Any:
    """Return the field of a mutation, with an argument of the type `<Name>Input` for the payload
    `<Name>Payload`.

    The payload may be null: then one mutation that fails leaves the payloads of those before it.
    """
    name = payload.__name__.replace("Payload", "Input")
    input_type = build_input_type(name, resolver)
    return resolver_field(_take_input(resolver, input_type), payload, *requirements, cost=cost)


def build_input_type(name: str, resolver: Callable[..., Any]) -> Any:
    """Return the strawberry input with a field for each parameter of a resolver, but for `info`.

    >>> Id = Annotated[strawberry.ID, inputs.argument("The unit.")]
    >>> async def rename(info: Info, id: Id): ...
    >>> [field.description for field in
    ...  build_input_type("RenameInput", rename).__strawberry_definition__.fields]
    ['The unit.']
    """
    annotations: dict[str, Any] = {}
    members: dict[str, Any] = {"__module__": __name__, "__annotations__": annotations}
    for parameter in signature(resolver).parameters.values():
        if parameter.name != "info":
            annotations[parameter.name], definition = get_args(parameter.annotation)
            members[parameter.name] = strawberry.field(
                name=definition.name,
                description=definition.description,
                metadata=definition.metadata,
                default=MISSING if parameter.default is Parameter.empty else parameter.default,
            )
    mutation = name[0].lower() + name.removesuffix("Input")[1:]
    made = strawberry.input(type(name, (), members), description=f"Input of `{mutation}`.")
    return inputs.joint_rules(*map(_RuleOfMembers, inputs.joint_rules_of(resolver)))(made)


@dataclass(frozen=True, slots=True)
class _RuleOfMembers:
    """A joint rule of arguments as one of the members of an object."""

    rule: inputs.JointRule

    def check(self, values: Mapping[str, Any]) -> inputs.InputViolation | None:
        error = self.rule.check(values)
        return error and error._replace(path=f".{error.path}")

    def json_schema(self) -> inputs.JsonSchema:
        return self.rule.json_schema()


def _take_input(
    resolver: Callable[..., Awaitable[Any]], input_type: Any
) -> Callable[..., Awaitable[Any]]:
    """Return the resolver with one parameter, an object that has the others."""

    async def resolve(info: Info, input: Any) -> Any:
        try:
            result = await resolver(info=info, **vars(input))
        except InvalidInputError as error:
            raise error.within(INPUT) from error
        # Whatever was read before may have changed.
        info.context.end_loads()
        return result

    resolve.__doc__ = getdoc(resolver)
    resolve.__annotations__["input"] = Annotated[
        input_type, inputs.argument("What the mutation needs; see the fields.")
    ]
    return resolve
