"""Each cause of warnings, with a drawing that has it."""

import pytest

from parsing.svg.report.causes import CAUSES
from tests.parsing.sources import ROOT
from tests.parsing.svg.report.drawings import CLEAN, LABEL, messages_of

PATH = '<path d="M0 0H200V100H0z"'
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
    ("content", "code", "message"),
    [
        # What the format does not have.
        ("<text>1</text>", "text", "text is left out: <text>"),
        ('<image id="scan"/>', "image", "an image is left out: <image> 'scan'"),
        ("<foreignObject/>", "foreign-object", "a foreignObject is left out: <foreignObject>"),
        (
            f'{GRADIENT}<path id="a" fill="url(#g)"/>',
            "paint",
            "a gradient or pattern is drawn as its average colour: fill url(#g) of <path> 'a' is "
            "drawn as #ff0000",
        ),
        (
            f'{GRADIENT}<style>.a{{stroke:url(#g)}}</style><path class="a"/>',
            "paint",
            "a gradient or pattern is drawn as its average colour: stroke url(#g) of <path> is "
            "drawn as #ff0000",
        ),
        (
            f'{GRADIENT}<path fill="URL(#g)"/>',
            "paint",
            "a gradient or pattern is drawn as its average colour: fill URL(#g) of <path> is drawn "
            "as #ff0000",
        ),
        (
            '<path fill="url(#gone) red"/>',
            "missing-paint",
            "a gradient or pattern is not in the drawing: fill url(#gone) red of <path> is drawn "
            "as red",
        ),
        (
            '<path fill="url(#gone)"/>',
            "missing-paint",
            "a gradient or pattern is not in the drawing: fill url(#gone) of <path> is drawn as "
            "none",
        ),
        (
            '<use href="#gone"/>',
            "use",
            "a use draws nothing, because what it refers to is not in the drawing: <use> of "
            "'#gone'",
        ),
        (
            CLEAN.replace("<rect", '<use id="105" href="other.svg#room"/><rect', 1),
            "use",
            "a use draws nothing, because what it refers to is not in the drawing: <use> '105' of "
            "'other.svg#room'",
        ),
        ('<line marker-end="url(#m)"/>', "marker", "markers are left out: <line>"),
        ('<g id="a" clip-path="url(#c)"/>', "clip", "a clip path is not applied: <g> 'a'"),
        ('<path style="mask:url(#m)"/>', "mask", "a mask is not applied: <path>"),
        ('<path filter="url(#f)"/>', "filter", "a filter is not applied: <path>"),
        (
            '<style>.a{filter:url(#f)}</style><g id="b" class="a"/>',
            "filter",
            "a filter is not applied: <g> 'b'",
        ),
        ('<path filter="blur(2px)"/>', "filter", "a filter is not applied: filter: blur(2px)"),
        (
            '<path style="clip-path:circle(20%)"/>',
            "clip",
            "a clip path is not applied: clip-path: circle(20%)",
        ),
        (
            '<g style="mix-blend-mode:multiply"/>',
            "style",
            "style is not read or not applied: mix-blend-mode: multiply",
        ),
        (
            '<rect style="width: calc(1px + 2em)"/>',
            "style",
            "style is not read or not applied: width: calc(1px + 2em)",
        ),
        (
            f'<rect style="fill:red;background:url({"A" * 150_000});stroke:red"/>',
            "style",
            "style is not read or not applied: style: 150,036 characters, of which 100,000 are "
            "read",
        ),
        *(
            (f"<style>{rule}</style>", "style", f"style is not read or not applied: {shown}")
            for rule, shown in UNREAD_RULES
        ),
        # Markup.
        (
            '<g data-type="Unit Layer"/>',
            "misspelt-type",
            "data-type has a value that is no type, so the group is a Layer: 'Unit Layer'; "
            "did you mean 'UnitLayer'?",
        ),
        (
            '<g data-type="wall"/>',
            "misspelt-type",
            "data-type has a value that is no type, so the group is a Layer: 'wall'",
        ),
        (
            '<g Data-type="Level"/>',
            "misspelt-attribute",
            'an attribute is called almost data-type, so it is not read: Data-type="Level"',
        ),
        (
            '<g id="Hit Layer"/>',
            "misspelt-name",
            "the name of a group is almost one that makes it a part of the map: 'Hit Layer'; did "
            "you mean 'HitAreaLayer'?",
        ),
        (
            CLEAN + '<g id="Unit Layer"/>',
            "name-not-read",
            "the name of a group is not read, because the drawing uses data-type: 'Unit Layer' "
            "would be a UnitLayer",
        ),
        (
            NAMED,
            "read-as",
            "a name is read as markup: read as Level: group named 'Level 1'",
        ),
        (
            NAMED.replace("hit101", "Hit 101"),
            "unit-by-name",
            "a unit or hit area has its id from a name: read as 'hit101': a <rect> with id "
            "'Hit 101'",
        ),
        (
            '<g id="Level 1"><g id="Level 2"/></g>',
            "nested-name",
            "a group that its name makes a part of the map is in another, so its name is not read: "
            "the Level 'Level 2' is in a Level",
        ),
        (
            '<g id="UnitLayer"><g id="HitAreaLayer"><path/></g></g>',
            "nested-name",
            "a group that its name makes a part of the map is in another, so its name is not read: "
            "the HitAreaLayer 'HitAreaLayer' is in a UnitLayer",
        ),
        (
            '<g id="UnitLayer"><path id="A"/><path id="A_2"/></g>',
            "numbered",
            "a unit or hit area is called as another with a number, as copies are: <path> 'A_2'",
        ),
        (
            NAMED.replace("</g>", '<g id="102"><text/></g></g>', 1),
            "empty-unit",
            "a group with the name of a unit has no shape, so the unit is not in the map: group "
            "named '102'",
        ),
        (
            '<g id="UnitLayer"><g id="9"><rect id="Base"/><path id="Icon"/></g></g>',
            "named-parts",
            "a group is named as a unit, but its shapes have names of their own, so these are "
            "units: group named '9'",
        ),
        (
            f'<g data-type="UnitLayer"><rect id="101" {LABEL}="102"/></g>',
            "other-label",
            "a shape of a UnitLayer or HitAreaLayer has an id and another label: the id '101' "
            "counts, not the label '102'",
        ),
        (
            '<rect data-type="Level"/>',
            "misplaced-type",
            "data-type is on an element that is no group, so it is not read: 'Level' on <rect>",
        ),
        (
            '<a data-type="UnitLayer"/>',
            "misplaced-type",
            "data-type is on an element that is no group, so it is not read: 'UnitLayer' on <a>",
        ),
        (
            '<rect data-tags="corridor"/>',
            "tags",
            "data-tags of a shape cannot be read, so routing leaves the shape out: <rect>: "
            "data-tags has 'corridor'; expected key=value pairs joined by ;",
        ),
        (
            CLEAN.replace("<rect", '<rect display="none" data-tags="indoor=room;indoor=area"', 1),
            "tags",
            "data-tags of a shape cannot be read, so routing leaves the shape out: <rect> '101': "
            "data-tags gives 'indoor' twice",
        ),
        # Ids.
        ("<path/>", "no-level", "the drawing has no Level"),
        (
            CLEAN + '<g data-type="UnitLayer"/>',
            "outside-level",
            "a UnitLayer or HitAreaLayer is outside of every Level, so its storey is unknown: <g>",
        ),
        (
            CLEAN.replace("</g>", '<path id="101"/></g>', 1),
            "duplicate-id",
            "an id of a Level, Unit or HitArea is used twice: <path> '101' in level 'one'",
        ),
        (
            '<g data-type="Level" id="1"/><g data-type="Level" id="1"/>',
            "duplicate-id",
            "an id of a Level, Unit or HitArea is used twice: <g> '1'",
        ),
        (
            CLEAN.replace('"101"', '" "'),
            "blank-id",
            "an id is blank: <rect> ' ' in level 'one'",
        ),
        (
            CLEAN.replace('"101"', f'"{"1" * 256}"'),
            "long-id",
            f"an id has over 255 characters: <rect> '{'1' * 77}...' in level 'one'",
        ),
        (
            CLEAN.replace(' id="101"', ""),
            "no-id",
            "a shape of a UnitLayer or HitAreaLayer has no unit's id, so it is an ordinary shape: "
            "<rect> in level 'one'",
        ),
        (
            CLEAN.replace("hit101", "Hit-101"),
            "no-id",
            "a shape of a UnitLayer or HitAreaLayer has no unit's id, so it is an ordinary shape: "
            "'Hit-101'; did you mean 'hit101'?",
        ),
        (
            NAMED.replace('"101"', '"rect847"'),
            "generated-id",
            "a shape of a UnitLayer or HitAreaLayer has the id that the drawing program made up: "
            "<rect> 'rect847' in level 'Level 1'",
        ),
        (
            '<g xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape">'
            f"{CLEAN.replace('101', 'rect1-5')}</g>",
            "generated-id",
            "a shape of a UnitLayer or HitAreaLayer has the id that the drawing program made up: "
            "<rect> 'rect1-5' in level 'one'",
        ),
        (
            CLEAN.replace("hit101", "hit999"),
            "unit-without-hit-area",
            "a unit has no hit area, so it cannot be clicked: '101' in level 'one'",
        ),
        (
            CLEAN.replace("hit101", "hit999"),
            "hit-area-without-unit",
            "a hit area points to a unit that is not drawn: '999' in level 'one'",
        ),
        # Coordinates.
        (
            CLEAN.replace('"101"', '"101" x="250"'),
            "outside-canvas",
            "a unit or hit area is outside of the canvas, or reaches over its edge: <rect> '101': "
            "reaches from 250,0 to 259,9",
        ),
        (
            '<g data-type="UnitLayer"><circle id="101" cx="500%" cy="50%" r="5"/></g>',
            "outside-canvas",
            "a unit or hit area is outside of the canvas, or reaches over its edge: <circle> "
            "'101': reaches from 995,45 to 1005,55",
        ),
        (
            CLEAN.replace("<rect", '<rect transform="translate(0 -40)"', 1),
            "outside-canvas",
            "a unit or hit area is outside of the canvas, or reaches over its edge: <rect> '101': "
            "reaches from 0,-40 to 9,-31",
        ),
        (
            CLEAN.replace('<rect id="101"', '<path id="101" d="M50 50 600 500 600 600"'),
            "outside-canvas",
            "a unit or hit area is outside of the canvas, or reaches over its edge: <path> '101': "
            "reaches from 50,50 to 600,600",
        ),
        (
            '<circle cx="-50" r="9"/>',
            "shape-outside",
            "a shape lies outside of the canvas, so it is not seen: <circle>: reaches from -59,-9 "
            "to -41,9",
        ),
        (
            CLEAN + '<g data-type="Level" id="2"><rect x="900" width="9" height="9"/></g>',
            "blank",
            "nothing of a Level, or of the map, is on the canvas, so it would be blank: the Level "
            "'2'",
        ),
        (
            "<text/>",
            "blank",
            "nothing of a Level, or of the map, is on the canvas, so it would be blank: the map",
        ),
        (
            '<g data-type="Level"/>',
            "blank",
            "nothing of a Level, or of the map, is on the canvas, so it would be blank: a Level "
            "without id",
        ),
        # Geometry.
        (
            '<path d="M 0 0 L 5 x 7"/>',
            "geometry",
            "a shape is drawn in part or not at all, because its geometry is faulty: <path>: d has "
            "'x' at character 11",
        ),
        (
            CLEAN.replace('<rect id="101"', '<rect id="101" x="a"'),
            "geometry",
            "a shape is drawn in part or not at all, because its geometry is faulty: <rect> '101': "
            "x is 'a'",
        ),
        (
            '<rect width="-5" height="2"/>',
            "geometry",
            "a shape is drawn in part or not at all, because its geometry is faulty: <rect>: width "
            "is -5",
        ),
        (
            CLEAN.replace('<rect id="101"', '<polygon id="101" points="1,1 2"'),
            "geometry",
            "a shape is drawn in part or not at all, because its geometry is faulty: <polygon> "
            "'101': points has 3 numbers; expected an even count",
        ),
        (
            CLEAN.replace('id="101" width="9"', 'id="101" width="0"'),
            "geometry",
            "a shape is drawn in part or not at all, because its geometry is faulty: <rect> '101': "
            "it draws nothing",
        ),
        (
            CLEAN.replace('<rect id="hit101"', '<path id="hit101" d="M0 0H9"'),
            "geometry",
            "a shape is drawn in part or not at all, because its geometry is faulty: <path> "
            "'hit101': it has no area, so it cannot be clicked",
        ),
        (
            '<g data-type="Georeference" data-latitude="123" data-longitude="0"/>',
            "georeference-range",
            "the Georeference is out of range: latitude is 123",
        ),
        (
            '<g data-type="Georeference" data-latitude="1" data-longitude="0"/>' * 2,
            "georeferences",
            "there is more than one Georeference: <g>",
        ),
    ],
)
def test_causes(content: str, code: str, message: str) -> None:
    assert messages_of(content, code)[0] == message


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
