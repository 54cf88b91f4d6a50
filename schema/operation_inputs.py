"""The inputs of an operation: its variables, with the definitions of the arguments they feed;
and what bounds the values of its result.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final, NamedTuple

import graphql
from strawberry.schema.schema_converter import GraphQLCoreConverter

from resolvers.distances import MAX_PAIRS as MAX_PAIRS
from resolvers.request.errors import MAX_QUOTED_CHARACTERS as MAX_QUOTED_CHARACTERS
from resolvers.request.inputs import ID as ID
from resolvers.request.inputs import MAX_ID_CHARACTERS as MAX_ID_CHARACTERS
from resolvers.request.inputs import MAX_INT32 as MAX_INT32
from resolvers.request.inputs import MAX_REPORTED_ERRORS as MAX_REPORTED_ERRORS
from resolvers.request.inputs import TEXT_JSON_PATTERN as TEXT_JSON_PATTERN
from resolvers.request.inputs import FieldChecks, JointRule, Range, joint_rules_of
from resolvers.request.inputs import InputDefinition as InputDefinition
from resolvers.request.inputs import InputViolation as InputViolation
from resolvers.request.inputs import Items as Items
from resolvers.request.inputs import JsonSchema as JsonSchema
from resolvers.request.inputs import PartialInput as PartialInput
from resolvers.request.kinds import get_record_limits
from schema.definitions import PAGE_DATA_FIELD, is_page, strawberry_field_of
from schema.definitions import definition_of as definition_of
from schema.definitions import meaning_of as meaning_of
from schema.execution import Operation
from schema.types import MAX_PER_PAGE


@dataclass(frozen=True, slots=True)
class Input:
    """A variable of an operation and the argument, or the member of one, that it feeds."""

    variable: str
    type: graphql.GraphQLInputType
    argument: graphql.GraphQLArgument | graphql.GraphQLInputField
    definition: InputDefinition
    find_error: Callable[[Any], str | None]
    """Returns the first error of a value that is not null."""

    @property
    def is_required(self) -> bool:
        is_non_null = isinstance(self.type, graphql.GraphQLNonNull)
        return is_non_null and self.argument.default_value is graphql.Undefined

    @property
    def description(self) -> str:
        return meaning_of(self.argument)

    @property
    def default(self) -> Any:
        value = self.argument.default_value
        return None if value is graphql.Undefined else value


class OperationInputs:
    """All inputs of an operation, by variable, in the order of their declaration."""

    def __init__(self, schema: graphql.GraphQLSchema, operation: Operation) -> None:
        collector = _VariableUses(graphql.TypeInfo(schema))
        graphql.visit(operation.document, graphql.TypeInfoVisitor(collector.types, collector))
        self._uses, self._has_values = collector.uses, collector.has_values
        by_field: dict[tuple[str, Callable[..., Any]], list[_VariableUse]] = {}
        for use in collector.uses:
            if use.resolver is not None:
                by_field.setdefault((use.field_name, use.resolver), []).append(use)
        checks = {resolver: FieldChecks(resolver) for _, resolver in by_field}
        self._fields = [(checks[resolver], uses) for (_, resolver), uses in by_field.items()]
        self.by_variable: dict[str, Input] = {}
        self._with_default: set[str] = set()
        for node in operation.node.variable_definitions or ():
            name, type = node.variable.name.value, graphql.type_from_ast(schema, node.type)
            assert graphql.is_input_type(type)
            use = next(
                (use for use in collector.uses if use.variable == name),
                _VariableUse(name, graphql.GraphQLArgument(type), ""),  # a part of a scalar
            )
            argument = copy(use.argument)
            if isinstance(type, graphql.GraphQLNonNull):  # where the argument may be null
                argument.type, argument.default_value = type, graphql.Undefined
            if node.default_value is not None:  # of the variable, in place of the argument's
                self._with_default.add(name)
                argument.default_value = graphql.value_from_ast_untyped(node.default_value)
            find_error: Callable[[Any], str | None] = lambda _: None  # noqa: E731
            if use.resolver is not None and not use.members:
                find_error = partial(checks[use.resolver].find_error, use.parameter)
            definition = definition_of(argument)
            self.by_variable[name] = Input(name, type, argument, definition, find_error)

    @cached_property
    def are_checked_alone(self) -> bool:
        """True if each value keeps all rules once `find_error` of its input has found none.

        Nothing that the operation writes out, by default or as a part of an object, is checked by
        that, nor what concerns several arguments.
        """
        has_joint_rules = any(checks.joint_rules for checks, _ in self._fields)
        fed = [use.variable for use in self._uses if use.resolver is not None]
        others = {use.variable for use in self._uses if use.resolver is None} | self._with_default
        is_each_fed_once = len(set(fed)) == len(fed) and others.isdisjoint(fed)
        return is_each_fed_once and not (self._has_values or has_joint_rules)

    def to_variable(self, path: str, field: str | None = None) -> str:
        """Return a path in an argument as one in the variable that feeds that part of it.

        `input.assignments[0].groupId` becomes `data[0].groupId` if `$data` is the member
        `assignments`. A use in the field with this name in the result goes before others. Other
        paths are returned as they are.
        """
        if path.startswith(VARIABLES_PREFIX):
            return path.removeprefix(VARIABLES_PREFIX)
        for use in sorted(self._uses, key=lambda use: use.field_name != field):
            if use.path and (rest := _path_within(path, use.path)) is not None:
                return use.variable + rest
        # A rule of a list does not say which item breaks it.
        parts = {use.variable for use in self._uses if use.path.startswith(f"{path}[")}
        return parts.pop() if len(parts) == 1 else path

    def find_errors(self, variables: Mapping[str, Any]) -> list[InputViolation]:
        """Return the errors of some variables, as the fields that they feed would."""
        errors: list[InputViolation] = []
        for checks, uses in self._fields:
            is_partial = isinstance(variables, PartialInput)
            values: dict[str, Any] = PartialInput() if is_partial else {}
            for use in uses:
                if use.variable in variables:
                    use.put(variables[use.variable], values)
            if values:
                field = uses[0].field_name
                errors += [
                    error._replace(path=self.to_variable(error.path, field))
                    for error in checks.find_errors(values)
                ]
        return errors[:MAX_REPORTED_ERRORS]


def _path_within(path: str, outer: str) -> str | None:
    """Return what a path adds to another one, None if it does not begin with that.

    >>> _path_within("ids[0].a", "ids"), _path_within("ids", "ids"), _path_within("idsOf", "ids")
    ('[0].a', '', None)
    """
    rest = path.removeprefix(outer)
    return rest if path.startswith(outer) and rest[:1] in ("", ".", "[") else None


class _VariableUse(NamedTuple):
    """A variable, and the argument of a field or of its `@include` that it feeds."""

    variable: str
    argument: graphql.GraphQLArgument | graphql.GraphQLInputField
    parameter: str
    """The argument's name in the resolver."""
    resolver: Callable[..., Any] | None = None
    """None if no rule of the argument is one of the variable."""
    members: tuple[str, ...] = ()
    """The names of the members of the argument that lead to the variable."""
    path: str = ""
    """Where the variable is in the arguments, as errors say it; empty if no error can be there."""
    field_name: str = ""
    """The name of the field in the result."""

    def put(self, value: Any, arguments: dict[str, Any]) -> None:
        """Put the variable's value where it belongs in a resolver's arguments."""
        place = arguments
        *parents, last = (self.parameter, *self.members)
        for name in parents:
            place = place.setdefault(name, type(arguments)())
        place[last] = value


class _VariableUses(graphql.Visitor):
    def __init__(self, types: graphql.TypeInfo) -> None:
        super().__init__()
        self.types = types
        self.uses: list[_VariableUse] = []
        self.has_values = False
        """True if an argument of a field is anything but a variable."""
        self._field_name = ""

    def enter_field(self, node: graphql.FieldNode, *_: Any) -> None:
        # The arguments of a field are visited before the fields that are selected of it.
        self._field_name = (node.alias or node.name).value

    def enter_argument(self, node: graphql.ArgumentNode, *_: Any) -> None:
        field, argument = self.types.get_field_def(), self.types.get_argument()
        if (directive := self.types.get_directive()) is not None:
            if isinstance(node.value, graphql.VariableNode):
                verb = "leave out" if directive.name == "skip" else "include"
                self.uses.append(_build_condition(node.value.name.value, field, verb))
        elif field is not None and argument is not None:
            definition = argument.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
            name = node.name.value
            parameter = definition.python_name if definition else name
            self.has_values |= not isinstance(node.value, graphql.VariableNode)
            use = _VariableUse(
                "", argument, parameter, _resolver_of(field), (), name, self._field_name
            )
            self.uses += _iter_uses(node.value, use)


def _iter_uses(node: graphql.ValueNode, place: _VariableUse) -> Iterator[_VariableUse]:
    """Yield the variables in a value at some place, in its items and in the members of objects."""
    nullable = graphql.get_nullable_type(place.argument.type)
    if isinstance(node, graphql.VariableNode):
        yield place._replace(variable=node.name.value)
    elif isinstance(node, graphql.ListValueNode) and isinstance(nullable, graphql.GraphQLList):
        text = meaning_of(place.argument)
        item_argument = graphql.GraphQLArgument(nullable.of_type, description=text)
        for number, item in enumerate(node.values):
            path = f"{place.path}[{number}]"  # the rules are those of the list
            inner = place._replace(argument=item_argument, resolver=None, path=path)
            yield from _iter_uses(item, inner)
    elif isinstance(node, graphql.ObjectValueNode) and isinstance(
        nullable, graphql.GraphQLInputObjectType
    ):
        for member in node.fields:
            name = member.name.value
            yield from _iter_uses(
                member.value,
                place._replace(
                    argument=nullable.fields[name],
                    members=(*place.members, name),
                    path=f"{place.path}.{name}",
                ),
            )


def _build_condition(variable: str, field: graphql.GraphQLField | None, verb: str) -> _VariableUse:
    """Return the use of a variable that says whether to include a field, or to leave it out."""
    description = f"Whether to {verb} `{variable}`. {meaning_of(field) if field else ''}".strip()
    argument = graphql.GraphQLArgument(
        graphql.GraphQLBoolean, default_value=False, description=description
    )
    return _VariableUse(variable, argument, "")


def _resolver_of(field: graphql.GraphQLField) -> Callable[..., Any] | None:
    definition = strawberry_field_of(field)
    resolver = definition.base_resolver if definition else None
    wrapped: Any = resolver.wrapped_func if resolver else None
    return wrapped if callable(wrapped) else None


def joint_rules_of_type(input_type: graphql.GraphQLInputObjectType) -> tuple[JointRule, ...]:
    definition = input_type.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    return joint_rules_of(definition.origin) if definition else ()


LIMIT_ARGUMENT: Final = "limit"
VARIABLES_PREFIX: Final = "variables."
"""Errors of variables that do not fit their types begin with it."""


def get_output_limits(parent: graphql.GraphQLObjectType, field: graphql.GraphQLField) -> JsonSchema:
    """Return the limits of a field: of its record, its own rules, its page or its `limit`."""
    definition = strawberry_field_of(field)
    if definition is None:
        return {}
    limits: JsonSchema = {}
    if is_page(parent) and definition.python_name == PAGE_DATA_FIELD:
        limits["maxItems"] = MAX_PER_PAGE
    if (argument := field.args.get(LIMIT_ARGUMENT)) is not None:
        for rule in definition_of(argument).rules:
            limits |= {"maxItems": rule.maximum} if isinstance(rule, Range) else {}
    limits |= get_record_limits().get(parent.name, {}).get(definition.python_name, {})
    for rule in InputDefinition.from_metadata(definition.metadata).rules:
        limits |= rule.json_schema()
    return limits
