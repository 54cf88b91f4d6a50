"""Whatever is wrong in a plan, reading ends with a drawing or with an error for the user."""

import json
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from parsing.drawing import Drawing
from parsing.errors import ParsingError
from parsing.plans import read_plan
from samples.venue import make_venue
from tests.parsing.geography import OsmPlanBuilder, box

JUNK: tuple[Any, ...] = (None, True, 3, -1.5, 1e308, "x", "", {}, ((),), "0,5", {"type": "level"})
PLANS_PER_SEED = 60


def break_somewhere(value: Any, random: Random) -> Any:
    """Return JSON with one value removed, repeated or replaced."""
    if not value or not isinstance(value, dict | list) or random.random() < 0.1:
        return random.choice(JUNK)
    items: dict[Any, Any] = dict(enumerate(value)) if isinstance(value, list) else dict(value)
    key = random.choice([*items])
    choice = random.random()
    if choice < 0.15:
        del items[key]
    elif choice < 0.3 and isinstance(value, list):
        items[len(items)] = items[key]
    else:
        items[key] = break_somewhere(items[key], random)
    return [*items.values()] if isinstance(value, list) else items


def read_all(files: dict[str, bytes]) -> Drawing | None:
    with suppress(ParsingError):
        read_plan(files, strict=True)
    with suppress(ParsingError):
        return read_plan(files)
    return None


@pytest.mark.parametrize("seed", range(2))
def test_a_venue_with_any_value_changed(seed: int) -> None:
    random, read = Random(seed), 0
    venue = {name: json.loads(content) for name, content in make_venue().items()}
    for _ in range(PLANS_PER_SEED):
        name = random.choice([*venue])
        broken = {**venue, name: break_somewhere(venue[name], random)}
        drawing = read_all({name: json.dumps(value).encode() for name, value in broken.items()})
        read += drawing is not None
    assert read > PLANS_PER_SEED / 2


@pytest.mark.parametrize("seed", range(2))
def test_an_extract_without_any_of_its_lines(seed: int) -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 5, 5), indoor="room", level="0", name="Hall")
    builder.add_way(box(5, 0, 9, 5), indoor="corridor", level="0;1")
    builder.add_way([(6, 1), (6, 4)], highway="steps", level="0;1")
    builder.add_way(box(-9, -9, 50, 50), shop="mall")
    builder.add_node((5, 3), door="yes")
    relation = (
        "<relation id='7'>\n<member type='way' ref='1' role='outer'/>\n"
        "<tag k='type' v='multipolygon'/><tag k='indoor' v='area'/><tag k='level' v='1'/>"
        "</relation>"
    )
    lines = builder.to_osm(relation).splitlines(keepends=True)
    random = Random(seed)
    for _ in range(PLANS_PER_SEED):
        inner = [line for line in lines[1:-1] if random.random() < 0.9]
        drawing = read_all({"plan.osm": b"".join([lines[0], *inner, lines[-1]])})
        if drawing is not None:
            named = {fault.part for fault in drawing.faults if "left out" in fault.cause}
            assert named.isdisjoint(feature.id for feature in drawing.features)
