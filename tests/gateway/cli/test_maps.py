"""`floorgate maps`: processing, its report, and maps that are stale."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from click.testing import Result
from pymongo import MongoClient

from gateway.cli.processing import print_report, read_sources
from routing.issues import IssueKind, PlanIssue
from routing.plan import Level, PartSource, Plan
from routing.processing import process_plan
from storage.routing_inputs import NETWORK_FORMAT
from tests.databases import ReusedDatabase
from tests.gateway.cli.commands import assert_explains, floorgate, output_of
from tests.resolvers.worlds import SVG
from tests.routing.ascii_plans import draw_plan, process_drawing

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


VENUE = Path(__file__).parents[3] / "samples" / "imdf" / "harbour-hall.zip"
ANNEX = SVG.replace('rect id="', 'rect id="annex-').replace("floor=", "floor=annex-")
AGAIN = "was processed again: routable by foot and wheelchair"


@pytest.fixture
def storage_of_tower(tower_storage: list[str], tmp_path: Path) -> list[str]:
    """A database with a routable tower, and an annex that was made routable from a plan."""
    plan = tmp_path / "annex.svg"
    plan.write_text(ANNEX)
    run = floorgate("maps", "process", "annex", plan, "--feet-per-unit", 2, *tower_storage)
    assert run.exit_code == 0
    return tower_storage


def write_earlier(mongo_url: str, database_name: str) -> None:
    """Leave the networks as a release before has written them."""
    with MongoClient[dict[str, Any]](mongo_url) as client:
        database = client[database_name]
        for unit_map in database["maps"].find({"network": {"$type": "string"}}):
            chunk = database["files"].find_one({"file": unit_map["network"]})
            assert chunk is not None
            now = b'"version":%d' % NETWORK_FORMAT
            archive = chunk["bytes"].replace(now, b'"version":%d' % (NETWORK_FORMAT - 1))
            digest = hashlib.sha256(archive).hexdigest()
            chunk = {"_id": f"{digest}/000000", "file": digest, "bytes": archive}
            database["files"].insert_one(chunk)
            fields = {"network": digest, "network_state.network": digest}
            database["maps"].update_one(
                {"_id": unit_map["_id"]},
                {"$set": fields, "$unset": {"network_state.network_format": ""}},
            )
        database["migrations"].update_one({}, {"$set": {"number": 4}})


def inspect(storage_of_tower: list[str]) -> tuple[int, dict[str, str]]:
    """The status of doctor, and what it says of networks."""
    run = floorgate("doctor", "--json", *storage_of_tower)
    [found] = [each for each in json.loads(run.stdout) if each["check"] == "networks"]
    return run.exit_code, found


@pytest.mark.slow
def test_networks_of_plans_are_built_again_from_the_stored_plans(
    storage_of_tower: list[str], mongo_url: str, reused_database: ReusedDatabase, tmp_path: Path
) -> None:
    venue = tmp_path / "venue"
    with ZipFile(VENUE) as archive:
        archive.extractall(venue)
    assert floorgate("maps", "process", "hall", venue, *storage_of_tower).exit_code == 0
    with MongoClient[dict[str, Any]](mongo_url) as client:
        database = client[reused_database.name]

        def networks() -> dict[str, str]:
            found = database["maps"].find({"network": {"$type": "string"}})
            return {each["_id"]: each["network"] for each in found}

        before = networks()
        assert {*before} == {"annex", "hall", "tower"}
        write_earlier(mongo_url, reused_database.name)
        # Imports keep the plans. What they change of a plan's units stays.
        unit = database["units"].find_one({"map_ids": "hall"})
        assert unit is not None
        bundle = tmp_path / "renamed.json"
        bundle.write_text(json.dumps({"units": [{"id": unit["_id"], "name": "Renamed"}]}))
        options = ("--merge", "--networks", "withdraw", "--yes")
        assert floorgate("import", bundle, *options, *storage_of_tower).exit_code == 0
        assert networks() == {}
        run = floorgate("maps", "process", "--stale", *storage_of_tower)
        assert (run.exit_code, run.stdout.count(AGAIN)) == (0, 3)
        assert networks() == before
        kept = database["units"].find_one({"_id": unit["_id"]})
        assert kept is not None
        assert kept["name"] == "Renamed"
    assert inspect(storage_of_tower)[0] == 0


def test_a_damaged_network_is_found_and_built_again(
    storage_of_tower: list[str], mongo_url: str, reused_database: ReusedDatabase
) -> None:
    with MongoClient[dict[str, Any]](mongo_url) as client:
        database = client[reused_database.name]
        unit_map = database["maps"].find_one({"_id": "tower"})
        assert unit_map is not None
        where = {"file": unit_map["network"]}
        chunk = database["files"].find_one(where)
        assert chunk is not None
        damaged = chunk["bytes"][:-1] + bytes([chunk["bytes"][-1] ^ 1])
        database["files"].update_one(where, {"$set": {"bytes": damaged}})
        lost = {"network": "0" * 64, "network_state.network": "0" * 64}
        without_plan = {"$set": lost, "$unset": {"network_state.plan": ""}}
        database["maps"].update_one({"_id": "annex"}, without_plan)
    status, found = inspect(storage_of_tower)
    reason = "its network is missing or damaged"
    assert (status, found["message"]) == (1, f"outdated: annex ({reason}), tower ({reason})")
    assert found["remedy"] == "floorgate maps process --stale"
    run = floorgate("maps", "process", "--stale", "--json", *storage_of_tower)
    annex, tower = json.loads(run.stdout)
    assert (run.exit_code, tower["map_id"], tower["reason"]) == (1, "tower", reason)
    assert (tower["result"], tower["is_routable"]) == (AGAIN, True)
    assert annex["result"] == "is no longer routable until `floorgate maps process annex SOURCE`"
    assert inspect(storage_of_tower)[1]["message"] == f"outdated: annex ({reason})"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["tower", "--stale"], "--stale excludes MAP_ID"),
        (["--stale", "--strict"], "--stale excludes MAP_ID and all that is for one map only"),
        ([], "name a map, or all that need it with --stale"),
    ],
)
def test_either_one_map_is_named_or_all_that_are_stale(arguments: list[str], sentence: str) -> None:
    assert_explains(floorgate("maps", "process", *arguments), 2, sentence)


TWO_LEVELS = (
    """
    ###########
    #A#B#C#D#E#
    #+#######+#
    #,,,,,,,,,#
    ###########
    """,
    """
    ###########
    #,,,F,,G,,#
    ###########
    """,
)


def report_on(*storeys: str) -> dict[str, Any]:
    report = process_drawing(*storeys).report.to_dict()
    return report | {"notes": [], "published": True, "refusal": None}


def printed(capsys: pytest.CaptureFixture[str], **options: bool) -> list[str]:
    print_report(report_on(*TWO_LEVELS), **options)
    return capsys.readouterr().out.splitlines()


def test_the_costliest_cause_comes_first_with_its_remedy_and_where_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = printed(capsys)
    start = lines.index("1. 3 rooms have no door: 3 of 7 locations cannot be reached")
    assert lines[start + 1].startswith("   Remedy: draw a door (door=yes)")
    assert lines[start + 2] == "   - room 'B' has no door (level 0; 14.0, 6.0 ft; room B)"
    second = (
        "2. No stairs, lift or ramp joins level 1 with level 0: 2 of 7 locations cannot be reached"
    )
    assert second in lines


def test_the_place_in_the_file_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    plan = draw_plan(*TWO_LEVELS)
    sources = {space.id: PartSource(space.id, "", "a.osm", 7) for space in plan.spaces}
    sources |= {door.id: PartSource(door.id, "", "a.osm", 8) for door in plan.doors}
    report = process_plan(replace(plan, sources=sources)).report.to_dict()
    print_report(report | {"notes": [], "published": True, "refusal": None}, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert "   - room 'B' (line 7 of a.osm) has no door (level 0; 14.0, 6.0 ft; room B)" in lines
    assert not any(line.count("a.osm") > 1 for line in lines)


def test_only_the_first_parts_are_shown_unless_all_are_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.cli.processing.SHOWN_PROBLEMS", 1)
    assert "   - and 2 more; --verbose lists them" in printed(capsys)
    verbose = printed(capsys, verbose=True)
    assert sum("has no door (" in line for line in verbose) == 3
    assert not any("more" in line for line in verbose)


def test_of_what_was_left_out_it_is_not_said_that_it_costs_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kind = IssueKind.ELEMENT_LEFT_OUT
    left_out = PlanIssue(kind, "way/1", "way/1 has no node", "0", (4, 2), name="Lobby")
    report = process_plan(draw_plan("A,B#.."), reading_issues=[left_out]).report.to_dict()
    print_report(report | {"notes": [], "published": True, "refusal": None})
    lines = capsys.readouterr().out.splitlines()
    heading = lines.index("What follows keeps no location from being reached.")
    assert lines[heading - 4].startswith("1. An element of the file was left out; what it would")
    assert lines[heading - 2] == "   - way/1 has no node (level 0; 4.0, 2.0 ft; Lobby)"
    assert lines[heading + 2] == "2. A room has no door"


def test_a_level_is_called_by_its_name_or_its_number_or_its_id_if_two_share_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.cli.processing.SHOWN_LEVELS", 4)
    levels = (
        Level("m-0", -1),
        Level("m-1", 1, "[/b] :smile:"),  # shown as it is
        Level("m-2", 2, "Up"),
        Level("m-3", 3, "Up"),
    )
    report = process_plan(Plan(levels)).report.to_dict()
    print_report(report | {"notes": ["[/i]"], "published": False, "refusal": "[b]few[/b]"})
    output = capsys.readouterr().out
    assert "[/i]" in output
    assert "[b]few[/b]" in output
    lines = output.splitlines()
    assert "   Levels: -1, [/b] :smile:, m-2, m-3" in lines
    rows = [line.split()[1] for line in lines if line.startswith("│")]
    assert rows[:4] == ["-1", "[/b]", "m-2", "m-3"]
