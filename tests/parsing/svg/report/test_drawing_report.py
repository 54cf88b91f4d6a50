"""What a parse tells about a drawing: what is lost, and what is probably a mistake."""

import pytest

from parsing.errors import DocumentRejectedError
from parsing.svg.outcome import MAX_PLACES
from parsing.svg.report.warnings import ignore_faults
from parsing.svg.unit_map import parse_unit_map
from tests.parsing.svg.report.drawings import CLEAN, LABEL, messages_of, parse, warnings_of


def test_a_drawing_without_mistakes_has_no_warnings() -> None:
    parsed = parse(CLEAN)
    assert parsed.warnings == ()
    assert parsed.summary == (1, 1, 1, 0)


def test_a_place_has_line_and_column_element_id_and_level() -> None:
    [warning] = parse(
        CLEAN.replace("</g>\n</g>", '</g>\n  <text id="lobby">A</text>\n</g>')
    ).warnings
    assert (warning.code, warning.count, warning.is_note) == ("text", 1, False)
    assert warning.places == [(4, 3, "text", "lobby", "one", "", 0, 0, 0, 0, 0)]
    assert warning.describe(warning.places[0]) == (
        "text is left out: <text> 'lobby' in level 'one'"
    )
    assert warning.remedy.startswith("convert it to paths")


def test_all_places_are_counted_and_the_first_are_kept() -> None:
    text = warnings_of("<text>1</text>\n" * 500)["text"]
    assert text.count == 500
    assert [place.line for place in text.places] == [*range(1, MAX_PLACES + 1)]


@pytest.mark.parametrize(
    "content",
    [
        '<g display="none"><text>1</text><image/></g>',
        "<defs><text>1</text><image/></defs>",
        "<switch><path/><text>1</text></switch>",
        '<path marker-end="none" mask="none"/>',
        '<text x="1"/><text> </text><text id="a"><tspan x="0" y="0"/><tspan> </tspan></text>',
        '<g display="none" clip-path="url(#c)" filter="blur(2px)"/>',
        '<defs><path id="r" d="M0 0h9v9"/></defs><use href="#r" mask="url(#m)" display="none"/>',
        '<g data-type="UnitLayer"><path id="101" d="M0 0h9v9"/></g>',  # no hit areas
        '<g id="Level 2"><g id="Level 2 furniture"/></g>',
        f'<g data-type="UnitLayer"><rect id="101" width="9" height="9" {LABEL}="rect9"/></g>',
        CLEAN.replace('<rect id="101"', '<rect data-id="101"'),
        CLEAN.replace('<rect id="101"', f'<rect id="101" {LABEL}="101 "'),
        CLEAN.replace('<rect id="101"', '<circle id="101" cx="50%" cy="50%" r="5%"'),
        CLEAN.replace("</g>", '<g id="102"/></g>', 1),
        '<rect data-type="room"/>',
        '<g datatype="12" data_type="wall"/>',
        '<g data-type="Level"><circle cx="50%" cy="50%" r="10%"/></g>',
        '<g data-type="Level" transform="translate(1deg)"><path d="M0 0h9v9"/></g>',
        '<path/><path d=""/><path d=" m 1 1 2 2zl5-5"/><polygon points=""/>',
        '<rect x="inherit" width="auto" height="5%" rx="auto"/><line x1="1em" y1="2px"/>',
        "<style>@font-face{src:url(a)} @media print{rect{fill:red}} rect:hover{fill:red}</style>",
        f"<path style='fill:red;{' ' * 150_000}'/>",
        '<style>@import url("https://fonts.example.org/css?family=Inter");</style>',
        '<rect style="fill: rgb(1, 2, 3); filter: none; mix-blend-mode: normal"/>',
        "<style>.a{clip-path:url(#c);filter:blur(2px)}</style><path/>",  # no element has it
        "<style>.a{filter:blur(2px)}</style><path class='a' style='Filter:none'/>",
        "<style>.a{width:calc(1px + 2px)} rect{width:5px!important}</style><rect class='a'/>",
        '<g display="none"><use href="#gone"/></g><use display="none" href="#gone"/>',
    ],
)
def test_what_is_not_lost_and_no_mistake_has_no_warning(content: str) -> None:
    expected = {"read-as"} if 'data-type="Level"' in content else {"no-level", "read-as", "blank"}
    assert warnings_of(content).keys() <= expected


def test_a_group_of_units_is_not_without_shapes() -> None:
    units = '<g id="Rooms"><g id="1"><path d="M0 0h9v9"/></g><path id="2"/></g>'
    warnings = warnings_of(f'<g id="UnitLayer">{units}</g>')
    assert warnings.keys().isdisjoint({"empty-unit", "named-parts"})


def test_a_group_with_a_level_in_it_ends_once() -> None:
    """An entity hides the type, so names are markup beside it."""
    level = '<g data-type="&#76;evel" id="L"><g id="3"/></g>'
    empty = warnings_of(f'<g id="UnitLayer"><g id="1">{level}</g><g id="2"/></g>')["empty-unit"]
    assert [place.name for place in empty.places] == ["2"]


@pytest.mark.parametrize("name", ["Data-type", "datatype", "dataType", "data_type", "DATA-TYPE"])
def test_misspelt_names_of_data_type(name: str) -> None:
    assert messages_of(f'<g {name}="Unit Layer"/>', "misspelt-attribute")[0].endswith(
        f': {name}="Unit Layer"'
    )
    assert "misplaced-type" in warnings_of('<rect data-type="unitlayer"/>')


@pytest.mark.parametrize("element", ["a", "svg", "switch"])
def test_names_on_elements_that_are_no_groups_are_not_read(element: str) -> None:
    [message] = messages_of(f'<{element} id="UnitLayer"/>', "misspelt-name")
    assert message.endswith(f"'UnitLayer' on <{element}>; put it on a <g>")


def test_a_group_with_named_parts_is_meant_as_a_unit_if_a_hit_area_points_to_it() -> None:
    parts = '<g id="UnitLayer"><g id="Gym"><path id="Base"/><path id="Icon"/></g></g>'
    assert "named-parts" not in warnings_of(parts)
    [place] = warnings_of(f'{parts}<g id="HitAreaLayer"><path id="Gym"/></g>')["named-parts"].places
    assert place.name == "Gym"


def test_a_hit_area_called_hit_has_no_suggestion() -> None:
    [message] = messages_of(CLEAN.replace("hit101", "hit"), "no-id")
    assert "did you mean" not in message


@pytest.mark.parametrize(
    "content",
    [
        '<image width="9e99" height="1"/>',
        f'<image width="{"1" * 200}" height="1" transform="{"scale(1)" * 2_000}"/>',
        f'<text style="{"fill:red;" * 20_000}"/>',
        f'<g data-type="UnitLayer"><circle id="1" cx="{"1" * 200}"/></g>',
        '<g data-type="UnitLayer"><path id="1" d="M0 0" transform="turn(1)"/></g>',
        '<g clip-path="url(#c)"/><clipPath id="c"><rect width="a" height="1"/></clipPath>',
    ],
)
def test_what_only_warnings_look_at_rejects_no_drawing(content: str) -> None:
    assert parse(content).json


class OutOfTimeError(DocumentRejectedError):
    """As the error that ends a parse which takes too much CPU time."""


def test_a_parse_that_takes_too_long_ends_wherever_it_is() -> None:
    with pytest.raises(OutOfTimeError), ignore_faults():
        raise OutOfTimeError("too long")


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("clip-path:url(#SVGID_2_)", "clip"),
        ("mask:url(#m) !important", "mask"),
        ("filter:blur(2px)", "filter"),
        ("marker-end:url(#m)", "marker"),
        ("width:calc(1px + 2em)", "style"),
    ],
)
@pytest.mark.parametrize("element", ["path", "g", "svg", "use"])
def test_effects_of_a_class_are_told_of_each_element_that_has_it(
    rule: str, code: str, element: str
) -> None:
    """Illustrator writes classes."""
    shapes = f'<path id="r" d="M0 0"/>\n<{element} href="#r" id="a" class="st2"/>'
    warning = warnings_of(f"<style>.st2{{{rule}}}</style>{shapes}")[code]
    assert [(place.line, place.element, place.name) for place in warning.places] == [
        (2, element, "a")
    ]


@pytest.mark.parametrize("attribute", ['clip-path="%s"', 'style="clip-path:%s"', 'class="c"'])
@pytest.mark.parametrize(
    ("clip", "is_reported"),
    [
        ('<rect width="200" height="100" fill="white"/>', False),  # as Figma writes it
        ('<rect width="200" height="99"/>', True),
        ('<rect x="1" width="200" height="100"/>', True),
        ('<rect width="200" height="100" transform="scale(.5)"/>', True),
        ('<circle r="9"/>', True),
        ("<rect width='200' height='100'/>", False),
    ],
)
def test_a_clip_of_the_whole_canvas_is_none(clip: str, is_reported: bool, attribute: str) -> None:
    group = f"<g {attribute.replace('%s', 'url(#c)')}><path/></g>"
    clips = f'<clipPath id="c">{clip}</clipPath><style>.c{{clip-path:url(#c)}}</style>'
    assert ("clip" in warnings_of(f"{group}<defs>{clips}</defs>")) == is_reported


@pytest.mark.parametrize(
    ("effect", "code"),
    [
        ('clip-path="url(#c)"', "clip"),
        ('mask="url(#m)"', "mask"),
        ('style="filter:blur(2px)"', "filter"),
    ],
)
def test_effects_on_a_use_and_on_the_root_are_lost_too(effect: str, code: str) -> None:
    content = f'<defs><path id="r" d="M0 0h9v9"/></defs>\n<use id="copy" href="#r" {effect}/>'
    [place] = warnings_of(content)[code].places
    assert (place.line, place.element, place.name) == (2, "use", "copy")
    svg = f'<svg viewBox="0 0 200 100" {effect}><path d="M0 0h9v9"/></svg>'
    [warning] = [each for each in parse_unit_map(svg.encode()).warnings if each.code == code]
    assert warning.places[0][:3] == (1, 1, "svg")
