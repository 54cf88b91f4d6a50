"""Packed lists come back as they were."""

from shapely import MultiPolygon, Polygon, box

from routing.network.packing import join_lists, pack_rows, pack_shapes

ROOM, PAIR = box(0, 0, 2, 1), MultiPolygon([box(0, 0, 1, 1), box(3, 0, 4, 1)])


def test_lists_come_back_in_order() -> None:
    packed = join_lists([pack_shapes([[ROOM, PAIR], []]), pack_shapes([[Polygon()]])])
    assert len(packed) == 3
    assert [packed.shapes(index) for index in range(3)] == [(ROOM, PAIR), (), (Polygon(),)]


def test_names_come_back_in_any_language() -> None:
    packed = join_lists([pack_rows([[("r1", "Küche"), ("r2", "会议室")]]), pack_rows([[]])])
    assert packed.rows(0) == [("r1", "Küche"), ("r2", "会议室")]
    assert packed.rows(1) == []
