"""A shape is drawn the same after others that are written alike as it is by itself."""

import pytest

from tests.parsing.tree import parse_shapes

STYLE = "<style>.wall{fill:gray;stroke-width:1em} #front{fill:red} .far{transform:scale(2)}</style>"
SHAPES = [
    '<rect class="wall" x="1" y="2" width="3" height="4"/>',
    '<rect class="wall" x="10%" y="2" width="3" height="4"/>',
    '<rect class="wall" x="2em" y="wide" width="3" height="4"/>',
    '<rect class="far" x="1" y="2" width="3" height="4" transform="rotate(9)"/>',
    '<rect id="front" class="wall" x="1" y="2" width="3" height="4"/>',
    '<rect id="back" class="wall" x="1" y="2" width="3" height="4"/>',
    '<circle class="wall" cx="1" cy="2em" r="3"/>',
    '<circle class="wall" cx="1" cy="2" r="3"/>',
    '<circle cx="1" cy="2" r="inherit"/>',
    '<path d="M0 0h9" transform="rotate(9)" fill="red"/>',
    '<path d="M0 0h9" transform="translate(9%,5)" fill="red"/>',
    '<path d="M0 0h9" transform="none" fill="red"/>',
    '<path d="M0 0h9" transform="inherit" fill="red"/>',
    '<path d="M0 0h9" transform="unset" fill="red"/>',
    '<path d="inherit" fill="red"/>',
    '<path d="M0 0h7" fill="red"/>',
    '<path d="M0 0h7" fill="currentColor"/>',
    '<path d="M0 0h7" fill="inherit"/>',
    '<path d="M0 0h7" style="d:path(&quot;M1 1h2&quot;)"/>',
    '<path d="M1 1h2" style="d:path(&quot;M1 1h2&quot;)"/>',
    '<path d="M0 0h7" visibility="hidden" fill="red"/>',
    '<path d="M0 0h7" fill="red" visibility="visible"/>',
]
GROUPS = [
    "<g>{}</g>",
    '<g color="blue" font-size="20" transform="translate(1 2)" opacity=".5">{}</g>',
    '<g stroke="green" visibility="hidden">{}</g>',
]


@pytest.mark.parametrize("group", GROUPS)
def test_neighbours_do_not_matter(group: str) -> None:
    alone = [shape for each in SHAPES for shape in parse_shapes(STYLE + group.format(each))]
    for shapes in (SHAPES, SHAPES[::-1]):
        together = parse_shapes(STYLE + group.format("".join(shapes)))
        assert sorted(map(str, together)) == sorted(map(str, alone))


@pytest.mark.parametrize("style", ["", STYLE])
def test_an_attribute_with_percentages_is_dropped_as_by_browsers(style: str) -> None:
    """Only style has percentages in a transform."""
    path = '<path d="M0 0h9" transform="{}" fill="red"/>'
    [_, *moved] = parse_shapes(
        style + path.format("rotate(9)") + path.format("translate(9%,5)") * 2
    )
    assert moved == [{"d": "M0 0h9", "fill": "red", "type": "Path"}] * 2


def test_shapes_in_other_groups_do_not_matter() -> None:
    alone = [shape for group in GROUPS for shape in parse_shapes(group.format(SHAPES[14]))]
    assert parse_shapes("".join(group.format(SHAPES[14]) for group in GROUPS)) == alone
