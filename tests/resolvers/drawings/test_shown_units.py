import orjson
import pytest

from parsing.svg.unit_map import parse_unit_map
from resolvers.drawings import shown_units
from resolvers.drawings.shown_units import parse_with_units
from storage.bundles.drawings import ShownLevel

SVG = b"""<svg>
  <g data-type="Level">
    <g data-type="UnitLayer"><rect id="b"/><g><rect id="a"/></g></g>
    <g data-type="HitAreaLayer"><rect id="hitc"/><rect id="hitd" data-target-type="Other"/></g>
  </g>
</svg>"""


def test_units_are_those_drawn_and_the_targets_of_hit_areas() -> None:
    parsed, shown, _ = parse_with_units(SVG)
    assert orjson.loads(parsed) == parse_unit_map(SVG).to_dict()
    assert shown.unit_ids == ["a", "b", "c"]


def test_units_have_the_level_that_shows_them_if_it_is_one() -> None:
    svg = b"""<svg>
      <g data-type="Level" id="L1"><g data-type="UnitLayer"><rect id="a"/><rect id="both"/></g></g>
      <g data-type="Level" id="L2"><g data-type="HitAreaLayer"><rect id="hitboth"/>
        <rect id="hitb"/></g></g>
    </svg>"""
    shown = parse_with_units(svg)[1]
    assert [*zip(shown.unit_ids, shown.unit_levels, strict=True)] == [
        *(("a", 0), ("b", 1), ("both", None))
    ]


def test_warnings_are_a_sentence_for_each_cause() -> None:
    texts = "<text>1</text><text>1</text>"
    svg = f'<svg viewBox="0 0 9 9">{texts}\n<path d="M1 1" marker-end="url(#a)"/></svg>'.encode()
    assert parse_with_units(svg)[2] == [
        "the drawing has no Level",
        "line 1: text is left out: <text>, and 1 more",
        "line 2: markers are left out: <path>",
    ]


@pytest.mark.parametrize(("excess", "more"), [(0, 0), (1, 1)])
def test_a_few_causes_are_summarized(
    excess: int, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    svg = b'<svg><text>1</text><path d="M1 1" marker-end="url(#a)"/></svg>'
    monkeypatch.setattr(shown_units, "MAX_WARNINGS", len(parse_with_units(svg)[2]) - excess)
    told = [text for text in parse_with_units(svg)[2] if "more kinds of warnings" in text]
    assert len(told) == more


def test_levels_are_those_that_processing_sees() -> None:
    svg = b"""<svg>
      <g data-type="Level" id="Level 1"/>
      <g data-type="Level"/>
      <g><g data-type="Level" id="Roof" data-tags="floor=r;building=1"/></g>
      <g data-type="Level" data-tags="floor=r"><g data-type="Level" data-tags="building=1"/></g>
    </svg>"""
    assert parse_with_units(svg)[1].levels == [
        ShownLevel("Level 1"),
        ShownLevel("Level 2", is_numbered=True),
        ShownLevel("Roof", "r"),
        ShownLevel("Level 5", is_numbered=True),
    ]


def test_levels_of_a_drawing_that_are_compared_with_floors_are_limited() -> None:
    levels = "".join(f'<g data-type="Level" id="{"x" * 500}{number}"/>' for number in range(2000))
    shown = parse_with_units(f"<svg>{levels}</svg>".encode())[1].levels
    assert shown == [ShownLevel("x" * 256)] * 1000
