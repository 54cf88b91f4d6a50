"""The inputs of an operation: its variables, with the definitions of the arguments they feed."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from graphql import (
    ArgumentNode,
    GraphQLArgument,
    GraphQLBoolean,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLNonNull,
    GraphQLSchema,
    TypeInfo,
    TypeInfoVisitor,
    Undefined,
    VariableNode,
    Visitor,
    is_input_type,
    type_from_ast,
    visit,
)
from strawberry.schema.schema_converter import GraphQLCoreConverter

from resolvers.distances import MAX_PAIRS
from resolvers.request.arguments import MAX_ID_CHARACTERS, MAX_INT32
from resolvers.request.errors import MAX_QUOTED_CHARACTERS
from resolvers.request.input_checks import Check, FieldChecks
from resolvers.request.input_rules import (
    ID,
    InputDefinition,
    InputViolation,
    Items,
    JointRule,
    JsonSchema,
    joint_rules_of,
)
from schema.definitions import definition_of, strawberry_field_of
from schema.execution import Operation

__all__ = [
    "ID",
    "MAX_ID_CHARACTERS",
    "MAX_INT32",
    "MAX_PAIRS",
    "MAX_QUOTED_CHARACTERS",
    "Input",
    "InputViolation",
    "Items",
    "JsonSchema",
    "OperationInputs",
    "definition_of",
    "is_id",
    "joint_rules_of_type",
]


_ITEM_PATH = re.compile(r"(?P<name>\w+)\[(?P<index>\d+)\](?:\.(?P<member>\w+))?")


@dataclass(frozen=True, slots=True)
class Input:
    """A variable of an operation and the argument that it feeds."""

    variable: str
    type: GraphQLInputType
    argument: GraphQLArgument
    definition: InputDefinition
    check: Check | None

    @property
    def is_required(self) -> bool:
        """Whether the variable must be present."""
        return isinstance(self.type, GraphQLNonNull)

    @property
    def description(self) -> str:
        """The description of the argument."""
        return self.argument.description or ""

    @property
    def default(self) -> Any:
        """The default of the argument, None if it has none."""
        value = self.argument.default_value
        return None if value is Undefined else value


class OperationInputs:
    """All inputs of an operation, by variable, in the order of their declaration."""

    def __init__(self, schema: GraphQLSchema, operation: Operation) -> None:
        collector = _VariableUses(TypeInfo(schema))
        visit(operation.document, TypeInfoVisitor(collector.types, collector))
        self.by_variable: dict[str, Input] = {}
        for node in operation.node.variable_definitions or ():
            name, type = node.variable.name.value, type_from_ast(schema, node.type)
            assert is_input_type(type)
            use = next(use for use in collector.uses if use.variable == name)
            self.by_variable[name] = Input(
                name, type, use.argument, definition_of(use.argument), use.find_check()
            )
        names_by_resolver: dict[Callable[..., Any], list[tuple[str, str]]] = {}
        for use in collector.uses:
            if use.resolver is not None:
                names = names_by_resolver.setdefault(use.resolver, [])
                names.append((use.parameter, use.variable))
        self._fields = [
            (FieldChecks(resolver), names) for resolver, names in names_by_resolver.items()
        ]

    def find_error(self, variables: Mapping[str, Any]) -> InputViolation | None:
        """Return the first error of some variables, as the fields that they feed would."""
        for checks, names in self._fields:
            values = {parameter: variables[name] for parameter, name in names if name in variables}
            if values and (error := checks.find_error(values)):
                return error
        return None

    def find_errors(self, variables: Mapping[str, Any], limit: int) -> list[InputViolation]:
        """Return the first error; if it is in an item of a list, all errors of the list's items.

        The rules of the single items are checked again one by one, up to `limit` errors.
        """
        first = self.find_error(variables)
        located = _ITEM_PATH.match(first.path) if first else None
        if first is None or located is None:
            return [first] if first else []
        name, start = located["name"], int(located["index"])
        errors: list[InputViolation] = []
        for index, value in enumerate(variables[name][start:], start):
            item = dict(value)
            while len(errors) < limit and (error := self.find_error({**variables, name: [item]})):
                path = _ITEM_PATH.match(error.path)
                if path is None:  # a rule of several variables
                    break
                errors.append(
                    error._replace(path=f"{name}[{index}]{error.path[path.end(2) + 1 :]}")
                )
                if path["member"] is None:  # a rule of the whole item
                    break
                item[path["member"]] = None  # no rule applies to null: find the next error
        return errors or [first]


class _VariableUse(NamedTuple):
    """A variable, and the argument of a field or of its `@include` that it feeds."""

    variable: str
    argument: GraphQLArgument
    parameter: str
    """The argument's name in the resolver."""
    resolver: Callable[..., Any] | None

    def find_check(self) -> Check | None:
        if self.resolver is None:
            return None
        _, check = FieldChecks(self.resolver).arguments.get(self.parameter, (None, None))
        return check


class _VariableUses(Visitor):
    def __init__(self, types: TypeInfo) -> None:
        super().__init__()
        self.types = types
        self.uses: list[_VariableUse] = []

    def enter_argument(self, node: ArgumentNode, *_: Any) -> None:
        field, argument = self.types.get_field_def(), self.types.get_argument()
        if isinstance(node.value, VariableNode) and field is not None and argument is not None:
            if self.types.get_directive() is not None:
                self.uses.append(_build_condition(node.value.name.value, field))
                return
            definition = argument.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
            parameter = definition.python_name if definition else node.name.value
            variable = node.value.name.value
            self.uses.append(_VariableUse(variable, argument, parameter, _resolver_of(field)))


def _build_condition(variable: str, field: GraphQLField) -> _VariableUse:
    """Return the use of a variable that says whether a field is included; it is not by default."""
    description = f"Whether to include `{variable}`. {field.description or ''}".strip()
    argument = GraphQLArgument(GraphQLBoolean, default_value=False, description=description)
    return _VariableUse(variable, argument, variable, None)


def _resolver_of(field: GraphQLField) -> Callable[..., Any] | None:
    definition = strawberry_field_of(field)
    resolver = definition.base_resolver if definition else None
    wrapped: Any = resolver.wrapped_func if resolver else None
    return wrapped if callable(wrapped) else None


def joint_rules_of_type(input_type: GraphQLInputObjectType) -> tuple[JointRule, ...]:
    """Return the joint rules of an input object."""
    definition = input_type.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    return joint_rules_of(definition.origin) if definition else ()


def is_id(text: str) -> bool:
    """Return whether a text has the form of an id."""
    return ID.check(text) is None
