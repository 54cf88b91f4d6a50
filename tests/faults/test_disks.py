"""A full disk: what was asked for is done or not, no half is left, and a sentence says where."""

import itertools
import json
import logging
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from gateway.server.logs import LogFile, LogFormatter, LogHandler
from storage.embedded.embedded_mongo import run_embedded_mongo
from tests.fixtures import MAP, UNIT, World
from tests.gateway.cli.commands import floorgate, output_of
from tests.gateway.floorgate_process import (
    CHECKOUT,
    COMMAND,
    environment,
    run_serve_command,
    storage_options,
)
from tests.waiting import TIMEOUT_SECONDS, wait_until

PAGE = 4096
FULL = "No space left on device"
DRAWING = CHECKOUT / "samples" / "demo" / "birch-house.svg"
NAMELESS = f"standard output, or a temporary file: {FULL}"
BUNDLE = json.dumps({"assets": [{"id": "lark", "name": "Lark"}]})


class Disk:
    """A file system in memory, of so many bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self, free_pages: int = 0) -> None:
        """Leave so many pages."""
        with suppress(OSError), self._ballast.open("ab", buffering=0) as file:
            while True:
                file.write(bytes(PAGE))
        os.truncate(self._ballast, self._ballast.stat().st_size - free_pages * PAGE)

    def empty(self) -> None:
        """Make room."""
        self._ballast.unlink()

    def list_files(self) -> set[str]:
        """Return the names of all other files."""
        return {each.name for each in self.path.iterdir()} - {self._ballast.name}


IMPORT = "mutation($bundle: String!) { importCatalog(input: { bundle: $bundle }) { notes } }"
CREATE = """mutation($name: String!) {
  createApiKey(input: { name: $name, allAssets: true }) { key }
}"""
Mount = Callable[[str], Disk]


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """Makes a disk of a size."""
    path = tmp_path / "disk"
    path.mkdir()

    def mount(size: str) -> Disk:
        command: list[str | Path] = [
            "mount",
            "-t",
            "tmpfs",
            "-o",
            f"size={size}",
            "floorgate-test",
            path,
        ]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("only root may mount a file system")
        return Disk(path)

    yield mount
    subprocess.run(["umount", "--lazy", path], capture_output=True, check=False)


def run(*arguments: Any, stdout: Any = subprocess.PIPE) -> tuple[int, str]:
    """Run a command as a shell does; return its exit status and the end of standard error."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment(), "PYTHONUNBUFFERED": ""},
        timeout=TIMEOUT_SECONDS,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr.splitlines()[-1]


@pytest.fixture
def storage(own_world: World, tmp_path: Path) -> list[str]:
    return storage_options(own_world.mongo_url, own_world.database, tmp_path)


WITHOUT_STORAGE = [("--version",), ("schema",), ("parse", DRAWING)]
PRINTING = [
    ("keys", "list"),
    ("audit", "--json"),
    ("doctor", "--json"),
    ("export",),
    ("backup", "-"),
]


@pytest.mark.slow
def test_output_for_which_there_is_no_room_is_an_error(storage: list[str], tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.json"
    bundle.write_text(BUNDLE)
    printing = [*WITHOUT_STORAGE, *((*given, *storage) for given in PRINTING)]
    create = ("keys", "create", "--name", "lost", "--all-assets", "--json", *storage)
    with Path("/dev/full").open("wb") as full:
        for arguments in printing:
            assert run(*arguments, stdout=full) == (1, f"Error: {NAMELESS}"), arguments
        assert run("import", "--json", bundle, *storage, stdout=full) == (1, f"Error: {NAMELESS}")
        status, sentence = run(*create, stdout=full)
        serving = run("serve", "--data-dir", tmp_path, "--port", 0, *storage, stdout=full)
    assert serving == (1, f"Error: {NAMELESS}")
    assert "lark" in {each["id"] for each in output_of(floorgate("export", *storage))["assets"]}
    [key] = [
        each["id"]
        for each in output_of(floorgate("keys", "list", "--json", *storage))
        if each["name"] == "lost"
    ]
    assert (status, sentence) == (
        1,
        f"Error: standard output: {FULL}; the key {key} was created, and its text is lost: revoke"
        f" it with floorgate keys revoke {key}",
    )


WRITING: dict[str, tuple[Any, ...]] = {
    "old.svg": ("parse", DRAWING, "--svg", "-o"),
    "old.json": ("parse", DRAWING, "-o"),
    "old.png": ("maps", "picture", MAP, "-o"),
    "old.csv": ("export", "--attributes"),
    "old.xlsx": ("export", "--xlsx"),
    "template.xlsx": ("template", "--xlsx"),
    "old.tar": ("backup",),
    "undo.json": ("remove", "--yes", "unit", UNIT, "--undo"),
    "plan.ndjson": ("remove", "--yes", "unit", UNIT, "--plan"),
}
"""The command that would write a file."""


@pytest.mark.parametrize("name", WRITING)
def test_a_file_for_which_there_is_no_room_stays_as_it_was(
    mount: Mount,
    storage: list[str],
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each page is missing in turn, until the command has room for all that it writes."""
    monkeypatch.chdir(tmp_path)  # where a file to undo a removal would be
    disk = mount("256k")
    file = disk.path / name
    is_old = name.startswith("old")
    if is_old:
        file.write_text("before")
    command = WRITING[name]
    before = output_of(floorgate("export", *storage))
    given = [] if command[0] in ("parse", "template") else storage
    for pages in itertools.count():
        disk.fill(pages)
        done = floorgate(*command, file, *given)
        if done.exit_code == 0:
            break
        sentence = done.stderr.splitlines()[-1]
        assert sentence.startswith(f"Error: {file}")
        assert FULL in sentence
        assert disk.list_files() == ({name} if is_old else set())
        assert not is_old or file.read_text() == "before"
        assert output_of(floorgate("export", *storage)) == before
        assert not [*tmp_path.glob("floorgate-undo*")]
        disk.empty()
    assert pages > 0


def test_lines_of_the_log_are_whole_again_once_there_is_room(mount: Mount) -> None:
    disk = mount("64k")
    file = disk.path / "log"
    disk.fill(free_pages=1)
    handler = LogHandler(LogFile(file).fileno)
    handler.setFormatter(LogFormatter("json"))

    def log(text: str) -> None:
        handler.emit(logging.makeLogRecord({"msg": text}))

    for number in range(100):
        log(str(number))
    wait_until(lambda: handler._lost_lines > 0 and not handler._backlog, "lines are lost")
    log("too early")
    wait_until(lambda: not handler._backlog)
    disk.empty()
    log("later")
    handler.close()
    *whole, torn, lost, last = file.read_text().splitlines()
    assert [json.loads(line)["message"] for line in whole] == [*map(str, range(len(whole)))]
    assert not torn.endswith("}")
    message = f"{101 - len(whole)} log lines could not be written"
    assert json.loads(lost)["message"] == message
    assert json.loads(last)["message"] == "later"


@pytest.mark.slow
@pytest.mark.parametrize("size", ["4k", "64k", "256k"])
def test_a_first_start_without_room_works_once_there_is_some(mount: Mount, size: str) -> None:
    disk = mount(size)
    create = ("keys", "create", "--name", "first", "--all-assets")
    status, sentence = run(*create, "--data-dir", disk.path / "data")
    assert status == 1
    assert FULL in sentence
    subprocess.run(["mount", "-o", "remount,size=100m", disk.path], check=True)
    assert run(*create, "--data-dir", disk.path / "data")[0] == 0


@pytest.mark.slow
def test_what_the_embedded_mongodb_has_acknowledged_survives_a_full_disk(mount: Mount) -> None:
    disk = mount("64m")
    data = disk.path / "data"
    admin = ("--permission", "service.admin", "--all-assets", "--json", "--data-dir", data)
    with run_serve_command(data, "--log-file", disk.path / "log", "--rate-limit", "0") as server:
        key = output_of(floorgate("keys", "create", "--name", "first", *admin))["key"]
        with server.client(key) as client, run_embedded_mongo(data) as url:
            acknowledged, codes = set(), set()

            def write(query: str, **variables: Any) -> bool:
                response = client.post("/graphql", json={"query": query, "variables": variables})
                [error] = response.json().get("errors", [None])
                if error is None:
                    acknowledged.add(variables["name"])
                else:
                    assert response.status_code == 503
                    codes.add(error["extensions"]["code"])
                return error is None

            names = map(str, itertools.count())
            disk.fill()
            assert client.get("/v1/assets").status_code == 200
            assert not write(IMPORT, name="import", bundle=BUNDLE)
            wait_until(lambda: write(CREATE, name=next(names)), "small writes go on")
            with MongoClient[Any](url) as mongo, suppress(PyMongoError):
                mongo.admin.command("fsync")  # a checkpoint, as each minute
            wait_until(lambda: not write(CREATE, name=next(names)), "MongoDB has ended")
            disk.empty()
            wait_until(lambda: write(CREATE, name=next(names)), "the service goes on")
            assert write(IMPORT, name="import", bundle=BUNDLE)
        found = output_of(floorgate("keys", "list", "--json", "--data-dir", data))
        assert "DISK_FULL" in codes
        assert len(codes) > 1
        assert acknowledged - {"import"} <= {each["name"] for each in found}
        assert "log lines could not be written" in (disk.path / "log").read_text()
