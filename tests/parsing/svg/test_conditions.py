import pytest

from parsing.svg.conditions import choose_switch_child, conditions_hold


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, True),
        ({"systemLanguage": "de, en-GB"}, True),
        ({"systemLanguage": "de"}, False),
        ({"systemLanguage": ""}, False),
        ({"requiredExtensions": ""}, True),
        ({"requiredExtensions": "http://example.org/"}, False),
    ],
)
def test_conditions_are_those_of_an_english_viewer(
    attributes: dict[str, str], expected: bool
) -> None:
    assert conditions_hold(attributes) is expected


def test_a_switch_draws_the_first_child_that_meets_its_conditions() -> None:
    choice: list[bool] = []
    languages = ["de", "en", "en"]
    assert [choose_switch_child(choice, {"systemLanguage": name}) for name in languages] == [
        False,
        True,
        False,
    ]
