"""The rules by which the name of a group says what it is."""

import pytest

from parsing.svg.naming.layer_names import NamedType, read_layer_name, suggest_name


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("UnitLayer", "UnitLayer"),
        ("unit layer", "UnitLayer"),
        ("UnitLayer_2", "UnitLayer"),  # the second of a Figma file
        ("UnitLayer-2", "UnitLayer"),  # of Illustrator's "Export As"
        ("UnitLayer copy", "UnitLayer"),  # a layer that was duplicated in Inkscape
        ("Unit Layer copy 3", "UnitLayer"),
        ("HitAreaLayer", "HitAreaLayer"),
        ("HIT-AREA-LAYER", "HitAreaLayer"),
    ],
)
def test_case_blanks_hyphens_and_copy_numbers_of_layers_do_not_matter(name: str, kind: str) -> None:
    assert read_layer_name(name) == NamedType(kind)


@pytest.mark.parametrize(
    ("name", "level_id", "tags"),
    [
        ("Level", "", None),
        ("Level 2", "Level 2", None),
        ("Level -1", "Level -1", None),
        ("Level B1", "Level B1", None),
        ("Level 2.5", "Level 2.5", None),
        ("Level Mezzanine", "Level Mezzanine", None),
        ("Floor B1", "Floor B1", None),
        ("Storey 3", "Storey 3", None),
        ("2nd Floor", "2nd Floor", None),
        ("First floor", "First floor", None),
        ("Lower ground floor", "Lower ground floor", None),
        ("Level: floor=second", "", {"floor": "second"}),
        (
            "Level 2 : floor = second ; building = 1",
            "Level 2",
            {"floor": "second", "building": "1"},
        ),
    ],
)
def test_a_level_may_have_a_storey_and_tags(
    name: str, level_id: str, tags: dict[str, str] | None
) -> None:
    assert read_layer_name(name) == NamedType("Level", level_id, tags)


def test_illustrator_writes_blanks_as_underscores() -> None:
    name = "Level_2:_floor=second_floor;_building=1"
    assert read_layer_name(name, illustrator=True) == NamedType(
        "Level", "Level_2", {"floor": "second_floor", "building": "1"}
    )


def test_a_georeference_has_its_numbers_in_its_name() -> None:
    named = read_layer_name("Georeference: latitude=41.88; longitude=-87.62")
    assert named == NamedType("Georeference", "", {"latitude": "41.88", "longitude": "-87.62"})


@pytest.mark.parametrize(
    "name",
    [
        "Furniture",
        "Levels",
        "Level crossing",
        "My UnitLayer",
        "Hit Layer",
        "Level: ground floor",
        "Level 4 East",
        "Floor",
        "Georeference",
        "Georeference: latitude=1; longitude=x",
        "",
    ],
)
def test_every_other_group_is_a_layer(name: str) -> None:
    assert read_layer_name(name) is None


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("Unit Layers", "UnitLayer"),
        ("UintLayer", "UnitLayer"),
        ("Level: ground floor", "Level: floor=2"),
        ("Level 4 East", "Level 4"),
        ("UnitLayer Level 2", "UnitLayer"),
        ("unit layer (copy)", "UnitLayer"),
        ("Top Floor", "Level: floor=<id of the floor>"),
        ("Eleventh Floor", "Level: floor=<id of the floor>"),
        ("Level 1000", "Level: floor=<id of the floor>"),
        ("Levels 2", "Level: floor=<id of the floor>"),
        ("2. Floor", "Level 2"),
        ("Level 1 floor=ground", "Level 1: floor=ground"),
        ("2nd Floor (new)", "2nd Floor"),
        ("L2", "Level 2"),
        (
            "Georeference: latitude=1; longitude=x",
            "Georeference: latitude=41.88; longitude=-87.62; zoom=18",
        ),
        ("Level crossing", ""),
        ("Floor tiles 2", ""),
        ("Furniture", ""),
        ("united", ""),
    ],
)
def test_a_name_that_is_almost_markup_is_noticed(name: str, suggestion: str) -> None:
    assert suggest_name(name) == suggestion
