from parsing.svg.elements import Group
from tests.parsing.svg.test_elements import shapes_of


def test_a_shape_carries_source_position_and_identity() -> None:
    (shape,) = shapes_of(
        '<g data-type="Level" id="one"><g data-type="UnitLayer" fill="red">'
        '<rect id="101" width="50%" data-tags="a=1"/></g></g>'
    )
    assert shape.attributes == {"width": 20, "fill": "red"}
    assert shape.source["data-tags"] == "a=1"
    assert shape.container.level == Group("Level", "one")
    assert shape.container.layer == "UnitLayer"
    assert shape.identity is not None and shape.identity.id == "101"
