"""The rules by which the name of a group says what it is."""

import pytest

from parsing.svg.naming.layer_names import NamedType, read_layer_name, suggest_name, suggest_type


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("UnitLayer", "UnitLayer"),
        ("unit layer", "UnitLayer"),
        ("Unit-Layer", "UnitLayer"),
        ("unit_layer", "UnitLayer"),
        ("UnitLayer_2", "UnitLayer"),  # the second of a Figma file
        ("UnitLayer-2", "UnitLayer"),  # of Illustrator's "Export As"
        ("UnitLayer copy", "UnitLayer"),  # a layer that was duplicated in Inkscape
        ("Unit Layer copy 3", "UnitLayer"),
        ("HitAreaLayer", "HitAreaLayer"),
        ("Hit Area Layer", "HitAreaLayer"),
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
        ("level_2", "level_2", None),
        ("Level -1", "Level -1", None),
        ("Level 2a", "Level 2a", None),
        ("Level B1", "Level B1", None),
        ("Level G", "Level G", None),
        ("Level: floor=second", "", {"floor": "second"}),
        ("Level 2: floor=second;building=1", "Level 2", {"floor": "second", "building": "1"}),
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
        "Units",
        "Levels",
        "Level crossing",
        "Levelling",
        "Unit Layers",
        "My UnitLayer",
        "Hit Layer",
        "Level: ground floor",
        "Georeference",
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
        ("Units", "UnitLayer"),
        ("Hit Layer", "HitAreaLayer"),
        ("HitAreas", "HitAreaLayer"),
        ("Level: ground floor", "Level: floor=2"),
        ("Levels", ""),
        ("Furniture", ""),
        ("United Kingdom Pavilion", ""),
    ],
)
def test_a_name_that_is_almost_markup_is_noticed(name: str, suggestion: str) -> None:
    assert suggest_name(name) == suggestion


@pytest.mark.parametrize(
    ("value", "suggestion"),
    [
        ("level", "Level"),
        ("Unitlayer", "UnitLayer"),
        ("Unit Layer", "UnitLayer"),
        ("HitLayer", "HitAreaLayer"),
        ("georeference", "Georeference"),
        ("wall", ""),
    ],
)
def test_a_misspelt_type_is_noticed(value: str, suggestion: str) -> None:
    assert suggest_type(value) == suggestion
