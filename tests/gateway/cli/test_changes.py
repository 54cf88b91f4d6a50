"""`floorgate import --sync` and `floorgate remove`: the plan, the question, and the way back."""

import json
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from gateway.cli.undo_command import format_undo_command
from gateway.settings import STORAGE_OPTIONS, with_options
from storage.bundles.reading.sources import to_data_url
from tests.gateway.cli.commands import assert_explains, floorgate, output_of, run_at_terminal
from tests.storage.catalogs import SMALL, small, write_arrays


@pytest.fixture
def filled(storage: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A catalog, and a working directory for what the commands write."""
    bundle = write_arrays(tmp_path / "small.json", SMALL)
    assert floorgate("import", bundle, *storage).exit_code == 0
    monkeypatch.chdir(tmp_path)
    return storage


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A source that lacks a unit, has another and renames a third."""
    units: list[dict[str, Any]] = small()["units"][1:]
    units[0]["name"] = "102A"
    units.append({**units[0], "id": "u3", "name": "103"})
    return write_arrays(tmp_path / "units.json", {"units": units})


def exported(storage: list[str]) -> str:
    return floorgate("export", *storage).stdout


def units_of(storage: list[str]) -> list[dict[str, Any]]:
    units: list[dict[str, Any]] = json.loads(exported(storage))["units"]
    return units


PLAN = """\
units: 1 added, 1 changed, 1 removed
  + u3
  ~ u2: name "102" -> "102A"
  - u1
unit_references: 1 removed
  - u1/keyring (with unit u1)
attribute_assignments: 3 removed
  - extras/u1/quiet (with unit u1)
  - extras/u1/view (with unit u1)
  - plan/u1/s (with unit u1)
"""


def test_a_dry_run_names_every_record_and_field(filled: list[str], source: Path) -> None:
    before = exported(filled)
    run = floorgate("import", "--sync", "--dry-run", source, *filled)
    assert run.exit_code == 0, run.stderr
    assert run.stdout.startswith(PLAN)
    assert run.stderr == "Nothing was written: this was a dry run.\n"
    assert exported(filled) == before
    plan = output_of(floorgate("import", "--dry-run", "--json", source, *filled))["plan"]
    assert [(each["operation"], each["record_id"]) for each in plan["changes"]] == [
        ("changed", "u2"),
        ("added", "u3"),
    ]


def test_a_script_must_say_yes(filled: list[str], source: Path) -> None:
    before = exported(filled)
    run = floorgate("import", "--sync", source, *filled)
    assert run.exit_code == 2
    assert "nothing was written: there is no terminal to ask on; --yes makes" in run.stderr
    assert run.stdout == PLAN
    assert exported(filled) == before
    run = floorgate("import", "--sync", "--yes", source, *filled)
    assert run.exit_code == 0, run.stderr
    assert run.stdout.startswith(PLAN)
    assert "u1" not in json.dumps(json.loads(exported(filled))["units"])


def test_yes_skips_the_question_only(filled: list[str], source: Path) -> None:
    run = run_at_terminal("import", "--yes", source, *filled, answer="")
    assert run.stdout.startswith(OVERWRITTEN)
    assert json.loads(Path(undo_command(run)[-1]).read_text())["name"] == "102"


@pytest.mark.parametrize("answer", ["n\n", "y\n", ""])
def test_at_a_terminal_the_operator_is_asked(
    filled: list[str], source: Path, tmp_path: Path, answer: str
) -> None:
    before = exported(filled)
    run = run_at_terminal("import", "--sync", source, *filled, answer=answer)
    assert run.stdout.startswith(PLAN)
    assert "What is changed or removed is saved first, in floorgate-undo-" in run.stderr
    assert "Remove 5 records and write 2?" in run.stderr
    undo = [*tmp_path.glob("floorgate-undo-*")]
    if answer != "y\n":
        assert (run.exit_code, undo) == (1, [])
        assert exported(filled) == before
        return
    assert run.exit_code == 0, run.stderr
    units = json.loads(exported(filled))["units"]
    assert [unit["id"] for unit in units] == ["u2", "u3", "v1"]
    assert undo[0].name in run.stderr.splitlines()[-1]


@pytest.mark.parametrize("options", [("--sync",), ()])
def test_nothing_is_asked_if_nothing_changes(
    filled: list[str], tmp_path: Path, options: tuple[str, ...]
) -> None:
    run = run_at_terminal("import", *options, tmp_path / "small.json", *filled, answer="")
    assert run.exit_code == 0, run.stderr
    assert run.stderr == ""
    assert not [*tmp_path.glob("floorgate-undo-*")]


@pytest.mark.parametrize(
    ("options", "reason"),
    [((), "nothing is changed or removed"), (("--dry-run",), "a dry run changes nothing")],
)
def test_an_undo_file_with_nothing_in_it_is_not_written(
    filled: list[str], tmp_path: Path, options: tuple[str, ...], reason: str
) -> None:
    added = write_arrays(tmp_path / "more.json", {"assets": [{"id": "c", "name": "C"}]})
    run = floorgate("import", added, "--undo", tmp_path / "undo", *options, *filled)
    assert f"Note: {tmp_path / 'undo'} is not written: {reason}" in run.stderr
    assert not (tmp_path / "undo").exists()


OVERWRITTEN = """\
units: 1 added, 1 changed
  + u3
  ~ u2: name "102" -> "102A"
"""


def test_at_a_terminal_what_overwrites_asks_too(
    filled: list[str], source: Path, tmp_path: Path
) -> None:
    """`n`, `y`, then the undo file, which asks as well."""
    before = exported(filled)
    command = ("import", "--merge", source, *filled)
    refused = run_at_terminal(*command, answer="n\n")
    assert (refused.exit_code, refused.stdout) == (1, OVERWRITTEN)
    assert "saved first, in floorgate-undo-" in refused.stderr
    assert exported(filled) == before
    run = run_at_terminal(*command, answer="y\n")
    assert run.exit_code == 0, run.stderr
    assert "Change 1 records and add 1?" in run.stderr
    assert [unit["name"] for unit in units_of(filled)] == ["101", "102A", "103", "101"]
    undone = run_at_terminal(*undo_command(run), answer="y\n")
    assert undone.exit_code == 0, undone.stderr
    assert [unit["name"] for unit in units_of(filled)] == ["101", "102", "103", "101"]
    assert len([*tmp_path.glob("floorgate-undo-*")]) == 2


def test_what_only_adds_does_not_ask(filled: list[str], tmp_path: Path) -> None:
    unit = {"id": "u3", "asset_id": "a", "floor_id": "a1", "name": "103"}
    added = write_arrays(tmp_path / "added.json", {"units": [unit]})
    run = run_at_terminal("import", added, *filled, answer="")
    assert (run.exit_code, run.stderr) == (0, "")
    assert not [*tmp_path.glob("floorgate-undo-*")]


def test_a_script_learns_how_to_save_what_it_changes(filled: list[str], source: Path) -> None:
    run = floorgate("import", source, *filled)
    assert run.exit_code == 0
    assert run.stderr == (
        "Stored records changed: 1. With --undo FILE, an import saves them first, as a bundle that"
        " brings them back.\n"
    )
    assert floorgate("import", source, *filled).stderr == ""


def test_what_was_removed_comes_back_from_the_undo_file(filled: list[str], tmp_path: Path) -> None:
    before = exported(filled)
    run = floorgate("remove", "asset", "a", "b", "--yes", *filled)
    assert run.exit_code == 0, run.stderr
    assert json.loads(exported(filled))["units"] == []
    assert floorgate(*undo_command(run)).exit_code == 0
    assert exported(filled) == before


def undo_command(run: Result) -> list[str]:
    """The arguments of the last line, as a shell reads them."""
    assert run.stderr.count("Undo with: ") == 1
    line = run.stderr.splitlines()[-1].removeprefix("Undo with: ")
    program, *command = shlex.split(line)
    assert program == "floorgate"
    return command


PICTURE = b'<svg viewBox="0 0 9 9"><image width="9" height="9"/></svg>'


def test_the_undo_command_works_as_it_is_printed(filled: list[str], tmp_path: Path) -> None:
    """With the options of the storage, a name with a blank, and a drawing that was forced."""
    picture = {"source": to_data_url(PICTURE), "id": "p", "asset_id": "a", "name": "Picture"}
    bundle = write_arrays(tmp_path / "picture.json", {"maps": [picture]})
    assert floorgate("import", "--force-drawings", bundle, *filled).exit_code == 0
    before = exported(filled)
    undo = tmp_path / "un do.ndjson"
    run = floorgate("remove", "map", "p", "--yes", "--undo", undo, *filled)
    command = undo_command(run)
    assert command == ["import", "--force-drawings", *filled, str(undo)]
    assert floorgate(*command).exit_code == 0
    assert exported(filled) == before


def test_records_are_removed_by_their_ids(filled: list[str], tmp_path: Path) -> None:
    undo, plan = tmp_path / "undo.ndjson", tmp_path / "plan.ndjson"
    command = ("remove", "unit-reference", "u1/keyring", "--yes", "--json")
    summary = output_of(floorgate(*command, "--undo", undo, "--plan", plan, *filled))
    assert summary["kinds"] == {
        "unit_references": {"inserted": 0, "updated": 0, "unchanged": 0, "removed": 1}
    }
    assert (summary["undo"], summary["undo_options"]) == (str(undo), [])
    assert undo.stat().st_mode & 0o777 == 0o600
    assert "undo_bundle" not in summary
    assert json.loads(plan.read_text())["record_id"] == "u1/keyring"
    assert json.loads(undo.read_text())["value"] == "1_2"
    assert_explains(
        floorgate(*command, "--plan", plan, *filled), 2, "plan.ndjson exists; choose another name"
    )
    assert_explains(floorgate(*command, *filled), 1, 'there is no unit_reference "u1/keyring"')


@pytest.mark.parametrize("answer", ["n\n", None])
def test_the_plan_is_there_to_decide_by(filled: list[str], source: Path, answer: str) -> None:
    """Also for a script, which must say yes the next time."""
    command = ("import", "--sync", "--plan", "plan.ndjson", source, *filled)
    run = run_at_terminal(*command, answer=answer) if answer else floorgate(*command)
    assert run.exit_code != 0
    assert "--yes" in run.stderr or "Remove 5 records and write 2?" in run.stderr
    plan = Path("plan.ndjson")
    assert [json.loads(line)["record_id"] for line in plan.read_text().splitlines()][:3] == [
        "u2",
        "u3",
        "u1",
    ]
    assert plan.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in Path().glob("*.partial")] == []


def test_a_refusal_leaves_its_plan_and_an_error_does_not(filled: list[str], tmp_path: Path) -> None:
    none = write_arrays(tmp_path / "none.json", {"assets": small()["assets"][:1]})
    command = ("import", "--sync", "--yes", "--plan", "plan.ndjson")
    run = floorgate(*command, none, *filled)
    assert_explains(run, 1, "would be removed, more than 20% of a kind")
    assert '"removed"' in Path("plan.ndjson").read_text()
    Path("plan.ndjson").unlink()
    Path("plan.ndjson.partial").write_text("what a killed command has left")
    wrong = write_arrays(tmp_path / "wrong.json", {"assets": [{"id": "a"}]})
    assert_explains(floorgate(*command, wrong, *filled), 1, "required but missing: name")
    assert [*Path().glob("plan.*")] == []


def test_an_error_names_the_file_that_it_is_about(filled: list[str], source: Path) -> None:
    before = exported(filled)
    command = ("import", "--sync", "--yes", source, *filled)
    run = floorgate(*command, "--plan", "plan.ndjson", "--undo", "none/undo.ndjson")
    assert_explains(run, 1, "none/undo.ndjson: No such file or directory")
    assert_explains(floorgate(*command, "--plan", "none/p"), 1, "none/p: No such file or directory")
    Path("link").symlink_to("nowhere")
    assert_explains(floorgate(*command, "--plan", "link"), 2, "link exists; choose another name")
    assert exported(filled) == before


def test_too_many_removals_need_their_limit(filled: list[str], tmp_path: Path) -> None:
    units = [
        {"id": f"n{number}", "asset_id": "a", "floor_id": "a1", "name": "n"} for number in range(9)
    ]
    many = write_arrays(tmp_path / "many.json", {"units": units})
    assert floorgate("import", many, *filled).exit_code == 0
    none = write_arrays(tmp_path / "none.json", {"units": units[:1]})
    command = ("import", "--sync", "--yes", none)
    run = floorgate(*command, *filled)
    assert_explains(run, 1, "11 of 12 units would be removed, more than 20% of a kind")
    assert "--max-removals N or N%" in run.stderr
    run = run_at_terminal("import", "--sync", none, *filled, answer="y\n")
    assert run.exit_code == 1
    assert "- u1" in run.stdout
    for limit in ("many", "120%", "-1"):
        run = floorgate(*command, "--max-removals", limit, *filled)
        assert_explains(run, 2, "must be a number such as 100, or a share such as 30%")
    assert floorgate(*command, "--max-removals", "100%", *filled).exit_code == 0


def test_a_mirror_needs_whole_records(filled: list[str], source: Path) -> None:
    run = floorgate("import", "--sync", "--merge", "--yes", source, *filled)
    assert_explains(run, 2, "--merge excludes --sync, which needs whole records")


def print_undo_command(*arguments: str, **environment: str) -> str:
    @click.command()
    @with_options(*STORAGE_OPTIONS)
    def command(**values: object) -> None:
        click.echo(format_undo_command("-undo", []))

    return CliRunner().invoke(command, arguments, env=environment).stdout.strip()


def test_options_of_the_storage_are_repeated_as_given() -> None:
    assert print_undo_command() == "floorgate import ./-undo"
    given = ("--data-dir", "/my data", "--database", "oak")
    assert (
        print_undo_command(*given)
        == "floorgate import --data-dir '/my data' --database oak ./-undo"
    )
    assert print_undo_command(FLOORGATE_DATABASE="oak") == "floorgate import ./-undo"
