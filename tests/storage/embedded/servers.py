"""Users of an embedded MongoDB in processes of their own, and the processes of the server."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pymongo import MongoClient
from pymongo.write_concern import WriteConcern

ROOT = Path(__file__).parents[3]

USER = """
import sys
from pathlib import Path
from storage.embedded.embedded_mongo import run_embedded_mongo
with run_embedded_mongo(Path(sys.argv[1])) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


@contextmanager
def user(data_dir: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield another process that uses the server until its input ends, and the address."""
    command = [sys.executable, "-c", USER, str(data_dir)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()


def processes(data_dir: Path, program: str) -> list[int]:
    """The ids of the processes of that program that name the data directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (entry / "cmdline").read_text().split("\0")
        except OSError:
            continue
        named = any(str(data_dir) in argument for argument in arguments)
        if named and any(argument.endswith(program) for argument in arguments[:4]):
            found.append(int(entry.name))
    return found


def mongods(data_dir: Path) -> list[int]:
    return processes(data_dir, "/mongod")


def supervisors(data_dir: Path) -> list[int]:
    return processes(data_dir, "/mongod_supervisor.py")


def nothing_left(data_dir: Path) -> bool:
    return not mongods(data_dir) and not supervisors(data_dir)


def write(url: str, number: int) -> None:
    with MongoClient[dict[str, Any]](url) as client:
        majority = WriteConcern("majority")
        client["test"].get_collection("numbers", write_concern=majority).insert_one({"_id": number})


def read(url: str) -> list[int]:
    with MongoClient[dict[str, Any]](url) as client:
        return [document["_id"] for document in client["test"]["numbers"].find().sort("_id")]
