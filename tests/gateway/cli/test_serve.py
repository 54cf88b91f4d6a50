"""`floorgate serve`, with and without the demo."""

import json
import signal
import socket
import subprocess
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from pymongo import MongoClient

from gateway.cli import serve
from gateway.cli.demo import build_announcement, create_key
from gateway.server import tls
from gateway.settings import Settings
from storage.administration.api_keys import hash_key
from tests.gateway.cli.commands import floorgate, output_of
from tests.gateway.floorgate_process import (
    COMMAND,
    Server,
    environment,
    run_serve_command,
    storage_options,
)
from tests.waiting import TIMEOUT_SECONDS

DEMO_UNITS = 60
BUNDLE = {
    "assets": [{"id": "new", "name": "New House"}],
    "floors": [{"id": "new-1", "asset_id": "new", "name": "First"}],
    "units": [{"id": "new-101", "asset_id": "new", "floor_id": "new-1", "name": "101"}],
}


def test_a_directory_is_served_filled_killed_and_served_again(tmp_path: Path) -> None:
    storage = ("--data-dir", str(tmp_path / "data"))
    bundle = tmp_path / "bundle.json"
    bundle.write_text(json.dumps(BUNDLE))
    with run_serve_command(tmp_path / "data") as server:
        assert server.address.startswith("https://127.0.0.1:")
        made = floorgate("keys", "create", "--name", "n", "--all-assets", "--json", *storage)
        key = output_of(made)["key"]
        with server.client(key) as client:
            assert client.get("/v1/units/new-101").status_code == 404
            assert floorgate("import", bundle, *storage).exit_code == 0
            assert client.get("/v1/units/new-101").json()["name"] == "101"  # at once
            assert client.get("/health/ready").json()["writes"] is True
        status, _, errors = server.end(signal.SIGKILL)
        assert status == -signal.SIGKILL
        assert key[4:] not in errors
    with run_serve_command(tmp_path / "data") as server:
        with server.client(key) as client:
            assert client.get("/v1/units/new-101").json()["name"] == "101"
            query = {"query": "{ assets { data { name units { data { name } } } } }"}
            (asset,) = client.post("/graphql", json=query).json()["data"]["assets"]["data"]
            assert asset == {"name": "New House", "units": {"data": [{"name": "101"}]}}
        status, _, errors = server.end(signal.SIGTERM)
        assert status == 0
        lines = [json.loads(line) for line in errors.splitlines()]
        requests = [line for line in lines if line["message"] == "request"]
        assert [(line["route"], line["status"]) for line in requests] == [
            ("/v1/units/{unit}", 200),
            ("/graphql", 200),
        ]
    (listed,) = output_of(floorgate("keys", "list", "--json", *storage))
    assert listed["last_used_at"]


@pytest.mark.slow
def test_no_process_shows_the_password_of_mongodb_in_its_arguments(
    mongo_url: str, database_name: str, tmp_path: Path
) -> None:
    secret = urlsplit(mongo_url).password
    assert secret
    storage = storage_options(mongo_url, database_name, tmp_path)
    with run_serve_command(tmp_path, "--workers", "2", *storage) as server:
        processes = [server.process.pid, *descendants(server.process.pid)]
        arguments = [Path(f"/proc/{pid}/cmdline").read_text() for pid in processes]
        assert server.end()[2].count(secret) == 0
    assert len(arguments) >= 3
    assert not [each for each in arguments if secret in each]


def descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [each for child in map(int, children) for each in (child, *descendants(child))]


def test_a_port_in_use_is_told_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = floorgate("serve", "--demo", "--port", port, "--data-dir", tmp_path / "data")
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"Error: Cannot listen on 127.0.0.1:{port}: the port is in use")
    assert ended.stderr.endswith(f"--port {port + 1}, or FLOORGATE_PORT={port + 1}\n")
    assert not (tmp_path / "data").exists()  # no MongoDB, no demo, no certificate


def arguments_in_a_shell(line: str) -> list[str]:
    """What the program `curl` gets when the line is pasted into a shell."""
    script = f"curl() {{ printf '%s\\0' \"$@\"; }}\n{line}"
    run = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    return run.stdout.split("\0")[:-1]


def blocks(process: subprocess.Popen[str], number: signal.Signals) -> bool:
    """Whether a signal waits until a process unblocks it, as Linux tells."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    mask = int(status.split("SigBlk:")[1].split()[0], 16)
    return bool(mask >> (number - 1) & 1)


@pytest.mark.slow
def test_a_hangup_while_it_starts_does_not_end_it(tmp_path: Path) -> None:
    command = [*COMMAND, "serve", "--behind-proxy", "--port", "0", "--data-dir", str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as process:
        try:
            while not blocks(process, signal.SIGHUP):
                time.sleep(0.01)
            process.send_signal(signal.SIGHUP)
            assert process.stdout is not None
            assert process.stdout.readline().startswith("ready ")
            process.terminate()
            process.communicate(timeout=TIMEOUT_SECONDS)
            assert process.returncode == 0
        finally:
            process.kill()


@pytest.mark.slow
def test_the_demo_is_ready_to_be_pasted_and_keeps_what_is_written(tmp_path: Path) -> None:
    """It is made routable at the first start alone."""
    folder = tmp_path / 'it\'s my "app" & $HOME'
    finish = "/v1/units/attribute-groups/finish-package/assignments"
    held: list[Any] = []
    reported = []
    for ending in (signal.SIGTERM, signal.SIGKILL):
        with run_serve_command(folder, "--demo") as server:
            printed = read_addresses(server)
            key = find_key(printed)
            curl = next(line for line in printed.splitlines() if line.startswith("curl"))
            assert arguments_in_a_shell(curl) == [
                *("--cacert", str(server.certificate)),
                *("-H", f"API-Key: {key}"),
                f"{server.address}/v1/units?per-page=10",
            ]
            with server.client(key) as client:
                client.headers["Experimental-Flags"] = "unit-attributes-resource"
                (asset,) = client.get("/v1/assets").json()["data"]  # of the two that there are
                units = client.get("/v1/units?per-page=1000").json()["data"]
                assert len(units) >= DEMO_UNITS
                assert {unit["asset_id"] for unit in units} == {asset["id"]}
                assert client.get("/v1/maps?tags=pathfinding").json()["data"]
                assert client.get("/v1/units", headers={"API-Key": ""}).status_code == 401
                if not held:
                    first, *_ = client.get(finish).json()["data"]
                    others = {"finish-package-classic", "finish-package-modern"}
                    [other, *_] = sorted(others - {first["attribute_id"]})
                    given = {**first, "attribute_id": other}
                    assert client.put(finish, json={"data": [given]}).status_code == 200
                held.append(client.get(finish).json()["data"])
            reported.append(server.end(ending)[2].count("Making the demo map routable"))
    assert given in held[0]
    assert held[1] == held[0]
    assert reported == [1, 0]


@pytest.mark.slow
def test_a_reload_keeps_the_key_of_the_demo_and_mongod(tmp_path: Path) -> None:
    with (
        run_serve_command(tmp_path, "--demo") as server,
        server.client(find_key(read_addresses(server))) as client,
    ):
        databases = processes_of(tmp_path, "mongod")
        wait_for_reload(server)
        assert client.get("/v1/units").status_code == 200
        with run_serve_command(tmp_path, "--demo"):  # ends the keys of gateways that have ended
            assert client.get("/v1/units").status_code == 200
        assert processes_of(tmp_path, "mongod") == databases != []
        status, output, _ = server.end()
        assert (status, output.count("ready")) == (0, 0)


def wait_for_reload(server: Server) -> None:
    server.process.send_signal(signal.SIGHUP)
    wait_for_log_line(server, "Reloaded")


def wait_for_log_line(server: Server, message: str) -> dict[str, str]:
    """Read standard error up to a line whose message begins so."""
    assert server.process.stderr is not None
    for line in server.process.stderr:
        if f'"message":"{message}' in line:
            fields: dict[str, str] = json.loads(line)
            return fields
    raise AssertionError(f"the service has ended without the line {message}")


@pytest.mark.slow
def test_a_reload_reads_the_settings_in_a_file_and_refuses_what_cannot_change(
    tmp_path: Path,
) -> None:
    file = tmp_path / "settings"
    file.write_text("# settings\nFLOORGATE_LOG_LEVEL=info\nFLOORGATE_BASE_URL=https://a.example\n")
    with run_serve_command(tmp_path / "data", "--env-file", file) as server:
        with server.client() as client:
            assert "https://a.example" in base_url(client)
            file.write_text("FLOORGATE_BASE_URL=https://b.example\n")
            wait_for_reload(server)
            while "https://b.example" not in base_url(
                client
            ):  # the worker before answers once more
                time.sleep(0.05)
            for line, reason in (
                ("FLOORGATE_HOST=::1", "--host cannot change from 127.0.0.1 to ::1"),
                ("FLOORGATE_WORKERS=1000", "--workers can be 31 at most"),
                ("FLOORGATE_WORKERS=none", "'none' is not a valid integer range"),
                ("\nFLOORGATE_HOST=é", "settings, line 2: must be text in UTF-8"),
            ):
                file.write_text(line, encoding="latin-1")
                server.process.send_signal(signal.SIGHUP)
                assert reason in wait_for_log_line(server, "The reload failed")["reason"]
            assert "https://b.example" in base_url(client)
        assert server.end()[0] == 0


def base_url(client: httpx.Client) -> str:
    """What the worker that answers takes for the address of the service."""
    url: str = client.get("/v1/openapi.json").json()["servers"][0]["url"]
    return url


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("FLOORGATE_NONSENSE=1", "settings, line 1: must be a variable of a setting"),
        ("\nno words\n", "settings, line 2: must be a variable of a setting"),
        (None, "settings: No such file or directory"),
    ],
)
def test_a_file_of_settings_that_cannot_be_used_is_named(
    text: str | None, sentence: str, tmp_path: Path
) -> None:
    file = tmp_path / "settings"
    if text is not None:
        file.write_text(text)
    ended = floorgate("serve", "--env-file", file)
    assert ended.exit_code == 2
    assert sentence in ended.stderr.splitlines()[-1]


def processes_of(data_dir: Path, program: str) -> list[str]:
    """The ids of the processes of a program that name the directory."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            command, *arguments = path.read_text().split("\0")
            if Path(command).name == program and str(data_dir) in " ".join(arguments):
                found.append(path.parent.name)
    return found


def test_only_a_start_renews_the_certificate(tmp_path: Path) -> None:
    """A worker that is replaced, or a reload that is tried, must leave what the others serve."""
    settings = Settings(data_dir=tmp_path)
    paths = serve._get_certificate_paths(settings, is_check=True)
    assert paths is not None
    certificate = Path(paths[0])
    certificate.unlink()
    tls.ensure_certificate(tmp_path, datetime.now(UTC) - timedelta(days=350))
    due = certificate.read_bytes()
    assert serve._get_certificate_paths(settings, is_check=True) == paths
    assert certificate.read_bytes() == due
    assert serve._get_certificate_paths(settings, is_check=False) == paths
    assert certificate.read_bytes() != due


@pytest.mark.parametrize(
    ("given", "is_warned"),
    [
        ({"host": "0.0.0.0"}, True),
        ({"behind_proxy": True}, True),
        ({"host": "0.0.0.0", "base_url": "https://maps.example.com"}, False),
        ({}, False),
    ],
)
def test_a_service_for_others_without_base_url_is_warned_of_forged_links(
    given: dict[str, Any], is_warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    announced: list[str] = []
    serve._announce_and_warn(announced.append, Settings(**given), "https://127.0.0.1:1")
    assert announced == ["https://127.0.0.1:1"]
    assert ["--base-url" in line for line in caplog.messages] == [True] * is_warned


def read_addresses(server: Server) -> str:
    """What is printed up to the command that can be pasted."""
    assert server.process.stdout is not None
    printed = ""
    while "curl" not in printed:
        printed += server.process.stdout.readline()
    return printed


def find_key(printed: str) -> str:
    """The key that is printed with the demo's addresses."""
    return next(word for word in printed.split() if word.startswith("fgk_"))


@pytest.fixture
def settings(mongo_url: str, database_name: str, tmp_path: Path) -> Settings:
    return Settings(mongo_url=mongo_url, database=database_name, data_dir=tmp_path)


def is_valid(settings: Settings, key: str) -> bool:
    with MongoClient[dict[str, Any]](settings.mongo_url) as client:
        stored = client[settings.database]["api_keys"].find_one({"digest": hash_key(key)})
    return stored is not None and stored["revoked_at"] is None


def test_the_key_of_a_gateway_that_has_ended_is_deleted_at_the_next_start(
    settings: Settings,
) -> None:
    with create_key(settings) as first:
        assert is_valid(settings, first)
    with create_key(settings) as second:
        assert not is_valid(settings, first)
        assert is_valid(settings, second)
        [file] = (settings.data_dir / "demo-keys").iterdir()
        assert (file.read_text(), file.stat().st_mode & 0o777) == ("", 0o600)
        assert file.parent.stat().st_mode & 0o777 == 0o700


def test_gateways_that_run_keep_their_keys(settings: Settings) -> None:
    with create_key(settings) as first:
        with create_key(settings) as second:
            assert is_valid(settings, first)
        with create_key(settings) as third:
            assert [is_valid(settings, key) for key in (first, second, third)] == [
                True,
                False,
                True,
            ]


def test_the_key_of_anfresh_database_name_is_deleted_once_that_is_served_again(
    settings: Settings, fresh_database_name: str
) -> None:
    with create_key(settings) as first:
        pass
    other = Settings(
        mongo_url=settings.mongo_url, database=fresh_database_name, data_dir=settings.data_dir
    )
    with create_key(other):
        assert is_valid(settings, first)
    with create_key(settings):
        assert not is_valid(settings, first)


def test_the_explorer_comes_first_with_the_key_where_browsers_do_not_send_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    build_announcement("fgk_x", None)("https://127.0.0.1:8443")
    addresses = capsys.readouterr().out.split("\n\n")[1]
    assert addresses.startswith("Explorer   https://127.0.0.1:8443/maps#key=fgk_x\n")
