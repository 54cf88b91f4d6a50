"""`floorgate endpoints`: a folder of GraphQL operations is the endpoints of a service."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from pymongo import MongoClient

from tests.gateway.cli.commands import assert_explains, floorgate, output_of, run_at_terminal

FRAGMENTS = "fragment Unit on Unit { id name }\n"
UNITS = """query XUnits($floor: ID!, $page: Int)
@endpoint(path: "/v1/x/floors/{floor}/units", summary: "List the units of a floor") {
  units(floor: $floor, page: $page) { data { ...Unit } }
}
"""
UNIT = """query XUnit($unit: ID!)
@endpoint(path: "/v1/x/units/{unit}", summary: "Get a unit") { unit(id: $unit) { ...Unit } }
"""
PLAN = """\
+ XUnit: GET /v1/x/units/{unit}
+ XUnits: GET /v1/x/floors/{floor}/units
2 added, 0 changed, 0 removed, 0 unchanged
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two endpoints with a fragment that is in a file of its own."""
    folder = tmp_path / "operations"
    (folder / "shared").mkdir(parents=True)
    (folder / "shared" / "fragments.graphql").write_text(FRAGMENTS)
    (folder / "unit.graphql").write_text(UNIT)
    (folder / "units.graphql").write_text(UNITS)
    (folder / "README.md").write_text("No operation.")
    return folder


@pytest.fixture
def saved(storage: list[str], folder: Path) -> list[str]:
    """The options of a database that has both endpoints."""
    assert apply(folder, storage).exit_code == 0
    return storage


@pytest.fixture
def database(mongo_url: str, database_name: str) -> Iterator[Any]:
    with MongoClient[dict[str, Any]](mongo_url) as client:
        yield client[database_name]


def apply(folder: Path, storage: list[str], *options: str) -> Result:
    return floorgate("endpoints", "apply", folder, *options, *storage)


def names(storage: list[str]) -> list[str]:
    listed = output_of(floorgate("endpoints", "list", "--json", *storage))
    return [each["name"] for each in listed]


def test_a_folder_is_applied_and_a_second_time_changes_nothing(
    folder: Path, storage: list[str]
) -> None:
    run = apply(folder, storage)
    assert (run.exit_code, run.stdout, run.stderr) == (0, PLAN, "")
    assert names(storage) == ["XUnit", "XUnits"]
    again = apply(folder, storage, "--prune")
    assert again.stdout == "0 added, 0 changed, 0 removed, 2 unchanged\n"
    # Of files, those are taken that are named; the fragments are needed.
    run = floorgate("endpoints", "apply", *folder.rglob("*.graphql"), *storage)
    assert run.stdout == again.stdout


def test_a_dry_run_shows_the_plan_and_writes_nothing(folder: Path, storage: list[str]) -> None:
    assert apply(folder, storage, "--dry-run").stdout == PLAN
    assert output_of(apply(folder, storage, "--dry-run", "--json")) == {
        "added": ["XUnit", "XUnits"],
        "changed": [],
        "unchanged": [],
        "removed": [],
        "breaking": [],
    }
    assert names(storage) == []


def test_what_the_folder_no_longer_has_is_removed_by_prune_only(
    folder: Path, saved: list[str]
) -> None:
    (folder / "unit.graphql").unlink()
    assert apply(folder, saved).exit_code == 0
    assert names(saved) == ["XUnit", "XUnits"]
    pruned = apply(folder, saved, "--prune")
    assert pruned.stdout == "- XUnit\n0 added, 0 changed, 1 removed, 1 unchanged\n"
    for file in folder.rglob("*.graphql"):
        file.unlink()
    assert_explains(apply(folder, saved), 1, "there are no files *.graphql")
    assert apply(folder, saved, "--prune").exit_code == 0
    assert names(saved) == []


def test_a_terminal_is_asked_first(folder: Path, storage: list[str]) -> None:
    command = ("endpoints", "apply", folder, *storage)
    refused = run_at_terminal(*command, answer="n\n")
    assert (refused.exit_code, refused.stdout) == (1, PLAN)
    assert "Apply this? [y/N]" in refused.stderr
    assert names(storage) == []
    assert run_at_terminal(*command, "--yes", answer="").exit_code == 0
    assert names(storage) == ["XUnit", "XUnits"]
    again = run_at_terminal(*command, answer="")  # there is nothing to ask for
    assert (again.exit_code, again.stderr) == (0, "")


def test_all_faults_of_all_files_are_named_where_they_are(folder: Path, storage: list[str]) -> None:
    (folder / "unit.graphql").write_text(UNIT.replace("...Unit", "colour"))
    (folder / "units.graphql").write_text(UNITS.replace("{floor}", "{storey}"))
    (folder / "taken.graphql").write_text(UNIT.replace("XUnit(", "GetUnit("))
    for command in (["apply", folder, *storage], ["check", folder]):
        run = floorgate("endpoints", *command)
        assert_explains(
            run,
            1,
            "5 faults:\n",
            f"{folder}/unit.graphql:2:82: Cannot query field 'colour' on type 'Unit'",
            f"{folder}/units.graphql:2:11: {{storey}} of /v1/x/floors/{{storey}}/units has no",
            f"{folder}/taken.graphql:1:1: The name GetUnit is taken, by GET /v1/units/{{unit}}",
        )
    as_json = json.loads(apply(folder, storage, "--json").stdout)
    places = {each["place"] for each in as_json["errors"]}
    assert {f"{folder}/unit.graphql:2:82", f"{folder}/taken.graphql:1:1"} <= places
    assert names(storage) == []


def test_a_file_that_is_no_text_is_a_fault_of_its_line(folder: Path) -> None:
    (folder / "latin.graphql").write_bytes("# a\n# Café\n".encode("latin-1"))
    run = floorgate("endpoints", "check", folder)
    assert_explains(run, 1, f"{folder}/latin.graphql:2:6: Syntax Error: Invalid character")


def test_what_breaks_callers_is_refused_unless_it_is_said(folder: Path, saved: list[str]) -> None:
    (folder / "shared" / "fragments.graphql").write_text("fragment Unit on Unit { id }")
    refused = apply(folder, saved)
    assert refused.exit_code == 1
    assert "~ XUnit: GET /v1/x/units/{unit}\n" in refused.stdout
    assert "! XUnit: the response's name is gone\n" in refused.stdout
    assert "--breaking" in refused.stderr
    as_json = json.loads(apply(folder, saved, "--json").stdout)
    assert {"message": "XUnit: the response's name is gone"} in as_json["errors"]
    assert "name" in floorgate("endpoints", "show", "XUnit", *saved).stdout
    assert apply(folder, saved, "--breaking").exit_code == 0
    assert "name" not in floorgate("endpoints", "show", "XUnit", *saved).stdout


def test_a_folder_is_checked_without_a_database_within_the_limits_of_the_gateway(
    folder: Path,
) -> None:
    nowhere = ("--mongo-url", "mongodb://127.0.0.1:1/")
    run = floorgate("endpoints", "check", folder, *nowhere)
    assert (run.exit_code, run.stdout) == (0, "2 endpoints, nothing is wrong\n")
    run = floorgate("endpoints", "check", folder, "--graphql-depth", "2", *nowhere)
    assert_explains(run, 1, f"{folder}/units.graphql:1:1: The operation nests 3 fields, over")


def test_endpoints_are_shown_with_what_they_need(saved: list[str]) -> None:
    shown = floorgate("endpoints", "show", "XUnit", *saved).stdout
    assert shown == f"{UNIT.strip()}\n\n{FRAGMENTS}"
    described = output_of(floorgate("endpoints", "show", "XUnit", "--json", *saved))
    assert (described["document"], described["method"]) == (shown.rstrip("\n"), "GET")
    assert described["openapi"]["operationId"] == "xUnit"
    table = floorgate("endpoints", "list", *saved).stdout
    assert "/v1/x/floors/{floor}/units" in table
    unknown = floorgate("endpoints", "show", "Nothing", *saved)
    assert_explains(unknown, 1, "no saved endpoint Nothing: see floorgate endpoints list")


def test_all_of_several_are_removed_or_none(saved: list[str]) -> None:
    refused = floorgate("endpoints", "remove", "XUnit", "Nothing", *saved)
    assert_explains(refused, 1, "There is no saved endpoint Nothing")
    assert names(saved) == ["XUnit", "XUnits"]
    removed = floorgate("endpoints", "remove", "XUnits", "XUnit", *saved)
    assert removed.stdout == "removed: XUnits\nremoved: XUnit\n"
    assert names(saved) == []


def test_check_and_doctor_name_what_this_release_cannot_run(
    saved: list[str], database: Any
) -> None:
    run = floorgate("endpoints", "check", *saved)
    assert (run.exit_code, run.stdout) == (0, "this release can run all saved endpoints\n")
    gone = f"{UNIT.replace('...Unit', 'id colour')}"
    database["endpoints"].update_one({"_id": "XUnit"}, {"$set": {"text": gone}})
    run = floorgate("endpoints", "check", *saved)
    assert_explains(run, 1, "XUnit: XUnit:2:85: Cannot query field 'colour'")
    findings = json.loads(floorgate("doctor", "--json", *saved).stdout)
    [found] = [each for each in findings if each["check"] == "endpoints"]
    assert (found["status"], "XUnit" in found["message"]) == ("error", True)


def test_a_backup_has_the_endpoints_and_the_audit_log_who_saved_them(
    saved: list[str], tmp_path: Path
) -> None:
    archive = tmp_path / "backup.tar"
    assert floorgate("backup", archive, *saved).exit_code == 0
    assert floorgate("endpoints", "remove", "XUnit", "XUnits", *saved).exit_code == 0
    assert floorgate("restore", "--yes", archive, *saved).exit_code == 0
    assert names(saved) == ["XUnit", "XUnits"]
    records = map(json.loads, floorgate("audit", "--json", *saved).stdout.splitlines())
    changes = [(each["action"], each["target"]["ids"]) for each in records]
    assert ("endpoints.saved", ["XUnit", "XUnits"]) in changes
    assert ("endpoints.removed", ["XUnit", "XUnits"]) in changes
