"""Inferred doors agree with those that real plans show (tests/real_plans/catalog.py)."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

import pytest

from bench.data.plans import build_demo
from parsing import plans
from resolvers.plans.translation import TranslatedPlan, translate_plan
from routing.plan import Plan
from routing.space.doors import DoorOrigin
from routing.space.plan_repair import repair_plan
from routing.space.walkable import WalkableLevel, build_walkable_levels
from tests.real_plans.catalog import require_plan

SHOW_DOORS = (
    "apb-dresden", "rennes2-bat-s", "rennes2-presidence", "ibm-triview", "addenbrookes-final",
    "cpc4-final", "multicentro", "spbstu-polymap", "gare-de-lyon", "cdg-airport",
    "shanghaitech-merge2",
)  # fmt: skip


def translate(name: str) -> TranslatedPlan:
    """A real plan; skips the test where it is absent."""
    return translate_plan(plans.read_plan(require_plan(name).read()), "m")


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
