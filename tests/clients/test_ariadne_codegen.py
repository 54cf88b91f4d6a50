"""A Python program with the client that ariadne-codegen makes from the schema."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.clients.environment import install, run
from tests.doc_pages import DOCS
from tests.docs.pages import find_blocks
from tests.rest.demo_service import DemoService

pytestmark = [pytest.mark.xdist_group("clients"), pytest.mark.slow]

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("ariadne")


def test_a_program_with_the_client_of_ariadne_codegen_is_typed_strictly_and_runs(
    demo: DemoService, tmp_path: Path
) -> None:
    environment = install()
    folder = shutil.copytree(PROGRAM, tmp_path / "program")
    shutil.copy(ROOT / "schema" / "schema.graphql", folder)
    path = f"{environment.python.parent}:/usr/bin"  # it formats with the ruff that it finds
    run(environment.python.with_name("ariadne-codegen"), cwd=folder, PATH=path)
    mypy = (sys.executable, "-m", "mypy", "--python-executable", environment.python)
    run(*mypy, "program.py", "floorgate_graphql", cwd=folder)
    arguments = (demo.url, demo.key)
    trust = {"SSL_CERT_FILE": str(demo.certificate)}
    found = json.loads(run(environment.python, "program.py", *arguments, cwd=folder, **trust))
    assert found["year"] >= 2026
    assert found["method"] == "pathfinding"
    assert len(found["targets"]) == 2
    assert all(distance > 0 for distance in found["distances"])


def test_the_configuration_of_the_docs_is_the_one_that_is_tried() -> None:
    blocks = find_blocks((DOCS / "graphql" / "clients.md").read_text())
    shown = [block.text for block in blocks if block.language == "toml"]
    tried = (PROGRAM / "pyproject.toml").read_text()
    assert len(shown) == 2
    assert [text for text in shown if text not in tried] == []
