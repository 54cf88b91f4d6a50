"""What a parse tells about a drawing: what is lost, and what is probably a mistake."""

from typing import Any

import pytest

from parsing.errors import DocumentRejectedError
from parsing.svg.report.causes import CAUSES
from parsing.svg.report.warnings import MAX_PLACES, ParseWarning, ignore_faults
from parsing.svg.unit_map import ParsedUnitMap, parse_unit_map
from tests.parsing.sources import ROOT

CLEAN = """<g data-type="Level" id="one">
  <g data-type="UnitLayer"><rect id="101" width="9" height="9"/></g>
  <g data-type="HitAreaLayer"><rect id="hit101" width="9" height="9"/></g>
</g>"""
NAMED = CLEAN.replace('data-type="Level" id="one"', 'id="Level 1"').replace("data-type", "id")


def parse(content: str, **options: Any) -> ParsedUnitMap:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100">{content}</svg>'
    return parse_unit_map(svg.encode(), **options)


def warnings_of(content: str) -> dict[str, ParseWarning]:
    return {warning.code: warning for warning in parse(content).warnings}


def messages_of(content: str, code: str) -> list[str]:
    warning = warnings_of(content)[code]
    return [warning.describe(place) for place in warning.places]


def test_a_drawing_without_mistakes_has_no_warnings() -> None:
    parsed = parse(CLEAN)
    assert parsed.warnings == ()
    assert parsed.summary == (1, 1, 1, 0)


def test_a_place_has_line_and_column_element_id_and_level() -> None:
    [warning] = parse(CLEAN.replace("</g>\n</g>", '</g>\n  <text id="lobby"/>\n</g>')).warnings
    assert (warning.code, warning.count, warning.is_note) == ("text", 1, False)
    assert warning.places == [(4, 3, "text", "lobby", "one", "")]
    assert warning.describe(warning.places[0]) == (
        "text is left out: <text> 'lobby' in level 'one'"
    )
    assert warning.remedy.startswith("convert it to paths")


def test_all_places_are_counted_and_the_first_are_kept() -> None:
    text = warnings_of("<text/>\n" * 500)["text"]
    assert text.count == 500
    assert [place.line for place in text.places] == [*range(1, MAX_PLACES + 1)]


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        # What the format does not have.
        ("<text>1</text>", "text", "text is left out: <text>"),
        ('<image id="scan"/>', "image", "an image is left out: <image> 'scan'"),
        ("<foreignObject/>", "foreign-object", "a foreignObject is left out: <foreignObject>"),
        (
            '<path fill="url(#g)"/>',
            "paint",
            "a gradient or pattern is drawn as its average colour: <path>",
        ),
        (
            '<style>.a{stroke:url(#g)}</style><path class="a"/>',
            "paint",
            "a gradient or pattern is drawn as its average colour: <path>",
        ),
        ('<line marker-end="url(#m)"/>', "marker", "markers are left out: <line>"),
        ('<g id="a" clip-path="url(#c)"/>', "clip", "a clip path is not applied: <g> 'a'"),
        ('<path style="mask:url(#m)"/>', "mask", "a mask is not applied: <path>"),
        ('<path filter="url(#f)"/>', "filter", "a filter is not applied: <path>"),
        (
            "<style>.a{filter:url(#f)}</style>",
            "filter",
            "a filter is not applied: filter of a rule in <style>",
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
            "a unit has no hit area, so it cannot be clicked: '101'",
        ),
        (
            CLEAN.replace("hit101", "hit999"),
            "hit-area-without-unit",
            "a hit area points to a unit that is not drawn: '999'",
        ),
        # Coordinates.
        (
            CLEAN.replace('"101"', '"101" x="250"'),
            "outside-canvas",
            "a unit or hit area begins outside of the canvas: '101' begins at 250,0",
        ),
        (
            CLEAN.replace("<rect", '<rect transform="translate(0 -40)"', 1),
            "outside-canvas",
            "a unit or hit area begins outside of the canvas: '101' begins at 0,-40",
        ),
        (
            '<g data-type="Georeference" data-latitude="123" data-longitude="0"/>',
            "georeference-range",
            "the Georeference is out of range: latitude is 123",
        ),
        (
            '<g data-type="Georeference" data-latitude="1" data-longitude="0" data-zoom="99"/>',
            "georeference-range",
            "the Georeference is out of range: zoom is 99",
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


@pytest.mark.parametrize(
    "content",
    [
        '<g display="none"><text/><image/></g>',
        "<defs><text/><image/></defs>",
        "<switch><path/><text/></switch>",
        '<path marker-end="none" mask="none"/>',
        '<g data-type="UnitLayer"><path id="101"/></g>',  # a drawing without any hit areas
        '<g id="Furniture"/><g id="Level crossing"/>',
        '<g data-type="Layer"/>',
        CLEAN.replace('<rect id="101"', '<rect data-id="101"'),
    ],
)
def test_what_is_not_lost_and_no_mistake_has_no_warning(content: str) -> None:
    assert warnings_of(content).keys() <= {"no-level"}


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
    ("clip", "is_reported"),
    [
        ('<rect width="200" height="100" fill="white"/>', False),  # as Figma writes it
        ('<rect width="200" height="99"/>', True),
        ('<rect x="1" width="200" height="100"/>', True),
        ('<rect width="200" height="100" transform="scale(.5)"/>', True),
        ('<circle r="9"/>', True),
    ],
)
def test_a_clip_of_the_whole_canvas_is_none(clip: str, is_reported: bool) -> None:
    content = f'<g clip-path="url(#c)"><path/></g><defs><clipPath id="c">{clip}</clipPath></defs>'
    assert ("clip" in warnings_of(content)) == is_reported


@pytest.mark.parametrize(
    "image",
    [
        '<image width="200" height="100"/>',
        '<image width="100%" height="60%"/>',
        '<g transform="scale(2)"><image width="100" height="40"/></g>',
        '<image width="100" height="60"/><image x="100" width="100" height="60"/>',
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
        '<image width="200" height="100"/>' + "<path/>" * 10,
        '<image width="200" height="100" display="none"/>',
        '<defs><image width="200" height="100"/></defs>',
    ],
)
def test_a_plan_with_a_picture_is_none(content: str) -> None:
    assert parse(content).json


def test_a_plan_whose_only_shape_is_painted_with_a_picture_is_rejected() -> None:
    """As Figma exports a picture."""
    figma = (
        '<rect width="200" height="100" fill="url(#pattern0)"/><defs><pattern id="pattern0">'
        '<use href="#image0"/></pattern><image id="image0" width="800" height="400"/></defs>'
    )
    with pytest.raises(DocumentRejectedError, match="images cover 100% of the canvas"):
        parse(figma)
    assert parse(figma.replace("<image", "<path"))


def test_the_documented_causes_are_these() -> None:
    text = (ROOT / "docs/unit-maps.md").read_text(encoding="utf-8")
    rows = text.partition("| code | warning |")[2].partition("\n\n")[0].splitlines()[2:]
    assert rows == [
        f"| `{code}` | {cause.message} | {cause.remedy} |" for code, cause in CAUSES.items()
    ]
