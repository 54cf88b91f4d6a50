"""Packed shapes come back as they were."""

from shapely import MultiPolygon, Polygon, box

from routing.network.shapes import join_shapes, pack_shapes

ROOM, PAIR = box(0, 0, 2, 1), MultiPolygon([box(0, 0, 1, 1), box(3, 0, 4, 1)])


def test_lists_come_back_in_order() -> None:
    packed = join_shapes([pack_shapes([[ROOM, PAIR], []]), pack_shapes([[Polygon()]])])
    assert len(packed) == 3
    assert [packed.unpack(index) for index in range(3)] == [(ROOM, PAIR), (), (Polygon(),)]
