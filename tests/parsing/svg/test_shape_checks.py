"""Where shapes lie, faults of their geometry, and drawings that are pictures."""

import pytest

from parsing.errors import DocumentRejectedError
from parsing.svg import shape_checks
from parsing.svg.shape_checks import MAX_TRACED_CHARS
from parsing.svg.warnings import CAUSES
from tests.parsing.parsed_maps import messages_of, parse, warnings_of


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
