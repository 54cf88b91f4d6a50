"""Floorgate as its users run it behind a proxy: one worker, every check, its log lines written."""

import sys

from bench.directory import Directory
from bench.peers.peer import BASE_URL, HOST, Peer

COMMAND = [sys.executable, "-c", "from gateway.cli.main import main; main()"]


def _command(port: int) -> list[str]:
    return [*COMMAND, "serve", "--host", HOST, "--port", str(port), "--behind-proxy"]


def _environment(directory: Directory) -> dict[str, str]:
    return {
        "FLOORGATE_MONGO_URL": directory.mongo_url,
        "FLOORGATE_DATABASE": directory.database,
        "FLOORGATE_BASE_URL": BASE_URL,
    }


FLOORGATE = Peer("floorgate", "Floorgate", _command, _environment)
