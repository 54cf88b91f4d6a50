"""Collect what is wrong with the sources of an import, so that one run reports all of it.

A bounded number of violations is kept, the first by file and place; all are counted.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from storage.bundles.names import Suggestions
from storage.catalog import RECORD_TYPES, RECORD_TYPES_BY_NAME
from storage.errors import BundleError
from storage.records.kinds import KEY_SEPARATOR, Document, RecordType, is_storable, stored_name


def describe_duplicate(kind: RecordType[Any], key: str, place: str) -> str:
    """Return the message for a member with the key of another."""
    return f"{describe_record(kind, key)} is already at {place}"


def describe_record(kind: RecordType[Any], key: str) -> str:
    """Return a record's kind and key, for messages."""
    if kind.key_fields == ("id",):
        return f'{kind.singular} "{key}"'
    # With a `single_valued_flag`, a key may lack its last field.
    pairs = zip(kind.key_fields, key.split(KEY_SEPARATOR), strict=False)
    return f"{kind.singular} of " + ", ".join(f'{field} "{value}"' for field, value in pairs)


_PLACE = re.compile(r"(?P<row>(?P<sheet>.+)[:,] row \d+)(?P<column>, column \".*\")?\.(?P<path>.+)")

_BOUND = re.compile(
    r"Expected `(?:str|float|int)`(?P<length> of length)? (?P<sign>[<>]=?) (?P<bound>[-\d.]+)"
)
_SIGNS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}


def to_plain_words(message: str) -> str:
    """Return a message about a bound without the types of a program.

    >>> to_plain_words("Expected `float` > 0.0")
    'expected a number of more than 0'
    >>> to_plain_words("Expected `str` of length <= 255")
    'expected text of at most 255 characters'
    """
    if not (match := _BOUND.fullmatch(message)):
        return message
    bound = f"{_SIGNS[match['sign']]} {float(match['bound']):,g}"
    return (
        f"expected text of {bound} characters"
        if match["length"]
        else (f"expected a number of {bound}")
    )


class ColumnNames:
    """The columns that the fields of each sheet were read from.

    >>> names = ColumnNames()
    >>> names.add('building.xlsx: sheet "Units"', {"floor_id": "Floor"})
    >>> names.describe('building.xlsx: sheet "Units", row 17.floor_id')
    'building.xlsx: sheet "Units", row 17, column "Floor"'
    >>> names.describe("oak.json: $.units[17].floor_id")
    'oak.json: $.units[17].floor_id'
    """

    def __init__(self) -> None:
        self._headers: dict[str, Mapping[str, str]] = {}

    def add(self, sheet: str, headers: Mapping[str, str]) -> None:
        """Add the headers of a sheet by field."""
        self._headers[sheet] = headers

    def describe(self, place: str) -> str:
        """Return a place with the name of a column, if it is in a spreadsheet."""
        match = self._headers and _PLACE.fullmatch(place)
        if not match or match["sheet"] not in self._headers:
            return place
        if match["column"]:
            return f"{match['row']}{match['column']}"
        field = re.split(r"[.\[]", match["path"])[0]
        return f'{match["row"]}, column "{self._headers[match["sheet"]].get(field, field)}"'


class Mentions:
    """The kinds of records that sources list, whole or the records that fulfil a condition.

    >>> mentions = Mentions()
    >>> mentions.add("units", {"asset_id": "oak"})
    >>> mentions.condition_of("units"), mentions.condition_of("maps")
    ({'$or': [{'asset_id': 'oak'}]}, None)
    >>> mentions.add("units")
    >>> mentions.condition_of("units")
    {}
    """

    def __init__(self) -> None:
        self._conditions: dict[str, list[Document]] = {}

    def add(self, kind_name: str, condition: Document | None = None) -> None:
        """Add a kind of which a source has all records, or all that fulfil a condition."""
        if condition is None:
            self._conditions[kind_name] = []
        elif self._conditions.get(kind_name) != []:
            self._conditions.setdefault(kind_name, []).append(condition)

    def condition_of(self, kind_name: str) -> Document | None:
        """Return which records of a kind the sources list; None if they list none."""
        if kind_name not in self._conditions:
            return None
        conditions = self._conditions[kind_name]
        return {"$or": conditions} if conditions else {}

    def list_asset_ids(self, kind_name: str) -> list[str] | None:
        """Return the assets to which the records of a kind are limited; None if they are not.

        >>> mentions = Mentions()
        >>> mentions.add("units", {"asset_id": {"$in": ["oak", "elm"]}})
        >>> mentions.list_asset_ids("units"), mentions.list_asset_ids("maps")
        (['elm', 'oak'], None)
        """
        conditions = self._conditions.get(kind_name)
        if not conditions:
            return None
        return sorted({each for condition in conditions for each in condition["asset_id"]["$in"]})


# What is said of owners depends on the members that an import could not read: a unit whose floor
# has a mistake of its own has no mistake. So does what is said of members with the same id. What a
# rejected member refers to is checked, too.

MAX_REJECTED_KEYS = 100_000
"""If a kind has more, any member of it counts as rejected."""
MAX_KEPT_MEMBERS = 1000
MAX_KEPT_CHARACTERS = 16 << 20
"""The kept members have no more; the owners and drawings of others are not checked."""


class RejectedMember(NamedTuple):
    """A member with a mistake of its own, and None in place of its wrong and absent fields."""

    origin: str
    kind: RecordType[Any]
    document: Document
    directory: Path | None
    """Its drawing is relative to this directory."""


class RejectedMembers:
    """The keys of rejected members as far as they can be read.

    >>> rejected = RejectedMembers()
    >>> rejected.add(RECORD_TYPES[0], {"id": "oak-street", "nmae": "Oak Street"})
    >>> rejected.may_include("assets", "oak-street"), rejected.may_include("assets", "oak")
    (True, False)
    """

    def __init__(self) -> None:
        self._places: dict[str, dict[str, str]] = defaultdict(dict)
        self.kinds_with_unknown: set[str] = set()
        """These kinds have rejected members with unknown keys."""
        self.members: list[RejectedMember] = []
        """The first of them."""
        self.directory: Path | None = None
        """The drawings of the bundle that is being read are relative to this directory."""
        self._kept_characters = 0

    def add(self, kind: RecordType[Any], value: Any, place: str = "") -> str | None:
        """Add a member that was rejected, as it was decoded from JSON.

        Return where the first one with the same key is, if there is one.
        """
        fields = [value.get(field) for field in kind.key_fields] if isinstance(value, dict) else []
        # Keys of several fields are no owners, so whether they are known does not matter.
        is_known = len(fields) == 1 and isinstance(fields[0], str) and is_storable(fields[0])
        if not is_known or not fields[0]:
            self.kinds_with_unknown.add(kind.name)
            return None
        places = self._places[kind.name]
        if fields[0] in places:
            return places[fields[0]]
        places[fields[0]] = place
        if len(places) > MAX_REJECTED_KEYS:
            places.clear()
            self.kinds_with_unknown.add(kind.name)
        return None

    def keep(
        self,
        kind: RecordType[Any],
        value: Any,
        origin: str,
        wrong_paths: Iterable[str],
        characters: int = 0,
    ) -> None:
        """Keep a member, to check what it refers to; `wrong_paths` begin with wrong fields."""
        self._kept_characters += characters
        is_full = self._kept_characters > MAX_KEPT_CHARACTERS
        if is_full or len(self.members) >= MAX_KEPT_MEMBERS or not isinstance(value, dict):
            return
        wrong = {name for path in wrong_paths for name in re.findall(r"^\.?(\w+)", path)}
        given = value.keys() & {*kind.struct.__struct_fields__} - wrong
        document = dict.fromkeys(("_id", *kind.stored_fields))
        document |= {stored_name(name): value[name] for name in given}
        self.members.append(RejectedMember(origin, kind, document, self.directory))

    def iter_places(self) -> Iterator[tuple[RecordType[Any], dict[str, str]]]:
        """Yield for each kind where its rejected members are, by key."""
        for name, places in self._places.items():
            yield RECORD_TYPES_BY_NAME[name], places

    def add_unknown(self, kind: RecordType[Any] | None = None) -> None:
        """Add members that could not be read at all, of one kind or of any."""
        kinds = RECORD_TYPES if kind is None else (kind,)
        self.kinds_with_unknown |= {each.name for each in kinds}

    def includes(self, kind_name: str, key: str) -> bool:
        """Return whether a member of this kind and key has been rejected."""
        return key in self._places[kind_name]

    def may_include(self, kind_name: str, key: str) -> bool:
        """Return whether a member of this kind and key may have been rejected."""
        return kind_name in self.kinds_with_unknown or self.includes(kind_name, key)


MAX_VIOLATIONS = 100
MAX_MESSAGE_CHARACTERS = 1000
MAX_QUOTED = 5
"""A message quotes no more names, unless it says otherwise."""

_NUMBER = re.compile(r"\d+")


class Violation(NamedTuple):
    """A mistake at one place of a bundle."""

    place: str
    """File and path, such as `oak.json: $.units[17].floor_id`."""
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class Violations:
    """Collects violations, of which it keeps the first `max_kept`.

    >>> violations = Violations(max_kept=1)
    >>> violations.add("b.json: $.units[10].name", "Expected `str`, got `int`")
    >>> violations.add("b.json: $.units[9].name", "Expected `str`, got `null`")
    >>> violations.raise_if_any()
    Traceback (most recent call last):
    storage.errors.BundleError: b.json: $.units[9].name: Expected `str`, got `null`
    ... and 1 more error
    """

    def __init__(self, max_kept: int = MAX_VIOLATIONS) -> None:
        self.total = 0
        self.rejected = RejectedMembers()
        self.columns = ColumnNames()
        self.suggestions = Suggestions()
        self.mentions = Mentions()
        self.max_kept = max_kept
        self._kept: list[tuple[str, int, Violation]] = []

    def add(self, place: str, message: str) -> None:
        """Add a violation."""
        described = self.columns.describe(place)
        if described != place:
            message = to_plain_words(message)
        place = described
        violation = Violation(_shorten(place), _shorten(message))
        self._kept.append((_sort_key(place), self.total, violation))
        self.total += 1
        if len(self._kept) >= 2 * self.max_kept:
            self._keep_first()

    def reject(self, kind: RecordType[Any], value: Any, place: str) -> None:
        """Note a member that was rejected; that another one has its key is a violation, too."""
        if first := self.rejected.add(kind, value, place):
            self.add_duplicate(kind, value[kind.key_fields[0]], first, place)

    def add_duplicate(self, kind: RecordType[Any], key: str, place: str, other_place: str) -> None:
        """Add that a key is given at two places, at the one that comes later in its file."""
        first, second = sorted((place, other_place), key=_sort_key)
        self.add(second, describe_duplicate(kind, key, first))

    def add_all(self, places: list[str], message: str, count: int) -> None:
        """Add violations that say the same of several places, of which the first are given."""
        for place in places:
            self.add(place, message)
        self.total += count - len(places)

    @property
    def is_full(self) -> bool:
        """True if there are more than are kept, so that details of another may be spared."""
        return self.total >= self.max_kept

    def list_first(self) -> list[Violation]:
        """Return the violations that are kept, by file and place."""
        self._keep_first()
        return [violation for _, _, violation in self._kept]

    def raise_if_any(self, notes: Sequence[str] = ()) -> None:
        """Raise BundleError if there are violations, with notes that may name their cause."""
        if self.total:
            first = [*map(_shorten, notes[: self.max_kept])]
            more = len(notes) - len(first)
            first += [f"... and {more:,} more notes; floorgate check lists them"] if more else []
            raise BundleError(self.list_first(), self.total, first)

    def _keep_first(self) -> None:
        self._kept.sort()
        del self._kept[self.max_kept :]


def quote_json(value: Any) -> str:
    """Return a value as JSON, to quote it in a message."""
    return json.dumps(value, ensure_ascii=False)


def quote_first(names: Sequence[str], limit: int = MAX_QUOTED) -> str:
    """Return the first names, quoted.

    >>> quote_first(["oak", "elm", "ash"], 2)
    '"oak", "elm", ...'
    """
    more = ", ..." if len(names) > limit else ""
    return ", ".join(map(quote_json, names[:limit])) + more


def list_first(notes: Sequence[str], limit: int, what: str) -> list[str]:
    """Return the first notes, and how many more there are of what they are about.

    >>> list_first(["oak.svg: text is left out"] * 4, 1, "notes about drawings")
    ['oak.svg: text is left out', 'and 3 more notes about drawings']
    """
    more = [f"and {len(notes) - limit:,} more {what}"] if len(notes) > limit else []
    return [*notes[:limit], *more]


def _sort_key(place: str) -> str:
    """Return a key that sorts numbers by value: line 9 before line 10."""
    return _NUMBER.sub(lambda number: number[0].zfill(12), place)


def to_printable(text: str) -> str:
    r"""Return a text in which control characters, line breaks and lone surrogates are escaped.

    Text of files goes to terminals in errors and notes.

    >>> print(to_printable("Vacant\x07\nnow"))
    Vacant\x07\nnow
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def _shorten(text: str) -> str:
    """Return a text as a terminal can show it."""
    if len(text) > MAX_MESSAGE_CHARACTERS:
        text = f"{text[:MAX_MESSAGE_CHARACTERS]}..."
    return to_printable(text)
