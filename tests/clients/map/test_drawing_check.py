"""The page that checks a drawing before it is uploaded: mistakes, where they are, and problems."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import Site
from tests.clients.map.pages import World, open_world
from tests.gateway.pages import browser

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("map"),
    pytest.mark.skipif(
        not browser.CHROMIUM, reason="no Chromium on this machine: apt install chromium"
    ),
]

SOURCE = Path(__file__).with_name("drawing_check_page.ts")
TEXT = '<text id="{}" x="5" y="6" transform="translate(10 0)">A</text>'
DRAWING = f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20">
<g id="Level 1"><path d="M0 0h9v9"/>{TEXT.format("a")}<text/></g>
<g id="Level 2"><path d="M0 0h9v9"/>{TEXT.format("b") * 2}</g>
<image width="9" height="9" href="a.png"/>
</svg>"""


@pytest.fixture(scope="module")
def opened(site: Site) -> Iterator[World]:
    with open_world(site, SOURCE) as world:
        yield world


def drop(world: World, svg: str) -> Any:
    return world.run("return await routes.drop(svg)", svg=svg)


def markers(world: World, svg: str, storey: int) -> list[tuple[str, float, float, str]]:
    script = "return routes.warningMarkers(await routes.checkDrawing(routes.api, svg), storey)"
    found = world.run(script, svg=svg, storey=storey)
    assert {each["kind"] for each in found} <= {"warning"}
    return [(each["text"], each["x"], each["y"], each["label"]) for each in found]


def test_the_mistakes_of_a_storey_have_markers(world: World) -> None:
    image = ("2", 4.5, 4.5, "an image is left out: <image>")
    assert markers(world, DRAWING, 0) == [
        ("1", 15, 6, "text is left out: <text> “a” in Level 1"),
        image,
    ]
    text = ("1", 15, 6, "text is left out: <text> “b” in Level 2")
    assert markers(world, DRAWING, 1) == [text, text, image]


def test_causes_and_places_are_listed_and_shown(world: World) -> None:
    checked = drop(world, DRAWING)
    assert checked["summary"]["levels"] == 2
    panel = world.page.get_by_role("region", name="Warnings of the drawing")
    assert "2 levels, 0 units" in panel.inner_text()
    assert "convert it to paths" in panel.inner_text()
    panel.get_by_role("button", name="Line 3: <text> “b” in Level 2").last.click()
    panel.get_by_role("button", name="Line 4: <image>").click()
    assert world.run("return routes.told") == ["warning:1:2", "warning:2:0"]
    # What is no mistake is folded.
    assert panel.get_by_text("How names were read").is_visible()
    assert not panel.get_by_text("a name is read as markup").is_visible()


def test_a_drawing_that_is_rejected_says_where(world: World) -> None:
    assert drop(world, "<svg><g></svg>") is None
    alert = world.page.get_by_role("alert").inner_text()
    assert alert.startswith("The drawing cannot be read: line 1, column ")


def test_names_in_a_drawing_are_text(world: World) -> None:
    drop(world, "<svg><text id='&lt;img src=x&gt;'>A</text></svg>")
    assert world.page.locator("img").count() == 0
    assert world.page.get_by_role("button", name="<img src=x>").count() == 1


PROBLEM = {"part": "p", "name": "Bar", "file": None, "line": None, "locations": 1}
GROUP = {"number": 1, "cause": "no-area", "remedy": "draw it", "mode": "foot", "locations": 2}
REPORT = {
    "feet_per_unit": 2,
    "groups": [
        {
            **GROUP,
            "statement": "3 doors are locked",
            "count": 3,
            "problems": [
                {**PROBLEM, "level_id": "f1", "x": 6, "y": 8, "message": "the door is locked"},
                {
                    **PROBLEM, "level_id": "f2", "x": 6, "y": 8, "map_x": 7, "map_y": 0,
                    "message": "it is locked",
                },
                {**PROBLEM, "level_id": None, "x": None, "y": None, "message": "nowhere"},
            ],
        }
    ],
}  # fmt: skip


def test_the_problems_of_a_floor_have_markers(world: World) -> None:
    script = "return routes.problemMarkers(report, floor)"
    [marker] = world.run(script, report=REPORT, floor="f1")
    assert (marker["x"], marker["y"], marker["text"]) == (3, 4, "1")
    [marker] = world.run(script, report=REPORT, floor="f2")
    assert (marker["x"], marker["y"], marker["label"]) == (7, 0, "it is locked")
    assert world.run(script, report={"feet_per_unit": 1}, floor="f1") == []


def test_problems_are_listed_and_shown(world: World) -> None:
    world.run("routes.showProblems(report)", report=REPORT)
    panel = world.page.get_by_role("region", name="Problems of the floor plan")
    assert "3 doors are locked" in panel.inner_text()
    panel.get_by_role("button", name="it is locked (Floor f2, Bar)").click()
    assert world.run("return routes.told") == [["problem:1:1", {"x": 7, "y": 0}, "f2"]]
    assert panel.get_by_role("button").count() == 2
