"""Which floor of the catalog each level of a drawing becomes."""

from dataclasses import replace

import pytest
from shapely import Point

from parsing.drawing import Bounds, Drawing, DrawnLevel, NoteCollector, ReadingFault
from resolvers.plans.floors import assign_floors, order_storeys
from resolvers.request.errors import InvalidInputError
from routing.plan import Connector, ConnectorKind

SORTS = {"lobby": 1, "mezzanine": 4, "roof": 9}


def assign(
    drawn: Drawing, floor_sorts: dict[str, int] | None = None, notes: NoteCollector | None = None
) -> Drawing:
    return assign_floors(drawn, "map", floor_sorts, notes or NoteCollector())


def drawing(*levels: DrawnLevel) -> Drawing:
    return Drawing(levels, (), 1.0, Bounds(0, 0, 1, 1))


def test_levels_take_their_floors_ids_and_ranks_from_the_lowest() -> None:
    drawn = drawing(DrawnLevel("b", "B", floor_id="roof"), DrawnLevel("lobby", "A"))
    levels = assign(drawn, SORTS).levels
    assert [(level.id, level.ordinal) for level in levels] == [("lobby", 0), ("roof", 2)]


def test_a_single_level_needs_no_floor_if_there_is_one_only() -> None:
    [level] = assign(drawing(DrawnLevel("x", "")), {"lobby": 1}).levels
    assert level.id == "lobby"


@pytest.mark.parametrize(
    "name", ["Level 2", "level_2", "LEVEL-2", "Level2", "Lvl 2", "Floor 2", "Storey 2", "2"]
)
def test_a_level_may_be_named_after_the_id_of_its_floor(name: str) -> None:
    [level] = assign(drawing(DrawnLevel(name, name)), {"1": 1, "2": 2}).levels
    assert level.id == "2"


def test_a_floor_whose_id_is_the_whole_name_comes_first() -> None:
    [level] = assign(drawing(DrawnLevel("Level 2", "")), {"Level 2": 1, "2": 2}).levels
    assert level.id == "Level 2"


def test_without_floors_ids_are_made_up_and_ordinals_stay() -> None:
    [level] = assign(drawing(DrawnLevel("-1", "", -1.0)), None).levels
    assert (level.id, level.ordinal) == ("map-level--1", -1.0)


def number(*names: str) -> tuple[dict[str, float | None], list[str]]:
    """The ordinals by name of levels that have none, and the notes."""
    notes = NoteCollector()
    levels = assign(drawing(*(DrawnLevel(name, name) for name in names)), None, notes).levels
    return {each.name: each.ordinal for each in levels}, [str(note) for note in notes.notes()]


@pytest.mark.parametrize(
    ("names", "ordinals"),
    [
        (("oak-2", "oak-1"), (2, 1)),
        (("F1", "F2"), (1, 2)),
        (("1", "3"), (1, 3)),
        (("EG", "OG1"), (0, 1)),
        (("B1", "L1"), (-1, 1)),
        (("level-1", "level-2"), (1, 2)),
    ],
)
def test_levels_without_ordinals_have_the_numbers_of_their_names(
    names: tuple[str, str], ordinals: tuple[float, float]
) -> None:
    found, [note] = number(*names)
    assert found == dict(zip(names, ordinals, strict=True))
    assert note.startswith(f"level numbered by its name: 2 ({names[0]} is {ordinals[0]}, ")


@pytest.mark.parametrize("names", [("cellar", "attic"), ("north 1", "south 1"), ("1", "attic")])
def test_levels_with_other_names_are_drawn_from_the_lowest(names: tuple[str, str]) -> None:
    found, [note] = number(*names)
    assert found == {names[0]: 0, names[1]: 1}
    assert "in the order of the drawing from the lowest: 2" in note


def test_a_single_level_needs_no_number() -> None:
    assert number("attic") == ({"attic": 0}, [])


def connector(*floors: str) -> Connector:
    return Connector("s", ConnectorKind.STEPS, {floor: Point(0, 0) for floor in floors})


def test_a_connector_between_levels_of_one_ordinal_is_left_out() -> None:
    notes = NoteCollector()
    drawn = drawing(
        *(DrawnLevel(name, "", ordinal) for name, ordinal in (("a", 1), ("b", 1), ("c", 2)))
    )
    upright, flat = connector("a", "c"), connector("a", "b")
    assert [*order_storeys([upright, flat], drawn, None, notes)] == [upright]
    [note] = notes.notes()
    assert note.message == "left out, connects levels of the same ordinal"
    with pytest.raises(InvalidInputError, match="the higher one needs the greater sort"):
        [*order_storeys([flat], drawn, {"a": 1, "b": 1, "c": 2}, notes)]


def test_faults_are_on_the_floors_of_their_levels() -> None:
    fault = ReadingFault("left out", "way/1 is broken", levels=("-1", "7"))
    drawn = replace(drawing(DrawnLevel("-1", "", -1.0)), faults=(fault,))
    [found] = assign(drawn, None).faults
    assert found.levels == ("map-level--1",)


@pytest.mark.parametrize(
    ("name", "floor"),
    [
        ("Level -1", "-1"),
        ("Level_-1", "-1"),
        ("Level-1", "1"),
        ("Level B1", "-1"),
        ("Level 1", "1"),
        ("2nd Floor", "oak-floor-2"),
        ("Second floor", "oak-floor-2"),
        ("Floor 2", "oak-floor-2"),
        ("Ground Floor", "oak-ground"),
        ("Level ground", "oak-ground"),
    ],
)
def test_a_level_shows_the_only_floor_of_its_storey(name: str, floor: str) -> None:
    sorts = {"-1": -1, "oak-ground": 0, "1": 1, "oak-floor-2": 2}
    [level] = assign(drawing(DrawnLevel(name, "")), sorts).levels
    assert level.id == floor


def test_the_place_of_a_level_in_the_drawing_says_nothing_of_its_storey() -> None:
    numbered = DrawnLevel("Level 1", "Level 1", is_numbered=True)
    with pytest.raises(InvalidInputError, match="does not say which floor it shows"):
        assign(drawing(numbered), {"cellar": -1, "oak-floor-1": 1})


def test_a_storey_of_two_towers_is_not_guessed() -> None:
    with pytest.raises(InvalidInputError, match="does not say which floor it shows"):
        assign(drawing(DrawnLevel("Level 2", "")), {"east-floor-2": 2, "west-floor-2": 2})


@pytest.mark.parametrize(
    ("level", "message"),
    [
        (DrawnLevel("x", "Attic"), "'Attic' does not say which floor it shows"),
        (DrawnLevel("x", "Attic", floor_id="cellar"), "'cellar', which the asset does not have"),
    ],
)
def test_unknown_floors_are_rejected_with_the_known_ones(level: DrawnLevel, message: str) -> None:
    with pytest.raises(InvalidInputError, match=r"lobby, mezzanine, roof") as caught:
        assign(drawing(level), SORTS)
    assert message in str(caught.value)
