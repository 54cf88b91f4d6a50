"""Pictures of levels with their warnings."""

import re

from lxml import etree

from parsing.svg.warning_pictures import MAX_MARKERS, draw_pictures, find_levels
from tests.parsing.parsed_maps import CLEAN, parse

SVG = "{http://www.w3.org/2000/svg}"
TEXT = '<text x="30" y="20">Gym</text>'


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
