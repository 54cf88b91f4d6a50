"""Fields of mutations: each takes one `input`, and returns a payload type.

Resolvers have keyword parameters like those of queries; the input type of a mutation is made of
them, with their descriptions, rules and defaults.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, getdoc, signature
from typing import Annotated, Any, get_args, get_origin

import strawberry
from strawberry.types.arguments import StrawberryArgumentAnnotation

from resolvers.request.context import Info
from resolvers.request.errors import InvalidInputError
from resolvers.request.input_rules import (
    InputViolation,
    JointRule,
    JsonSchema,
    argument,
    joint_rules,
    joint_rules_of,
)
from schema.fields import resolver_field
from schema.permissions import RequirementExtension

INPUT = "input"
"""The only argument of every mutation."""


def mutation_field(
    name: str,
    resolver: Callable[..., Awaitable[Any]],
    payload: Any,
    *requirements: RequirementExtension,
    cost: int = 0,
) -> Any:
    """Return the field of a mutation, with an argument of the type `<Name>Input`.

    The payload may be null: then one mutation that fails leaves the payloads of those before it.
    """
    input_type = build_input_type(f"{name}Input", resolver)
    return resolver_field(
        _take_input(resolver, input_type), payload | None, *requirements, cost=cost
    )


def build_input_type(name: str, resolver: Callable[..., Any]) -> Any:
    """Return the strawberry input with a field for each parameter of a resolver, but for `info`.

    >>> async def rename(info: Info, id: Annotated[strawberry.ID, argument("Of the unit.")]): ...
    >>> [field.description for field in
    ...  build_input_type("RenameInput", rename).__strawberry_definition__.fields]
    ['Of the unit.']
    """
    annotations: dict[str, Any] = {}
    members: dict[str, Any] = {"__module__": __name__, "__annotations__": annotations}
    for parameter in signature(resolver).parameters.values():
        if parameter.name != "info":
            annotations[parameter.name], definition = _split_annotation(parameter.annotation)
            members[parameter.name] = _input_field(parameter, definition)
    mutation = name[0].lower() + name.removesuffix("Input")[1:]
    made = strawberry.input(type(name, (), members), description=f"Input of `{mutation}`.")
    return joint_rules(*map(_RuleOfMembers, joint_rules_of(resolver)))(made)


def _split_annotation(annotation: Any) -> tuple[Any, StrawberryArgumentAnnotation]:
    assert get_origin(annotation) is Annotated, annotation
    value_type, definition = get_args(annotation)
    return value_type, definition


def _input_field(parameter: Parameter, definition: StrawberryArgumentAnnotation) -> Any:
    options: dict[str, Any] = (
        {} if parameter.default is Parameter.empty else {"default": parameter.default}
    )
    return strawberry.field(
        name=definition.name,
        description=definition.description,
        metadata=definition.metadata,
        **options,
    )


@dataclass(frozen=True, slots=True)
class _RuleOfMembers:
    """A joint rule of arguments as one of the members of an object."""

    rule: JointRule

    def check(self, values: Mapping[str, Any]) -> InputViolation | None:
        """Return the error, or None."""
        error = self.rule.check(values)
        return error and error._replace(path=f".{error.path}")

    def json_schema(self) -> JsonSchema:
        """Return the keywords of the rule."""
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
        input_type, argument("What the mutation needs; see the fields.")
    ]
    return resolve
