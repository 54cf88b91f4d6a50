"""`floorgate keys`: a key is shown once, limited as asked, listed without its text, and revoked."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pymongo import MongoClient

from resolvers.request.caller import PERMISSIONS
from storage.administration.key_format import KEY_PREFIX, is_well_formed
from tests.gateway.cli.commands import assert_explains, floorgate, output_of

pytestmark = pytest.mark.slow

NEVER_EXPIRES = "Note: this key never expires; --expires sets an end.\n"


@pytest.fixture
def database(mongo_url: str, database_name: str) -> Iterator[Any]:
    with MongoClient[dict[str, Any]](mongo_url) as client:
        yield client[database_name]


def create(storage: list[str], *options: str) -> dict[str, str]:
    """Creates a key; returns its id and its text."""
    created: dict[str, str] = output_of(
        floorgate("keys", "create", "--name", "till", *options, "--json", *storage)
    )
    return created


def list_keys(storage: list[str]) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = output_of(floorgate("keys", "list", "--json", *storage))
    return listed


def test_a_key_is_created_listed_and_revoked(storage: list[str]) -> None:
    permissions = [argument for name in PERMISSIONS[:2] for argument in ("--permission", name)]
    assets, expiry = ("--asset", "a/b", "--asset", "c"), "2999-01-31T12:00:00+02:00"
    created = create(storage, *assets, "--expires", expiry, *permissions)
    assert set(created) == {"id", "key"}
    assert is_well_formed(created["key"])
    [key] = list_keys(storage)
    assert key.pop("created_at")
    assert key == {
        "id": created["id"],
        "name": "till",
        "permissions": sorted(PERMISSIONS[:2]),
        "asset_ids": ["a/b", "c"],
        "expires_at": "2999-01-31T10:00:00+00:00",
        "revoked_at": None,
        "last_used_at": None,
    }
    revoked = floorgate("keys", "revoke", created["id"], *storage)
    assert (revoked.exit_code, revoked.stdout) == (0, f"revoked {created['id']}\n")
    [key] = list_keys(storage)
    assert datetime.fromisoformat(key["revoked_at"]).tzinfo


def test_a_key_is_printed_for_people_with_the_advice_to_keep_it(storage: list[str]) -> None:
    created = floorgate("keys", "create", "--name", "till", "--all-assets", *storage)
    assert created.exit_code == 0
    id, key = created.stdout.splitlines()
    assert [listed["id"] for listed in list_keys(storage)] == [id]
    assert is_well_formed(key)
    assert created.stderr == NEVER_EXPIRES + (
        "Only a hash of the key is stored: it cannot be shown again.\n"
    )


def test_a_key_is_neither_stored_nor_listed_in_clear(storage: list[str], database: Any) -> None:
    created = create(storage, "--all-assets")
    secret = created["key"].removeprefix(KEY_PREFIX)
    stored = [*database["api_keys"].find()]
    assert [document["_id"] for document in stored] == [created["id"]]
    for name in database.list_collection_names():
        assert secret not in str([*database[name].find()])
    for run in (
        floorgate("keys", "list", *storage),
        floorgate("keys", "list", "--json", *storage),
        floorgate("keys", "revoke", created["id"], *storage),
        floorgate("export", *storage),
    ):
        assert run.exit_code == 0
        assert secret not in run.output


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("2999-01-31", "2999-01-31T00:00:00+00:00"),
        ("2999-01-31T12:00:00", "2999-01-31T12:00:00+00:00"),
        ("2999-01-31T12:00:00Z", "2999-01-31T12:00:00+00:00"),
        ("2999-01-31T23:30:00-01:00", "2999-02-01T00:30:00+00:00"),
    ],
)
def test_a_key_expires_at_the_time_given_in_utc_unless_it_has_an_offset(
    storage: list[str], given: str, stored: str
) -> None:
    create(storage, "--all-assets", "--expires", given)
    assert list_keys(storage)[0]["expires_at"] == stored


@pytest.mark.parametrize(
    ("options", "status", "explanation"),
    [
        (["--name", ""], 1, "name: must have 1 to 255 characters"),
        (["--name", "n" * 256], 1, "name: must have 1 to 255 characters"),
        (["--name", "n", "--asset", ""], 1, "1 to 255 characters"),
        (["--name", "n", "--expires", "soon"], 1, "expires: must be an ISO 8601 time"),
        (["--name", "n", "--expires", "soon"], 1, "'soon'"),
        (["--name", "n", "--expires", "2001-01-01"], 1, "expires: must be in the future"),
        (["--name", "n", "--expires", "9999-12-31T23:59:59-23:00"], 1, "expires: must be"),
        (["--name", "n", "--expires", ""], 1, "expires: must be"),
        (["--name", "n", "--permission", "all"], 2, "'service.admin'"),
        (["--name", "n", "--asset", "a", "--all-assets"], 2, "exclude each other"),
        (["--name", "n", "--permission", "service.admin"], 2, "needs --all-assets"),
        (["--name", "n", "--asset", "a", "--permission", "service.admin"], 2, "--all-assets"),
        (["--name", "n", "--life", "9"], 2, "No such option"),
        (["--name", "n", "more"], 2, "unexpected extra argument"),
        ([], 2, "Missing option '--name'"),
    ],
)
def test_a_key_that_cannot_be_is_explained_and_not_created(
    storage: list[str], options: list[str], status: int, explanation: str
) -> None:
    assert_explains(floorgate("keys", "create", *options, *storage), status, explanation)
    assert list_keys(storage) == []


def test_a_key_without_assets_is_created_with_a_note(storage: list[str]) -> None:
    created = floorgate("keys", "create", "--name", "till", "--json", *storage)
    assert output_of(created)
    assert created.stderr == (
        "Note: this key can see no asset; use --asset or --all-assets.\n" + NEVER_EXPIRES
    )
    assert list_keys(storage)[0]["asset_ids"] == []


def test_assets_that_do_not_exist_yet_are_noted(storage: list[str], database: Any) -> None:
    list_keys(storage)  # prepares the database
    then = "2020-01-31T00:00:00Z"
    document = {"_id": "there", "name": "A", "market": "", "created_at": then, "updated_at": then}
    database["assets"].insert_one(document)
    both = ("--asset", "there", "--asset", "missing")
    created = floorgate("keys", "create", "--name", "till", *both, "--json", *storage)
    assert output_of(created)
    assert created.stderr == NEVER_EXPIRES + "Note: there is no asset 'missing' yet.\n"


def test_a_key_for_all_assets_is_listed_as_such(storage: list[str]) -> None:
    create(storage, "--all-assets")
    assert list_keys(storage)[0]["asset_ids"] is None
    assert " all " in floorgate("keys", "list", *storage).stdout


def test_revoking_again_keeps_the_first_time(storage: list[str], database: Any) -> None:
    created = create(storage, "--all-assets")
    earlier = datetime(2020, 1, 31, tzinfo=UTC)
    database["api_keys"].update_one({}, {"$set": {"revoked_at": earlier}})
    assert floorgate("keys", "revoke", created["id"], *storage).exit_code == 0
    assert list_keys(storage)[0]["revoked_at"] == "2020-01-31T00:00:00+00:00"


@pytest.mark.parametrize(
    ("ids", "status", "explanation"),
    [
        (["key_0"], 1, "There is no key with the id 'key_0'"),
        ([""], 1, "There is no key with the id ''"),
        ([], 2, "Missing argument 'ID'"),
        (["key_0", "key_1"], 2, "unexpected extra argument"),
    ],
)
def test_a_key_that_cannot_be_revoked_is_explained(
    storage: list[str], ids: list[str], status: int, explanation: str
) -> None:
    created = create(storage, "--all-assets")
    assert_explains(floorgate("keys", "revoke", *ids, *storage), status, explanation)
    [key] = list_keys(storage)
    assert (key["id"], key["revoked_at"]) == (created["id"], None)


def test_keys_are_listed_oldest_first(storage: list[str], database: Any) -> None:
    ids = [create(storage)["id"] for _ in range(5)]
    first = datetime(2020, 1, 31, tzinfo=UTC)
    for number, id in enumerate(ids):
        created_at = first + timedelta(days=number * 2 % 5)
        database["api_keys"].update_one({"_id": id}, {"$set": {"created_at": created_at}})
    assert [key["id"] for key in list_keys(storage)] == [ids[at] for at in (0, 3, 1, 4, 2)]


def test_without_keys_the_list_is_empty(storage: list[str]) -> None:
    assert list_keys(storage) == []
    assert floorgate("keys", "list", *storage).exit_code == 0


def test_the_table_shows_who_has_a_key_and_until_when(storage: list[str], database: Any) -> None:
    expiring = create(storage, "--asset", "a", "--asset", "b", "--expires", "2999-01-31")
    revoked = create(storage, "--permission", PERMISSIONS[0])
    used = {"_id": revoked["id"], "at": datetime(2021, 2, 3, 4, 5, 6, tzinfo=UTC)}
    database["api_key_uses"].insert_one(used)
    database["api_keys"].update_one(
        {"_id": revoked["id"]}, {"$set": {"revoked_at": datetime(2022, 1, 31, tzinfo=UTC)}}
    )
    table = floorgate("keys", "list", *storage).stdout
    rows = {line.split()[1]: line for line in table.splitlines() if " key_" in line}
    assert "2999-01-31T00:00:00" in rows[expiring["id"]]
    assert "revoked 2022-01-31" in rows[revoked["id"]]
    assert PERMISSIONS[0] in rows[revoked["id"]]
    assert "2021-02-03T04:05:06" in rows[revoked["id"]]


def test_a_key_that_expires_is_created_without_a_note(storage: list[str]) -> None:
    options = ("--name", "till", "--all-assets", "--expires", "2999-01-31", "--json")
    created = floorgate("keys", "create", *options, *storage)
    assert output_of(created)
    assert created.stderr == ""


def test_the_table_marks_administrators_limited_to_assets_by_an_older_release(
    storage: list[str], database: Any
) -> None:
    create(storage, "--all-assets", "--permission", "service.admin")
    limited = create(storage, "--asset", "a")["id"]
    table = floorgate("keys", "list", *storage).stdout
    assert "no effect" not in table
    admin = {"$set": {"permissions": ["service.admin"]}}
    database["api_keys"].update_one({"_id": limited}, admin)
    table = floorgate("keys", "list", *storage).stdout
    [marked] = [line for line in table.splitlines() if "no effect" in line]
    assert limited in marked


def test_names_and_assets_are_shown_as_they_are(storage: list[str]) -> None:
    odd = ("[/]", "[bold]till[/bold]", ":smile:")
    for name in odd:
        assert floorgate("keys", "create", "--name", name, "--asset", name, *storage).exit_code == 0
    table = floorgate("keys", "list", *storage)
    assert table.exit_code == 0, table.stderr
    assert [table.stdout.count(name) for name in odd] == [2, 2, 2]


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_an_id_can_be_copied_from_a_table_in_a_narrow_terminal(
    storage: list[str], columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = create(storage, "--asset", "a", "--expires", "2999-01-31T12:00:00Z")
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes any output for a terminal
    table = floorgate("keys", "list", *storage, columns=columns).stdout
    assert created["id"] in table
    assert "2999-01-31T12:00:00+00:00" not in table


@pytest.mark.parametrize("columns", [20, 80])
def test_in_a_pipe_nothing_is_cut_or_folded(storage: list[str], columns: int) -> None:
    name, asset = "n" * 255, "a" * 255
    created = floorgate(
        *("keys", "create", "--name", name, "--asset", asset),
        *("--expires", "2999-01-31T12:00:00Z", *storage),
    )
    id = created.stdout.splitlines()[0]
    table = floorgate("keys", "list", *storage, columns=columns).stdout
    [row] = [line for line in table.splitlines() if id in line]
    assert [cell.strip() for cell in row.split("\u2502")[1:4]] == [id, name, asset]
    assert "2999-01-31T12:00:00+00:00" in row
