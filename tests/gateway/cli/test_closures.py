"""`floorgate maps close`, `open`, `closures` and `closable` at the command line."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.gateway.cli.commands import assert_explains, floorgate, output_of
from tests.gateway.floorgate_process import storage_options
from tests.resolvers.yard import write_bundle

pytestmark = pytest.mark.slow

Run = Callable[..., Result]


@pytest.fixture
def run(mongo_url: str, database_name: str, tmp_path: Path) -> Run:
    """Runs commands on a database with the map `yard`, which is routable, and `plain`."""
    storage = storage_options(mongo_url, database_name, tmp_path)
    assert floorgate("import", write_bundle(tmp_path), *storage).exit_code == 0
    assert floorgate("maps", "process", "yard", *storage).exit_code == 0

    def run(command: str, *arguments: object) -> Result:
        return floorgate("maps", command, *arguments, *storage)

    return run


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


def test_a_lift_without_an_id_stays_closed_whatever_number_it_gets(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "yard.svg"
    drawing = path.read_text().replace(' id="lift-lower"', "").replace(' id="lift-upper"', "")
    path.write_text(drawing)
    assert run("process", "yard", path).exit_code == 0
    run("close", "yard", "--connector", "lower#1")
    path.write_text(drawing.replace(' id="west-hall"', ""))
    again = run("process", "yard", path)
    assert "note: closed under another id: connectors lower#1 (40,16 on lower)" in again.stdout
    assert output_of(run("closures", "yard", "--json"))["connectors"] == ["lower#2"]
    listed = output_of(run("closable", "yard", "--json"))
    lift = next(each for each in listed if (each["part"], each["id"]) == ("connector", "lower#2"))
    assert lift["name"] == "L1"
