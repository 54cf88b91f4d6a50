"""Problems name a part as its plan does, and say where it stands in the file, in every format."""

import json
from typing import Any

import pytest

from resolvers.processing.build_task import BuildTask, ProcessingRequest
from resolvers.processing.network_build import build_network
from routing.values import ignore_progress
from samples.venue import make_venue
from tests.parsing.geography import OsmPlanBuilder, box

SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 200">
<g data-type="Level" data-tags="floor=one">
<rect data-tags="indoor=corridor;name=Hall" x="0" y="100" width="300" height="20"/>
<rect data-tags="indoor=room;name=Lobby" x="0" y="0" width="100" height="100"/>
<rect data-tags="door=yes" x="40" y="99" width="5" height="2"/>
<rect data-tags="indoor=room;name=Office" x="100" y="0" width="100" height="100"/>
<rect data-tags="door=yes" x="140" y="99" width="5" height="2"/>
<g data-type="UnitLayer">
<rect id="lark-1" x="0" y="120" width="60" height="60"/>
</g>
<rect data-tags="door=yes" x="30" y="119" width="5" height="2"/>

<rect data-tags="indoor=room;name=Gym;amenity=gym" x="250" y="150" width="40" height="40"/>
</g>
</svg>"""


def problems(files: dict[str, bytes], **given: Any) -> list[dict[str, Any]]:
    request = ProcessingRequest("m", files, **given)
    task = BuildTask(request, "m", None, {}, [], [], is_own=False)
    report = build_network(task, ignore_progress).report
    return [problem for group in report["groups"] for problem in group["problems"]]


def problem_of(found: list[dict[str, Any]], name: str) -> dict[str, Any]:
    [problem] = [each for each in found if each["name"] == name]
    return problem


def gym_plan() -> OsmPlanBuilder:
    """Three rooms at a corridor, two with doors; the Gym stands apart without one."""
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 60, 5), indoor="corridor", level="0")
    for west, name in ((0, "Lobby"), (10, "Office")):
        builder.add_way(box(west, 5, west + 10, 15), indoor="room", level="0", name=name)
        builder.add_node((west + 5, 5), door="yes", level="0")
    builder.add_way(box(40, 20, 50, 30), indoor="room", level="0", name="Gym")
    return builder


def line_of(text: str, part: str) -> int:
    """The line on which a part of a text begins, from 1."""
    return text[: text.index(part)].count("\n") + 1


def test_osm_xml_has_lines() -> None:
    xml = gym_plan().to_osm()
    gym = problem_of(problems({"plan.osm": xml}), "Gym")
    line = line_of(xml.decode(), "<way id='4'")
    assert (gym["part"], gym["file"], gym["line"]) == ("way/4", "plan.osm", line)
    assert gym["message"].startswith(f"room 'Gym' (line {line} of plan.osm) has no door")


@pytest.mark.parametrize("with_ids", [True, False])
def test_geojson_has_lines_or_else_the_number_of_the_feature(with_ids: bool) -> None:
    document = json.loads(gym_plan().to_geojson())
    for feature in document["features"]:
        if not with_ids:
            feature.pop("id", None)
            feature["properties"].pop("@id", None)
    index = next(i for i, f in enumerate(document["features"]) if "Gym" in json.dumps(f))
    lines = json.dumps(document, indent=1)
    gym = problem_of(problems({"plan.geojson": lines.encode()}), "Gym")
    assert gym["message"].startswith(f"room 'Gym' (line {gym['line']} of plan.geojson) has no door")
    assert '"type": "Feature"' in lines.split("\n")[gym["line"] - 1]
    assert lines.split("\n")[: gym["line"]].count('   "type": "Feature",') == index + 1
    [line] = json.dumps(document).split("\n")
    gym = problem_of(problems({"plan.geojson": line.encode()}), "Gym")
    assert (gym["file"], gym["line"]) == ("plan.geojson", None)
    place = gym["part"] if with_ids else f"features[{index}]"
    assert gym["message"].startswith(f"room 'Gym' ({place} of plan.geojson) has no door")


def test_svg_has_lines() -> None:
    found = problems({"plan.svg": SVG.encode()}, feet_per_unit=0.5)
    gym = problem_of(found, "Gym")
    assert (gym["file"], gym["line"]) == (
        "plan.svg",
        line_of(SVG, '<rect data-tags="indoor=room;name=Gym'),
    )
    assert gym["message"].startswith("room 'Gym' (line 13 of plan.svg) has no door")
    assert gym["part"].startswith("one#")


def test_imdf_has_the_file_and_the_id() -> None:
    files = make_venue()
    units = json.loads(files["unit.geojson"])
    room = next(unit for unit in units["features"] if unit["properties"]["category"] == "room")
    ring = room["geometry"]["coordinates"][0]
    # as a bow tie, which is repaired
    ring[1], ring[2] = ring[2], ring[1]
    room["properties"]["name"] = {"en": "Gym"}
    files["unit.geojson"] = json.dumps(units).encode()
    found = [each for each in problems(files) if each["part"] == room["id"]]
    crossing = next(each for each in found if "crosses itself" in each["message"])
    assert (crossing["name"], crossing["file"], crossing["line"]) == ("Gym", "unit.geojson", None)
    assert f"room 'Gym' ({room['id']} of unit.geojson) crosses itself" in crossing["message"]


def test_a_door_without_a_name_has_its_line() -> None:
    builder = gym_plan()
    builder.add_node((30, 2.5), door="yes", level="0")
    xml = builder.to_osm()
    found = problems({"plan.osm": xml})
    [door] = [each for each in found if "in no wall" in each["message"]]
    assert door["message"].startswith(
        f"door '{door['part']}' (line {door['line']} of plan.osm) stands within open floor"
    )
