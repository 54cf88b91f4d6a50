"""Log lines are JSON, and nothing that looks like an API key gets into one."""

import logging
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Receive, Scope, Send

from gateway.errors import StartError
from gateway.exchange import get_client_address, log_request
from gateway.response_cache import FastResponse
from gateway.server import logs
from gateway.server.admission import Admission
from gateway.server.logs import LogFile, check_log_file, contains_secret, may_contain_secret, redact
from gateway.server.worker import STOP_SIGNALS
from tests.gateway.log_lines import LogLines, capture_log_lines
from tests.gateway.server.processes import ServerProcess, Start, clients, get
from tests.gateway.server.served_application import GET, HOST, LAST_GET, SHORT, exchange, statuses
from tests.waiting import wait_until

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


# API keys are found in any form in which they may reach a log line.


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        f"Bearer {KEY}.",
        KEY.upper(),
        KEY.removeprefix("fgk_"),  # long enough to be a key without its prefix
        "".join(f"%{ord(character):02x}" for character in KEY),
        "fgk_1",  # cut off
    ],
)
def test_a_key_is_found_in_any_form(text: str) -> None:
    assert contains_secret(text)
    assert may_contain_secret(text.encode())
    assert "[redacted]" in redact(text)


@pytest.mark.parametrize("text", ["", "unit-1", "/v1/units", "a" * 39, "2026-01-31T12:00:00Z"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert not contains_secret(text)
    assert redact(text) == text


@pytest.mark.parametrize(
    ("value", "redacted"),
    [
        ({KEY: [KEY, 1]}, {"[redacted]": ["[redacted]", 1]}),
        ((None, True, 1.5), [None, True, 1.5]),
        ({1: {KEY}}, {"1": ["[redacted]"]}),
        (ValueError(KEY), "[redacted]"),
    ],
)
def test_containers_are_searched(value: Any, redacted: Any) -> None:
    assert redact(value) == redacted


@given(st.text())
def test_the_quick_test_misses_no_secret(text: str) -> None:
    line = text + KEY
    assert may_contain_secret(line.encode(errors="replace"))
    assert not contains_secret(text) or may_contain_secret(text.encode(errors="replace"))


# `--log-file`: all processes of a service append to one file, which may be renamed at any time.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


@pytest.fixture
def serve(start: Start, folder: Path) -> Callable[..., ServerProcess]:
    """Starts a service of two workers that log to `gateway.log`."""
    file = str(folder / "gateway.log")
    return lambda **given: start(service={"log_file": file}, workers=2, **given)


def lines(folder: Path) -> list[dict[str, Any]]:
    """The lines of all files, but for what comes after the last end of a line.

    A file that is read while a service writes to it may end within a line.
    """
    whole = [file.read_bytes().rpartition(b"\n")[0] for file in folder.iterdir()]
    return [orjson.loads(line) for content in whole for line in content.splitlines()]


def messages(folder: Path) -> list[str]:
    return [line["message"] for line in lines(folder)]


@pytest.mark.timeout(1800)
def test_no_line_is_lost_when_the_file_is_renamed(
    serve: Callable[..., ServerProcess], folder: Path
) -> None:
    """Lines are appended to those of yesterday, and a reload changes nothing about it."""
    log = folder / "gateway.log"
    log.write_text('{"message": "of yesterday"}\n')
    running = serve()
    with clients(running.port) as load:
        for number in range(3):
            before = load.answers
            wait_until(lambda before=before: load.answers > before + 40)  # type: ignore[misc]
            log.rename(folder / f"gateway.log.{number}")
            if number == 1:
                running.process.send_signal(signal.SIGHUP)
                wait_until(lambda: any(each.startswith("Reloaded") for each in messages(folder)))
            wait_until(log.exists)
    status, _, errors = running.stop()
    assert (status, load.failures) == (0, [])
    assert all(file.read_bytes().endswith(b"\n") for file in folder.iterdir())
    assert (folder / "gateway.log.0").read_text().startswith('{"message": "of yesterday"}\n')
    requests = [line for line in lines(folder) if line["message"] == "request"]
    assert len({line["request_id"] for line in requests}) == len(requests)
    assert Counter(line["pid"] for line in requests) == load.pids
    assert len(load.pids) >= 2
    assert not any(line.startswith("{") for line in errors.splitlines())


@pytest.mark.slow
def test_a_worker_that_ends_writes_its_last_lines_whatever_signal_it_gets(
    serve: Callable[..., ServerProcess], folder: Path, tmp_path: Path
) -> None:
    running = serve(environment={"SMALL_APP_END": str(tmp_path)})
    get(f"{running.address}/pid")
    running.process.send_signal(signal.SIGTERM)
    wait_until(lambda: len(list(tmp_path.glob("*.waits"))) == 2)
    for ending in tmp_path.glob("*.waits"):
        for number in STOP_SIGNALS:
            os.kill(int(ending.stem), number)
        ending.unlink()
    assert running.wait_for_exit()[0] == 0
    assert messages(folder).count("The process ends") == 2


@pytest.mark.slow
def test_a_reload_to_a_file_that_cannot_be_written_is_refused(
    serve: Callable[..., ServerProcess], folder: Path
) -> None:
    running = serve()
    address = running.address
    moved = folder.with_name("moved")
    folder.rename(moved)  # the lines go on in the file that is open
    running.process.send_signal(signal.SIGHUP)
    wait_until(lambda: any(message.startswith("The reload failed") for message in messages(moved)))
    [failed] = [line for line in lines(moved) if line["message"].startswith("The reload failed")]
    path = folder / "gateway.log"
    assert failed["reason"] == f"--log-file {path} cannot be written: its directory does not exist"
    assert get(f"{address}/pid").status_code == 200
    folder.mkdir()
    get(f"{address}/pid")
    wait_until(path.exists)
    assert running.stop()[0] == 0


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing/gateway.log", "its directory does not exist"),
        (".", "Is a directory"),
        ("file/gateway.log", "Not a directory"),
    ],
)
def test_a_file_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, name: str, reason: str
) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / name
    with pytest.raises(StartError) as raised:
        check_log_file(path)
    assert str(raised.value) == f"--log-file {path} cannot be written: {reason}"


def test_lines_go_to_the_file_that_has_the_path_or_had_it_last(folder: Path) -> None:
    log = folder / "gateway.log"
    file = LogFile(log)
    os.write(file.fileno(), b"one\n")
    log.rename(folder / "renamed")
    os.write(file.fileno(), b"two\n")
    moved = folder.rename(folder.with_name("moved"))
    os.write(file.fileno(), b"three\n")  # there is no folder for another
    os.close(file.fileno())
    assert (moved / "renamed").read_text() == "one\n"
    assert (moved / "gateway.log").read_text() == "two\nthree\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_of_somebody_else_is_one_sentence(folder: Path) -> None:
    folder.chmod(0o500)
    with pytest.raises(StartError, match="Permission denied"):
        LogFile(folder / "gateway.log")


def test_only_the_owner_and_the_group_can_read_the_file(folder: Path) -> None:
    log = folder / "gateway.log"
    descriptor = LogFile(log).fileno()
    os.close(descriptor)
    assert log.stat().st_mode & 0o137 == 0


# Each log line of a request has the address of its client, however the request ends.


FOUND = FastResponse(200, b"content-length: 0\r\n", b"", "/", "key")
FORWARDED = b"X-Forwarded-For: 203.0.113.9, [2001:DB8::1]:5\r\n"


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    body = get_client_address(scope).encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def send_to_server(raw: bytes, proxy_hops: int = 0, **options: Any) -> bytes:
    """What a client at 127.0.0.3 is sent."""
    return exchange(raw, app, SHORT, source="127.0.0.3", proxy_hops=proxy_hops, **options)


@pytest.mark.parametrize(
    ("proxy_hops", "client"), [(0, "127.0.0.3"), (1, "2001:db8::1"), (2, "203.0.113.9")]
)
@pytest.mark.parametrize("is_cached", [False, True])
def test_a_request_is_of_the_client_that_the_proxies_vouch_for(
    proxy_hops: int, client: str, is_cached: bool, lines: LogLines
) -> None:
    send_to_server(
        GET[:-2] + FORWARDED + b"\r\n" + LAST_GET[:-2] + FORWARDED + b"\r\n",
        proxy_hops,
        fast_path=(lambda *_: FOUND) if is_cached else None,
    )
    assert [f'"client":"{client}"' in line for line in lines.texts] == [True, True]


def test_the_application_sees_the_same_address() -> None:
    assert send_to_server(LAST_GET[:-2] + FORWARDED + b"\r\n", 1).endswith(b"2001:db8::1")


@pytest.mark.parametrize(
    ("raw", "status", "client"),
    [
        (b"\x16\x03\x01\x02\x00", 400, "127.0.0.3"),
        (b"GET / HTTP/1.1\r\n" + HOST, 408, "127.0.0.3"),
        (b"GET / HTTP/2.0\r\n" + HOST + FORWARDED + b"\r\n", 505, "127.0.0.3"),
        # The head was complete: what the proxy says is known.
        (GET[:-2] + FORWARDED + b"Transfer-Encoding: chunked\r\n\r\nz", 400, "2001:db8::1"),
    ],
)
def test_a_rejected_request_has_an_address_too(
    raw: bytes, status: int, client: str, lines: LogLines
) -> None:
    assert statuses(send_to_server(raw, 1))[:1] in ([status], [200])
    assert lines.last()["client"] == client


def test_a_request_without_the_header_is_of_the_proxy(lines: LogLines) -> None:
    send_to_server(GET[:-2] + FORWARDED + b"\r\n" + LAST_GET, 1)
    clients = [line.split('"client":"')[1].split('"')[0] for line in lines.texts]
    assert clients == ["2001:db8::1", "127.0.0.3"]


def test_the_line_that_counts_rejections_names_a_client() -> None:
    with capture_log_lines(logging.getLogger("floorgate.admission"), logging.INFO) as lines:
        received = send_to_server(
            GET[:-2] + FORWARDED + b"\r\n" + LAST_GET, 1, admission=Admission(0, 0)
        )
    assert statuses(received) == [503, 503]
    assert lines.last()["client"] == "2001:db8::1"
