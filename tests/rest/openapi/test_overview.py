"""The introduction of the description says what holds for every endpoint."""

import re
import tomllib
from pathlib import Path

import pytest

import rest
from resolvers.request.caller import FLAGS
from rest.endpoint_table import ENDPOINTS
from rest.openapi.overview import DESCRIPTION, LICENSE, TAG_DESCRIPTIONS
from schema.operation_inputs import MAX_ID_CHARACTERS

ROOT = Path(rest.__file__).parents[1]
TEXT = " ".join(DESCRIPTION.split())


def test_every_tag_of_the_table_is_described_and_no_other() -> None:
    assert {*TAG_DESCRIPTIONS} == {row.tag for row in ENDPOINTS}
    for text in TAG_DESCRIPTIONS.values():
        assert re.fullmatch(r"[A-Z].*\.", text)


@pytest.mark.parametrize("flag", FLAGS)
def test_every_flag_is_named(flag: str) -> None:
    assert f"`{flag}`" in TEXT


def test_the_version_is_the_prefix_of_every_path() -> None:
    [prefix] = re.findall(r"prefix other than `(.+?)`", TEXT)
    assert all(row.path.startswith(f"{prefix}/") for row in ENDPOINTS)


def test_ids_have_the_length_that_is_checked() -> None:
    assert f"1 to {MAX_ID_CHARACTERS} characters" in TEXT


def test_no_field_of_the_format_string_is_left() -> None:
    assert re.findall(r"\{[^{}]*\}", DESCRIPTION) == []


def test_the_license_is_that_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == LICENSE["identifier"]
    assert (ROOT / "LICENSE").read_text().startswith(LICENSE["name"])
