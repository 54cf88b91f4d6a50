"""The size of the canvas."""

import pytest

from parsing.errors import InvalidMarkupError
from tests.parsing.tree import parse_drawing, parse_shapes


@pytest.mark.parametrize(
    ("root", "size"),
    [
        ('viewBox="0 0 640 480"', (640, 480)),
        ('viewBox="0,0,640,480" width="10" height="10"', (640, 480)),
        ('viewBox=" 0\t0 , 640.4  479.5 "', (640, 480)),
        ('viewBox="-5 1e1 6.4E2 480." width="100%"', (640, 480)),
        ('width="640" height="480px"', (640, 480)),
        ('width="5in" height="10cm"', (480, 378)),
        ('width="210mm" height="297mm"', (794, 1123)),
        ('width="72pt" height="6PC"', (96, 96)),
        ('width="10em" height="10ex"', (160, 80)),
        ('width="400Q" height="10rem"', (378, 160)),
        # What gives no size has the one CSS gives such images.
        ("", (300, 150)),
        ('width="50%" height="640"', (150, 640)),
        ('width="wide" height="-4"', (300, 150)),
        # A viewBox in error counts as none.
        ('viewBox="0 0 640" width="10" height="20"', (10, 20)),
        ('viewBox="0 0 0 480" width="10" height="20"', (10, 20)),
        ('viewBox="0 0 -1 480" width="10" height="20"', (10, 20)),
        ('viewBox="0 0 nan inf" width="10" height="20"', (10, 20)),
        ('viewBox="0 0 .1 .1"', (1, 1)),
    ],
)
def test_width_and_height_are_whole_user_units(root: str, size: tuple[int, int]) -> None:
    parsed = parse_drawing("", root)
    assert (parsed["width"], parsed["height"]) == size
    assert type(parsed["width"]) is int


def test_an_origin_elsewhere_is_moved_to_the_corner() -> None:
    parsed = parse_drawing('<path/><path transform="scale(2)"/>', 'viewBox="-10 20.5 30 40"')
    assert [shape["transform"] for shape in parsed["elements"]] == [
        "translate(10 -20.5)",
        "translate(10 -20.5) scale(2)",
    ]


@pytest.mark.parametrize(
    "root",
    ['viewBox="0 0 1e300 1"', 'width="1e999"', 'viewBox="-1e99 0 1 1"', 'height="9999999999"'],
)
def test_gigantic_sizes_are_errors(root: str) -> None:
    with pytest.raises(InvalidMarkupError, match="too large a number; at most 2,147,483,647"):
        parse_drawing("", root)


def test_nothing_is_drawn_in_an_inner_view_box_without_area() -> None:
    content = '<rect width="9" height="9"/>'
    frame = '<svg width="80" height="50" overflow="visible" viewBox="0 0 {} 40">{}</svg>'
    assert parse_shapes(frame.format("0", content)) == []
    assert len(parse_shapes(frame.format("-1", content))) == 1
