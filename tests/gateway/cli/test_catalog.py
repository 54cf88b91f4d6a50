"""`floorgate import`, `remove`, `export` and `template`: what they show, ask and write."""

import json
import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import click
import pytest
from click.testing import CliRunner, Result

from gateway.cli.catalog import DEMO_BUNDLE
from gateway.cli.changes import format_undo_command
from gateway.settings import STORAGE_OPTIONS, Settings, with_settings
from storage.bundles.drawings import to_data_url
from tests.gateway.cli.commands import assert_explains, floorgate, output_of, run_at_terminal
from tests.resolvers.worlds import SVG, write
from tests.storage.catalogs import SMALL, small, write_arrays
from tests.storage.spreadsheets.spreadsheets import rent_roll, write_csv


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


def test_a_plan_of_hundreds_of_records_fits_a_screen_and_a_file_has_all(
    storage: list[str], tmp_path: Path
) -> None:
    rents, plan = write_csv(tmp_path / "rents.csv", rent_roll(12, 25)), tmp_path / "plan.ndjson"
    run = floorgate("import", "--dry-run", rents, *storage)
    lines = run.stdout.splitlines()
    assert len(lines) < 50
    assert "units: 300 added" in lines
    assert "  + ... and 296 more: --plan FILE writes all" in lines
    run = floorgate("import", "--dry-run", "--plan", plan, rents, *storage)
    assert f"  + ... and 296 more: see {plan}" in run.stdout.splitlines()
    kinds = [json.loads(line)["kind"] for line in plan.read_text().splitlines()]
    assert kinds.count("units") == 300


def test_a_note_before_the_question_is_not_repeated_after_it(
    filled: list[str], tmp_path: Path
) -> None:
    table = tmp_path / "units.csv"
    table.write_text("ID,Asset ID,Floor ID,Name,Colour\nu2,a,a1,102B,red\n")
    run = run_at_terminal("import", "--merge", table, *filled, answer="y\n")
    assert run.exit_code == 0, run.stderr
    assert run.stderr.count('column "Colour" was not read') == 1


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


def test_a_command_that_is_run_again_with_its_id_changes_nothing(
    filled: list[str], source: Path
) -> None:
    command = ("import", "--sync", "--yes", "--id", "nightly", source, *filled)
    assert floorgate(*command).exit_code == 0
    before = exported(filled)
    again = floorgate(*command)
    assert again.exit_code == 0, again.stderr
    assert "Note: the import 'nightly' was made at " in again.stderr
    assert "Undo with" not in again.stderr
    assert re.search(r"units +│ 1 +│ 1 +│ 1 +│ 1 ", again.stdout)
    for options in ((), ("--dry-run",)):
        run = floorgate("import", "--sync", "--id", "nightly", "--json", *options, source, *filled)
        assert output_of(run)["is_repetition"]
    assert exported(filled) == before
    assert '"import_id":"nightly"' in floorgate("audit", "--json", *filled).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("import", "--id", "i", "-"), "--id is for files, not for standard input"),
        (("remove", "unit", "u1", "--id", ""), "--id must have from 1 to 255 characters"),
    ],
)
def test_an_id_that_tells_nothing_is_refused(
    filled: list[str], arguments: tuple[str, ...], message: str
) -> None:
    assert_explains(floorgate(*arguments, *filled), 2, message)


def test_an_id_of_another_import_is_refused(filled: list[str], source: Path) -> None:
    assert floorgate("import", "--id", "i", source, *filled).exit_code == 0
    removal = floorgate("remove", "unit", "u2", "--yes", "--id", "i", *filled)
    assert_explains(removal, 1, "the import 'i', which was made at", "had another content")


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
    command = ("remove", "unit-reference", "u1/keyring", "--yes")
    summary = output_of(floorgate(*command, "--json", "--undo", undo, "--plan", plan, *filled))
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
    @with_settings(*STORAGE_OPTIONS)
    def command(settings: Settings) -> None:
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


REASON = 'map "tower": its drawing has changed, so it '


@pytest.fixture
def storage_of_tower(tower_storage: list[str]) -> list[str]:
    """The options of a database with a tower that has been processed."""
    return tower_storage


@pytest.fixture
def bundle_of_tower(tmp_path: Path) -> Path:
    """The bundle of the tower, with another drawing."""
    bundle_of_tower = write(tmp_path)
    (tmp_path / "tower.svg").write_text(SVG + "<!-- again -->")
    return bundle_of_tower


def maps(storage_of_tower: list[str]) -> dict[str, Any]:
    found = json.loads(floorgate("export", *storage_of_tower).stdout)["maps"]
    return {each["id"]: each for each in found}


def test_maps_are_processed_again_by_default(
    storage_of_tower: list[str], bundle_of_tower: Path
) -> None:
    planned = output_of(
        floorgate("import", bundle_of_tower, "--dry-run", "--json", *storage_of_tower)
    )
    assert planned["notes"] == [REASON + "will be processed again"]
    assert planned["stale_networks"][0]["map_id"] == "tower"
    run = floorgate("import", bundle_of_tower, *storage_of_tower)
    assert run.exit_code == 0
    note, _ = run.stderr.splitlines()  # then how --undo saves what it changes
    assert note == f"Note: {REASON}was processed again: routable by foot and wheelchair"
    assert maps(storage_of_tower)["tower"]["tags"] == ["ils", "pathfinding"]
    assert floorgate("import", bundle_of_tower, *storage_of_tower).stderr == ""


def test_the_note_of_a_withdrawn_network_has_the_command_that_helps(
    storage_of_tower: list[str], bundle_of_tower: Path
) -> None:
    run = floorgate("import", bundle_of_tower, "--networks", "withdraw", *storage_of_tower)
    assert run.exit_code == 0
    note, _ = run.stderr.splitlines()
    assert note == f"Note: {REASON}is no longer routable until `floorgate maps process tower`"
    assert maps(storage_of_tower)["tower"]["tags"] == ["ils"]
    _, *command = note.partition("`")[2].rstrip("`").split()
    assert floorgate(*command, *storage_of_tower).exit_code == 0
    assert maps(storage_of_tower)["tower"]["tags"] == ["ils", "pathfinding"]


def test_another_choice_is_explained(storage_of_tower: list[str], bundle_of_tower: Path) -> None:
    run = floorgate("import", bundle_of_tower, "--networks", "keep", *storage_of_tower)
    assert_explains(run, 2, "'reprocess', 'withdraw'")


@pytest.mark.slow
def test_a_removal_names_what_no_undo_brings_back(
    storage_of_tower: list[str], bundle_of_tower: Path, tmp_path: Path
) -> None:
    """The undo processes the map from its drawing, as any import of a map that claims a network."""
    run = floorgate("remove", "map", "tower", "--dry-run", *storage_of_tower)
    assert run.stderr.splitlines()[0] == (
        'Note: map "tower" loses its routing network and closures, which no undo brings back: it'
        " must be processed from its drawing again"
    )
    undo = tmp_path / "undo.ndjson"
    assert (
        floorgate("remove", "map", "tower", "--yes", "--undo", undo, *storage_of_tower).exit_code
        == 0
    )
    run = floorgate("import", undo, *storage_of_tower)
    assert run.stderr == (
        'Note: map "tower": it is tagged pathfinding and has no network, so it was processed again:'
        " routable by foot and wheelchair\n"
    )
    assert floorgate("import", undo, *storage_of_tower).stderr == ""


DEMO = json.loads(DEMO_BUNDLE.read_text())


def template(path: Path, *options: str) -> Path:
    run = floorgate("template", "--xlsx", path, *options)
    assert run.exit_code == 0, run.stderr
    assert f"floorgate import --dry-run {path}" in run.stderr
    return path


def counts(summary: dict[str, Any], change: str) -> dict[str, int]:
    return {kind: count[change] for kind, count in summary["kinds"].items() if count[change]}


def test_an_untouched_template_imports_the_demo(storage: list[str], tmp_path: Path) -> None:
    path = template(tmp_path / "building.xlsx")
    summary = output_of(floorgate("import", path, "--json", *storage))
    assert counts(summary, "inserted") == {kind: len(array) for kind, array in DEMO.items()}
    [note] = summary["notes"]
    assert 'sheet "About"' in note
    table = template(tmp_path / "rents.xlsx", "--table")
    summary = output_of(floorgate("import", table, "--json", *storage))
    assert summary["total"]["inserted"] == summary["total"]["updated"] == 0
    assert counts(summary, "unchanged")["units"] == len(DEMO["units"])


def test_an_untouched_template_keeps_the_drawings_of_the_demo(
    storage: list[str], tmp_path: Path
) -> None:
    assert floorgate("import", DEMO_BUNDLE, *storage).exit_code == 0
    before = floorgate("export", *storage).stdout
    path = template(tmp_path / "building.xlsx")
    summary = output_of(floorgate("import", path, "--json", *storage))
    assert summary["total"]["updated"] == summary["total"]["inserted"] == 0
    assert floorgate("export", *storage).stdout == before


def notes_of(path: Path) -> list[str]:
    """Return the notes of the cells of a workbook."""
    with ZipFile(path) as parts:
        names = [name for name in parts.namelist() if name.startswith("xl/comments")]
        texts = [parts.read(name).decode() for name in names]
    return [
        unescape(note)
        for text in texts
        for note in re.findall("<t(?: [^>]*)?>(.*?)</t>", text, re.S)
    ]


def test_each_header_of_a_template_has_a_note(tmp_path: Path) -> None:
    notes = "\n\n".join(notes_of(template(tmp_path / "building.xlsx")))
    floor_id = (
        "The id: opaque text that no other floor has.\nMade of Asset ID and Name if the cell is"
    )
    assert f"\n\n{floor_id} empty." in notes  # not required, as the sheet About says
    assert "\n\nRequired. The name or number of the unit." in notes
    assert "; empty for every map of its asset." in notes
    notes = "\n\n".join(notes_of(template(tmp_path / "rents.xlsx", "--table")))
    assert "The attributes of the unit in the group Views & features: one; two." in notes
    assert "in another system, which is called keyring." in notes


@pytest.mark.parametrize("options", [[], ["--table"]])
def test_an_empty_template_has_nothing_to_import(
    storage: list[str], tmp_path: Path, options: list[str]
) -> None:
    path = template(tmp_path / "building.xlsx", "--empty", *options)
    run = floorgate("import", path, *storage)
    assert "Traceback" not in run.stderr
    assert run.exit_code == 0


def test_a_template_replaces_no_file_unless_forced(tmp_path: Path) -> None:
    path = template(tmp_path / "building.xlsx")
    assert_explains(floorgate("template", "--xlsx", path), 1, "exists; --force replaces it")
    template(path, "--force")
    assert floorgate("template", "--xlsx", tmp_path / "building.ods").exit_code == 2


def test_a_mapping_is_for_spreadsheets(storage: list[str], tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text("unit_ids: number\ncolumns: {Rent: 'reference:rent'}\n")
    path = write_csv(tmp_path / "rents.csv", rent_roll(1, 2))
    output_of(floorgate("import", path, "--mapping", mapping, "--json", *storage))
    exported = output_of(floorgate("export", *storage))
    assert [unit["id"] for unit in exported["units"]] == ["101", "102"]
    assert {each["key"] for each in exported["unit_references"]} == {"rent", "pms-unit-id"}
    run = floorgate("import", DEMO_BUNDLE, "--mapping", mapping, *storage)
    assert_explains(run, 2, "--mapping is for spreadsheets")
    mapping.write_text("colums: {}")
    run = floorgate("import", path, "--mapping", mapping, *storage)
    assert_explains(run, 1, 'there is no key "colums"; did you mean "columns"?')


def test_a_table_is_checked_without_a_database(tmp_path: Path) -> None:
    rows = rent_roll(1, 2)
    path = write_csv(tmp_path / "rents.csv", rows)
    run = floorgate("check", path)
    assert run.exit_code == 0
    assert 'column "SqFt" was not read' in run.stdout
    rows[2][3] = "101"
    run = floorgate("check", write_csv(path, rows))
    assert run.exit_code == 1
    assert (
        f'{path}: row 3, column "Unit #": the unit "101" is already at {path}: row 2' in run.stdout
    )
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text("columns: {Rent: ignore}")
    assert '"Rent"' not in floorgate("check", path, "--mapping", mapping).stdout
    mapping.write_text("columns: {Rnt: 'reference:rent'}")
    unused = f'{mapping}: columns: there is no column "Rnt"; did you mean "Rent"?'
    assert unused in floorgate("check", path, "--mapping", mapping).stdout


def test_an_import_with_errors_prints_its_notes_too(storage: list[str], tmp_path: Path) -> None:
    """The cause may be among them, such as a misspelt header."""
    path = tmp_path / "assets.csv"
    path.write_text("ID,Name,Markt,Created at\no,Oak,multifamily,soon\n")
    run = floorgate("import", "--dry-run", path, *storage)
    assert_explains(run, 1, 'column "Created at": expected a date')
    assert f'Note: {path}: column "Markt" was not read; did you mean "market"?' in run.stderr


def test_a_catalog_is_exported_to_spreadsheets(storage: list[str], tmp_path: Path) -> None:
    assert floorgate("import", DEMO_BUNDLE, *storage).exit_code == 0
    run = floorgate("export", "--xlsx", tmp_path / "catalog.xlsx", *storage)
    assert run.exit_code == 0
    assert "a workbook has no drawings" in run.stderr
    run = floorgate("export", "--attributes", tmp_path / "attributes.csv", *storage)
    assert run.exit_code == 0
    for name, members in (
        ("catalog.xlsx", sum(map(len, DEMO.values()))),
        ("attributes.csv", len(DEMO["attribute_assignments"])),
    ):
        summary = output_of(floorgate("import", tmp_path / name, "--json", *storage))
        assert summary["total"] == {"inserted": 0, "updated": 0, "unchanged": members, "removed": 0}
    run = floorgate("export", "--attributes", tmp_path / "attributes.json", *storage)
    assert_explains(run, 2, "the name must end in .xlsx or .csv")
