"""What a parse tells about a drawing: what is lost, what is probably a mistake, and where it is."""

import re
from collections import Counter
from typing import Any

import pytest
from lxml import etree

from parsing.errors import DocumentRejectedError
from parsing.svg import shape_checks
from parsing.svg.outcome import MAX_PLACES, WarningPlace
from parsing.svg.resolving import StyleResolver
from parsing.svg.shape_checks import MAX_TRACED_CHARS
from parsing.svg.unit_map import parse_unit_map
from parsing.svg.walk import DrawingWalker
from parsing.svg.warning_pictures import MAX_MARKERS, draw_pictures, find_levels
from parsing.svg.warnings import CAUSES, MAX_BOXES, ignore_faults
from tests.parsing.parsed_maps import CLEAN, LABEL, ROOT, messages_of, parse, warnings_of


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


# Each cause of warnings, with a drawing that has it.

NAMED = CLEAN.replace('data-type="Level" id="one"', 'id="Level 1"').replace("data-type", "id")
GRADIENT = '<linearGradient id="g"><stop stop-color="red"/></linearGradient>'
UNREAD_RULES = [
    ("[data-kind=room]{fill:red}", "[data-kind=room]"),
    ("rect:not(.a, .b){fill:red}", "rect:not(.a, .b)"),
    ("a ~ rect, .b{fill:red}", "a ~ rect"),
    ("@supports (fill:red){rect{fill:red}}", "@supports (fill:red)"),
    ("@layer base{rect{fill:red}}", "@layer base"),
    ("@media (hover){rect{fill:red}}", "@media (hover)"),
    (f".x{{background:url({'A' * 150_000});fill:red}}", ".x"),
    ('@import url("plan.css");', '@import url("plan.css")'),
    (f"@media {'print,' * 200}{{rect{{fill:red}}}}", f"@media {'print,' * 11}prin..."),
    (f"</style><style media='{'print,' * 200}'>", f"@media {'print,' * 11}prin..."),
]


@pytest.mark.parametrize(
    ("content", "code", "detail"),
    [
        # What the format does not have.
        ("<text>1</text>", "text", "<text>"),
        ('<image id="scan"/>', "image", "<image> 'scan'"),
        ("<foreignObject/>", "foreign-object", "<foreignObject>"),
        (
            f'{GRADIENT}<path id="a" fill="url(#g)"/>',
            "paint",
            "fill url(#g) of <path> 'a' is drawn as #ff0000",
        ),
        (
            '<path fill="url(#gone) red"/>',
            "missing-paint",
            "fill url(#gone) red of <path> is drawn as red",
        ),
        ('<use href="#gone"/>', "use", "<use> of '#gone'"),
        ('<line marker-end="url(#m)"/>', "marker", "<line>"),
        ('<g id="a" clip-path="url(#c)"/>', "clip", "<g> 'a'"),
        ('<path style="mask:url(#m)"/>', "mask", "<path>"),
        ('<path filter="url(#f)"/>', "filter", "<path>"),
        ('<style>.a{filter:url(#f)}</style><g id="b" class="a"/>', "filter", "<g> 'b'"),
        ('<path filter="blur(2px)"/>', "filter", "filter: blur(2px)"),
        ('<g style="mix-blend-mode:multiply"/>', "style", "mix-blend-mode: multiply"),
        ('<rect style="width: calc(1px + 2em)"/>', "style", "width: calc(1px + 2em)"),
        (
            f'<rect style="fill:red;background:url({"A" * 150_000});stroke:red"/>',
            "style",
            "style: 150,036 characters, of which 100,000 are read",
        ),
        *((f"<style>{rule}</style>", "style", shown) for rule, shown in UNREAD_RULES),
        # Markup.
        ('<g data-type="Unit Layer"/>', "misspelt-type", "'Unit Layer'; did you mean 'UnitLayer'?"),
        ('<g data-type="wall"/>', "misspelt-type", "'wall'"),
        ('<g Data-type="Level"/>', "misspelt-attribute", 'Data-type="Level"'),
        ('<g id="Hit Layer"/>', "misspelt-name", "'Hit Layer'; did you mean 'HitAreaLayer'?"),
        (CLEAN + '<g id="Unit Layer"/>', "name-not-read", "'Unit Layer' would be a UnitLayer"),
        (NAMED, "read-as", "read as Level: group named 'Level 1'"),
        (
            NAMED.replace("hit101", "Hit 101"),
            "unit-by-name",
            "read as 'hit101': a <rect> with id 'Hit 101'",
        ),
        (
            '<g id="Level 1"><g id="Level 2"/></g>',
            "nested-name",
            "the Level 'Level 2' is in a Level",
        ),
        ('<g id="UnitLayer"><path id="A"/><path id="A_2"/></g>', "numbered", "<path> 'A_2'"),
        (
            NAMED.replace("</g>", '<g id="102"><text/></g></g>', 1),
            "empty-unit",
            "group named '102'",
        ),
        (
            '<g id="UnitLayer"><g id="9"><rect id="Base"/><path id="Icon"/></g></g>',
            "named-parts",
            "group named '9'",
        ),
        (
            f'<g data-type="UnitLayer"><rect id="101" {LABEL}="102"/></g>',
            "other-label",
            "the id '101' counts, not the label '102'",
        ),
        ('<rect data-type="Level"/>', "misplaced-type", "'Level' on <rect>"),
        (
            CLEAN.replace("<rect", '<rect display="none" data-tags="indoor=room;indoor=area"', 1),
            "tags",
            "<rect> '101': data-tags gives 'indoor' twice",
        ),
        # Ids.
        ("<path/>", "no-level", ""),
        (CLEAN + '<g data-type="UnitLayer"/>', "outside-level", "<g>"),
        (
            CLEAN.replace("</g>", '<path id="101"/></g>', 1),
            "duplicate-id",
            "<path> '101' in level 'one'",
        ),
        (CLEAN.replace('"101"', '" "'), "blank-id", "<rect> ' ' in level 'one'"),
        (
            CLEAN.replace('"101"', f'"{"1" * 256}"'),
            "long-id",
            f"<rect> '{'1' * 77}...' in level 'one'",
        ),
        (CLEAN.replace(' id="101"', ""), "no-id", "<rect> in level 'one'"),
        (CLEAN.replace("hit101", "Hit-101"), "no-id", "'Hit-101'; did you mean 'hit101'?"),
        (
            NAMED.replace('"101"', '"rect847"'),
            "generated-id",
            "<rect> 'rect847' in level 'Level 1'",
        ),
        (
            '<g xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape">'
            f"{CLEAN.replace('101', 'rect1-5')}</g>",
            "generated-id",
            "<rect> 'rect1-5' in level 'one'",
        ),
        (CLEAN.replace("hit101", "hit999"), "unit-without-hit-area", "'101' in level 'one'"),
        (CLEAN.replace("hit101", "hit999"), "hit-area-without-unit", "'999' in level 'one'"),
        # Coordinates.
        (
            CLEAN.replace('"101"', '"101" x="250"'),
            "outside-canvas",
            "<rect> '101': reaches from 250,0 to 259,9",
        ),
        (
            '<g data-type="UnitLayer"><circle id="101" cx="500%" cy="50%" r="5"/></g>',
            "outside-canvas",
            "<circle> '101': reaches from 995,45 to 1005,55",
        ),
        ('<circle cx="-50" r="9"/>', "shape-outside", "<circle>: reaches from -59,-9 to -41,9"),
        (
            CLEAN + '<g data-type="Level" id="2"><rect x="900" width="9" height="9"/></g>',
            "blank",
            "the Level '2'",
        ),
        ("<text/>", "blank", "the map"),
        ('<g data-type="Level"/>', "blank", "a Level without id"),
        # Geometry.
        ('<path d="M 0 0 L 5 x 7"/>', "geometry", "<path>: d has 'x' at character 11"),
        (
            CLEAN.replace('id="101" width="9"', 'id="101" width="0"'),
            "geometry",
            "<rect> '101': it draws nothing",
        ),
        (
            CLEAN.replace('<rect id="hit101"', '<path id="hit101" d="M0 0H9"'),
            "geometry",
            "<path> 'hit101': it has no area, so it cannot be clicked",
        ),
        (
            '<g data-type="Georeference" data-latitude="123" data-longitude="0"/>',
            "georeference-range",
            "latitude is 123",
        ),
        (
            '<g data-type="Georeference" data-latitude="1" data-longitude="0"/>' * 2,
            "georeferences",
            "<g>",
        ),
    ],
)
def test_causes(content: str, code: str, detail: str) -> None:
    """What the warning says behind the message of its cause."""
    message = messages_of(content, code)[0]
    assert message == ": ".join(filter(None, (CAUSES[code].message, detail)))


def test_every_cause_is_tested_and_has_a_remedy() -> None:
    [parameters] = [
        mark.args[1]
        for mark in test_causes.pytestmark  # type: ignore[attr-defined]
    ]
    assert {code for _, code, _ in parameters} == CAUSES.keys()
    assert all(cause.is_note or cause.remedy for cause in CAUSES.values())


def test_the_documented_causes_are_these() -> None:
    text = (ROOT / "docs/unit-maps.md").read_text(encoding="utf-8")
    rows = text.partition("| code | warning |")[2].partition("\n\n")[0].splitlines()[2:]
    assert rows == [
        f"| `{code}` | {cause.message} | {cause.remedy} |" for code, cause in CAUSES.items()
    ]


@pytest.mark.parametrize(
    ("shape", "fault"),
    [
        ('path d="M 0 0 L 5"', "d is no path at character 10: ...'M 0 0 L 5'; expected a command"),
        ('path d="L 5 5"', "d does not begin with M"),
        ('polygon points="1,1 2"', "points has 3 numbers; expected an even count"),
        ('circle cx="a" r="5"', "cx is 'a'"),
        ('ellipse rx="-5" ry="5"', "rx is -5"),
    ],
)
def test_faults_of_geometry(shape: str, fault: str) -> None:
    """Units have the same."""
    kind = shape.partition(" ")[0]
    [message] = messages_of(f"<{shape}/>", "geometry")
    assert message.startswith(f"{CAUSES['geometry'].message}: <{kind}>: {fault}")
    [message] = messages_of(f'<g data-type="UnitLayer"><{shape} id="1"/></g>', "geometry")
    assert f"<{kind}> '1': " in message


@pytest.mark.parametrize(
    "image",
    [
        '<image width="200" height="100"/>',
        '<image width="100%" height="60%"/>',
        '<g transform="scale(2)"><image width="100" height="40"/></g>',
        '<image width="100" height="60"/><image x="100" width="100" height="60"/>',
        "<style>.scan{width:90%;height:80px}</style><image class='scan'/>",
        '<image href="plan.png"/>',  # of a size that is not known
        '<foreignObject width="200" height="100"><p><img src="plan.png"/></p></foreignObject>',
        '<image width="200" height="100"/>' + '<rect width="5" height="5"/>' * 40,
        '<rect width="200" height="9"/>' * 9 + '<image width="200" height="100"/>',
    ],
)
def test_a_plan_that_is_a_picture_is_rejected_unless_it_is_forced(image: str) -> None:
    with pytest.raises(DocumentRejectedError, match=r"images cover \d+% of the canvas"):
        parse(image)
    assert parse(image, force=True).to_dict()["width"] == 200


@pytest.mark.parametrize(
    "content",
    [
        '<image width="200" height="40"/>',
        '<image width="200" height="100"/>' + '<rect width="20" height="5"/>' * 10,
        '<image width="200" height="100"/>' + '<path d="M1 1h1"/>' * 50,
        '<image x="5000" width="200" height="100"/>',
        '<image x="199" width="200" height="100"/>',
        '<image width="200" height="45"/>' * 3,
        "<image/>",
        '<image width="200" height="100" display="none"/>',
        '<image width="200" height="100" visibility="hidden"/>',
        '<g opacity="0%"><image width="200" height="100"/></g>',
        '<foreignObject width="200" height="100"/><defs><image/></defs>',
    ],
)
def test_a_plan_with_a_picture_is_none(content: str) -> None:
    assert parse(content).json


def test_labels_of_drawio_are_no_pictures() -> None:
    """Each is HTML in a foreignObject as large as the canvas."""
    html = '<foreignObject width="100%" height="100%"><div>Room 1</div></foreignObject>'
    rooms = '<rect width="60" height="40"/>' * 6
    assert parse(f"{rooms}<switch>{html}<text>Room 1</text></switch>").json


def test_a_plan_whose_only_shape_is_painted_with_a_picture_is_rejected() -> None:
    """As Figma exports a picture."""
    figma = (
        '<rect width="200" height="100" fill="url(#pattern0)"/><defs><pattern id="pattern0">'
        '<use href="#image0"/></pattern><image id="image0" width="800" height="400"/></defs>'
    )
    for drawing in (
        figma,
        figma.replace('"', "'"),
        figma.replace("<rect", '<path d="M0 0H200V100H0z"'),
    ):
        with pytest.raises(DocumentRejectedError, match=r"cover 100% of .* would have 1 shape;"):
            parse(drawing)
    assert parse(figma.replace("<image", "<path"))
    [image] = parse(figma, force=True).warnings[1:2]
    assert (image.code, image.places[0].detail) == (
        "image",
        "fill url(#pattern0) of <rect> is drawn as none",
    )


def test_patterns_are_searched_for_images_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = (
        '<rect width="200" height="100" fill="url(#p)"/>'
        '<defs><pattern id="p"><path/><image width="800" height="400"/></pattern></defs>'
    )
    monkeypatch.setattr(shape_checks, "MAX_STEPS", 4)
    with pytest.raises(DocumentRejectedError, match="cover 100%"):
        parse(drawing)
    monkeypatch.setattr(shape_checks, "MAX_STEPS", 3)
    assert parse(drawing).json


def test_units_are_looked_at_wherever_they_end_and_however_many_there_are() -> None:
    inside = '<path id="{}" d="M1 1 L9 1 9 9z"/>'
    units = "".join(inside.format(number) for number in range(5_000))
    outside = '<path id="last" d="M1 1 L9 1 9 900z"/>'
    warnings = warnings_of(f'<g data-type="UnitLayer">{units}{outside}</g>')
    assert [place.name for place in warnings["outside-canvas"].places] == ["last"]


def test_what_is_traced_is_bounded() -> None:
    """Units after that are looked at where they begin."""
    large = f'<path id="a" d="M1 1{"h1h-1" * MAX_TRACED_CHARS}"/>'
    units = '<path id="b" d="M1 1V900"/><path id="c" d="M1 900V1"/>'
    warnings = warnings_of(f'<g data-type="UnitLayer">{large}{units}</g>')
    assert [place.name for place in warnings["outside-canvas"].places] == ["c"]


@pytest.mark.parametrize(
    ("faulty", "code"),
    [
        ('<rect x="5000" width="9" height="9"/>', "shape-outside"),
        ('<circle cx="500%" r="9"/>', "shape-outside"),
        ('<path d="M0 0L9 x 9 9"/>', "geometry"),
        ('<path d="M0 0L9 8 7"/>', "geometry"),
    ],
)
def test_every_shape_of_a_small_drawing_is_looked_at(faulty: str, code: str) -> None:
    drawing = ('<path d="M1 1L9 9"/>' * 2 + faulty) * 150
    assert warnings_of(drawing)[code].count == 150
    assert warnings_of(drawing)[code].message == CAUSES[code].message


def test_of_a_large_drawing_a_sample_is_looked_at_and_all_behind_a_fault() -> None:
    away = '<rect x="900" width="9" height="9"/>' * 200
    outside = warnings_of('<path d="M1 1L9 9"/>' * 5_000 + away)["shape-outside"]
    assert 136 <= outside.count <= 200
    assert "(at least so many: of the shapes that are no units a sample" in outside.message


def test_a_level_far_from_the_canvas_is_looked_at_until_its_end() -> None:
    """So a Level with one shape on the canvas is not taken for a blank one."""
    away = '<rect x="900" width="9" height="9"/>' * 500
    level = f'<g data-type="Level" id="2">{away}%s</g>'
    warnings = warnings_of(level % "")
    assert warnings["shape-outside"].count == 500
    assert warnings["blank"].places[0].name == "2"
    assert "blank" not in warnings_of(level % '<rect width="9" height="9"/>')


SYMBOL = """<symbol id="s" viewBox="0 0 10 10">
  <rect width="4" height="4" fill="url(#g)"/><text x="5" y="5">A</text></symbol>"""
TEXT = '<text x="30" y="20">Gym</text>'


def places_of(content: str, code: str) -> list[WarningPlace]:
    return warnings_of(content)[code].places


def positions_of(content: str, code: str) -> list[tuple[float | None, float | None]]:
    return [(place.x, place.y) for place in places_of(content, code)]


@pytest.mark.parametrize(
    ("content", "position"),
    [
        (TEXT, (30, 20)),
        (f'<g transform="translate(10 0)"><g transform="scale(2)">{TEXT}</g></g>', (70, 40)),
        (f'<svg x="100" width="20" height="20" viewBox="0 0 40 40">{TEXT}</svg>', (115, 10)),
        ('<text transform="rotate(90 60 40)" x="60" y="40">A</text>', (60, 40)),
        ('<text x="30 40 50" y="20, 21">Gym</text>', (30, 20)),
        ('<text x="50%" y="10%">Gym</text>', (100, 10)),
        ('<text><tspan x="60" y="40">A</tspan><tspan x="1" y="2">B</tspan></text>', (60, 40)),
        ('<text y="5"><tspan>A</tspan><tspan x="60" y="40">B</tspan></text>', (60, 5)),
        ("<text>A</text>", (0, 0)),
        (  # not where one is that is hidden
            '<defs><g id="a"><text x="1" display="none">H</text><text x="3">A</text></g></defs>'
            '<use href="#a"/>',
            (3, 0),
        ),
        ('<defs><g id="a"><text x="1" y="2">A</text></g></defs><use href="#a" x="9"/>', (10, 2)),
        (
            '<defs><text id="a" x="1" y="2">A</text><g id="b"><use href="#a" y="3"/></g></defs>'
            '<use href="#b" x="9" transform="scale(2)"/>',
            (20, 10),
        ),
    ],
)
def test_a_text_is_where_it_begins(content: str, position: tuple[float, float]) -> None:
    assert positions_of(content, "text") == [position]


@pytest.mark.parametrize(
    ("content", "code", "extent"),
    [
        ('<image x="10" y="20" width="30" height="40" href="a.png"/>', "image", (25, 40, 30, 40)),
        ('<image width="20" href="a.png"/>', "image", (10, 10, 20, 20)),
        (
            '<foreignObject transform="scale(2)" x="1" width="8" height="4"/>',
            "foreign-object",
            (10, 4, 16, 8),
        ),
        ('<path d="M10 10H30V20" fill="url(#g)"/>', "paint", (20, 15, 20, 10)),
        ('<rect x="10" y="20" width="0" height="5" fill="url(#g)"/>', "paint", (10, 20, 0, 0)),
        ('<rect x="300" width="9" height="9"/>', "shape-outside", (304.5, 4.5, 9, 9)),
        ('<path d="M10 20 L30 x"/>', "geometry", (10, 20, 0, 0)),
        ('<path data-type="Level" d="M0 0h8v4"/>', "misplaced-type", (4, 2, 8, 4)),
        (  # a group is where its shapes are
            '<g data-type="level" transform="translate(9)"><g><path d="M0 0h8v4"/></g>'
            '<rect x="90" width="2" height="2"/></g>',
            "misspelt-type",
            (55, 2, 92, 4),
        ),
        ('<g mask="url(#m)"><rect width="8" height="4"/></g>', "mask", (4, 2, 8, 4)),
        ('<g data-type="level"/>', "misspelt-type", (None, None, None, None)),
        ("", "no-level", (None,) * 4),
        ('<switch><text>A</text><path d="M0 0h8v4"/></switch>', "text", (0, 0, 0, 0)),
        (  # the whole shape, not what the viewport leaves of it
            '<svg width="10" height="10"><rect x="5" width="10" height="10" fill="url(#g)"/></svg>',
            "paint",
            (10, 5, 10, 10),
        ),
    ],
)
def test_an_element_has_its_middle_and_size(
    content: str, code: str, extent: tuple[float | None, ...]
) -> None:
    [place] = places_of(GRADIENT + content, code)
    assert (place.x, place.y, place.width, place.height) == extent


def test_what_uses_draw_is_where_they_draw_it() -> None:
    uses = '<use href="#s" width="20" height="20"/><use href="#s" x="50" width="10" height="10"/>'
    content = GRADIENT + SYMBOL + uses
    assert positions_of(content, "text") == [(10, 10), (55, 5)]
    assert positions_of(content, "paint") == [(4, 4), (52, 2)]


def test_the_texts_of_one_use_are_told_apart() -> None:
    texts = "".join(f'<text x="{x}" y="1">A</text>' for x in range(5))
    content = f'<defs><g id="a">{texts}</g></defs><use href="#a" y="7"/>'
    assert positions_of(content, "text") == [(x, 8) for x in range(5)]


def test_a_place_has_the_number_and_the_id_of_its_level() -> None:
    levels = [f'<g data-type="Level" id="{id}">{TEXT}<path d="M0 0h9v9"/></g>' for id in "ab"]
    texts = places_of("".join(levels) + TEXT, "text")
    assert [(place.level, place.level_index) for place in texts] == [("a", 0), ("b", 1), ("", None)]
    [blank] = places_of(levels[0] + '<g data-type="Level" id="c"/>', "blank")
    assert (blank.level, blank.level_index) == ("", 1)


def test_levels_that_uses_draw_are_numbered_too() -> None:
    content = f"""<defs><g id="d"><g data-type="Level" id="a"><path d="M0 0h9v9"/></g></g></defs>
        <use href="#d"/><g data-type="Level" id="b">{TEXT}</g>"""
    assert [place.level_index for place in places_of(content, "text")] == [1]


def test_units_that_lack_a_hit_area_are_found_by_their_names_too() -> None:
    content = CLEAN.replace('"101"', '"101" x="20" y="30"').replace("hit101", "hit102")
    [unit] = places_of(content, "unit-without-hit-area")
    assert (unit.name, unit.level, unit.x, unit.y) == ("101", "one", 24.5, 34.5)


def count_calls(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> Counter[int]:
    """Return how often each object of a class has had a method called."""
    calls, method = Counter[int](), getattr(owner, name)

    def counted(self: object, *arguments: Any, **options: Any) -> Any:
        calls[id(self)] += 1
        return method(self, *arguments, **options)

    monkeypatch.setattr(owner, name, counted)
    return calls


def test_a_drawing_without_warnings_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count_calls(monkeypatch, DrawingWalker, "_enter_root")
    parse(CLEAN)
    assert calls.total() == 1
    parse(CLEAN + TEXT)
    assert calls.total() == 3


def test_few_elements_of_many_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = '<path d="M0 0h9v9"/>' * 10_000
    calls = count_calls(monkeypatch, StyleResolver, "draw")
    places = places_of(f'<g data-type="level">{TEXT * 10_000}{shapes}</g>', "text")
    assert len(places) == 10
    assert calls.total() == 10_000 + MAX_BOXES


def test_a_use_of_many_texts_is_not_read_to_its_end() -> None:
    content = f'<defs><g id="a">{TEXT * 10_000}</g></defs><use href="#a"/><use href="#a" x="9"/>'
    assert positions_of(content, "text") == [(30, 20)] * 10


def test_places_are_as_many_as_are_asked_for() -> None:
    [*_, text] = parse(TEXT * 200, max_places=50).warnings
    assert (text.code, text.count, len(text.places)) == ("text", 200, 50)
    assert text.places[-1].x == 30


SVG = "{http://www.w3.org/2000/svg}"


def pictures_of(content: str, **options: int) -> dict[str, etree._Element]:
    parsed = parse(content, **options)
    drawn = draw_pictures(parsed.to_dict(), parsed.warnings)
    return {name: etree.fromstring(svg) for name, svg in drawn.items()}


def markers_of(picture: etree._Element) -> list[tuple[str, str]]:
    """Return the number and the title of each marker."""
    return [
        (each.findtext(f"{SVG}text[@class='number']") or "", each.findtext(f"{SVG}title") or "")
        for each in picture.iterfind(f"{SVG}g[@class='marker']")
    ]


def texts_of(picture: etree._Element) -> str:
    return " ".join(text for each in picture.iter(f"{SVG}text") if (text := each.text))


def test_a_picture_has_units_hit_areas_markers_and_a_legend() -> None:
    [(name, picture)] = pictures_of(CLEAN.replace("</g>\n</g>", f"</g>{TEXT}</g>")).items()
    assert name == "1.one"
    outlines = [each.get("class") for each in picture.iter(f"{SVG}g") if each.get("class")]
    assert outlines == ["unit", "hit", "marker"]
    assert markers_of(picture) == [("1", "line 3: text is left out: <text> in level 'one'")]
    assert "text is left out convert it to paths" in texts_of(picture)
    [marker] = picture.iterfind(f"{SVG}g[@class='marker']")
    plan = picture.find(f"{SVG}svg")
    assert plan is not None
    scale = float(plan.get("width", "")) / 200
    position = [float(number) for number in re.findall(r"[\d.]+", marker.get("transform", ""))]
    top = float(plan.get("y", ""))
    assert position == [30 + 30 * scale, top + 20 * scale]


def test_mistakes_have_the_first_numbers_as_in_the_explorer() -> None:
    named = f'<g id="Level 1"><g id="UnitLayer"><rect id="101" width="9" height="9"/></g>{TEXT}</g>'
    [picture] = pictures_of(named).values()
    numbers = {title.partition(": ")[2][:13]: number for number, title in markers_of(picture)}
    assert numbers["text is left "] == "1"
    assert len(numbers) > 1


def test_each_level_has_a_picture_of_its_own_parts() -> None:
    levels = "".join(
        f'<g data-type="Level" id="{id}"><path d="M0 0h{id}v9"/><text>{id}</text></g>'
        for id in "12"
    )
    pictures = pictures_of(f'{levels}<rect width="3" height="3"/>')
    assert [*pictures] == ["1.1", "2.2"]
    for id, picture in zip("12", pictures.values(), strict=True):
        assert [path.get("d") for path in picture.iter(f"{SVG}path")] == [f"M0 0h{id}v9"]
        assert picture.find(f".//{SVG}rect[@width='3'][@height='3']") is not None
        assert [title for _, title in markers_of(picture)] == [
            f"line 1: text is left out: <text> in level '{id}'"
        ]
        assert "(1 of 2 marked here)" in texts_of(picture)


def test_a_level_in_a_level_has_a_picture_too() -> None:
    inner = '<g data-type="Level" id="b"><path d="M0 0h9v9"/></g>'
    pictures = pictures_of(f'<g data-type="Level" id="a"><rect width="7" height="3"/>{inner}</g>')
    assert [*pictures] == ["1.a", "2.b"]
    assert [len([*each.iter(f"{SVG}path")]) for each in pictures.values()] == [0, 1]


def test_a_map_without_levels_has_a_picture() -> None:
    [(name, picture)] = pictures_of(TEXT).items()
    assert name == "map"
    assert [number for number, _ in markers_of(picture)] == ["3"]
    assert "the drawing has no Level" in texts_of(picture)


def test_a_drawing_without_warnings_says_so() -> None:
    [picture] = pictures_of(CLEAN).values()
    assert not markers_of(picture)
    assert "no warnings" in texts_of(picture)


def test_places_next_to_each_other_share_a_marker() -> None:
    [picture] = pictures_of(TEXT * 8).values()
    [(_, title)] = markers_of(picture)
    assert title.count("text is left out") == 5
    assert title.endswith("and 3 more")
    assert "×8" in texts_of(picture)


def test_what_is_outside_of_the_canvas_is_marked_at_its_edge() -> None:
    [picture] = pictures_of('<rect x="900" y="-900" width="9" height="9"/>').values()
    [marker] = picture.iterfind(f"{SVG}g[@class='marker']")
    x, y = map(float, re.findall(r"[\d.]+", marker.get("transform", "")))
    assert 0 < x < float(picture.get("width", ""))
    assert 0 < y < float(picture.get("height", ""))


def test_names_of_the_drawing_are_text() -> None:
    name = "&lt;script&gt;&amp;\"'"
    quoted = name.replace('"', "&quot;")
    [picture] = pictures_of(
        f'<g data-type="Level" id="{quoted}"><g data-type="UnitLayer"><rect id="{quoted}"'
        f' width="9" height="9"/></g><text id="{quoted}">A</text></g>'
    ).values()
    assert not [*picture.iter(f"{SVG}script")]
    assert "<script>&" in texts_of(picture)


def test_markers_and_pictures_are_bounded() -> None:
    grid = [(x, y) for x in range(0, 200, 8) for y in range(0, 100, 4)]
    text = "".join(f'<text x="{x}" y="{y}">A</text>' for x, y in grid)
    [picture] = pictures_of(text, max_places=1_000).values()
    assert len(markers_of(picture)) == MAX_MARKERS
    assert len(pictures_of('<g data-type="Level"/>' * 150)) == 100
    assert len(find_levels(parse('<g data-type="Level"/>' * 150).to_dict())) == 150
