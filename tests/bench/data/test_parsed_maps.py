"""Buildings of any size."""

from bench.data.parsed_maps import build_map, ids


def test_each_unit_has_a_hit_area_on_its_storey() -> None:
    parsed = build_map(2, 7)
    ground, *storeys = parsed["elements"]
    assert ground["type"] == "Layer"
    for number, storey in enumerate(storeys, start=1):
        _, units, areas = storey["elements"]
        assert [unit["id"] for unit in units["elements"]] == [*ids(number, 7)]
        assert [area["target"]["id"] for area in areas["elements"]] == [*ids(number, 7)]
    assert (parsed["width"], parsed["height"]) == (120, 180)
