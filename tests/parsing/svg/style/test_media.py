import pytest

from parsing.svg.style.media import MAX_MEDIA_CHARS, media_matches


@pytest.mark.parametrize(
    "text",
    [
        "",
        "all",
        "screen",
        "only screen",
        "print, screen",
        "not print",
        "SCREEN and (color)",
        "(prefers-color-scheme: light)",
        "not all and (prefers-color-scheme:dark)",
    ],
)
def test_a_light_screen_matches(text: str) -> None:
    assert media_matches(text)


@pytest.mark.parametrize(
    "text", ["print", "not screen", "(prefers-color-scheme: dark)", "(min-width: 9px)", "a b", "("]
)
def test_paper_dark_screens_and_sizes_do_not(text: str) -> None:
    assert not media_matches(text)


def test_a_query_may_have_any_blanks() -> None:
    assert media_matches("\n screen \t and\n(color) ")
    assert media_matches(f"screen{' ' * 2_000}")
    assert not media_matches("\n print \n")


def test_a_query_that_is_too_long_does_not_match() -> None:
    assert not media_matches("screen," * MAX_MEDIA_CHARS)
