"""What is inferred agrees with what real plans show (tests/real_plans/catalog.py lists them)."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from bench.data.demo_plan import build_demo
from parsing import plans
from parsing.drawing import Drawing, Feature
from resolvers.plans.tag_classification import get_connector_kind
from resolvers.plans.translation import TranslatedPlan, translate_plan
from routing.plan import Connector, ConnectorKind, Plan
from routing.space.doors import DoorOrigin
from routing.space.plan_repair import repair_plan
from routing.space.walkable import WalkableLevel, build_walkable_levels
from tests.real_plans.catalog import require_plan

SHOW_DOORS = (
    "apb-dresden", "rennes2-bat-s", "rennes2-presidence", "ibm-triview", "addenbrookes-final",
    "cpc4-final", "multicentro", "spbstu-polymap", "gare-de-lyon", "cdg-airport",
    "shanghaitech-merge2",
)  # fmt: skip
LIST_LEVELS = (
    "apb-dresden", "rennes2-bat-s", "rennes2-presidence", "berlin-hbf", "gare-de-lyon",
    "cdg-airport", "grand-place", "multicentro", "sao-polo-iag", "caserne",
)  # fmt: skip


@cache
def read_drawing(name: str) -> Drawing:
    """A real plan; skips the test where it is absent."""
    return plans.read_plan(require_plan(name).read())


def translate(name: str) -> TranslatedPlan:
    return translate_plan(read_drawing(name), "m")


def without_doors(plan: Plan) -> Iterator[tuple[WalkableLevel, WalkableLevel]]:
    """Each level with its doors, and with none of them."""
    repaired, _ = repair_plan(plan)
    shown, _ = build_walkable_levels(repaired)
    bare, _ = build_walkable_levels(replace(repaired, doors=()))
    yield from zip(shown, bare, strict=True)


def count_right(
    levels: Iterator[tuple[WalkableLevel, WalkableLevel]],
) -> dict[float, Counter[bool]]:
    """Whether inferred doors join the two spaces that a drawn door joins, by confidence."""
    found: defaultdict[float, Counter[bool]] = defaultdict(Counter)
    for shown, bare in levels:
        drawn = [o.piece_indexes for o in shown.openings if o.origin is not DoorOrigin.INFERRED]
        joined = {frozenset(pair) for pair in drawn}
        for opening in bare.openings:
            room_id = opening.door_id.removeprefix("inferred:")
            own = {i for i in opening.piece_indexes if bare.floor.pieces[i].room_id == room_id}
            # Of a room without a drawn door nobody knows where it is.
            if own & {index for pair in joined for index in pair}:
                found[opening.confidence][frozenset(opening.piece_indexes) in joined] += 1
    return found


def test_in_the_demo_building_nearly_all_doors_are_inferred_where_they_are() -> None:
    total = sum(count_right(without_doors(build_demo())).values(), Counter[bool]())
    assert total[True] >= 0.9 * total.total() > 100


@pytest.mark.slow
def test_inferred_doors_of_real_plans_are_as_often_right_as_their_confidence_says() -> None:
    found: defaultdict[float, Counter[bool]] = defaultdict(Counter)
    for name in SHOW_DOORS:
        for confidence, counts in count_right(without_doors(translate(name).plan)).items():
            found[confidence] += counts
    often = {
        confidence: counts[True] / counts.total()
        for confidence, counts in found.items()
        if counts.total() >= 40
    }
    assert sorted(often) == [0.3, 0.42, 0.5, 0.6, 0.7, 0.9]
    assert all(share >= confidence for confidence, share in often.items()), often
    total = sum(found.values(), Counter[bool]())
    assert total[True] >= 0.86 * total.total()


def one_level_each(features: Sequence[Feature]) -> Iterator[Feature]:
    """Connectors as plans without level lists have them: drawn on each level, without a ref."""
    for feature in features:
        if get_connector_kind(feature) is None:
            yield feature
            continue
        tags = {key: value for key, value in feature.tags.items() if key != "ref"}
        for level in feature.levels:
            yield feature._replace(id=f"{feature.id} on {level}", levels=(level,), tags=tags)


def iter_rides(drawing: Drawing) -> Iterator[tuple[Connector, str, str]]:
    """Connectors with each two levels that they join and that follow each other.

    Not ramps: a footway on one level is none.
    """
    plan = translate_plan(drawing, "m").plan
    for connector in plan.connectors:
        levels = [level.id for level in plan.levels if level.id in connector.entrances]
        if connector.kind is not ConnectorKind.RAMP:
            yield from ((connector, *pair) for pair in pairwise(levels))


def count_matched(
    rides: Sequence[tuple[Connector, str, str]], others: Sequence[tuple[Connector, str, str]]
) -> int:
    """How many of the rides are among the others, by their kind, levels and place."""
    by_levels: defaultdict[tuple[str, ...], list[Connector]] = defaultdict(list)
    for other, *levels in others:
        by_levels[other.kind, *levels].append(other)
    return sum(
        any(
            all(one.entrances[lv].distance(other.entrances[lv]) <= 1 for lv in levels)
            for other in by_levels[one.kind, *levels]
        )
        for one, *levels in rides
    )


@pytest.mark.slow
def test_connectors_that_are_drawn_on_each_level_are_joined_as_their_lists_of_levels_say() -> None:
    listed_rides = found_rides = right = again = 0
    for name in LIST_LEVELS:
        drawing = read_drawing(name)
        apart = replace(drawing, features=tuple(one_level_each(drawing.features)))
        listed, found = list(iter_rides(drawing)), list(iter_rides(apart))
        listed_rides, found_rides = listed_rides + len(listed), found_rides + len(found)
        again, right = again + count_matched(listed, found), right + count_matched(found, listed)
    assert again >= 0.85 * listed_rides
    assert right >= 0.99 * found_rides
