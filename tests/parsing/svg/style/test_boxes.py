import pytest

from parsing.svg.style import boxes
from parsing.svg.style.boxes import ShapeBoxes
from tests.parsing.tree import parse_shapes


def test_the_box_of_a_shape_leaves_its_transform_out() -> None:
    shape = {"d": "M1 2h4v6z", "transform": "scale(2)", "fill": "red"}
    assert ShapeBoxes().find("Path", shape, 1.0) == (1, 2, 4, 6)


@pytest.mark.parametrize("d", ["", "M1 2", "bogus"])
def test_what_draws_nothing_has_no_box(d: str) -> None:
    assert ShapeBoxes().find("Path", {"d": d}, 1.0) is None


def test_copies_are_traced_once_and_a_document_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[object] = []

    def trace(*shape: object) -> list[object]:
        traced.append(shape)
        return []

    monkeypatch.setattr(boxes, "trace_shape", trace)
    style = "transform-box:fill-box;transform-origin:center;rotate:5deg"
    path = f'<path id="a" d="M0 0{"a1 1 0 0 0 1 1" * 9}" style="{style}"/>'
    parse_shapes(path + '<use href="#a"/>' * 20)
    assert len(traced) == 1
    monkeypatch.setattr(boxes, "MAX_TRACED", 200)
    parse_shapes("".join(path.replace("M0", f"M{number}") for number in range(20)))
    assert len(traced) == 2
