"""The example that keeps a copy in SQLite: it ends with what the service has, also if killed."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from storage.changes.events import ChangeCursor
from tests.clients.environment import CLIENTS
from tests.rest.demo_service import FLOORGATE, DemoService

pytestmark = [
    pytest.mark.xdist_group("clients"),
    pytest.mark.slow,
    pytest.mark.usefixtures("generated"),
]

SOURCE = CLIENTS / "python" / "src"
PROGRAM = CLIENTS / "python" / "examples" / "sync_directory.py"
KILLED = """
import os, sys
import sync_directory
insert, left = sync_directory.Copy.insert, [int(sys.argv.pop())]
def insert_and_die(*arguments):
    insert(*arguments)
    left[0] -= 1
    if left[0] == 0:
        os._exit(9)
sync_directory.Copy.insert = insert_and_die
sync_directory.main()
"""
"""The program, which is gone at once after so many inserts."""
ASSET, MAP, GROUP = "alder-court", "alder-court-floor-plates", "views-and-features"
ASSIGNMENTS = f"/units/attribute-groups/{GROUP}/assignments"

Records = dict[str, list[dict[str, Any]]]
Run = Callable[..., int]


@pytest.fixture
def sync(demo: DemoService, tmp_path: Path) -> Run:
    """Runs the program on one database, and returns its exit status."""

    def run(*, killed_at_insert: int | None = None) -> int:
        arguments = [demo.url, ASSET, str(tmp_path / "copy.sqlite")]
        command = [str(PROGRAM), *arguments]
        if killed_at_insert:
            command = ["-c", KILLED, *arguments, str(killed_at_insert)]
        environment = {
            "PYTHONPATH": os.pathsep.join([str(SOURCE), str(PROGRAM.parent)]),
            "FLOORGATE_KEY": demo.key,
            "SSL_CERT_FILE": str(demo.certificate),
        }
        done = subprocess.run(
            [sys.executable, *command],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode

    return run


def sort(records: Records) -> Records:
    def place_of(record: dict[str, Any]) -> list[str]:
        return [record.get(name, "") for name in ("id", "unit_id", "attribute_id")]

    return {kind: sorted(each, key=place_of) for kind, each in records.items()}


def read_copy(path: Path) -> Records:
    found: Records = {"units": [], "locations": [], "attribute_assignments": []}
    with sqlite3.connect(path) as database:
        for kind, record in database.execute("SELECT kind, record FROM records"):
            found[kind].append(json.loads(record))
    return sort(found)


def read_service(service: httpx.Client) -> Records:
    def read(path: str, **query: str) -> list[dict[str, Any]]:
        text = service.get(path, params=query).raise_for_status().text
        data: list[dict[str, Any]] = json.loads(text.replace('+00:00"', 'Z"'))["data"]
        return data  # with times as the copy has them

    groups = [each["group_id"] for each in read("/units/attribute-groups")]
    return sort(
        {
            "units": read("/units", asset=ASSET),
            "locations": read(f"/unitmaps/{MAP}/locations"),
            "attribute_assignments": [
                each
                for group in groups
                for each in read(f"/units/attribute-groups/{group}/assignments", asset=ASSET)
            ],
        }
    )


def floorgate(demo: DemoService, *arguments: object) -> None:
    done = subprocess.run(
        [FLOORGATE, *map(str, arguments)],
        env={**os.environ, **demo.environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_copy_is_what_the_service_has_after_each_run(
    sync: Run, service: httpx.Client, demo: DemoService, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.sqlite"
    assert sync(killed_at_insert=2) == 9
    assert not any(read_copy(copy).values())  # all of a step or none of it
    assert sync() == 0
    before = read_service(service)
    assert all(before.values())
    assert read_copy(copy) == before

    unit, other = before["units"][:2]
    location = before["locations"][0]["id"]
    taken = service.get(ASSIGNMENTS).json()["data"][:3]
    sheet, undo = tmp_path / "units.csv", tmp_path / "undo.ndjson"
    sheet.write_text(f"id,name\n{unit['id']},Renamed\n{other['id']},{other['name']}\n")
    try:
        assert service.post(f"{ASSIGNMENTS}/remove", json={"data": taken}).status_code == 204
        floorgate(demo, "import", "--merge", sheet)
        floorgate(demo, "remove", "location", location, "--yes", "--undo", undo)
        assert sync(killed_at_insert=1) == 9
        assert read_copy(copy) == before
        assert sync() == 0
        changed = read_service(service)
        assert changed != before
        assert read_copy(copy) == changed
    finally:
        assert service.put(ASSIGNMENTS, json={"data": taken}).is_success
        sheet.write_text(f"id,name\n{unit['id']},{unit['name']}\n")
        floorgate(demo, "import", "--merge", sheet)
        floorgate(demo, "import", undo)
        # It has got a location in the place of the removed one meanwhile.
        floorgate(demo, "maps", "process", MAP)
    assert sync() == 0
    assert read_copy(copy) == read_service(service)
    assert len(read_service(service)["locations"]) == len(before["locations"])


def test_a_copy_that_has_missed_changes_begins_again(
    sync: Run, service: httpx.Client, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.sqlite"
    assert sync() == 0
    with sqlite3.connect(copy) as database:
        [[text]] = database.execute("SELECT cursor FROM cursors")
        expired = str(ChangeCursor.parse(text)._replace(epoch=b"else"))
        database.execute("UPDATE cursors SET cursor = ?", [expired])
        database.execute("DELETE FROM records WHERE kind = 'units'")
    assert sync() == 0
    assert read_copy(copy) == read_service(service)


@pytest.mark.parametrize(
    ("arguments", "key", "expected"),
    [
        ([], "key", "the following arguments are required: url, asset, database"),
        (["alder-cort"], "", "set FLOORGATE_KEY to an API key"),
        (["alder-cort"], "key", "alder-cort is not the id of an asset that the key sees"),
    ],
)
def test_wrong_input_is_explained_and_leaves_no_copy(
    arguments: list[str], key: str, expected: str, demo: DemoService, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.sqlite"
    if arguments:
        arguments = [demo.url, *arguments, str(copy)]
    environment = {
        "PYTHONPATH": str(SOURCE),
        "FLOORGATE_KEY": key and demo.key,
        "SSL_CERT_FILE": str(demo.certificate),
    }
    done = subprocess.run(
        [sys.executable, PROGRAM, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and not copy.exists()
    assert done.stderr.splitlines()[-1].removeprefix("sync_directory.py: error: ") == expected
