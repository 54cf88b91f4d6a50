"""`floorgate keys update` and `rotate`, and ids given by their beginning."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pymongo import MongoClient

from resolvers.request.caller import PERMISSIONS
from storage.administration.key_format import hash_key
from tests.gateway.cli.commands import assert_explains, floorgate, output_of

pytestmark = pytest.mark.slow

FIRST, SECOND, THIRD = "key_aaaa000000000001", "key_aaaabbbb00000002", "key_cccc000000000003"
THEN = datetime(2026, 1, 31, tzinfo=UTC)


@pytest.fixture
def database(mongo_url: str, database_name: str, storage: list[str]) -> Iterator[Any]:
    """A database with the assets `larkspur` and `birch`, and three keys."""
    with MongoClient[dict[str, Any]](mongo_url, tz_aware=True) as client:
        database = client[database_name]
        assert floorgate("keys", "list", *storage).exit_code == 0  # prepares the database
        times = {"created_at": "2020-01-31T00:00:00Z", "updated_at": "2020-01-31T00:00:00Z"}
        assets = [{"_id": id, "name": id, "market": "", **times} for id in ("larkspur", "birch")]
        database["assets"].insert_many(assets)
        for number, id in enumerate((FIRST, SECOND, THIRD)):
            key = {"_id": id, "name": f"till {number}", "digest": bytes([number])}
            rights: dict[str, Any] = {"permissions": [], "asset_ids": ["birch"]}
            ends: dict[str, Any] = {"created_at": THEN, "expires_at": None, "revoked_at": None}
            database["api_keys"].insert_one(key | rights | ends)
        yield database


def stored(database: Any, id: str) -> dict[str, Any]:
    found: dict[str, Any] = database["api_keys"].find_one({"_id": id})
    return found


def test_a_key_is_changed_in_all_ways(storage: list[str], database: Any) -> None:
    changed = output_of(
        floorgate(
            *("keys", "update", THIRD, "--name", "web", "--add-asset", "larkspur"),
            *("--permission", PERMISSIONS[0], "--expires", "2999-01-31", "--json", *storage),
        )
    )
    assert changed == {
        "id": THIRD,
        "name": "web",
        "permissions": [PERMISSIONS[0]],
        "asset_ids": ["birch", "larkspur"],
        "created_at": "2026-01-31T00:00:00+00:00",
        "expires_at": "2999-01-31T00:00:00+00:00",
        "revoked_at": None,
        "last_used_at": None,
    }
    for options, field, value in (
        (["--remove-asset", "birch"], "asset_ids", ["larkspur"]),
        (["--asset", "birch"], "asset_ids", ["birch"]),
        (["--all-assets"], "asset_ids", None),
        (["--no-permissions"], "permissions", []),
        (["--expires", "never"], "expires_at", None),
    ):
        run = floorgate("keys", "update", THIRD, *options, *storage)
        assert (run.exit_code, run.stdout) == (0, f"updated {THIRD}\n"), run.stderr
        assert stored(database, THIRD)[field] == value
    assert stored(database, THIRD)["name"] == "web"


@pytest.mark.parametrize(
    ("options", "status", "explanation"),
    [
        ([], 2, "at least one option"),
        (["--asset", "a", "--all-assets"], 2, "exclude each other"),
        (["--asset", "a", "--add-asset", "b"], 2, "exclude each other"),
        (["--permission", PERMISSIONS[0], "--no-permissions"], 2, "exclude each other"),
        (["--permission", "all"], 2, "'service.admin'"),
        (["--permission", "service.admin"], 1, "permissions: must not have service.admin"),
        (["--remove-asset", "oak"], 1, "removeAssetIds: must be assets of the key, not 'oak'"),
        (["--expires", "soon"], 1, "expires: must be an ISO 8601 time"),
        (["--expires", "2001-01-31"], 1, "expires: must be in the future"),
        (["--name", ""], 1, "name: must have 1 to 255 characters"),
    ],
)
def test_a_change_that_cannot_be_is_explained_and_not_made(
    storage: list[str], database: Any, options: list[str], status: int, explanation: str
) -> None:
    before = stored(database, THIRD)
    assert_explains(floorgate("keys", "update", THIRD, *options, *storage), status, explanation)
    assert stored(database, THIRD) == before


@pytest.mark.parametrize(
    ("overlap", "seconds"),
    [
        (["--overlap", "0"], 0),
        (["--overlap", "90s"], 90),
        (["--overlap", "30m"], 1800),
        (["--overlap", "7d"], 604_800),
        ([], 86_400),
    ],
)
def test_a_key_is_rotated(
    storage: list[str], database: Any, overlap: list[str], seconds: int
) -> None:
    before = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds)
    rotated = output_of(floorgate("keys", "rotate", THIRD, *overlap, "--json", *storage))
    after = datetime.now(UTC) + timedelta(seconds=seconds)
    ended = stored(database, THIRD)["expires_at"]
    assert before <= ended <= after
    new = stored(database, rotated["id"])
    assert new["digest"] == hash_key(rotated["key"])
    assert (new["name"], new["asset_ids"], new["expires_at"]) == ("till 2", ["birch"], None)
    assert rotated["expires_at"] is None
    assert rotated["replaced_id"] == THIRD
    assert datetime.fromisoformat(rotated["replaced_expires_at"]) == ended


@pytest.mark.parametrize(
    ("options", "expiry"),
    [
        (["--expires", "2999-01-31T00:00:00+00:00"], "expires at 2999-01-31T00:00:00+00:00"),
        ([], "never expires"),
    ],
)
def test_a_rotated_key_is_printed_for_people(
    storage: list[str], database: Any, options: list[str], expiry: str
) -> None:
    run = floorgate("keys", "rotate", THIRD, *options, *storage)
    assert run.exit_code == 0
    id, key = run.stdout.splitlines()
    assert stored(database, id)["digest"] == hash_key(key)
    end = stored(database, THIRD)["expires_at"].isoformat()
    assert run.stderr == (
        "Only a hash of the key is stored: it cannot be shown again.\n"
        f"The new key {expiry}; the old one, {THIRD}, expires at {end}.\n"
    )


@pytest.mark.parametrize("overlap", ["24", "-1h", "1w", "h", "1.5h", "", "٣h"])
def test_an_overlap_has_a_unit(storage: list[str], database: Any, overlap: str) -> None:
    run = floorgate("keys", "rotate", THIRD, f"--overlap={overlap}", *storage)
    assert_explains(run, 2, "must be 0, or a number with s, m, h or d, such as 24h")
    assert stored(database, THIRD)["expires_at"] is None


@pytest.mark.parametrize("overlap", ["367d", "8785h"])
def test_an_overlap_is_at_most_a_year(storage: list[str], database: Any, overlap: str) -> None:
    run = floorgate("keys", "rotate", THIRD, "--overlap", overlap, *storage)
    assert_explains(run, 2, "'--overlap'", f"must be at most 366d, not {overlap}")
    assert stored(database, THIRD)["expires_at"] is None


COMMANDS = [
    ["keys", "revoke"],
    ["keys", "rotate"],
    ["keys", "update", "--name", "web"],
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("id", "parts"),
    [
        ("key_dddd", ["no key with the id 'key_dddd', and none that begins so", "keys list"]),
        ("key_c", ["no key with the id 'key_c'", "at least its first 8 characters"]),
        ("", ["no key with the id ''", "at least its first 8 characters"]),
        ("key_aaaa", ["Several keys", f"{FIRST} (till 0), {SECOND} (till 1)"]),
    ],
)
def test_an_id_that_names_no_key_is_explained(
    storage: list[str], database: Any, command: list[str], id: str, parts: list[str]
) -> None:
    before = [*database["api_keys"].find()]
    assert_explains(floorgate(*command, id, *storage), 1, *parts)
    assert [*database["api_keys"].find()] == before


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("id", ["key_cccc", "key_cccc00000", THIRD])
def test_the_beginning_of_an_id_is_enough(
    storage: list[str], database: Any, command: list[str], id: str
) -> None:
    others = [stored(database, other) for other in (FIRST, SECOND)]
    before = stored(database, THIRD)
    assert floorgate(*command, id, *storage).exit_code == 0
    assert [stored(database, other) for other in (FIRST, SECOND)] == others
    assert stored(database, THIRD) != before


def test_an_id_that_another_one_begins_with_is_meant_itself(
    storage: list[str], database: Any
) -> None:
    database["api_keys"].insert_one({**stored(database, FIRST), "_id": FIRST + "0", "digest": b"x"})
    assert floorgate("keys", "revoke", FIRST, *storage).exit_code == 0
    assert stored(database, FIRST)["revoked_at"]
    assert not stored(database, FIRST + "0")["revoked_at"]


def test_the_audit_log_is_asked_by_the_beginning_of_an_id(
    storage: list[str], database: Any
) -> None:
    assert floorgate("keys", "update", THIRD, "--name", "web", *storage).exit_code == 0
    for text in (THIRD, "key_cccc"):
        [record] = output_of_lines(floorgate("audit", "--target", text, "--json", *storage))
        assert record["changes"][0]["before"] == {"name": "till 2"}
        assert record["changes"][0]["after"] == {"name": "web"}
    nothing = floorgate("audit", "--target", "key_plan-of-a-map", "--json", *storage)
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert_explains(floorgate("audit", "--actor", "key_aaaa", *storage), 1, FIRST, SECOND)


def output_of_lines(run: Any) -> list[Any]:
    """What a command printed as lines of JSON."""
    lines = run.stdout.strip().splitlines()
    return [output_of(run)] if len(lines) == 1 else pytest.fail(run.output)


@pytest.mark.parametrize(
    "command",
    [
        ["keys", "create", "--name", "n", "--expires", "2999-01-31", "--asset", "larkspurr"],
        ["keys", "update", THIRD, "--add-asset", "larkspurr"],
        ["keys", "update", THIRD, "--asset", "larkspurr"],
    ],
)
def test_an_asset_that_does_not_exist_is_noted_with_those_that_may_be_meant(
    storage: list[str], database: Any, command: list[str]
) -> None:
    run = floorgate(*command, "--json", *storage)
    assert output_of(run)
    assert run.stderr == "Note: there is no asset 'larkspurr' yet; did you mean 'larkspur'?\n"


def test_so_are_those_of_a_rotated_key(storage: list[str], database: Any) -> None:
    database["api_keys"].update_one({"_id": THIRD}, {"$set": {"asset_ids": ["birhc", "zzz"]}})
    run = floorgate("keys", "rotate", THIRD, "--json", *storage)
    assert output_of(run)
    assert run.stderr == (
        "Note: there is no asset 'birhc' yet; did you mean 'birch'?\n"
        "Note: there is no asset 'zzz' yet.\n"
    )
