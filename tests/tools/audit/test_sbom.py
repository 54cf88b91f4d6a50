"""The bills of materials name what the lock files pin, no more and no less."""

import json
from pathlib import Path

import pytest

from tools.audit.locks import read_npm_lock, read_python_lock
from tools.audit.programs import ROOT, CannotWorkError, find_program
from tools.audit.sbom import check, write_sboms

LXML = {"name": "lxml", "version": "6.1", "purl": "pkg:pypi/lxml@6.1"}


@pytest.mark.slow
@pytest.mark.skipif(find_program("cyclonedx-py") is None, reason="make audit installs cyclonedx-py")
def test_each_pinned_package_is_a_component_with_version_address_and_hashes(tmp_path: Path) -> None:
    python, pages = (json.loads(file.read_text()) for file in write_sboms(tmp_path / "sbom"))
    for sbom in (python, pages):
        assert sbom["bomFormat"] == "CycloneDX"
        assert sbom["metadata"]["component"]["version"]
    by_name = {component["name"]: component for component in python["components"]}
    assert {*by_name} == {name for name, _ in read_python_lock(ROOT / "requirements.lock")}
    lxml = by_name["lxml"]
    assert lxml["purl"] == f"pkg:pypi/lxml@{lxml['version']}"
    assert lxml["externalReferences"][0]["hashes"][0]["alg"] == "SHA-256"
    assert len(pages["components"]) == len(
        read_npm_lock(ROOT / "gateway" / "web" / "package-lock.json")
    )
    assert all(component["hashes"] for component in pages["components"])


@pytest.mark.parametrize(
    ("components", "packages"),
    [
        ([], {("lxml", "6.1")}),
        ([LXML], {("lxml", "6.2")}),
        ([LXML], set[tuple[str, str]]()),
        ([{**LXML, "purl": ""}], {("lxml", "6.1")}),
    ],
)
def test_a_bill_that_differs_from_the_lock_file_is_an_error(
    components: list[dict[str, str]], packages: set[tuple[str, str]]
) -> None:
    with pytest.raises(CannotWorkError, match="lxml"):
        check({"components": components}, packages)


def test_a_bill_that_agrees_with_the_lock_file_is_right() -> None:
    check({"components": [LXML]}, {("lxml", "6.1")})
