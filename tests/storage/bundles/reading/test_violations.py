"""Violations are reported together, in their order, up to a maximum."""

from typing import Any

import pytest

from storage.bundles.reading.violations import MAX_VIOLATIONS, Violations, quote_json
from storage.errors import BundleError


def add(violations: Violations, count: int) -> list[str]:
    """Add violations; return the lines that report them."""
    origins = [f"b.json: $.units[{number}]" for number in range(count)]
    for origin in origins:
        violations.add(origin, "is wrong")
    return [f"{origin}: is wrong" for origin in origins]


def test_all_are_reported_in_the_order_in_which_they_were_added() -> None:
    violations = Violations()
    lines = add(violations, MAX_VIOLATIONS - 1)
    with pytest.raises(BundleError) as caught:
        violations.raise_if_any()
    assert caught.value.violations == lines
    assert str(caught.value) == "\n".join(lines)


def test_the_maximum_ends_the_import_at_once_and_says_so() -> None:
    violations = Violations()
    lines = add(violations, MAX_VIOLATIONS - 1)
    with pytest.raises(BundleError) as caught:
        violations.add("b.json", "is wrong")
    assert caught.value.violations == [
        *lines,
        "b.json: is wrong",
        f"These are the first {MAX_VIOLATIONS} errors.",
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
