"""Random operations of the schema: valid ones, whose arguments and variables often are not.

They have all that a query may have: aliases, repeated fields, fragments, inline fragments,
`@skip` and `@include`, `__typename`, variables with and without defaults, arguments of every type.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
)
from hypothesis import strategies as st

from schema.root import GRAPHQL_SCHEMA
from tests.fixtures import (
    BACKGROUND,
    FLOOR,
    HIDDEN,
    HIDDEN_MAP,
    MAP,
    OTHER_MAP,
    SEEN,
    UNIT,
    UNIT_IDS,
)

TYPENAME = "__typename"
LEFT_OUT = {"parsedUnitMap"}
"""Fields that take long: it parses in another process."""
MAX_DEPTH = 7

ODD_TEXTS = ["", "none", "x" * 256, "\x00", "%"]


def _node_id(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


NODE_IDS = [
    *map(
        _node_id,
        (
            f"Asset:{SEEN}",
            f"Asset:{HIDDEN}",
            f"Unit:{UNIT}",
            "Unit:unit-s",
            f"Map:{MAP}",
            f"Floor:{FLOOR}",
            "Location:loc-s",
            f'LevelTag:["{MAP}","floor"]',
            f"UnitReference:{UNIT}/crm",
            "AttributeGroup:view",
            "Attribute:view/sea",
        ),
    )
]
IDS = {
    "ids": [*NODE_IDS, SEEN, MAP, HIDDEN_MAP, *UNIT_IDS[:3], "unit-s"],
    "asset": [SEEN, HIDDEN],
    "map": [MAP, OTHER_MAP, HIDDEN_MAP],
    "id": [
        SEEN,
        HIDDEN,
        MAP,
        OTHER_MAP,
        FLOOR,
        "n-2",
        BACKGROUND,
        UNIT,
        *UNIT_IDS[:3],
        "view",
        *NODE_IDS,
    ],
    "floor": [FLOOR, "n-2", "s-1"],
    "floorId": [FLOOR, "n-2", "s-1"],
}
TEXTS = {
    "after": [""],
    "key": ["crm", "erp"],
    "search": ["unit", "on map", "se", "zzz"],
    "value": ["1_2", "S"],
    "updatedSince": ["2000-01-01", "2100-01-01T00:00:00+00:00"],
    "groupId": ["view", "fit/out %"],
    "attributeId": ["sea", "oven"],
    "tags": ["ils", "ils,mls", "svc:amenity", "-svc:amenity", "svc:type==unit,svc:id"],
}
ODD_TEXTS_OF = {
    "after": ["!", "AAAA"],
    "key": ["Not a key"],
    "search": ["--"],
    "updatedSince": ["yesterday"],
    "tags": [",,"],
}
NUMBERS = [1, 2, 3, 5, 100]
ODD_NUMBERS = [0, -1, 2**31 - 1]
WRONG = [True, "text", 1.5, [], {}, 2**31, None, [None], {"id": 1}]
"""Values of variables that seldom fit."""


class EnumWord(str):
    """A value of an enum, which has no quotation marks where an operation writes it."""

    __slots__ = ()


class DrawnOperation(NamedTuple):
    """An operation with the variables of one request."""

    text: str
    variables: dict[str, Any]


@st.composite
def operations(draw: st.DrawFn, *, is_exact: bool = False) -> DrawnOperation:
    """An operation of the schema; nearly always valid.

    If it is exact, every list has a page size, and no argument is such as cannot be.
    """
    fields = draw(st.integers(1, 40))
    is_careless = not is_exact and draw(st.integers(0, 2)) == 0
    writer = _Writer(draw, fields, is_careless, is_exact)
    root = GRAPHQL_SCHEMA.query_type
    assert root is not None
    body = writer.selection(root, MAX_DEPTH)
    declared = ", ".join(writer.declared.values())
    head = f"query Drawn({declared}) " if declared else "query "
    return DrawnOperation("\n".join([head + body, *writer.fragments.values()]), writer.values)


@dataclass(slots=True)
class _Writer:
    draw: st.DrawFn
    left: int
    """How many fields may still be asked for, except for leaves at the bottom."""
    is_careless: bool
    """Whether arguments are often such as cannot be."""
    is_exact: bool
    """Whether every list has a page size."""
    declared: dict[str, str] = field(default_factory=dict)
    """The text of each variable's declaration, by its name."""
    values: dict[str, Any] = field(default_factory=dict)
    fragments: dict[str, str] = field(default_factory=dict)
    arguments_of: dict[tuple[str, str], str] = field(default_factory=dict)
    """A field without an alias has the same arguments wherever it stands, so that it merges."""
    names: int = 0

    def selection(self, type: GraphQLObjectType, depth: int) -> str:
        """A selection set on an object type."""
        count = self.draw(st.integers(1, 4)) if self.left > 0 else 1
        parts = [self.member(type, depth) for _ in range(count)]
        return "{ " + " ".join(parts) + " }"

    def member(self, type: GraphQLObjectType, depth: int) -> str:
        """A field, an inline fragment or a spread."""
        self.left -= 1
        sort = "field"
        if self.left > 0:
            sort = self.draw(st.sampled_from(["field"] * 7 + ["inline", "untyped", "spread"]))
        if sort == "inline":
            return f"... on {type.name} {self.directives()} {self.selection(type, depth - 1)}"
        if sort == "untyped":
            return f"... {self.directives()} {self.selection(type, depth - 1)}"
        if sort == "spread":
            return self.spread(type, depth)
        return self.field(type, depth)

    def spread(self, type: GraphQLObjectType, depth: int) -> str:
        """The spread of a new fragment, or of one that is there already."""
        suited = [name for name in self.fragments if name.endswith(f"_on_{type.name}")]
        if suited and self.is_one_in(2):
            return f"...{self.draw(st.sampled_from(suited))} {self.directives()}"
        name = f"F{self.number()}_on_{type.name}"
        body = self.selection(type, depth - 1)
        self.fragments[name] = f"fragment {name} on {type.name} {body}"
        return f"...{name} {self.directives()}"

    def field(self, type: GraphQLObjectType, depth: int) -> str:
        """A field with everything that belongs to it; leaves alone at the bottom."""
        if self.is_one_in(10):
            return TYPENAME
        is_deep = depth > 0 and self.left > 0
        names = [
            name
            for name, each in type.fields.items()
            if name not in LEFT_OUT and (is_deep or is_leaf_type(get_named_type(each.type)))
        ]
        objects = [
            name for name in names if not is_leaf_type(get_named_type(type.fields[name].type))
        ]
        deeper = bool(objects) and self.draw(st.integers(0, 2)) > 0
        if not names:
            return TYPENAME
        name = self.draw(st.sampled_from(objects if deeper else names))
        definition = type.fields[name]
        alias = f"a{self.number()}: " if self.is_one_in(4) else ""
        given = self.arguments(definition) if alias else self.merging(type, name, definition)
        named = get_named_type(definition.type)
        beneath = ""
        if isinstance(named, GraphQLObjectType):
            beneath = self.selection(named, depth - 1)
        elif isinstance(named, GraphQLInterfaceType):
            beneath = self.abstract_selection(named, depth - 1)
        return f"{alias}{name}{given} {self.directives()} {beneath}"

    def abstract_selection(self, type: GraphQLInterfaceType, depth: int) -> str:
        """A selection set on an interface, with a fragment on one of its types."""
        others = self.draw(st.lists(st.sampled_from([*type.fields, TYPENAME]), max_size=2))
        chosen = self.draw(st.sampled_from(GRAPHQL_SCHEMA.get_possible_types(type)))
        beneath = self.selection(chosen, depth - 1)
        fragment = f"... on {chosen.name} {self.directives()} {beneath}"
        if self.is_one_in(4):
            fragment = f"... on {type.name} {{ {fragment} }}"
        return "{ " + " ".join([fragment, *others]) + " }"

    def merging(self, type: GraphQLObjectType, name: str, definition: GraphQLField) -> str:
        """The arguments that the field has wherever it has no alias."""
        place = (type.name, name)
        if place not in self.arguments_of:
            self.arguments_of[place] = self.arguments(definition)
        return self.arguments_of[place]

    def arguments(self, definition: GraphQLField) -> str:
        """Arguments in parentheses, or nothing."""
        given = []
        for name, argument in definition.args.items():
            is_required = isinstance(argument.type, GraphQLNonNull) or (
                self.is_exact and name == "perPage"
            )
            if is_required or self.is_one_in(3):
                given.append(f"{name}: {self.argument(name, argument)}")
        return f"({', '.join(given)})" if given else ""

    def argument(self, name: str, argument: GraphQLArgument) -> str:
        """A literal or a variable."""
        if self.draw(st.integers(0, 2)):
            return self.literal(self.value(name, argument.type))
        value = self.value(name, argument.type)
        if self.is_careless and self.is_one_in(8):
            value = self.draw(st.sampled_from(WRONG))
        must_be_given = self.is_exact and name == "perPage"
        return self.variable(str(argument.type), value, must_be_given=must_be_given)

    def variable(self, type: str, value: Any, *, must_be_given: bool = False) -> str:
        """A new variable: given a value, left to its default, or left out."""
        name = f"v{self.number()}"
        sort = self.draw(st.sampled_from(["given", "given", "default", "missing"]))
        if sort == "missing" and must_be_given:
            sort = "given"
        if sort == "missing" and type.endswith("!") and not self.is_careless:
            sort = "given"
        default = f" = {self.literal(value)}" if sort == "default" and _is_simple(value) else ""
        # A nullable variable with a default may stand where null may not.
        kind = type.rstrip("!") if default and self.draw(st.booleans()) else type
        self.declared[name] = f"${name}: {kind}{default}"
        if sort == "given":
            # JSON's 2.0 is an Int, too.
            is_int = type.startswith("Int") and isinstance(value, int)
            self.values[name] = float(value) if is_int and self.is_one_in(4) else value
        elif default and self.is_careless and self.is_one_in(4):
            self.values[name] = None
        return f"${name}"

    def directives(self) -> str:
        """`@skip`, `@include`, both or, mostly, none."""
        names = self.draw(st.sampled_from([""] * 8 + ["skip", "include", "skip include"]))
        return " ".join(f"@{name}(if: {self.condition(name)})" for name in names.split())

    def condition(self, directive: str) -> str:
        """A condition, which more often lets the field be."""
        value = (directive == "include") == (self.draw(st.integers(0, 3)) > 0)
        if self.is_one_in(2):
            return self.literal(value)
        known = [name for name, text in self.declared.items() if ": Boolean!" in text]
        if len(known) > 3 or (known and not self.is_one_in(3)):
            return f"${self.draw(st.sampled_from(known))}"
        return self.variable("Boolean!", value)

    def value(self, name: str, type: Any) -> Any:
        """A JSON value for an argument or an input field."""
        is_required, nullable = isinstance(type, GraphQLNonNull), get_nullable_type(type)
        if not is_required and self.is_one_in(8) and not (self.is_exact and name == "perPage"):
            return None
        if isinstance(nullable, GraphQLList):
            count = self.draw(st.integers(0, 2))
            return [self.value(name, nullable.of_type) for _ in range(count)]
        if isinstance(nullable, GraphQLInputObjectType):
            return {
                key: self.value(key, each.type)
                for key, each in nullable.fields.items()
                if self.draw(st.integers(0, 3))
            }
        if isinstance(nullable, GraphQLEnumType):
            words = [*map(EnumWord, nullable.values), *self.odd([EnumWord("magic"), "text", 7])]
            return self.draw(st.sampled_from(words))
        return self.scalar(name, nullable.name)

    def scalar(self, name: str, type: str) -> Any:
        """A value of a scalar; an id may be a number."""
        if type == "Boolean":
            return self.draw(st.booleans())
        if type == "Float":
            return self.draw(st.sampled_from([0.5, 1, 3.0, -2.5, 1e300]))
        if type == "Int":
            return self.draw(st.sampled_from([*NUMBERS, *self.odd(ODD_NUMBERS)]))
        texts = [*IDS.get(name, []), *TEXTS.get(name, ()), *self.odd(ODD_TEXTS_OF.get(name, ()))]
        odd = [*self.odd(ODD_TEXTS), *([7] if type == "ID" else [])]
        is_odd = bool(odd) and self.is_one_in(10)
        return self.draw(st.sampled_from(odd if is_odd else texts or ["some"]))

    def is_one_in(self, number: int) -> bool:
        return self.draw(st.integers(1, number)) == 1

    def odd(self, values: Sequence[Any]) -> Sequence[Any]:
        """Values that cannot be, for those who do not care."""
        return values if self.is_careless else ()

    def literal(self, value: Any) -> str:
        """A value in GraphQL's own notation; a text within may be a variable."""
        if isinstance(value, dict):
            members = [f"{key}: {self.nested(key, each)}" for key, each in value.items()]
            return "{" + ", ".join(members) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(self.literal, value)) + "]"
        return str(value) if isinstance(value, EnumWord) else json.dumps(value)

    def nested(self, key: str, value: Any) -> str:
        """A member of an input object."""
        types = {"id": "ID", "floorId": "ID", "name": "String", "x": "Float", "y": "Float"}
        if key in types and self.is_one_in(4):
            return self.variable(types[key], value)
        return self.literal(value)

    def number(self) -> int:
        self.names += 1
        return self.names


def _is_simple(value: Any) -> bool:
    return value is not None and not isinstance(value, (dict, list))
