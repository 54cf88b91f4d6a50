from parsing.svg.elements import Georeference, Group, Shape
from parsing.svg.walk import walk_drawing


class Recorder:
    """A handler that records its calls in order."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.shapes: list[Shape] = []

    def set_canvas_size(self, width: int, height: int) -> None:
        self.calls.append(f"canvas {width}x{height}")

    def start_group(self, group: Group) -> None:
        self.calls.append(f"start {group.kind}")

    def end_group(self) -> None:
        self.calls.append("end")

    def add_georeference(self, georeference: Georeference) -> None:
        self.calls.append("georeference")

    def add_shape(self, shape: Shape) -> None:
        self.calls.append(shape.kind)
        self.shapes.append(shape)


def walk(body: str) -> Recorder:
    recorder = Recorder()
    walk_drawing(f'<svg viewBox="0 0 40 20">{body}</svg>'.encode(), recorder)
    return recorder


def test_a_handler_is_called_in_document_order() -> None:
    recorder = walk(
        '<g data-type="Georeference" data-latitude="1" data-longitude="2"/>'
        '<g data-type="Level"><g data-type="UnitLayer"><path/></g><text/></g><rect/>'
    )
    assert recorder.calls == [
        "canvas 40x20", "georeference",
        "start Level", "start UnitLayer", "Path", "end", "end",
        "Rect",
    ]  # fmt: skip


def test_a_shape_carries_source_position_and_identity() -> None:
    (shape,) = walk(
        '<g data-type="Level" id="one"><g data-type="UnitLayer" fill="red">'
        '<rect id="101" width="50%" data-tags="a=1"/></g></g>'
    ).shapes
    assert shape.attributes == {"width": 20, "fill": "red"}
    assert shape.source["data-tags"] == "a=1"
    assert shape.container.level == Group("Level", "one")
    assert shape.container.layer == "UnitLayer"
    assert shape.identity is not None and shape.identity.id == "101"


def test_hidden_shapes_are_reported_as_invisible() -> None:
    shapes = walk('<path/><path display="none"/><g visibility="hidden"><path/></g>').shapes
    assert [shape.is_visible for shape in shapes] == [True, False, False]
