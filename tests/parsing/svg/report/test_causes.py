"""Each cause of warnings, with a drawing that has it."""

import pytest

from parsing.svg.report.causes import CAUSES
from tests.parsing.sources import ROOT
from tests.parsing.svg.report.drawings import CLEAN, LABEL, messages_of

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
