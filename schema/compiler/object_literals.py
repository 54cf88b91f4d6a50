"""Build input objects that an operation writes out, with variables as some of their members.

    assignUnitAttributes(input: { groupId: "view", assignments: $assignments })

The members that are variables are converted for each request, the others once.
"""

from collections.abc import Callable, Mapping
from typing import Any

from graphql import (
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLNonNull,
    ObjectValueNode,
    Undefined,
    ValueNode,
    VariableNode,
    Visitor,
    get_nullable_type,
    visit,
)
from graphql.utilities import coerce_input_literal
from graphql.utilities.coerce_input_value import coerce_default_value
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.base import StrawberryObjectDefinition

from schema.compiler.coercion import FallbackNeededError, build_conversion
from schema.compiler.selection import UnsupportedQueryError

Build = Callable[[Mapping[str, Any]], Any]
"""From a request's coerced variables to a value; raises FallbackNeededError for an invalid one."""


def build_object(node: ObjectValueNode, input_type: GraphQLInputType) -> Build:
    """Return a function that builds an object of its strawberry class.

    Raises UnsupportedQueryError.
    """
    object_type = get_nullable_type(input_type)
    if not isinstance(object_type, GraphQLInputObjectType) or object_type.is_one_of:
        raise UnsupportedQueryError(f"an object as {input_type}")
    definition = object_type.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    if not isinstance(definition, StrawberryObjectDefinition) or definition.from_input:
        raise UnsupportedQueryError(f"values of {object_type}")
    nodes = {member.name.value: member.value for member in node.fields}
    members = [
        (python_field.python_name, _build_member(nodes.get(name), member))
        for python_field, (name, member) in zip(
            definition.fields, object_type.fields.items(), strict=True
        )
    ]
    make = definition.origin
    return lambda variables: make(**{name: build(variables) for name, build in members})


def _build_member(node: ValueNode | None, member: GraphQLInputField) -> Build:
    if isinstance(node, VariableNode):
        return _build_variable(node.name.value, member)
    if isinstance(node, ObjectValueNode):
        return build_object(node, member.type)
    if node is None:
        value = _default_of(member)
    elif mentions_variables(node):
        raise UnsupportedQueryError("a list with variables inside")
    else:
        value = coerce_input_literal(node, member.type)
    if value is Undefined:
        raise UnsupportedQueryError(f"a value of {member.type} that graphql-core rejects")
    # Converted for each request: a list must not be shared.
    convert = build_conversion(member.type)
    return lambda _: convert(value)


def _build_variable(name: str, member: GraphQLInputField) -> Build:
    convert, default = build_conversion(member.type), _default_of(member)
    is_non_null = isinstance(member.type, GraphQLNonNull)

    def build(variables: Mapping[str, Any]) -> Any:
        value = variables.get(name, default)
        # A variable that may be null or absent is allowed here if the member has a default.
        if value is Undefined or (value is None and is_non_null):
            raise FallbackNeededError
        return convert(value)

    return build


def _default_of(member: GraphQLInputField) -> Any:
    default = coerce_default_value(member)
    if default is Undefined and not isinstance(member.type, GraphQLNonNull):
        # strawberry gives all such members a default.
        raise UnsupportedQueryError("a member that may be absent")
    return default


class _VariableFinder(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.found = False

    def enter_variable(self, *_: Any) -> None:
        self.found = True


def mentions_variables(node: ValueNode) -> bool:
    """Return whether a value is a variable, or has some inside."""
    finder = _VariableFinder()
    visit(node, finder)
    return finder.found
