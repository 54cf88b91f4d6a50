"""Which floor of the catalog each level of a drawing becomes."""

from dataclasses import replace

import pytest

from parsing.drawing import Bounds, Drawing, DrawnLevel, ReadingFault
from resolvers.plans.floors import assign_floors
from resolvers.request.errors import InvalidInputError

SORTS = {"lobby": 1, "mezzanine": 4, "roof": 9}


def drawing(*levels: DrawnLevel) -> Drawing:
    return Drawing(levels, (), 1.0, Bounds(0, 0, 1, 1))


def test_levels_take_their_floors_ids_and_ranks_from_the_lowest() -> None:
    drawn = drawing(DrawnLevel("b", "B", floor_id="roof"), DrawnLevel("lobby", "A"))
    levels = assign_floors(drawn, "map", SORTS).levels
    assert [(level.id, level.ordinal) for level in levels] == [("lobby", 0), ("roof", 2)]


def test_a_single_level_needs_no_floor_if_there_is_one_only() -> None:
    [level] = assign_floors(drawing(DrawnLevel("x", "")), "map", {"lobby": 1}).levels
    assert level.id == "lobby"


def test_without_floors_ids_are_made_up_and_ordinals_stay() -> None:
    [level] = assign_floors(drawing(DrawnLevel("-1", "", -1.0)), "map", None).levels
    assert (level.id, level.ordinal) == ("map-level--1", -1.0)


def test_faults_are_on_the_floors_of_their_levels() -> None:
    fault = ReadingFault("left out", "way/1 is broken", levels=("-1", "7"))
    drawn = replace(drawing(DrawnLevel("-1", "", -1.0)), faults=(fault,))
    [found] = assign_floors(drawn, "map", None).faults
    assert found.levels == ("map-level--1",)


@pytest.mark.parametrize(
    ("level", "message"),
    [
        (DrawnLevel("x", "Attic"), "'Attic' does not say which floor it shows"),
        (DrawnLevel("x", "Attic", floor_id="cellar"), "'cellar', which the asset does not have"),
    ],
)
def test_unknown_floors_are_rejected_with_the_known_ones(level: DrawnLevel, message: str) -> None:
    with pytest.raises(InvalidInputError, match=r"lobby, mezzanine, roof") as caught:
        assign_floors(drawing(level), "map", SORTS)
    assert message in str(caught.value)
