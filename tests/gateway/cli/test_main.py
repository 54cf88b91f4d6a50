"""The command line as a whole: its errors, and what commands import."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.cli import catalog, maps
from gateway.cli.main import COMMANDS, import_command
from gateway.server.supervisor import WORKER_PROGRAM
from parsing.plans import PLAN_FORMATS
from resolvers.closures import PARTS
from resolvers.distances import Avoidable
from resolvers.drawings import pictures
from resolvers.processing import stale_networks
from routing.values import TravelMode
from tests.doc_pages import DOCS
from tests.fixtures import CATALOG
from tests.gateway import floorgate_process
from tests.gateway.cli.commands import assert_explains, floorgate, output_of
from tests.storage.catalogs import write_arrays


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "bundle.json"
    path.write_text(json.dumps(CATALOG))
    return path


def test_a_bundle_imported_twice_changes_nothing(storage: list[str], bundle: Path) -> None:
    first = output_of(floorgate("import", bundle, "--json", *storage))
    assert first["kinds"]["units"] == {
        "inserted": len(CATALOG["units"]),
        "updated": 0,
        "unchanged": 0,
        "removed": 0,
    }
    again = output_of(floorgate("import", bundle, "--json", *storage))
    assert again["total"]["unchanged"] == first["total"]["inserted"]
    assert again["total"]["inserted"] == again["total"]["updated"] == 0


def test_an_export_is_taken_back_unchanged(
    storage: list[str], bundle: Path, tmp_path: Path
) -> None:
    assert floorgate("import", bundle, *storage).exit_code == 0
    for arguments in ([], ["--ndjson"]):
        exported = floorgate("export", *arguments, *storage)
        assert exported.exit_code == 0
        copy = tmp_path / "export.gz"
        copy.write_bytes(gzip.compress(exported.stdout.encode()))
        summary = output_of(floorgate("import", copy, "--json", *storage))
        assert summary["total"]["inserted"] == summary["total"]["updated"] == 0
        assert summary["total"]["unchanged"] == sum(len(kind) for kind in CATALOG.values())


def test_an_asset_is_exported_alone(storage: list[str], bundle: Path) -> None:
    assert floorgate("import", bundle, *storage).exit_code == 0
    everything = output_of(floorgate("export", *storage))
    asset = everything["assets"][0]["id"]
    exported = output_of(floorgate("export", "--asset", asset, *storage))
    assert [each["id"] for each in exported["assets"]] == [asset]
    assert exported["units"] == [each for each in everything["units"] if each["asset_id"] == asset]
    assert exported["units"] != everything["units"]
    all_ids = [part for each in everything["assets"] for part in ("--asset", each["id"])]
    assert output_of(floorgate("export", *all_ids, *storage))["units"] == everything["units"]
    run = floorgate("export", "--asset", f"{asset}x", *storage)
    assert_explains(run, 1, f"there is no asset '{asset}x'; did you mean '{asset}'?")


def test_a_merge_changes_only_what_is_given(storage: list[str], bundle: Path) -> None:
    assert floorgate("import", bundle, *storage).exit_code == 0
    unit = output_of(floorgate("export", *storage))["units"][0]
    renamed = json.dumps({"units": [{"id": unit["id"], "name": "Renamed"}]})
    for dry_run in (["--dry-run"], []):
        run = floorgate("import", "-", "--merge", "--json", *dry_run, *storage, stdin=renamed)
        assert output_of(run)["total"] == {
            "inserted": 0,
            "updated": 1,
            "unchanged": 0,
            "removed": 0,
        }
    merged = output_of(floorgate("export", *storage))["units"][0]
    assert merged == unit | {"name": "Renamed", "updated_at": merged["updated_at"]}


def test_an_invalid_bundle_is_rejected_with_its_position_and_changes_nothing(
    storage: list[str], tmp_path: Path
) -> None:
    lines = [json.dumps({"type": "asset", "id": f"a{n}", "name": "A"}) for n in range(50)]
    faulty = tmp_path / "faulty.ndjson"
    faulty.write_text("\n".join([*lines, '{"type": "asset", "id": "last", "nam": "A"}']))
    run = floorgate("import", faulty, *storage)
    assert_explains(run, 1, f"{faulty}: line 51", "nam")
    assert not output_of(floorgate("export", *storage))["assets"]


def test_what_cannot_be_read_is_named(storage: list[str], tmp_path: Path) -> None:
    nowhere = floorgate("keys", "list", "--mongo-url", "mongodb://127.0.0.1:1/")
    assert_explains(nowhere, 1, "MongoDB cannot be reached", "--mongo-url")
    assert_explains(floorgate("import", tmp_path / "none", *storage), 1, "none", "No such file")
    assert_explains(floorgate("import", tmp_path, *storage), 1, "directory")
    assert_explains(floorgate("import", *storage), 2, "PATH")


def test_a_process_ends_with_the_status_and_sentence_of_its_command(tmp_path: Path) -> None:
    nowhere = ("--mongo-url", "mongodb://127.0.0.1:1/", "--data-dir", tmp_path)
    for arguments, status, sentence in (
        (["bundle-schema"], 0, ""),
        (["serve", "--port", "0", *nowhere], 1, "Error: MongoDB cannot be reached"),
        (["keys", "create"], 2, "Error: Missing option '--name'"),
    ):
        run = floorgate_process.floorgate(*arguments)
        assert run.returncode == status
        assert sentence in run.stderr
        assert bool(run.stdout) == (status == 0)
        assert "Traceback" not in run.stderr


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs sh")
def test_a_command_whose_standard_output_is_closed_ends_as_any_other() -> None:
    for arguments, status in ((["--version"], 0), (["nothing"], 2)):
        command = ["sh", "-c", '"$@" >&-', "sh", *floorgate_process.COMMAND, *arguments]
        run = subprocess.run(command, capture_output=True, text=True)
        assert (run.returncode, "Traceback" in run.stderr) == (status, False)


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["serve", "--port", "x"],
        ["serve", "--tls-cert", "c.pem"],
        ["serve", "--behind-proxy", "--tls-cert", "c.pem", "--tls-key", "k.pem"],
        ["keys"],
    ],
)
def test_a_wrong_usage_ends_with_2(arguments: list[str]) -> None:
    run = floorgate(*arguments)
    assert run.exit_code == 2
    assert "Usage: floorgate" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["remove", "unit", "\udcff"],
        ["export", "--asset", "\udcff"],
        ["import", "--sync", "--asset", "\udcff", "oak.json"],
        ["keys", "revoke", "\udcff"],
        ["audit", "--target", "\udcff"],
        ["maps", "close", "lobby", "--door", "\udcff"],
    ],
)
def test_an_id_that_is_not_utf_8_is_a_wrong_usage(arguments: list[str]) -> None:
    assert_explains(floorgate(*arguments), 2, "must be text in UTF-8")


def test_a_file_may_have_a_name_that_is_not_utf_8(
    storage: list[str], bundle: Path, tmp_path: Path
) -> None:
    copy = bundle.rename(tmp_path / "\udcff.json")
    assert output_of(floorgate("import", copy, "--json", *storage))["total"]["inserted"]
    [record] = floorgate("audit", "--json", *storage).stdout.splitlines()
    assert json.loads(record)["target"]["ids"] == [str(tmp_path / r"\udcff.json")]
    run = floorgate("remove", "unit", "u1", "--yes", "--undo", tmp_path / "\udcff", *storage)
    assert_explains(run, 1, "is not UTF-8: name another file")


PROGRAM = "from gateway.cli.main import main; main"
SLOW_PACKAGES = {"igraph", "numpy", "shapely", "lxml", "strawberry", "graphql", "uvicorn", "motor"}
OTHERS = ("export", "backup -", "audit")
BUNDLE = json.dumps({"assets": [{"id": "lark", "name": "Lark"}]})


def import_packages(*arguments: str, stdin: str = "") -> set[str]:
    """Return the packages that a command imports until it ends."""
    command = [sys.executable, "-X", "importtime", "-c", f"{PROGRAM}()", *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr.splitlines()[-1]
    modules = re.findall(r"^import time: .*\| +(\S+)$", done.stderr, re.MULTILINE)
    return {module.partition(".")[0] for module in modules}


@pytest.mark.parametrize(
    "command",
    ["keys list", "import -", *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)],
)
def test_a_command_imports_no_slow_package_that_it_does_not_use(
    storage: list[str], command: str
) -> None:
    packages = import_packages(*command.split(), *storage, stdin=BUNDLE)
    assert {"storage", "pymongo"} <= packages
    assert not packages & SLOW_PACKAGES


COMPLETE = {"_FLOORGATE_COMPLETE": "bash_complete", "COMP_CWORD": "1", "COMP_WORDS": "floorgate "}


def test_help_errors_and_completion_import_nothing_that_the_work_of_a_command_needs() -> None:
    names = [*COMMANDS]
    modules = import_modules(f"from gateway.cli.main import *; [*map(import_command, {names})]")
    assert {"gateway.cli.administration", "gateway.cli.parse"} <= modules
    assert not modules & {*SLOW_PACKAGES, "asyncio", "pymongo", "rich", "xlsxwriter", "yaml"}


@pytest.mark.parametrize("variables", [{}, COMPLETE])
def test_the_list_of_commands_imports_none(variables: dict[str, str]) -> None:
    command = [sys.executable, "-X", "importtime", "-c", f"{PROGRAM}(prog_name='floorgate')"]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True)
    assert "bundle-schema" in done.stdout + done.stderr
    assert not re.findall(r"msgspec|gateway\.settings|gateway\.cli\.(?!main)", done.stderr)


COMPLETE_IN_BASH = """eval "$(_FLOORGATE_COMPLETE=bash_source floorgate)"
COMP_WORDS=(floorgate keys create --na) COMP_CWORD=3
_floorgate_completion floorgate; echo "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_options_after_the_line_of_the_docs() -> None:
    assert COMPLETE_IN_BASH.splitlines()[0] in (DOCS / "command-line.md").read_text()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "-c", COMPLETE_IN_BASH]
    done = subprocess.run(command, env=os.environ | {"PATH": path}, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("--name\n", "")


def test_the_list_of_commands_has_the_first_sentence_of_the_help_of_each() -> None:
    for name, (_, text) in COMMANDS.items():
        assert import_command(name).get_short_help_str(limit=200) == text


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        (["imprt", "oak.json"], "No such command 'imprt'. Did you mean 'import'?"),
        (["keys", "creat"], "No such command 'creat'. Did you mean 'create'?"),
        (
            ["import", "--dry-rn", "oak.json"],
            "No such option '--dry-rn'. Did you mean '--dry-run'?",
        ),
    ],
)
def test_what_is_misspelt_gets_a_suggestion(arguments: list[str], suggestion: str) -> None:
    assert_explains(floorgate(*arguments), 2, suggestion)
    assert json.loads(floorgate(*arguments, "--json").stdout)["errors"] == [{"message": suggestion}]


def test_errors_are_json_as_well_with_the_place_of_each(storage: list[str], tmp_path: Path) -> None:
    bundle = write_arrays(tmp_path / "oak.json", {"assets": [{"id": "oak"}, {"id": "elm"}]})
    found = json.loads(floorgate("check", bundle, "--json").stdout)
    run = floorgate("import", bundle, "--json", *storage)
    assert (run.exit_code, run.stderr) == (1, "")
    assert json.loads(run.stdout) == {name: found[name] for name in ("errors", "error_count")}
    assert [each["place"] for each in found["errors"]] == [
        f"{bundle}: $.assets[0]",
        f"{bundle}: $.assets[1]",
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["keys", "create"], 2, "Missing option '--name'."),
        (["keys", "update", "key_none", "--name", "Till"], 1, "There is no key with the id"),
        (["parse", "none.svg"], 2, "--json is the form of --check"),
        (["endpoints", "show", "XNone"], 1, "there is no saved endpoint XNone"),
        (["endpoints", "apply", "{folder}"], 1, "there are no files *.graphql"),
        (["maps", "closures", "none"], 1, "there is no map 'none'"),
        (["remove", "unit", "none"], 1, 'there is no unit "none"'),
    ],
)
def test_each_command_that_prints_json_prints_its_error_so(
    storage: list[str], tmp_path: Path, arguments: list[str], status: int, message: str
) -> None:
    named = [each.format(folder=tmp_path) for each in arguments]
    run = floorgate(*named, "--json", *(storage if status == 1 else []))
    assert (run.exit_code, run.stderr) == (status, "")
    [error] = json.loads(run.stdout)["errors"]
    assert message in error["message"]


def test_options_have_the_choices_of_what_does_the_work() -> None:
    assert tuple(stale_networks.NetworkPolicy) == catalog.NETWORK_POLICIES
    assert catalog.NETWORK_POLICIES[0] == stale_networks.REPROCESS
    assert maps.PLAN_FORMATS == PLAN_FORMATS
    assert tuple(pictures.PictureFormat) == maps.PICTURE_FORMATS
    assert maps.PICTURE_WIDTHS == (pictures.MIN_PICTURE_WIDTH, pictures.MAX_PICTURE_WIDTH)
    assert maps.DEFAULT_PICTURE_WIDTH == pictures.DEFAULT_PICTURE_WIDTH
    assert tuple(TravelMode) == maps.TRAVEL_MODES
    assert tuple(Avoidable) == maps.AVOIDABLE
    assert maps.PARTS == PARTS


def test_a_command_that_changes_a_key_imports_the_schema(storage: list[str]) -> None:
    assert "strawberry" in import_packages("keys", "create", "--name", "till", *storage)


IMPORTED_LATER = {
    "openpyxl",
    "parsing.plans",
    "resolvers.plans.translation",
    "resolvers.processing.network_build",
    "routing.processing",
}
"""What only processes for drawings, maps and tables need."""
IMPORTED_WHEN_READY = {"igraph", "lxml", "numpy", "parsing.svg.unit_map", "shapely"}
"""What some requests need."""


def import_modules(imports: str) -> set[str]:
    """Return the modules that are there after a program that begins with `imports`."""
    program = f"{imports}; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_a_supervisor_starts_workers_before_it_imports_what_takes_long() -> None:
    modules = import_modules("import gateway.cli.serve, gateway.server.server")
    assert "gateway.server.supervisor" in modules
    assert not modules & {
        *SLOW_PACKAGES,
        "asyncio",
        "cryptography",
        "pymongo",
        "starlette.requests",
    }


def test_a_worker_starts_without_what_few_requests_or_only_other_processes_need() -> None:
    modules = import_modules(WORKER_PROGRAM.removesuffix("main()\n") + "import gateway.app")
    assert "schema.root" in modules
    unused = {"cryptography.x509", "resvg_py", "yaml"}
    assert not modules & {*IMPORTED_LATER, *IMPORTED_WHEN_READY, *unused}


def test_a_worker_imports_what_some_requests_need_when_it_is_ready() -> None:
    modules = import_modules("import asyncio, gateway.app; asyncio.run(gateway.app.warm_up([]))")
    assert modules >= IMPORTED_WHEN_READY
    assert not modules & IMPORTED_LATER
