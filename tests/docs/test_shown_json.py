"""What a page may leave out of a response, and what is compared by its form."""

import pytest

from tests.docs.shown_json import abbreviate, is_same, read, update, write


@pytest.mark.parametrize(
    ("shown", "sent"),
    [
        ('{"a": 1}', {"a": 1}),
        ('{"a": 1, …}', {"a": 1, "b": 2}),
        ("[1, …]", [1, 2, 3]),
        ("[1, …, 4]", [1, 2, 3, 4]),
        ('[{"id": "a", …}, …]', [{"id": "a", "name": "A"}, {"id": "b"}]),
        ('{"docs": "https://…#NOT_FOUND"}', {"docs": "https://maps.example/v1/errors#NOT_FOUND"}),
        ('{"at": "2026-01-31T12:00:00Z"}', {"at": "2027-02-01T08:30:00.125+00:00"}),
        ('{"request_id": "019aa0c5f3b1e4a7c09d5b62f1380e7d"}', {"request_id": "ab" * 16}),
        ('{"next_url": "/v1/units?after=AQID&page=2"}', {"next_url": "/v1/units?after=BA&page=2"}),
        ('{"cursor": "AZM2"}', {"cursor": "AZN3"}),
        ("[0.1]", [0.10000001]),
        ('"…"', "any"),
    ],
)
def test_a_response_is_as_shown(shown: str, sent: object) -> None:
    assert is_same(read(shown), sent)


@pytest.mark.parametrize(
    ("shown", "sent"),
    [
        ('{"a": 1}', {"a": 1, "b": 2}),
        ('{"a": 1, …}', {"b": 2}),
        ("[1, 2]", [1, 2, 3]),
        ("[1, …]", [1]),
        ("[2, …]", [1, 2, 3]),
        ('{"at": "2026-01-31T12:00:00Z"}', {"at": "yesterday"}),
        ('{"name": "AZM2"}', {"name": "AZN3"}),
        ("[1]", [True]),
        ("[1.5]", [1.6]),
        ('"a.c"', "abc"),
    ],
)
def test_a_response_is_not_as_shown(shown: str, sent: object) -> None:
    assert not is_same(read(shown), sent)


def test_what_was_left_out_is_left_out_again() -> None:
    shown = read('{"data": [{"id": "old", "at": "2026-01-31T12:00:00Z", …}, …], …}')
    at = "2027-02-01T08:30:00Z"
    sent = {"paging": {}, "data": [{"id": "a", "at": at, "n": 1}, {"id": "b"}, {"id": "c"}]}
    right = update(shown, sent)
    assert write(right) == '{"data": [{"id": "a", "at": "2026-01-31T12:00:00Z", …}, …], …}'
    assert is_same(read(write(right)), sent)


def test_long_arrays_are_cut_short_at_first() -> None:
    sent = {"data": [{"id": number} for number in range(4)], "few": [1, 2, 3, 4]}
    assert write(abbreviate(sent)) == '{"data": [{"id": 0}, {"id": 1}, …], "few": [1, 2, 3, 4]}'


def test_what_fits_on_a_line_is_on_one() -> None:
    value = {"data": [{"id": "a"}, "…"], "name": "é", "…": "…"}
    assert write(value, width=20) == (
        '{\n  "data": [\n    {"id": "a"},\n    …\n  ],\n  "name": "é",\n  …\n}'
    )
