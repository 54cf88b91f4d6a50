"""Violations of a bundle, collected so that one run reports all of them.

A bounded number is kept, the first by file and place; all are counted.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from storage.bundles.reading.column_names import ColumnNames, to_plain_words
from storage.bundles.reading.mentions import Mentions
from storage.bundles.reading.record_names import describe_duplicate
from storage.bundles.reading.rejected import RejectedMembers
from storage.bundles.reading.suggestions import Suggestions
from storage.errors import BundleError
from storage.records.kinds import RecordType

MAX_VIOLATIONS = 100
MAX_MESSAGE_CHARACTERS = 1000

_NUMBER = re.compile(r"\d+")


class Violation(NamedTuple):
    """What is wrong at one place of a bundle."""

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
        """Whether there are more than are kept, so that details of another may be spared."""
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
            raise BundleError([*map(str, self.list_first())], self.total, first)

    def _keep_first(self) -> None:
        self._kept.sort()
        del self._kept[self.max_kept :]


def quote_json(value: Any) -> str:
    """Return a value as JSON, to quote it in a message."""
    return json.dumps(value, ensure_ascii=False)


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
