"""What a worker logs is read once, in its order."""

from pathlib import Path

import msgspec

from bench.load.worker_log import MadeResponse, WorkerLog, WriteWait


def test_each_line_is_read_once(tmp_path: Path) -> None:
    log = WorkerLog(tmp_path / "log")
    made = MadeResponse(key=-7, text="/v1/units {}", is_cached=True)
    for expected in ([made], [made, made], []):
        with log.path.open("ab") as file:
            for entry in expected:
                file.write(msgspec.json.encode(WriteWait(seconds=0.5)) + b"\n")
                file.write(msgspec.json.encode(entry) + b"\n")
        assert log.read() == (expected, [0.5] * len(expected))
