"""What holds of every generated plan, checked with plain geometry."""

from collections import defaultdict
from itertools import combinations

from shapely import Point

from routing.plan import Plan, Space


def assert_sound(plan: Plan) -> None:
    """Everything has an id of its own, and lies on a level that exists."""
    level_ids = {level.id for level in plan.levels}
    everything = plan.levels, plan.spaces, plan.doors, plan.connectors, plan.locations
    for ids in ([thing.id for thing in things] for things in everything):
        assert len({*ids}) == len(ids)
    for placed in (plan.spaces, plan.barriers, plan.doors, plan.locations):
        assert {each.level_id for each in placed} <= level_ids
    for connector in plan.connectors:
        assert {*connector.entrances} <= level_ids
        assert len(connector.entrances) > 1


def spaces_by_level(plan: Plan) -> dict[str, list[Space]]:
    levels: dict[str, list[Space]] = defaultdict(list)
    for space in plan.spaces:
        levels[space.level_id].append(space)
    return levels


def assert_spaces_apart(plan: Plan, overlap_square_feet: float = 0.01) -> None:
    """No two spaces of a level share more than an edge."""
    for spaces in spaces_by_level(plan).values():
        for one, other in combinations(spaces, 2):
            shared = one.polygon.intersection(other.polygon).area
            assert shared <= overlap_square_feet, f"{one.id} and {other.id} share {shared}"


def spaces_at(plan: Plan, level_id: str, x: float, y: float) -> list[Space]:
    """The spaces of a level that contain this point."""
    return [
        space for space in spaces_by_level(plan)[level_id] if space.polygon.contains(Point(x, y))
    ]
