"""Inputs, each defined once: description, rules and example stand on the argument or input field.

The GraphQL schema, the validation in REST and GraphQL, and the OpenAPI description all use this
definition.

    def list_units(info: Info, floor: Annotated[strawberry.ID | None, argument(
        "Only units on the floor with this id.", ID, example="alder-court-floor-1"
    )] = None): ...

A check finds all errors of a value, so that a client can correct them at once. What breaks a rule
of its own is not looked into: a list that is too long costs nothing.
"""

import math
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import MISSING, dataclass
from enum import StrEnum
from functools import wraps
from inspect import isasyncgenfunction, signature
from types import NoneType
from typing import (
    Annotated,
    Any,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import strawberry
from strawberry.types.arguments import StrawberryArgumentAnnotation
from strawberry.types.base import has_object_definition
from strawberry.utils.str_converters import to_camel_case

from resolvers.request.caller import Caller, Requirement
from resolvers.request.errors import MAX_QUOTED_CHARACTERS, InvalidInputError
from resolvers.request.times import parse_time
from storage.errors import InvalidPageRequestError
from storage.records.kinds import MAX_ID_CHARACTERS as MAX_ID_CHARACTERS
from storage.records.kinds import MAX_INT32 as MAX_INT32
from storage.records.kinds import TEXT_JSON_PATTERN as TEXT_JSON_PATTERN
from storage.records.kinds import is_storable
from storage.records.paging import BY_KEY, Order, PageCursor, PageRequest
from storage.records.paging import DEFAULT_PER_PAGE as DEFAULT_PER_PAGE
from storage.records.paging import MAX_PER_PAGE as MAX_PER_PAGE
from storage.records.paging import MAX_TOTAL_COUNT as MAX_TOTAL_COUNT

JsonSchema: TypeAlias = dict[str, Any]
R = TypeVar("R", bound=Callable[..., Any])

DEFINITION = "input"
"""Key of an InputDefinition in strawberry's metadata."""
_RULES_ATTRIBUTE = "__input_rules__"


class Rule(Protocol):
    """A rule for a value; null values are never checked."""

    def check(self, value: Any) -> str | None:
        """Return the broken rule, to be read after the name and a colon, or None."""

    def json_schema(self) -> JsonSchema:
        """Return the equivalent keywords of JSON Schema, as far as there are any."""


@dataclass(frozen=True, slots=True)
class Range:
    """A number between two bounds, both included. NaN and infinity fail.

    >>> Range(1, 100).check(0)
    'must be from 1 to 100, not 0'
    """

    minimum: float
    maximum: float

    def check(self, value: float) -> str | None:
        if self.minimum <= value <= self.maximum:
            return None
        return f"must be from {self.minimum:.0f} to {self.maximum:.0f}, not {value}"

    def json_schema(self) -> JsonSchema:
        return {"minimum": self.minimum, "maximum": self.maximum}


@dataclass(frozen=True, slots=True)
class Length:
    """A text's number of characters."""

    minimum: int
    maximum: int

    def check(self, value: str) -> str | None:
        if self.minimum <= len(value) <= self.maximum:
            return None
        bounds = f"{self.minimum} to {self.maximum}" if self.minimum else f"at most {self.maximum}"
        if self.minimum == self.maximum:
            bounds = str(self.maximum)
        return f"must have {bounds} characters, not {len(value)}"

    def json_schema(self) -> JsonSchema:
        minimum = {"minLength": self.minimum} if self.minimum else {}
        return {**minimum, "maxLength": self.maximum}


@dataclass(frozen=True, slots=True)
class Items:
    """A list's number of items. `noun` is the plural of an item."""

    minimum: int
    maximum: int
    noun: str = "items"

    def check(self, value: list[Any]) -> str | None:
        if self.minimum <= len(value) <= self.maximum:
            return None
        return f"must hold {self.minimum} to {self.maximum} {self.noun}, not {len(value)}"

    def json_schema(self) -> JsonSchema:
        return {"minItems": self.minimum, "maxItems": self.maximum}


@dataclass(frozen=True, slots=True)
class Each:
    """A rule that every item of a list must meet."""

    rule: Rule

    def check(self, value: list[Any]) -> str | None:
        return next((error for item in value if (error := self.rule.check(item))), None)

    def json_schema(self) -> JsonSchema:
        return {"items": self.rule.json_schema()}


class OneOf:
    """One of a few texts.

    >>> OneOf("foot", "wheelchair").check("bus")
    "must be foot or wheelchair, not 'bus'"
    """

    def __init__(self, *values: str) -> None:
        self.values = values

    def check(self, value: str) -> str | None:
        if value in self.values:
            return None
        *others, last = self.values
        choice = f"{', '.join(others)} or {last}" if others else last
        return f"must be {choice}, not {value[:MAX_QUOTED_CHARACTERS]!r}"

    def json_schema(self) -> JsonSchema:
        return {"enum": [*self.values]}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A text that a regular expression matches as a whole; `hint` says it in words."""

    pattern: str
    hint: str

    def check(self, value: str) -> str | None:
        if re.fullmatch(self.pattern, value):
            return None
        return f"must be {self.hint}, not {value[:MAX_QUOTED_CHARACTERS]!r}"

    def json_schema(self) -> JsonSchema:
        return {"pattern": f"^{self.pattern}$"}


@dataclass(frozen=True, slots=True)
class Syntax:
    """A text that `parse` accepts. It raises ValueError with a message that follows the name."""

    parse: Callable[[str], object]
    pattern: str | None = None
    """A regular expression for the same texts, which clients read."""

    def check(self, value: str) -> str | None:
        try:
            self.parse(value)
        except ValueError as error:
            return str(error)
        return None

    def json_schema(self) -> JsonSchema:
        return {} if self.pattern is None else {"pattern": self.pattern}


@dataclass(frozen=True, slots=True, eq=False)
class CheckedBy:
    """A rule that a function checks; `keywords` are the equivalent ones of JSON Schema."""

    check: Callable[[Any], str | None]
    keywords: JsonSchema

    def json_schema(self) -> JsonSchema:
        return {**self.keywords}


_NOT_STORABLE = "must not contain NUL or a lone surrogate"


def _check_id(text: str) -> str | None:
    if not 1 <= len(text) <= MAX_ID_CHARACTERS:
        return f"must have 1 to {MAX_ID_CHARACTERS} characters, not {len(text)}"
    return None if is_storable(text) else _NOT_STORABLE  # storage joins ids by NUL


POSITIVE = CheckedBy(
    lambda value: None if 0 < value < math.inf else f"must be a number above 0, not {value:g}",
    {"exclusiveMinimum": 0},
)
STORABLE = CheckedBy(
    lambda text: None if is_storable(text) else _NOT_STORABLE, {"pattern": TEXT_JSON_PATTERN}
)
"""A text that MongoDB stores."""
ID = CheckedBy(
    _check_id, {"minLength": 1, "maxLength": MAX_ID_CHARACTERS, "pattern": TEXT_JSON_PATTERN}
)
NO_NUL = CheckedBy(
    lambda text: "must not contain NUL" if "\0" in text else None, {"pattern": r"^[^\x00]*$"}
)
"""A text, empty or not, without NUL, which is in no text of a response."""
_LENGTH_OF_TIME, _SYNTAX_OF_TIME = Length(0, 64), Syntax(parse_time)
IS_TIME = CheckedBy(
    lambda text: _LENGTH_OF_TIME.check(text) or _SYNTAX_OF_TIME.check(text),
    {"format": "date-time", **_LENGTH_OF_TIME.json_schema()},
)
"""A time in ISO 8601, in UTC if it has no offset: in this, `date-time` is narrower."""


@dataclass(frozen=True, slots=True)
class InputDefinition:
    """The rules and the example of an argument or input field."""

    rules: tuple[Rule, ...] = ()
    example: Any = None
    requirement: Requirement | None = None
    """Callers that give the argument must meet this."""

    @classmethod
    def from_metadata(cls, metadata: Mapping[Any, Any]) -> "InputDefinition":
        """Read what `argument` or `ruled_field` has written."""
        definition: InputDefinition = metadata.get(DEFINITION, cls())
        return definition


def argument(
    description: str,
    *rules: Rule,
    example: Any = None,
    name: str | None = None,
    requirement: Requirement | None = None,
) -> StrawberryArgumentAnnotation:
    """Annotate a resolver's parameter. `example` is written with Python's names (snake_case).

    A `requirement` is checked if the argument is given and not null.

    >>> limit = argument("How many to return.", Range(1, 100), example=3)
    >>> InputDefinition.from_metadata(limit.metadata)
    InputDefinition(rules=(Range(minimum=1, maximum=100),), example=3, requirement=None)
    """
    metadata = {DEFINITION: InputDefinition(rules, example, requirement)}
    if requirement is not None:
        description = f"{description} {requirement.describe()}"
    return strawberry.argument(description=description, name=name, metadata=metadata)


def ruled_field(description: str | None, *rules: Rule, default: Any = MISSING) -> Any:
    """Define a field of a strawberry type or input, the values of which keep these rules.

    >>> mode = ruled_field("How to travel.", OneOf("foot", "wheelchair"), default="foot")
    >>> mode.default, mode.description
    ('foot', 'How to travel.')
    """
    metadata = {DEFINITION: InputDefinition(rules)}
    return strawberry.field(description=description, default=default, metadata=metadata)


class InputViolation(NamedTuple):
    """The path of an error in an input, such as `[2].floorId`, and its message."""

    path: str
    message: str


class JointRule(Protocol):
    """A rule for several values together: a resolver's arguments, or an input's fields."""

    def check(self, values: Mapping[str, Any]) -> InputViolation | None:
        """Return the first error among values by Python's names."""

    def json_schema(self) -> JsonSchema:
        """Return the equivalent keywords of JSON Schema for an object, if there are any."""
        return {}


def joint_rules(*rules: JointRule) -> Callable[[R], R]:
    """Add joint rules to a resolver or an input class; they are checked before single values."""

    def add(target: R) -> R:
        setattr(target, _RULES_ATTRIBUTE, rules)
        return target

    return add


def joint_rules_of(target: object) -> tuple[JointRule, ...]:
    """Return the rules that `joint_rules` has added."""
    rules: tuple[JointRule, ...] = getattr(target, _RULES_ATTRIBUTE, ())
    return rules


MAX_CURSOR_CHARACTERS = 16_384
"""A cursor holds the name that a list is sorted by, of up to 2,048 characters, and the key."""


def _parse_cursor(text: str) -> None:
    if not text:
        return
    try:
        PageCursor.decode(text)
    except InvalidPageRequestError as error:
        raise ValueError(str(error)) from error


def find_cursor_page_size(text: str) -> int | None:
    """Return the page size that a cursor continues with; None for what is no cursor."""
    try:
        return PageCursor.decode(text[:MAX_CURSOR_CHARACTERS]).per_page
    except InvalidPageRequestError:
        return None


PAGING_PARAMETERS = {
    "page": Annotated[
        int | None,
        argument(
            "The page to return. Without it, the first page, or the one that `after` continues"
            " with.",
            Range(1, MAX_INT32),
            example=1,
        ),
    ],
    "per_page": Annotated[
        int | None,
        argument(
            f"How many resources a page holds. More than {MAX_PER_PAGE} is served as "
            f"{MAX_PER_PAGE}. Without it {DEFAULT_PER_PAGE}, or as many as the page had that "
            "`after` is of.",
            Range(1, MAX_INT32),
            example=20,
        ),
    ],
    "after": Annotated[
        str | None,
        argument(
            "Continue after this cursor: `paging.next`, `pageInfo.endCursor` or the `cursor` of an "
            "edge in GraphQL, part of `next_url` in REST. It is enough by itself; with it, "
            "following pages cost the same however far they are.",
            Length(0, MAX_CURSOR_CHARACTERS),
            Syntax(_parse_cursor, "^[A-Za-z0-9_-]*$"),
            example="",  # no cursor fits other filters than it was made with
        ),
    ],
    "first": Annotated[
        int | None,
        argument(
            "How many resources to return, as Relay pages: in place of `page` and `perPage`, and "
            f"free to differ from page to page. More than {MAX_PER_PAGE} is served as "
            f"{MAX_PER_PAGE}.",
            Range(1, MAX_INT32),
            example=20,
        ),
    ],
}
"""The arguments of pages: their annotations by Python's names."""


class PageArguments(NamedTuple):
    """The arguments of a list: which part of it, and which list it is."""

    page: int | None = None
    per_page: int | None = None
    after: str | None = None
    first: int | None = None
    filters: tuple[tuple[str, str], ...] = ()
    """The other arguments that were given, by name, as text."""
    order: Order = BY_KEY
    max_per_page: int = MAX_PER_PAGE
    document_fields: frozenset[str] | None = None
    """The fields to read of documents, if they are to be in the place of records."""

    def parse(self) -> PageRequest:
        """Return the slice of a list. Raises InvalidInputError."""
        try:
            return PageRequest.from_arguments(
                self.page,
                self.per_page,
                self.after,
                self.first,
                self.order,
                self.max_per_page,
                document_fields=self.document_fields,
            )
        except InvalidPageRequestError as error:
            raise _to_invalid_input(error) from error

    def parse_for_list(self, list_id: Hashable) -> PageRequest:
        """Return the slice of this list. Raises InvalidInputError, also for another's cursor."""
        request = self.parse()
        if error := find_list_error(request, list_id):
            raise error
        return request


def find_list_error(request: PageRequest, list_id: Hashable) -> InvalidInputError | None:
    """Return the error of a page request that continues another list, or None."""
    try:
        request.check_list(list_id)
    except InvalidPageRequestError as error:
        return _to_invalid_input(error)
    return None


def _to_invalid_input(error: InvalidPageRequestError) -> InvalidInputError:
    return InvalidInputError(**{error.argument: str(error)})


AssetFilter: TypeAlias = Annotated[
    strawberry.ID | None,
    argument("Only what belongs to the asset with this id.", ID, example="alder-court"),
]


# Resolvers of many parents at once, the inputs of which are checked as those of others are.


BatchResolver: TypeAlias = Callable[..., Awaitable[list[Any]]]
"""Takes parents, info and the field's arguments; returns a value for each parent, in order."""
Resolver: TypeAlias = Callable[..., Awaitable[Any]]

_BATCH_RESOLVER_ATTRIBUTE = "__batch_resolver__"


def batch_resolver(resolve_many: BatchResolver) -> Resolver:
    """Return the resolver of one parent, made from `resolve_many`, which takes `parents` first.

    Compiled execution finds `resolve_many` with `batch_resolver_of` and calls it once a level.
    """

    async def resolve(
        parent: strawberry.Parent[Any], info: strawberry.Info, **arguments: Any
    ) -> Any:
        [value] = await resolve_many([parent], info=info, **arguments)
        return value

    # strawberry reads a field's arguments from the signature. `**arguments` says nothing, so the
    # signature is that of `resolve_many` with one parent (PEP 362: `__signature__` goes first).
    of_many = signature(resolve_many)
    _, *others = of_many.parameters.values()
    parent = next(iter(signature(resolve).parameters.values()))
    resolve.__dict__["__signature__"] = of_many.replace(parameters=[parent, *others])
    resolve.__dict__[_BATCH_RESOLVER_ATTRIBUTE] = resolve_many
    # strawberry resolves annotations in the namespace of this module.
    resolve.__module__, resolve.__name__ = resolve_many.__module__, resolve_many.__name__
    resolve.__doc__ = resolve_many.__doc__
    return resolve


def batch_resolver_of(resolver: object) -> BatchResolver | None:
    """Return the batch resolver that a resolver was made from, or None."""
    resolve_many: BatchResolver | None = vars(resolver).get(_BATCH_RESOLVER_ATTRIBUTE)
    return resolve_many


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


def _build_nested_check(annotation: Any) -> _Finder | None:
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return OneOf(*annotation).check
    if get_origin(annotation) is list:
        (item,) = get_args(annotation)
        item_check = _build_nested_check(_strip_annotation(item))
        return None if item_check is None else _build_list_check(item_check)
    if has_object_definition(annotation) and annotation.__strawberry_definition__.is_input:
        return _build_object_check(annotation)
    return None


def _build_list_check(item_check: _Finder) -> Check:
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
    python_names, graphql_names = [], []
    finders: dict[str, tuple[str, list[_Finder]]] = {}
    for field in input_class.__strawberry_definition__.fields:
        name, rules = field.python_name, InputDefinition.from_metadata(field.metadata).rules
        python_names.append(name)
        graphql_names.append(field.graphql_name or to_camel_case(name))
        finders[name] = f".{graphql_names[-1]}", [*_iter_checks(annotations[name], rules)]

    def check(value: Any) -> list[InputViolation]:
        # A request may hold thousands of objects, so this makes no call that it can do without.
        if isinstance(value, dict):
            members = dict(zip(python_names, map(value.get, graphql_names), strict=True))
        else:
            members = vars(value)
        errors: list[InputViolation] = []
        if joint_rules and type(value) is not PartialInput:
            errors += [error for rule in joint_rules if (error := rule.check(members))]
        for name, member in members.items():
            if member is not None:
                path, finds = finders[name]
                for find in finds:
                    if found := find(member):
                        errors += _locate(path, found)
                        break
        return errors

    return check
