"""The samples of the reference as people copy them: typed, and run."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rest.openapi.sdk_methods import SDK_METHODS
from tests.clients.environment import CLIENTS, TYPESCRIPT, generate_types
from tests.clients.own_endpoints import describe
from tests.clients.test_python_client import SOURCE, run
from tests.rest.demo_service import DemoService
from tests.rest.packages import install

pytestmark = [pytest.mark.xdist_group("clients"), pytest.mark.usefixtures("generated")]

WRITER = CLIENTS.parent / "gateway" / "web" / "code_samples.js"
WRITES = {"setClosures", "assignUnitAttributes", "unassignUnitAttributes"}


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """The samples of the built-in operations."""
    return write_samples(describe(), tmp_path_factory.mktemp("samples"))


def write_samples(description: dict[str, Any], folder: Path) -> dict[str, dict[str, str]]:
    """The samples by operation and language."""
    described_file, writer = folder / "openapi.json", folder / "write.mjs"
    described_file.write_text(json.dumps(description))
    program = f"""
import {{ readFileSync }} from 'node:fs'
import {{ addCodeSamples }} from {json.dumps(WRITER.as_uri())}
const description = JSON.parse(readFileSync(process.argv[2]))
addCodeSamples(description)
console.log(JSON.stringify(description))
"""
    writer.write_text(program)
    described: dict[str, Any] = json.loads(install(TYPESCRIPT).run("node", writer, described_file))
    operations = [each for path in described["paths"].values() for each in path.values()]
    return {
        each["operationId"]: {sample["lang"]: sample["source"] for sample in each["x-codeSamples"]}
        for each in operations
        if "x-codeSamples" in each
    }


def test_every_method_has_samples(samples: dict[str, dict[str, str]]) -> None:
    assert samples.keys() == SDK_METHODS.keys()
    assert all([*each] == ["Python", "TypeScript"] for each in samples.values())
    assert samples["listUnits"]["Python"] == (
        "from floorgate_client import Floorgate\n"
        "\n"
        "client = Floorgate()\n"
        'for unit in client.units.list(asset="alder-court"):\n'
        "    print(unit)\n"
    )


def test_words_of_python_get_an_underscore(tmp_path: Path) -> None:
    operation = """query Import($class: ID!) @endpoint(path: "/v1/x/units", summary: "List") {
      units(floor: $class) { data { id } }
    }"""
    sample = write_samples(describe(operation), tmp_path)["import"]["Python"]
    assert re.search(r"in client\.x\.import_\(class_=\S+\):\n", sample)


@pytest.mark.slow
def test_the_samples_in_python_are_typed_and_run(
    samples: dict[str, dict[str, str]], demo: DemoService, tmp_path: Path
) -> None:
    (tmp_path / "drawing.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    for name, sample in samples.items():
        (tmp_path / f"{name}.py").write_text(sample["Python"])
    mypy = ("-m", "mypy", "--strict", "--config-file=")
    run(*mypy, *tmp_path.glob("*.py"), MYPYPATH=str(SOURCE))
    read = [sample["Python"] for name, sample in samples.items() if name not in WRITES]
    program = "\n".join(read).replace("print(batch.data, batch.cursor)", "break")
    variables = {"FLOORGATE_URL": demo.url, "FLOORGATE_KEY": demo.key}
    trust = {"SSL_CERT_FILE": str(demo.certificate)}
    run("-c", f"import os; os.chdir({str(tmp_path)!r})\n{program}", **variables, **trust)


@pytest.mark.slow
def test_the_samples_in_typescript_compile_and_run(
    samples: dict[str, dict[str, str]], demo: DemoService
) -> None:
    package = install(TYPESCRIPT)
    generate_types(package)
    shutil.rmtree(folder := TYPESCRIPT / "program", ignore_errors=True)
    folder.mkdir()
    for name, sample in samples.items():
        text = sample["TypeScript"].replace("console.log(batch.data, batch.cursor)", "break")
        (folder / f"{name}.ts").write_text(text)
    package.tool("tsc", "--project", "tsconfig.test.json")
    (TYPESCRIPT / "build" / "drawing.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    read = "\n".join(f"import './{name}.js'" for name in samples if name not in WRITES)
    (TYPESCRIPT / "build" / "samples.js").write_text(read)
    variables = {"FLOORGATE_URL": demo.url, "FLOORGATE_KEY": demo.key}
    trust = {"NODE_EXTRA_CA_CERTS": str(demo.certificate)}
    here = replace(package, tools=TYPESCRIPT / "build")
    here.run("node", "samples.js", **variables, **trust)
