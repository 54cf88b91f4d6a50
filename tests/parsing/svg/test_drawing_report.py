"""What a parse tells about a drawing: what is lost, and what is probably a mistake."""

import pytest

from parsing.errors import DocumentRejectedError
from parsing.svg.outcome import MAX_PLACES
from parsing.svg.unit_map import parse_unit_map
from parsing.svg.warnings import CAUSES, ignore_faults
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
