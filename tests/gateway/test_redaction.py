"""API keys are found in any form in which they may reach a log line."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.redaction import contains_secret, may_contain_secret, redact

KEY = "fgk_" + "0aZ9" * 12


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        f"Bearer {KEY}.",
        KEY.upper(),
        KEY.removeprefix("fgk_"),  # long enough to be a key without its prefix
        "".join(f"%{ord(character):02x}" for character in KEY),
        "fgk_1",  # cut off
    ],
)
def test_a_key_is_found_in_any_form(text: str) -> None:
    assert contains_secret(text)
    assert may_contain_secret(text.encode())
    assert "[redacted]" in redact(text)


@pytest.mark.parametrize("text", ["", "unit-1", "/v1/units", "a" * 39, "2026-01-31T12:00:00Z"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert not contains_secret(text)
    assert redact(text) == text


@pytest.mark.parametrize(
    ("value", "redacted"),
    [
        ({KEY: [KEY, 1]}, {"[redacted]": ["[redacted]", 1]}),
        ((None, True, 1.5), [None, True, 1.5]),
        ({1: {KEY}}, {"1": ["[redacted]"]}),
        (ValueError(KEY), "[redacted]"),
    ],
)
def test_containers_are_searched(value: Any, redacted: Any) -> None:
    assert redact(value) == redacted


@given(st.text())
def test_the_quick_test_misses_no_secret(text: str) -> None:
    line = text + KEY
    assert may_contain_secret(line.encode(errors="replace"))
    assert not contains_secret(text) or may_contain_secret(text.encode(errors="replace"))
