"""`floorgate maps`: maps are made routable, drawn, and parts of them are closed."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from gateway.cli.commands.maps import read_sources
from tests.gateway.cli.commands import assert_explains, floorgate, output_of

Run = Callable[..., Result]

LIFTS = {"works": "", "broken": ";operational_status=out_of_order"}

# Half a foot a unit: a corridor 200 ft long, a room at one end, stairs and a lift at the other.
LEVEL = """<g data-type="Level" data-tags="floor=storey-{n}">
  <polygon points="0,40 400,40 400,60 0,60" data-tags="indoor=corridor"/>
  <rect x="390" y="40" width="10" height="20" data-tags="highway=steps;ref=s1"/>
  <rect x="370" y="40" width="10" height="20" data-tags="highway=elevator;ref=l1{state}"/>
  <rect x="48" y="38" width="4" height="4" data-tags="door=yes;width=0.9"/>
  <g data-type="UnitLayer"><polygon id="room-{n}" points="0,0 100,0 100,40 0,40"/></g>
</g>"""
FLAW = '<path id="flaw" d="M0 0 L" data-tags="indoor=wall"/>'


def draw(path: Path, lift: str, more: str = "") -> Path:
    """Two storeys with a lift that works, or with a broken one."""
    levels = "".join(LEVEL.format(n=n, state=LIFTS[lift]) for n in (1, 2))
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 200">{levels}{more}</svg>'
    path.write_text(svg)
    return path


def test_a_plan_is_published_or_refused_with_what_is_wrong_and_where(
    storage: list[str], tmp_path: Path
) -> None:
    def process(plan: Path, *options: object) -> Result:
        return floorgate("maps", "process", "tower", plan, "--feet-per-unit", 0.5, *options,
                         *storage)  # fmt: skip

    def export_map() -> dict[str, Any]:
        [exported] = output_of(floorgate("export", *storage))["maps"]
        found: dict[str, Any] = exported
        return found

    works = process(draw(tmp_path / "works.svg", "works"))
    assert works.exit_code == 0, works.stderr
    assert "published: routable by foot and wheelchair" in works.stdout
    assert export_map()["routing_tier"] == "wheelchair_routing"

    broken = draw(tmp_path / "broken.svg", "broken", FLAW)
    strict = process(broken, "--strict")
    assert strict.exit_code == 1
    assert "Path 'flaw': d is no path" in strict.stderr
    refused = process(broken, "--require", 95)
    assert refused.exit_code == 1
    assert "1 of 2 locations reach each other by wheelchair" in refused.stdout
    assert "nothing was changed" in refused.stdout
    assert export_map()["routing_tier"] == "wheelchair_routing"

    published = process(broken)
    assert published.exit_code == 0, published.stderr
    assert "An element of the file was left out" in published.stdout
    assert "No lift or ramp that can be used joins" in published.stdout
    assert "1 of 2 locations cannot be reached by wheelchair" in published.stdout
    assert re.search(r"'l1' \(line \d+ of broken\.svg\) is out of service", published.stdout)
    assert (export_map()["routing_tier"], export_map()["tags"]) == ("foot_routing", ["pathfinding"])


def test_what_cannot_be_processed_is_explained(storage: list[str], tmp_path: Path) -> None:
    run = floorgate("maps", "process", "nowhere", *storage)
    assert_explains(run, 1, "there is no map 'nowhere'", "SOURCE")
    (tmp_path / "file").touch()
    pictures = tmp_path / "file" / "pictures"
    run = floorgate("maps", "process", "nowhere", "--picture", pictures, *storage)
    assert_explains(run, 1, f"{pictures}: Not a directory")
    for share in ("-1", "101", "most"):
        assert_explains(floorgate("maps", "process", "tower", "--require", share), 2, "--require")


def test_sources_of_the_same_name_keep_their_folders(tmp_path: Path) -> None:
    for folder in ("1F", "2F"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rooms.geojson").write_text(folder)
    inside = [tmp_path / folder / "rooms.geojson" for folder in ("1F", "2F")]
    by_path = {path.as_posix(): path.read_bytes() for path in inside}
    assert read_sources(tuple(inside)) == by_path
    assert read_sources((tmp_path / "1F", tmp_path / "2F")) == by_path
    assert read_sources((tmp_path,)) == {"1F/rooms.geojson": b"1F", "2F/rooms.geojson": b"2F"}
    assert read_sources((inside[0],)) == {"rooms.geojson": b"1F"}


def test_a_level_is_drawn_with_a_route(yard_storage: list[str], tmp_path: Path) -> None:
    def draw_picture(*arguments: object) -> Result:
        return floorgate("maps", "picture", *arguments, *yard_storage)

    ends = ["--from", "5,5,lower", "--to", "5,5,upper", "--mode", "wheelchair"]
    plain = draw_picture("yard")
    assert plain.exit_code == 0, plain.stderr
    assert plain.stdout.startswith("<svg ")
    assert "<polyline" not in plain.stdout

    file = tmp_path / "upper.svg"
    drawn = draw_picture("yard", "--level", "upper", *ends, "-o", file)
    assert (drawn.exit_code, drawn.stdout) == (0, ""), drawn.stderr
    assert 'fill="#c92a2a"' in file.read_text()

    nowhere = draw_picture("yard", *ends, "--avoid", "lifts", "--avoid", "stairs")
    assert nowhere.exit_code == 0, nowhere.stderr
    assert "<polyline" not in nowhere.stdout

    pixels = tmp_path / "lower.png"
    draw_picture("yard", "--width", "99", "-o", pixels)
    assert pixels.read_bytes().startswith(b"\x89PNG")

    for arguments, message in (
        (["none"], "there is no map 'none'"),
        (["plain"], "the map 'plain' has no drawing"),
        (["yard", "--unit", "none"], "unit: 'none' is not drawn there"),
        (["yard", "--from", "5,5,lower"], "to: must be given too, as from is"),
    ):
        assert_explains(draw_picture(*arguments), 1, message)


@pytest.fixture
def run(yard_storage: list[str]) -> Run:
    """Runs commands on a database with the map `yard`, which is routable, and `plain`."""
    return lambda command, *arguments: floorgate("maps", command, *arguments, *yard_storage)


def test_parts_are_closed_and_opened_one_after_another(run: Run) -> None:
    assert run("closures", "yard").stdout == "nothing is closed\n"
    first = run("close", "yard", "--door", "west-door-lower", "--connector", "lift-lower")
    assert first.stdout == "closed: connector lift-lower\nclosed: door west-door-lower\n"
    run("close", "yard", "--door", "east-door-lower", "--space", "yard")
    assert output_of(run("closures", "yard", "--json")) == {
        "connectors": ["lift-lower"],
        "doors": ["east-door-lower", "west-door-lower"],
        "spaces": ["yard"],
    }
    opened = run("open", "yard", "--door", "west-door-lower", "--door", "gate", "--space", "yard")
    assert opened.stdout == "closed: connector lift-lower\nclosed: door east-door-lower\n"
    assert opened.stderr == "note: the door 'gate' was not closed\n"
    assert run("open", "yard", "--all").stdout == "nothing is closed\n"
    assert run("closures", "yard").stdout == "nothing is closed\n"


def test_what_can_be_closed_is_listed(run: Run) -> None:
    listed = output_of(run("closable", "yard", "--json"))
    lift = next(item for item in listed if item["id"] == "lift-lower")
    assert (lift["part"], lift["kind"], lift["name"]) == ("connector", "elevator", "L1")
    assert [place["floor_id"] for place in lift["places"]] == ["lower", "upper"]
    table = run("closable", "yard").stdout
    assert "west-door-lower" in table
    assert " on upper" in table


def test_what_the_map_does_not_have_is_named_and_nothing_is_closed(run: Run) -> None:
    wrong = run("close", "yard", "--door", "gate", "--space", "attic", "--connector", "lift-lower")
    assert_explains(wrong, 1, "not 'gate'", "not 'attic'")
    assert run("closures", "yard").stdout == "nothing is closed\n"
    assert_explains(run("close", "attic", "--door", "gate"), 1, "there is no map 'attic'")
    unprocessed = run("close", "plain", "--door", "gate")
    assert_explains(unprocessed, 1, "has not been processed for pathfinding")
    assert_explains(run("closable", "plain"), 1, "floorgate maps process")


@pytest.mark.parametrize(
    "arguments", [("close", "yard"), ("open", "yard"), ("open", "yard", "--all", "--door", "d")]
)
def test_a_command_says_what_to_close_or_open(arguments: tuple[str, ...]) -> None:
    refused = floorgate("maps", *arguments)
    assert refused.exit_code == 2
    assert "at least one --connector, --door or --space" in refused.stderr


def test_a_map_processed_again_keeps_what_is_closed_and_says_what_it_no_longer_has(
    run: Run, tmp_path: Path
) -> None:
    run("close", "yard", "--door", "west-door-lower", "--connector", "lift-lower")
    drawing = (tmp_path / "yard.svg").read_text()
    (tmp_path / "yard.svg").write_text(drawing.replace("west-door-lower", "new-door"))
    again = run("process", "yard", tmp_path / "yard.svg")
    assert again.exit_code == 0, again.output
    assert "note: closed, but no longer on the map: doors west-door-lower" in again.stdout
    closed = {"connectors": ["lift-lower"], "doors": ["west-door-lower"], "spaces": []}
    assert output_of(run("closures", "yard", "--json")) == closed
    run("close", "yard", "--door", "new-door")
    assert output_of(run("closures", "yard", "--json"))["doors"] == ["new-door", "west-door-lower"]
