"""The example files for deployments: they fit the product, and what can be checked here is."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from gateway.metrics import FAMILIES
from gateway.settings import ALL_OPTIONS, environment_variable
from tests.doc_pages import ROOT

EXAMPLES = ROOT / "samples" / "deployment"
FILES = [*sorted(EXAMPLES.iterdir()), ROOT / "Dockerfile", ROOT / "docker-compose.yml"]
MONITORING = ("alerts.yml", "alerts.test.yml", "dashboard.json")


@pytest.mark.parametrize("name", MONITORING)
def test_dashboard_and_alerts_name_metrics_and_labels_that_there_are(name: str) -> None:
    text = (EXAMPLES / name).read_text().replace('\\"', '"')
    used = set(re.findall(r"\bfloorgate_\w+", text))
    assert used
    assert {find_family(each) for each in used} <= FAMILIES.keys()
    for metric, matchers in re.findall(r"\b(floorgate_\w+){(.*?)}", text):
        labels = set(re.findall(r'(\w+)[!=]~?=?"', matchers))
        assert labels <= {*FAMILIES[find_family(metric)].labels, "instance", "le"}, metric


def find_family(name: str) -> str:
    return re.sub("_(bucket|sum|count)$", "", name.removeprefix("floorgate_"))


def test_the_dashboard_shows_what_there_is_but_for_details() -> None:
    text = (EXAMPLES / "dashboard.json").read_text()
    details = "requests_admitted operations mongodb_connections cache_entries cache_bytes"
    details += " change_stream_interruptions database_repairs imports maps_processed"
    left_out = {each.removesuffix("_total") for each in FAMILIES if f"floorgate_{each}" not in text}
    assert left_out == set(details.split())
    panels = json.loads(text)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
@pytest.mark.parametrize(
    "command",
    ["check rules alerts.yml", "test rules alerts.test.yml", "check config prometheus.yml"],
)
def test_promtool_accepts_the_alerts_and_each_is_raised_when_it_should_be(command: str) -> None:
    done = subprocess.run(
        ["promtool", *command.split()], cwd=EXAMPLES, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_accepts_the_expressions_of_the_dashboard(tmp_path: Path) -> None:
    panels = json.loads((EXAMPLES / "dashboard.json").read_text())["panels"]
    rules = [
        {"record": f"panel_{panel['id']}", "expr": re.sub(r"\$__\w+", "1m", target["expr"])}
        for panel in panels
        for target in panel["targets"]
    ]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    done = subprocess.run(["promtool", "check", "rules", str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_variables_are_settings(file: Path) -> None:
    named = set(re.findall(r"\bFLOORGATE_[A-Z_]+\b", file.read_text()))
    assert named <= {environment_variable(name) for name in ALL_OPTIONS}


@pytest.mark.parametrize("name", ["compose.yml", "../../docker-compose.yml", "../../Dockerfile"])
def test_images_of_others_have_a_digest(name: str) -> None:
    images = re.findall(r"(?:image: |BASE=)(\S+)", (EXAMPLES / name).read_text())
    assert images
    pinned = re.compile(r"\S+:v?\d[\w.-]*@sha256:[0-9a-f]{64}|floorgate:\S+")
    assert [image for image in images if not pinned.fullmatch(image)] == []


def test_files_that_containers_mount_exist() -> None:
    services = yaml.safe_load((EXAMPLES / "compose.yml").read_text())["services"]
    mounted = [
        volume.split(":")[0]
        for service in services.values()
        for volume in service.get("volumes", ())
        if volume.startswith("./")
    ]
    assert mounted
    assert [path for path in mounted if not (EXAMPLES / path).exists()] == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "floorgate.service"
    text = (EXAMPLES / unit.name).read_text()
    unit.write_text(text.replace("/opt/floorgate/bin/floorgate", shutil.which("true") or ""))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
