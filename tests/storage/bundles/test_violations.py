"""Violations are reported together, up to a maximum, with the names that may be meant."""

from typing import Any

import pytest

from storage.bundles import names as suggestions
from storage.bundles.names import Suggestions, suggest
from storage.bundles.violations import MAX_VIOLATIONS, Violations, quote_json
from storage.errors import BundleError


def add(violations: Violations, count: int) -> list[str]:
    """Add violations; return the lines that report them."""
    origins = [f"b.json: $.units[{number}]" for number in range(count)]
    for origin in origins:
        violations.add(origin, "is wrong")
    return [f"{origin}: is wrong" for origin in origins]


def test_all_are_reported_by_file_and_place() -> None:
    violations = Violations()
    lines = add(violations, 12)
    violations.add("a.json: line 10", "is wrong")
    violations.add("a.json: line 9", "is wrong")
    with pytest.raises(BundleError) as caught:
        violations.raise_if_any()
    expected = ["a.json: line 9: is wrong", "a.json: line 10: is wrong", *lines]
    assert caught.value.violations == expected
    assert str(caught.value) == "\n".join(expected)


def test_the_first_are_kept_and_all_are_counted() -> None:
    violations = Violations()
    lines = add(violations, 10 * MAX_VIOLATIONS)
    violations.add("b.json: $.assets[3]", "is wrong")  # found later, but it stands before
    assert violations.is_full
    with pytest.raises(BundleError) as caught:
        violations.raise_if_any()
    assert caught.value.violations == ["b.json: $.assets[3]: is wrong", *lines[:99]]
    assert caught.value.total == 1001
    assert str(caught.value).endswith("\n... and 901 more errors")


def test_texts_are_cut_and_can_be_written_in_utf8() -> None:
    violations = Violations()
    violations.add("b.json", "\ud800" + "x" * 2000)
    ((_, message),) = violations.list_first()
    assert message == "\\ud800" + "x" * 999 + "..."


def test_notes_that_may_name_the_cause_are_raised_with_them() -> None:
    violations = Violations(max_kept=1)
    violations.add("b.csv: row 2", "is wrong")
    with pytest.raises(BundleError) as caught:
        violations.raise_if_any(["a column\x07 was not read", "a", "b"])
    assert caught.value.notes == [
        "a column\\x07 was not read",
        "... and 2 more notes; floorgate check lists them",
    ]


def test_without_violations_nothing_is_raised() -> None:
    Violations().raise_if_any()


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("caf\u00e9", '"caf\u00e9"'),
        ('say "no"', '"say \\"no\\""'),
        ("two\nlines", '"two\\nlines"'),
        (True, "true"),
        (None, "null"),
        (["a", 1.5], '["a", 1.5]'),
    ],
)
def test_a_value_is_quoted_as_a_bundle_has_it_on_one_line(value: Any, quoted: str) -> None:
    assert quote_json(value) == quoted


def test_control_characters_and_line_breaks_are_escaped() -> None:
    violations = Violations()
    violations.add("a\x1b[31m.csv: row 2", 'no id can be made of "-\n\x07\u2028"')
    assert [*map(str, violations.list_first())] == [
        'a\\x1b[31m.csv: row 2: no id can be made of "-\\n\\x07\\u2028"'
    ]


# What was meant


FIELDS = ["id", "asset_id", "floor_id", "name", "map_ids"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("nmae", "name"),
        ("Name", "name"),
        ("floorId", "floor_id"),
        ("flor", "floor_id"),
        ("bedrooms", None),
        ("", None),
        ("name" * 100, None),  # comparing long names takes long
    ],
)
def test_what_resembles_it_most_was_meant(name: str, meant: str | None) -> None:
    assert suggest(name, FIELDS) == meant


def test_a_run_compares_a_bounded_number_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestions, "MAX_SUGGESTIONS", 2)
    found = Suggestions()
    names = ["nmae", "flor", "assetid", "nmae"]
    assert [found.find(name, FIELDS) for name in names] == ["name", "floor_id", None, "name"]
