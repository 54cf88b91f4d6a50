"""Inputs, each defined once: description, rules and example stand on the argument or input field.

The GraphQL schema, the validation in REST and GraphQL, and the OpenAPI description all use this
definition.

    def list_units(info: Info, floor: Annotated[strawberry.ID | None, argument(
        "Only units on the floor with this id.", ID, example="alder-court-floor-1"
    )] = None): ...
"""

import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Protocol, TypeAlias, TypeVar

import strawberry
from strawberry.types.arguments import StrawberryArgumentAnnotation

from resolvers.request.caller import Requirement
from resolvers.request.errors import MAX_QUOTED_CHARACTERS, InvalidInputError
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
        """Return the error, or None."""
        if self.minimum <= value <= self.maximum:
            return None
        return f"must be from {self.minimum:.0f} to {self.maximum:.0f}, not {value}"

    def json_schema(self) -> JsonSchema:
        """Return `minimum` and `maximum`."""
        return {"minimum": self.minimum, "maximum": self.maximum}


@dataclass(frozen=True, slots=True)
class Length:
    """A text's number of characters."""

    minimum: int
    maximum: int

    def check(self, value: str) -> str | None:
        """Return the error, or None."""
        if self.minimum <= len(value) <= self.maximum:
            return None
        bounds = f"{self.minimum} to {self.maximum}" if self.minimum else f"at most {self.maximum}"
        if self.minimum == self.maximum:
            bounds = str(self.maximum)
        return f"must have {bounds} characters, not {len(value)}"

    def json_schema(self) -> JsonSchema:
        """Return `minLength` and `maxLength`."""
        minimum = {"minLength": self.minimum} if self.minimum else {}
        return {**minimum, "maxLength": self.maximum}


@dataclass(frozen=True, slots=True)
class Items:
    """A list's number of items. `noun` is the plural of an item."""

    minimum: int
    maximum: int
    noun: str = "items"

    def check(self, value: list[Any]) -> str | None:
        """Return the error, or None."""
        if self.minimum <= len(value) <= self.maximum:
            return None
        return f"must hold {self.minimum} to {self.maximum} {self.noun}, not {len(value)}"

    def json_schema(self) -> JsonSchema:
        """Return `minItems` and `maxItems`."""
        return {"minItems": self.minimum, "maxItems": self.maximum}


@dataclass(frozen=True, slots=True)
class Each:
    """A rule that every item of a list must meet."""

    rule: Rule

    def check(self, value: list[Any]) -> str | None:
        """Return the first error, or None."""
        return next((error for item in value if (error := self.rule.check(item))), None)

    def json_schema(self) -> JsonSchema:
        """Return `items`."""
        return {"items": self.rule.json_schema()}


class OneOf:
    """One of a few texts.

    >>> OneOf("foot", "wheelchair").check("bus")
    "must be foot or wheelchair, not 'bus'"
    """

    def __init__(self, *values: str) -> None:
        self.values = values

    def check(self, value: str) -> str | None:
        """Return the error, or None."""
        if value in self.values:
            return None
        *others, last = self.values
        choice = f"{', '.join(others)} or {last}" if others else last
        return f"must be {choice}, not {value[:MAX_QUOTED_CHARACTERS]!r}"

    def json_schema(self) -> JsonSchema:
        """Return `enum`."""
        return {"enum": [*self.values]}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A text that a regular expression matches as a whole; `hint` says it in words."""

    pattern: str
    hint: str

    def check(self, value: str) -> str | None:
        """Return the error, or None."""
        if re.fullmatch(self.pattern, value):
            return None
        return f"must be {self.hint}, not {value[:MAX_QUOTED_CHARACTERS]!r}"

    def json_schema(self) -> JsonSchema:
        """Return `pattern`."""
        return {"pattern": f"^{self.pattern}$"}


@dataclass(frozen=True, slots=True)
class Syntax:
    """A text that `parse` accepts. It raises ValueError with a message that follows the name."""

    parse: Callable[[str], object]
    pattern: str | None = None
    """A regular expression for the same texts, which clients read."""

    def check(self, value: str) -> str | None:
        """Return the error, or None."""
        try:
            self.parse(value)
        except ValueError as error:
            return str(error)
        return None

    def json_schema(self) -> JsonSchema:
        """Return `pattern`, if there is one."""
        return {} if self.pattern is None else {"pattern": self.pattern}


@dataclass(frozen=True, slots=True, eq=False)
class CheckedBy:
    """A rule that a function checks; `keywords` are the equivalent ones of JSON Schema."""

    check: Callable[[Any], str | None]
    keywords: JsonSchema

    def json_schema(self) -> JsonSchema:
        """Return the keywords."""
        return {**self.keywords}


def _check_storable(text: str) -> str | None:
    return None if is_storable(text) else "must not contain NUL or a lone surrogate"


def _check_id(text: str) -> str | None:
    if not 1 <= len(text) <= MAX_ID_CHARACTERS:
        return f"must have 1 to {MAX_ID_CHARACTERS} characters, not {len(text)}"
    return _check_storable(text)  # storage joins ids by NUL


POSITIVE = CheckedBy(
    lambda value: None if 0 < value < math.inf else f"must be a number above 0, not {value:g}",
    {"exclusiveMinimum": 0},
)
STORABLE = CheckedBy(_check_storable, {"pattern": TEXT_JSON_PATTERN})
"""A text that MongoDB stores."""
ID = CheckedBy(
    _check_id, {"minLength": 1, "maxLength": MAX_ID_CHARACTERS, "pattern": TEXT_JSON_PATTERN}
)
NO_NUL = CheckedBy(
    lambda text: "must not contain NUL" if "\0" in text else None, {"pattern": r"^[^\x00]*$"}
)
"""A text, empty or not, without NUL, which is in no text of a response."""


@dataclass(frozen=True, slots=True)
class InputDefinition:
    """The rules and the example of an argument or input field."""

    rules: tuple[Rule, ...] = ()
    example: Any = None
    requirement: Requirement | None = None
    """Callers that give the argument must meet this."""

    @classmethod
    def from_metadata(cls, metadata: Mapping[Any, Any]) -> "InputDefinition":
        """Read what `argument` or `input_field` has written."""
        definition: InputDefinition = metadata.get(DEFINITION, _NO_DEFINITION)
        return definition


_NO_DEFINITION = InputDefinition()


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


def input_field(description: str, *rules: Rule, default: Any) -> Any:
    """Define an optional field of a strawberry input.

    >>> mode = input_field("How to travel.", OneOf("foot", "wheelchair"), default="foot")
    >>> mode.default, mode.description
    ('foot', 'How to travel.')
    """
    return strawberry.field(
        description=description, default=default, metadata={DEFINITION: InputDefinition(rules)}
    )


def required_input_field(description: str, *rules: Rule) -> Any:
    """Define a required field of a strawberry input."""
    return strawberry.field(description=description, metadata={DEFINITION: InputDefinition(rules)})


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


PageNumber: TypeAlias = Annotated[
    int | None,
    argument(
        "The page to return. Without it, the first page, or the one that `after` continues with.",
        Range(1, MAX_INT32),
        example=1,
    ),
]
PageSize: TypeAlias = Annotated[
    int | None,
    argument(
        f"How many resources a page holds. More than {MAX_PER_PAGE} is served as {MAX_PER_PAGE}. "
        f"Without it {DEFAULT_PER_PAGE}, or as many as the page had that `after` is of.",
        Range(1, MAX_INT32),
        example=20,
    ),
]
AfterCursor: TypeAlias = Annotated[
    str | None,
    argument(
        "Continue after this cursor: `paging.next`, `pageInfo.endCursor` or the `cursor` of an "
        "edge in GraphQL, part of `next_url` in REST. It is enough by itself; with it, following "
        "pages cost the same however far they are.",
        Length(0, MAX_CURSOR_CHARACTERS),
        Syntax(_parse_cursor, "^[A-Za-z0-9_-]*$"),
    ),
]
FirstCount: TypeAlias = Annotated[
    int | None,
    argument(
        "How many resources to return, as Relay pages: in place of `page` and `perPage`, and "
        f"free to differ from page to page. More than {MAX_PER_PAGE} is served as {MAX_PER_PAGE}.",
        Range(1, MAX_INT32),
        example=20,
    ),
]


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
        with _input_errors():
            return PageRequest.from_arguments(
                self.page,
                self.per_page,
                self.after,
                self.first,
                self.order,
                self.max_per_page,
                document_fields=self.document_fields,
            )

    def parse_for_list(self, list_id: Hashable) -> PageRequest:
        """Return the slice of this list. Raises InvalidInputError, also for another's cursor."""
        request = self.parse()
        check_list(request, list_id)
        return request

    def sort_by(self, order: Order) -> "PageArguments":
        """Return the arguments of the list in another order."""
        return self._replace(order=order)

    def limit_to(self, max_per_page: int) -> "PageArguments":
        """Return the arguments with another maximum size of pages."""
        return self._replace(max_per_page=max_per_page)


def check_list(request: PageRequest, list_id: Hashable) -> None:
    """Raise InvalidInputError if a page request continues another list."""
    with _input_errors():
        request.check_list(list_id)


@contextmanager
def _input_errors() -> Iterator[None]:
    try:
        yield
    except InvalidPageRequestError as error:
        raise InvalidInputError(**{error.argument: str(error)}) from error


AssetFilter: TypeAlias = Annotated[
    strawberry.ID | None,
    argument("Only what belongs to the asset with this id.", ID, example="alder-court"),
]
