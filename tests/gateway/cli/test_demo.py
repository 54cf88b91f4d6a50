"""Keys of the demo: one for each gateway that runs, and none of those that have ended."""

from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from gateway.cli.demo import build_announcement, create_key
from gateway.settings import Settings
from storage.administration.api_keys import hash_key


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
