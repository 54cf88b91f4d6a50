"""Log lines are JSON, and nothing that looks like an API key gets into one."""

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.exchange import log_request
from gateway.server import logs

KEY = "fgk_" + "0aZ9" * 12
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def line(message: object, *args: object, **members: Any) -> str:
    record = logging.makeLogRecord({"msg": message, "args": args, "name": "test", **members})
    return logs.LogFormatter().format(record)


def test_a_line_is_one_json_object() -> None:
    parsed = orjson.loads(line("%d units\nread", 3, fields={"route": "/v1/units"}))
    assert parsed["message"] == "3 units\nread"
    assert parsed["route"] == "/v1/units"
    assert parsed["time"].endswith("+00:00")
    assert parsed["pid"] == os.getpid()


@given(st.text(), st.text())
def test_a_key_never_gets_into_a_line(before: str, after: str) -> None:
    text = line("%s", before + KEY + after, fields={"nested": {KEY: [before + KEY]}})
    assert KEY not in text
    assert KEY.removeprefix("fgk_") not in text
    assert isinstance(orjson.loads(text), dict)


@given(st.text(BASE62, min_size=43, max_size=60))
def test_a_key_without_its_prefix_is_redacted_too(body: str) -> None:
    assert body not in line(f"bad checksum in '{body}'")


def test_a_percent_encoded_key_is_redacted() -> None:
    encoded = "".join(f"%{ord(character):02X}" for character in KEY)
    assert encoded[:12] not in line(f"GET /?api-key={encoded}")


def test_a_traceback_becomes_a_redacted_member() -> None:
    try:
        raise ValueError(f"no unit {KEY}")
    except ValueError as error:
        text = line("failed", exc_info=(ValueError, error, error.__traceback__))
    assert "no unit [redacted]" in orjson.loads(text)["exception"]


@pytest.mark.parametrize("value", ["\ud800", 2**70, object, b"\xff", {"set"}, float("nan")])
def test_any_value_can_be_logged(value: object) -> None:
    assert (
        "kept"
        in orjson.loads(line("%s", value, fields={"member": value, "other": "kept"}))["other"]
    )


def test_arguments_that_do_not_fit_the_message_are_left_out() -> None:
    assert orjson.loads(line("no place", KEY))["message"] == "no place"


def test_text_lines_are_redacted_too() -> None:
    record = logging.makeLogRecord({"msg": KEY, "levelname": "INFO", "fields": {"route": "/v1"}})
    text = logs.LogFormatter("text").format(record)
    assert "[redacted]" in text
    assert "route=/v1" in text
    assert KEY not in text


def test_a_stalled_reader_stalls_no_writer() -> None:
    reading, writing = os.pipe()
    handler = logs.LogHandler(lambda: writing, max_backlog_lines=100)
    handler.setFormatter(logs.LogFormatter())
    for _ in range(1000):
        handler.emit(logging.makeLogRecord({"msg": "x" * 1000}))  # ten times what a pipe takes
    os.close(reading)
    handler.close()
    os.close(writing)
    assert handler._dropped_lines > 0


PROGRAM = f"""
import logging, threading, warnings
from gateway.exchange import log_request
from gateway.server import logs
logs.configure_logging("info", "json")
logging.getLogger("any").info("hello")
logging.getLogger("any").debug("unseen")
warnings.warn("old {KEY}")
logging.getLogger("any").info("no place", "{KEY}")
thread = threading.Thread(target=int, args=("{KEY}",)); thread.start(); thread.join()
raise RuntimeError("{KEY}")
"""


def test_everything_a_process_says_is_json_without_keys() -> None:
    checkout = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, cwd=checkout, check=False
    )
    lines = [orjson.loads(each) for each in done.stderr.splitlines()]
    assert [each["level"] for each in lines] == ["info", "warning", "info", "critical", "critical"]
    assert KEY.encode() not in done.stderr
    assert done.returncode == 1


def test_requests_are_formatted_by_the_writer_in_the_order_of_their_lines(
    tmp_path: Path,
) -> None:
    file = tmp_path / "log"
    handler = logs.LogHandler(logs.LogFile(file).fileno)
    handler.setFormatter(logs.LogFormatter())
    access = logging.getLogger("floorgate.access")
    access.addHandler(handler)
    previous = access.level
    access.setLevel(logging.INFO)
    numbers = range(logs.MAX_BATCH_LINES + 50)
    try:
        for number in numbers:
            operation = KEY if number == 7 else "Units"  # which a client may name as it likes
            log_request(
                f"r{number}", method="GET", route="/v1/units", status=200, duration_ms=0.0614,
                sent_bytes=number, client="127.0.0.1", key_id="key", operation=operation,
            )  # fmt: skip
            access.info("after", extra={"fields": {"number": number}})
        error = RuntimeError(KEY)
        log_request("last", method="GET", route="/v1/units", status=500, duration_ms=1,
                    sent_bytes=0, error=error)  # fmt: skip
    finally:
        access.removeHandler(handler)
        access.setLevel(previous)
    handler.close()
    content = file.read_bytes()
    assert KEY.encode() not in content
    *parsed, last = [orjson.loads(line) for line in content.splitlines()]
    assert [each["message"] for each in parsed] == ["request", "after"] * len(numbers)
    assert [each["bytes"] for each in parsed[::2]] == [each["number"] for each in parsed[1::2]]
    times = [each["time"] for each in parsed]
    assert times == sorted(times)
    assert parsed[14]["operation"] == "[redacted]"
    del parsed[0]["time"], parsed[0]["pid"]
    assert parsed[0] == {
        "level": "info", "logger": "floorgate.access", "message": "request", "request_id": "r0",
        "method": "GET", "route": "/v1/units", "status": 200, "duration_ms": 0.061, "bytes": 0,
        "key_id": "key", "client": "127.0.0.1", "operation": "Units",
    }  # fmt: skip
    assert last["exception"].endswith("RuntimeError: [redacted]\n")


@given(st.lists(st.one_of(st.none(), st.text(), st.just(KEY)), min_size=1))
@pytest.mark.parametrize("log_format", ["json", "text"])
def test_a_batch_has_the_lines_of_its_records(
    log_format: logs.LogFormat, members: list[str | None]
) -> None:
    formatter = logs.LogFormatter(log_format)
    records = [logging.makeLogRecord({"msg": "request", "fields": {"of": of}}) for of in members]
    lines = [formatter.format(record) for record in records]
    batch: list[str | logging.LogRecord] = [*lines, *records]
    assert formatter.format_batch(batch).decode() == "".join(f"{each}\n" for each in lines * 2)
