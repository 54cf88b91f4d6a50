"""Checks of inputs, built from their definitions in `resolvers.request.inputs`.

A check finds all errors of a value, so that a client can correct them at once. What breaks a rule
of its own is not looked into: a list that is too long costs nothing.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from functools import wraps
from inspect import isasyncgenfunction, signature
from types import NoneType
from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

from strawberry.types.arguments import StrawberryArgumentAnnotation
from strawberry.types.base import has_object_definition
from strawberry.utils.str_converters import to_camel_case

from resolvers.request.caller import Caller, Requirement
from resolvers.request.errors import InvalidInputError
from resolvers.request.inputs import InputDefinition, InputViolation, Rule, joint_rules_of
from resolvers.request.listing import batch_resolver, batch_resolver_of

MAX_REPORTED_ERRORS = 100
"""Errors that one response lists of a field's inputs, or of a body."""

Check: TypeAlias = Callable[[Any], list[InputViolation]]
"""Returns the errors of a value that is not null. Input objects may be Python's or dicts."""
_Finder: TypeAlias = Callable[[Any], list[InputViolation] | str | None]
"""A check, or the method of a rule: a text is an error of the value itself."""


class PartialInput(dict[str, Any]):
    """Inputs without those of a wrong type: rules for several of them together do not apply."""


class FieldChecks:
    """The rules of a resolver's arguments, and of all that is nested in them."""

    def __init__(self, resolver: Callable[..., Any]) -> None:
        self.joint_rules = joint_rules_of(resolver)
        self.arguments: dict[str, tuple[str, list[_Finder]]] = {}
        """Maps a parameter to its GraphQL name and its checks."""
        self.requirements: dict[str, Requirement] = {}
        """Maps a parameter to what callers need that give it."""
        for parameter in signature(resolver).parameters.values():
            name, definition = read_annotation(parameter.annotation)
            if definition.requirement is not None:
                self.requirements[parameter.name] = definition.requirement
            if finders := [*_iter_checks(parameter.annotation, definition.rules)]:
                graphql_name = name or to_camel_case(parameter.name)
                self.arguments[parameter.name] = graphql_name, finders

    def check_requirements(self, caller: Caller, values: Mapping[str, Any]) -> None:
        """Raise FlagRequiredError or PermissionRequiredError for an argument that is given."""
        for parameter, requirement in self.requirements.items():
            if values.get(parameter) is not None:
                requirement.check(caller)

    def find_errors(self, values: Mapping[str, Any]) -> list[InputViolation]:
        """Return the errors of arguments by Python's names; their paths start with a name."""
        errors: list[InputViolation] = []
        if not isinstance(values, PartialInput):
            errors += [error for rule in self.joint_rules if (error := rule.check(values))]
        for parameter, (name, finders) in self.arguments.items():
            value = values.get(parameter)
            if value is not None:
                for find in finders:
                    if found := find(value):
                        errors += _locate(name, found)
                        break
        return _first_of_each_path(errors) if errors else errors

    def find_error(self, parameter: str, value: Any) -> str | None:
        """Return the first error of an argument that is not null."""
        _, finders = self.arguments.get(parameter, ("", ()))
        found = next((found for find in finders if (found := find(value))), None)
        return found[0].message if isinstance(found, list) else found

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise InvalidInputError with the errors of arguments by Python's names."""
        if errors := self.find_errors(values):
            raise InvalidInputError(**{error.path: error.message for error in errors})


def check_inputs(resolver: Callable[..., Any]) -> Callable[..., Any]:
    """Return the resolver with its arguments checked first. Raises InvalidInputError when called.

    Interpreted and compiled execution both call what this returns. Arguments are not checked again
    if the context says that the inputs of its operation have been.
    """
    checks = FieldChecks(resolver)
    if not checks.arguments and not checks.joint_rules and not checks.requirements:
        return resolver
    if isasyncgenfunction(resolver):
        return _check_before_events(resolver, checks)
    if resolve_many := batch_resolver_of(resolver):
        return batch_resolver(_check_before(resolve_many, checks))
    return _check_before(resolver, checks)


def _check_before(
    resolver: Callable[..., Awaitable[Any]], checks: FieldChecks
) -> Callable[..., Awaitable[Any]]:
    check = checks.check

    @wraps(resolver)
    async def resolve(*positional: Any, **arguments: Any) -> Any:
        info = arguments.get("info")
        if checks.requirements and info is not None:
            checks.check_requirements(info.context.caller, arguments)
        are_checked = info is not None and info.context.has_checked_inputs
        if not are_checked:
            check(arguments)
        return await resolver(*positional, **arguments)

    return resolve


def _check_before_events(
    resolver: Callable[..., AsyncGenerator[Any]], checks: FieldChecks
) -> Callable[..., AsyncGenerator[Any]]:
    """Return the resolver of a subscription, which checks its arguments before the first event."""

    @wraps(resolver)
    async def resolve(*positional: Any, **arguments: Any) -> AsyncGenerator[Any]:
        checks.check(arguments)
        async with aclosing(resolver(*positional, **arguments)) as events:
            async for event in events:
                yield event

    return resolve


def read_annotation(annotation: Any) -> tuple[str | None, InputDefinition]:
    """Return the GraphQL name, if it is not Python's, and the definition of a parameter."""
    for item in getattr(annotation, "__metadata__", ()):
        if isinstance(item, StrawberryArgumentAnnotation):
            return item.name, InputDefinition.from_metadata(item.metadata)
    return None, InputDefinition()


def _iter_checks(annotation: Any, rules: tuple[Rule, ...]) -> Iterator[_Finder]:
    """Yield the checks of one value: the methods of its rules, called without a layer between."""
    for rule in rules:
        yield rule.check
    if nested := _build_nested_check(_strip_annotation(annotation)):
        yield nested


def _locate(prefix: str, found: list[InputViolation] | str) -> list[InputViolation]:
    """Return the errors of a value as those of what holds it, which reaches it by `prefix`."""
    if isinstance(found, str):
        return [InputViolation(prefix, found)]
    return [InputViolation(prefix + path, message) for path, message in found]


def _first_of_each_path(errors: list[InputViolation]) -> list[InputViolation]:
    first: dict[str, InputViolation] = {}
    for error in errors:
        first.setdefault(error.path, error)
    return [*first.values()][:MAX_REPORTED_ERRORS]


def _strip_annotation(annotation: Any) -> Any:
    """Return `T` for `Annotated[T | None, ...]`."""
    if get_origin(annotation) is Annotated:
        return _strip_annotation(get_args(annotation)[0])
    others = [member for member in get_args(annotation) if member is not NoneType]
    is_optional = len(others) < len(get_args(annotation))
    return others[0] if is_optional else annotation


def _build_nested_check(annotation: Any) -> Check | None:
    if get_origin(annotation) is list:
        (item,) = get_args(annotation)
        item_check = _build_nested_check(_strip_annotation(item))
        return None if item_check is None else _build_list_check(item_check)
    if has_object_definition(annotation) and annotation.__strawberry_definition__.is_input:
        return _build_object_check(annotation)
    return None


def _build_list_check(item_check: Check) -> Check:
    def check(values: Any) -> list[InputViolation]:
        errors: list[InputViolation] = []
        for index, value in enumerate(values):
            # One of a wrong type is null here.
            if value is not None and (found := item_check(value)):
                errors += _locate(f"[{index}]", found)
                if len(errors) >= MAX_REPORTED_ERRORS:
                    break
        return errors

    return check


def _build_object_check(input_class: Any) -> Check:
    joint_rules = joint_rules_of(input_class)
    annotations = get_type_hints(input_class, include_extras=True)
    python_names, graphql_names, finders = [], [], []
    for field in fields_of(input_class):
        name, rules = field.python_name, InputDefinition.from_metadata(field.metadata).rules
        python_names.append(name)
        graphql_names.append(graphql_name_of(field))
        finders.append((f".{graphql_names[-1]}", [*_iter_checks(annotations[name], rules)]))

    def check(value: Any) -> list[InputViolation]:
        # A request may hold thousands of objects, so this makes no call that it can do without.
        is_dict = isinstance(value, dict)
        get = (value if is_dict else vars(value)).get
        members = [*map(get, graphql_names if is_dict else python_names)]
        errors: list[InputViolation] = []
        if joint_rules and type(value) is not PartialInput:
            by_name = dict(zip(python_names, members, strict=True))
            errors += [error for rule in joint_rules if (error := rule.check(by_name))]
        for member, (path, finds) in zip(members, finders, strict=True):
            if member is not None:
                for find in finds:
                    if found := find(member):
                        errors += _locate(path, found)
                        break
        return errors

    return check


def fields_of(input_class: Any) -> list[Any]:
    """Return strawberry's fields of an input class."""
    fields: list[Any] = input_class.__strawberry_definition__.fields
    return fields


def graphql_name_of(field: Any) -> str:
    """Return the name of a strawberry field or argument in the schema."""
    return field.graphql_name or to_camel_case(field.python_name)
