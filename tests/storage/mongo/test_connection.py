"""Connection settings are checked before they are used, and an error never shows a password."""

from pathlib import Path

import pytest

from storage.mongo.connection import (
    validate_database_name,
    validate_mongo_url,
)


@pytest.mark.parametrize(
    "url",
    [
        "mongodb://db.example",
        "mongodb://a.example:27017,b.example:27018,[::1]:27019/?replicaSet=rs",
        "mongodb://user:p%40ss%2Fword@db.example/admin?authSource=admin",
        f"mongodb://db.example/?tls=true&tlsCAFile={Path(__file__)}",
        "mongodb://%2Ftmp%2Fmongodb-27017.sock",
        "mongodb+srv://db.example/?replicaSet=rs",
    ],
)
def test_what_the_driver_understands_is_used_as_it_is(url: str) -> None:
    assert validate_mongo_url(url) == url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "scheme"),
        ("https://db.example", "scheme"),
        ("mongodb://", "at least one hostname"),
        ("mongodb://db.example:70000", "Port must be an integer"),
        ("mongodb://db.example/?replicasets=rs", "Unknown option: replicasets"),
        ("mongodb://db.example/?tls=maybe", "'true' or 'false'"),
        ("mongodb://db.example/?tls=true&ssl=false", "conflicting values"),
        ("mongodb://db.example/?tls=true&tlsCAFile=/missing.pem", "No such file.*missing.pem"),
        ("mongodb://a.example,b.example/?directConnection=true", "multiple hosts"),
    ],
)
def test_an_invalid_url_is_rejected_with_the_reason_and_an_example(url: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"{reason}.*such as mongodb://host:27017/"):
        validate_mongo_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "mongodb://user:secret@db.example:port",
        "mongodb://user:secret",
        "mongodb://user:a/secret@localhost/db",
        "mongodb://user:a?secret=1@db.example",
        "mongodb://user:secret@db.example/?tls=maybe",
    ],
)
def test_an_error_never_shows_a_password(url: str) -> None:
    with pytest.raises(ValueError) as raised:
        validate_mongo_url(url)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("name", ["floorgate", "A-1_b", "x" * 63])
def test_a_database_may_be_named(name: str) -> None:
    assert validate_database_name(name) == name


@pytest.mark.parametrize("name", ["", "x" * 64, "a b", "a.b", "a/b", "$a", "a\n", "\u00e9"])
def test_a_name_that_mongodb_or_a_file_system_rejects_is_rejected(name: str) -> None:
    with pytest.raises(ValueError, match="1 to 63 letters, digits, hyphens or underscores"):
        validate_database_name(name)
