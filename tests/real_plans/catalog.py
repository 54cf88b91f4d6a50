"""Floor plans that others have published, by repository and commit; their files are not kept here.

`python -m tests.real_plans --fetch` downloads them.
"""

import json
import os
from pathlib import Path
from typing import NamedTuple

import pytest

DIRECTORY = Path(os.environ.get("FLOORGATE_REAL_PLANS", "../indoor"))
"""Has a folder for each plan, with its files."""
RAW = "https://raw.githubusercontent.com"


class RealPlan(NamedTuple):
    """A building's plan: `files` in a `folder` of a public repository at a commit.

    At least `foot_share` of its locations reach each other on foot.
    """

    name: str
    repository: str
    commit: str
    licence: str
    foot_share: float
    folder: str
    files: tuple[str, ...]

    @property
    def paths(self) -> dict[str, Path]:
        """Where each file is, or would be."""
        return {file: DIRECTORY / self.name / file for file in self.files}

    def url(self, file: str) -> str:
        folder = "" if self.folder == "." else f"{self.folder}/"
        return f"{RAW}/{self.repository}/{self.commit}/{folder}{file}"

    @property
    def is_present(self) -> bool:
        """Whether all files are there."""
        return all(path.exists() for path in self.paths.values())

    def read(self) -> dict[str, bytes]:
        """Return the contents of the files by name."""
        return {file: path.read_bytes() for file, path in self.paths.items()}


def list_plans() -> list[RealPlan]:
    """Return all plans, in the order of their names."""
    rows = json.loads(Path(__file__).with_name("plans.json").read_text())
    plans = [RealPlan(**{**row, "files": tuple(row["files"])}) for row in rows]
    return sorted(plans)


def require_plan(name: str) -> RealPlan:
    """Return a plan; skip the test where it is absent."""
    [plan] = [plan for plan in list_plans() if plan.name == name]
    if not plan.is_present:
        pytest.skip(f"{DIRECTORY / name} is absent")
    return plan
