"""The inputs of an endpoint: which variables come from the path, the query and the body.

Only the place of an input is decided here; the rest comes from the argument that it feeds.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from graphql import (
    GraphQLArgument,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    GraphQLString,
    get_named_type,
    get_nullable_type,
)
from starlette.types import Scope

from rest.endpoint_files import Endpoint
from rest.errors import invalid_input_error
from rest.names import to_kebab_case
from rest.responses import DocumentForm
from rest.scope_members import SCOPE_IGNORED_PARAMETERS
from schema.execution import Operation
from schema.operation_inputs import (
    MAX_ID_CHARACTERS,
    MAX_INT32,
    MAX_QUOTED_CHARACTERS,
    Input,
    InputDefinition,
    JsonSchema,
    OperationInputs,
)

MAX_PARAMETERS = 100
MAX_DIGITS = 100
MIN_LIKENESS = 0.76
"""The least likeness, from 0 to 1, of a name that is suggested: `floor` for `floor-id` (0.77), not
for `foo` (0.75)."""
MAX_IGNORED_REPORTED = 10
"""Unknown parameters that a response names."""
API_KEY_PARAMETER = "api-key"
UNIT_PREFIX = "unit:"
"""Before the id of a unit where a location's id may stand too."""
PAGE_SIZE: Final = "perPage"
TOTAL_COUNT: Final = "totalCount"
PAGING_VARIABLE_NAMES = frozenset({"page", PAGE_SIZE, "after", TOTAL_COUNT})
FIELDS: Final = "fields"
"""Names the members of resources that a response has.

It is not in the OpenAPI description, where it would make every member of every resource optional:
docs/decisions/rest/requests-and-responses.md."""
SPELLINGS: Final = {
    PAGE_SIZE: ("perPage", "per_page"),  # as in other APIs of this kind
    "updatedSince": ("updated_since",),  # as in built-in endpoints
}
"""Further names of query parameters, by variable."""

_NUMBER = r"(-?[0-9]{1,12}(?:\.[0-9]{1,12})?)"
_PLAIN_NAME = re.compile(r"[0-9A-Za-z_.\[\]-]{1,40}")
"""Names that a header can repeat as they are."""
_JSON_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
"""Matches floats as programs write them; leading zeros do no harm."""
_POSITION = re.compile(f"{_NUMBER},{_NUMBER},(.+)\\Z", re.DOTALL)


_OFFSET = re.compile(r"[0-9]{2}:?[0-9]{2}")
_ESCAPED_ID = rf"((?:[^/\\\x00]|\\[/\\]){{1,{MAX_ID_CHARACTERS}}})"
_ATTRIBUTE_PATTERN = f"{_ESCAPED_ID}/{_ESCAPED_ID}"
_ATTRIBUTE = re.compile(rf"{_ATTRIBUTE_PATTERN}\Z", re.DOTALL)


_LIST_PART = re.compile(r"\\([,\\])|(,) *|([^,\\]+|\\)")


def list_names(variable: str, name: str | None = None) -> tuple[str, ...]:
    """Return the names of the query parameter of a variable, that which is described first.

    >>> list_names("updatedSince"), list_names("map", "unitMapId")
    (('updated-since', 'updated_since'), ('unitMapId', 'map'))
    """
    kebab = to_kebab_case(variable)
    return (*dict.fromkeys((name or kebab, kebab, *SPELLINGS.get(variable, ()))),)


class QueryParameter:
    """A query parameter and the variable that it becomes."""

    def __init__(self, input: Input, name: str | None = None) -> None:
        self.input = input
        self.names = list_names(input.variable, name)
        self.name = self.names[0]
        """The name on the wire: `per-page` for `perPage`, unless the operation says otherwise."""
        self.is_filter = input.variable not in PAGING_VARIABLE_NAMES
        """True if the URLs of other pages repeat the parameter."""
        self.is_required = input.is_required
        self.is_sized_by_cursor = input.variable == PAGE_SIZE and input.default is not None
        """True if a cursor, which has a page size, takes the place of the operation's default."""
        self._parse = _find_parser(input.type)

    def parse(self, text: str) -> Any:
        """Return the variable's value. Raises ValueError with a message that follows the name."""
        value = self._parse(text)
        if error := self.input.find_error(value):
            raise ValueError(error)
        # After the argument's own rule: its message names the exact range.
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, int) and not -MAX_INT32 <= item <= MAX_INT32:
                raise ValueError(f"must be a 32-bit integer, not {item}")
        return value


@dataclass(frozen=True)
class EndpointInputs:
    path: dict[str, Input]
    """The variables by path parameter."""
    query: tuple[QueryParameter, ...]
    body: tuple[Input, ...]
    operation: OperationInputs
    fields: QueryParameter | None = None
    """The parameter with the members of resources to return; no variable of the operation."""

    @cached_property
    def all_query(self) -> tuple[QueryParameter, ...]:
        """All parameters of the query, those that are no variables, too."""
        return self.query if self.fields is None else (*self.query, self.fields)

    @classmethod
    def read(
        cls, schema: GraphQLSchema, endpoint: Endpoint, operation: Operation
    ) -> "EndpointInputs":
        """Divide the operation's variables among path, query and body."""
        inputs = OperationInputs(schema, operation)
        others = dict(inputs.by_variable)
        path = {name: others.pop(variable) for name, variable in endpoint.path_parameters.items()}
        body: list[Input] = []
        if endpoint.body is not None:
            names = [endpoint.body.variable] if endpoint.body.variable else [*others]
            body = [others.pop(name) for name in names]
        query = tuple(
            QueryParameter(source, endpoint.query_names.get(name))
            for name, source in others.items()
        )
        has_fields = endpoint.method == "GET" and not isinstance(endpoint.form, DocumentForm)
        members = endpoint.members if has_fields else ()
        fields = QueryParameter(_build_fields_input(members)) if members else None
        return cls(path, query, tuple(body), inputs, fields)


def _build_fields_input(names: Sequence[str]) -> Input:
    def find_error(chosen: Sequence[str]) -> str | None:
        unknown = next((name for name in chosen if name not in names), None)
        if unknown is None:
            return None
        return f"must be among {', '.join(names)}, not {unknown[:100]!r}"

    type = GraphQLList(GraphQLNonNull(GraphQLString))
    return Input(FIELDS, type, GraphQLArgument(type), InputDefinition(), find_error)


def _parse_integer(text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"must be a whole number, not {text[:MAX_QUOTED_CHARACTERS]!r}")
    # Longer numbers are out of every range; converting all their digits takes quadratic time.
    return int(text[:MAX_DIGITS])


def _parse_boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"must be true or false, not {text[:MAX_QUOTED_CHARACTERS]!r}")
    return text == "true"


def _parse_time(text: str) -> str:
    """Return a time as it was meant: a `+` that is not percent-encoded arrives as a blank.

    >>> _parse_time("2026-01-31T12:00:00 00:00")
    '2026-01-31T12:00:00+00:00'
    """
    time, _, offset = text.rpartition(" ")
    return f"{time}+{offset}" if ":" in time and _OFFSET.fullmatch(offset) else text


def _parse_number(text: str) -> float:
    if not _JSON_NUMBER.fullmatch(text):
        raise ValueError(f"must be a number, not {text[:MAX_QUOTED_CHARACTERS]!r}")
    return float(text)


def parse_waypoint(text: str) -> dict[str, Any]:
    """Return the waypoint that `x,y,floor_id`, `unit:` and a unit's id, or an id stands for.

    >>> parse_waypoint("437.5,350,floor-1")
    {'x': 437.5, 'y': 350.0, 'floorId': 'floor-1'}
    >>> parse_waypoint("l4xusy2pgwt"), parse_waypoint("unit:lark-101")
    ({'id': 'l4xusy2pgwt'}, {'unitId': 'lark-101'})
    """
    if position := _POSITION.match(text):
        return {"x": float(position[1]), "y": float(position[2]), "floorId": position[3]}
    if text.startswith(UNIT_PREFIX):
        return {"unitId": text.removeprefix(UNIT_PREFIX)}
    return {"id": text}


WAYPOINT_SCHEMA: Final[JsonSchema] = {
    "type": "string",
    "minLength": 1,
    # Of the longest of them, a position.
    "maxLength": 2 * len("-123456789012.123456789012,") + MAX_ID_CHARACTERS,
    # One pattern, as generators of clients fail to join several with `anyOf`.
    "pattern": rf"^(?:{_NUMBER},{_NUMBER},|{UNIT_PREFIX})?[^\x00]{{1,{MAX_ID_CHARACTERS}}}$",
}
"""The pattern of the texts that `parse_waypoint` reads."""


def parse_attribute(text: str) -> dict[str, Any]:
    r"""Return the attribute that `group/attribute` stands for, with `\/` for a slash in an id.

    >>> parse_attribute(r"fit\/out/oven")
    {'groupId': 'fit/out', 'attributeId': 'oven'}
    """
    parts = _ATTRIBUTE.match(text)
    if parts is None:
        raise ValueError(
            r"must be a group and an attribute such as view/sea, with \/ for a slash in an id, "
            f"not {text[:MAX_QUOTED_CHARACTERS]!r}"
        )
    group, attribute = (re.sub(r"\\(.)", r"\1", part) for part in parts.groups())
    return {"groupId": group, "attributeId": attribute}


def parse_reference(text: str) -> dict[str, Any]:
    """Return the reference that `key:value` stands for.

    >>> parse_reference("rentwell:AL:101")
    {'key': 'rentwell', 'value': 'AL:101'}
    """
    key, colon, value = text.partition(":")
    if not colon:
        raise ValueError(
            f"must be a key and a value such as rentwell:101, not {text[:MAX_QUOTED_CHARACTERS]!r}"
        )
    return {"key": key, "value": value}


class TextForm(NamedTuple):
    """How an input object is written in a query."""

    parse: Callable[[str], dict[str, Any]]
    json_schema: JsonSchema
    description: str
    """The description of the form, which follows that of the argument."""
    write_example: Callable[[dict[str, Any]], str]


TEXT_FORMS: Final = {
    "WaypointInput": TextForm(
        parse_waypoint,
        WAYPOINT_SCHEMA,
        ": the id of a location or a unit, `unit:` and the id of a unit, or `x,y,floor_id`.",
        lambda example: str(example.get("id") or ",".join(map(str, example.values()))),
    ),
    "AttributeFilter": TextForm(
        parse_attribute,
        {
            "type": "string",
            "pattern": f"^{_ATTRIBUTE_PATTERN}$",
            "maxLength": 2 * 2 * MAX_ID_CHARACTERS + 1,
        },
        r". As `group_id/attribute_id`, with `\/` for a slash in an id.",
        lambda example: f"{example['group_id']}/{example['attribute_id']}",
    ),
    "ReferenceFilter": TextForm(
        parse_reference,
        {
            "type": "string",
            "pattern": r"^[a-z][a-z0-9-]{1,254}:[^\x00]{1,2048}$",
            "maxLength": 255 + 1 + 2048,
        },
        ". As `key:value`.",
        lambda example: f"{example['key']}:{example['value']}",
    ),
}
"""The forms of parameters by the type of the variable."""

_PARSERS: dict[str, Callable[[str], Any]] = {
    "Int": _parse_integer,
    "Boolean": _parse_boolean,
    "Float": _parse_number,
    "DateTime": _parse_time,
    **{name: form.parse for name, form in TEXT_FORMS.items()},
}
"""The parsers by the type of the variable; other values are texts."""


def _find_parser(input_type: GraphQLInputType) -> Callable[[str], Any]:
    parse = _PARSERS.get(get_named_type(input_type).name, str)
    if not isinstance(get_nullable_type(input_type), GraphQLList):
        return parse
    return _split_list if parse is str else lambda text: [*map(parse, _split_list(text))]


def _split_list(text: str) -> list[str]:
    r"""Return the items of a list, which commas separate; `\,` and `\\` are the characters.

    >>> _split_list("stairs, lifts"), _split_list(""), _split_list(r"a\,b,c")
    (['stairs', 'lifts'], [''], ['a,b', 'c'])
    """
    items = [""]
    for escaped, comma, others in _LIST_PART.findall(text):
        if comma:
            items.append("")
        else:
            items[-1] += escaped or others
    return items


def split_query_string(query_string: bytes) -> list[tuple[str, str]]:
    """Return the names and values of a query string, decoded. Raises HttpError 422."""
    if not query_string:
        return []
    try:
        return parse_qsl(
            # A URI consists of ASCII characters (RFC 3986, 2); others are percent-encoded.
            query_string.decode("ascii"),
            # An empty filter is an error and must not vanish:
            # docs/decisions/rest/requests-and-responses.md.
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_PARAMETERS,
        )
    except UnicodeError as error:
        raise invalid_input_error({"query": ["must be percent-encoded UTF-8"]}) from error
    except ValueError as error:
        raise invalid_input_error(
            {"query": [f"must have at most {MAX_PARAMETERS} parameters"]}
        ) from error


def describe_ignored(names: Iterable[str], known: Sequence[str]) -> str | None:
    """Return the header that names the parameters that are not known, None if all are.

    It is a structured list of strings (RFC 9651), each with the nearest known name.

    >>> describe_ignored(["page", "order_by", "ids[]"], ["page", "order-by", "ids"])
    '"order_by";did-you-mean="order-by", "ids[]";did-you-mean="ids"'
    """
    unknown = [
        name
        for name in dict.fromkeys(names)
        if name not in known and name != API_KEY_PARAMETER and _PLAIN_NAME.fullmatch(name)
    ]
    from difflib import get_close_matches  # seldom needed, and takes 2 ms to import

    suggested = {*known, API_KEY_PARAMETER}.difference(*SPELLINGS.values())
    items = []
    for name in unknown[:MAX_IGNORED_REPORTED]:
        spelt = name.lower().replace("_", "-").partition("[")[0]  # some clients send `ids[]=`
        near = get_close_matches(spelt, suggested, 1, MIN_LIKENESS)
        items.append(f'"{name}"' + (f';did-you-mean="{near[0]}"' if near else ""))
    return ", ".join(items) or None


def report_ignored(scope: Scope, pairs: list[tuple[str, str]], known: Sequence[str]) -> None:
    """Let the response name the parameters that are not known."""
    if pairs and (ignored := describe_ignored((name for name, _ in pairs), known)):
        scope[SCOPE_IGNORED_PARAMETERS] = ignored


def parse_query(
    parameters: Iterable[QueryParameter], pairs: list[tuple[str, str]]
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the variables of a query, and its filters as sent. Raises HttpError 422.

    Unknown parameters are ignored; a known one that is repeated is an error.
    """
    variables: dict[str, Any] = {}
    filters: list[tuple[str, str]] = []
    errors: dict[str, list[str]] = {}
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        given.setdefault(name, []).append(value)
    for parameter in parameters:
        sent = [(name, value) for name in parameter.names for value in given.get(name, ())]
        if not sent:
            if parameter.is_required:
                errors[parameter.name] = ["must be given"]
            elif parameter.is_sized_by_cursor and any(given.get("after", ())):
                variables[parameter.input.variable] = None
            continue
        name, value = sent[0]
        # Which of them is meant would be a guess: docs/decisions/rest/requests-and-responses.md.
        if len(sent) > 1:
            names = ", ".join(dict.fromkeys(name for name, _ in sent))
            spelt = "" if names == name else f": {names}"
            errors[name] = [f"must be given once, not {len(sent)} times{spelt}"]
            continue
        try:
            variables[parameter.input.variable] = parameter.parse(value)
        except ValueError as error:
            errors[name] = [str(error)]
        if parameter.is_filter:
            filters.append((name, value))
    if errors:
        raise invalid_input_error(errors)
    return variables, filters
