"""`floorgate keys`, `documents` and `audit`: what operators register, and the record of it."""

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from pymongo import MongoClient

from gateway.cli.administration import MAX_CANDIDATES
from gateway.graphql.request import hash_document
from resolvers.request.caller import PERMISSIONS
from storage.administration.api_keys import hash_key, is_well_formed
from tests.gateway.cli.commands import assert_explains, floorgate, output_of
from tests.gateway.floorgate_process import storage_options

NEVER_EXPIRES = "Note: this key never expires; --expires sets an end.\n"
FIRST, SECOND, THIRD = "key_aaaa000000000001", "key_aaaabbbb00000002", "key_cccc000000000003"
THEN = datetime(2026, 1, 31, tzinfo=UTC)


@pytest.fixture
def database(mongo_url: str, database_name: str) -> Iterator[Any]:
    """The empty database of the commands."""
    with MongoClient[dict[str, Any]](mongo_url, tz_aware=True) as client:
        yield client[database_name]


@pytest.fixture
def keys(database: Any) -> Any:
    """The database with the assets `larkspur` and `birch`, and three keys."""
    times = {"created_at": "2020-01-31T00:00:00Z", "updated_at": "2020-01-31T00:00:00Z"}
    assets = [{"_id": id, "name": id, "market": "", **times} for id in ("larkspur", "birch")]
    database["assets"].insert_many(assets)
    for number, id in enumerate((FIRST, SECOND, THIRD)):
        key = {"_id": id, "name": f"till {number}", "digest": bytes([number])}
        rights: dict[str, Any] = {"permissions": [], "asset_ids": ["birch"]}
        ends: dict[str, Any] = {"created_at": THEN, "expires_at": None, "revoked_at": None}
        database["api_keys"].insert_one(key | rights | ends)
    return database


def create(storage: list[str], *options: str) -> dict[str, str]:
    """Creates a key; returns its id and its text."""
    created: dict[str, str] = output_of(
        floorgate("keys", "create", "--name", "till", *options, "--json", *storage)
    )
    return created


def list_keys(storage: list[str]) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = output_of(floorgate("keys", "list", "--json", *storage))
    return listed


def stored(database: Any, id: str) -> dict[str, Any]:
    found: dict[str, Any] = database["api_keys"].find_one({"_id": id})
    return found


def test_a_key_is_created_listed_and_revoked(storage: list[str]) -> None:
    assert list_keys(storage) == []
    permissions = [argument for name in PERMISSIONS[:2] for argument in ("--permission", name)]
    assets, expiry = ("--asset", "a/b", "--asset", "c"), "2999-01-31T12:00:00+02:00"
    origins = ("--origin", "https://a.example", "--origin", "http://localhost:5173")
    created = create(storage, *assets, *origins, "--expires", expiry, *permissions)
    assert set(created) == {"id", "key"}
    assert is_well_formed(created["key"])
    [key] = list_keys(storage)
    assert key.pop("created_at")
    assert key == {
        "id": created["id"],
        "name": "till",
        "permissions": sorted(PERMISSIONS[:2]),
        "asset_ids": ["a/b", "c"],
        "origins": ["https://a.example", "http://localhost:5173"],
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
    assert [(listed["id"], listed["asset_ids"]) for listed in list_keys(storage)] == [(id, None)]
    assert is_well_formed(key)
    assert created.stderr == NEVER_EXPIRES + (
        "Only a hash of the key is stored: it cannot be shown again.\n"
    )


@pytest.mark.parametrize(
    ("options", "status", "explanation"),
    [
        (["--name", ""], 1, "name: must have 1 to 255 characters"),
        (["--name", "n", "--expires", "soon"], 1, "expires: must be an ISO 8601 time"),
        (["--name", "n", "--permission", "all"], 2, "'service.admin'"),
        (["--name", "n", "--asset", "a", "--all-assets"], 2, "exclude each other"),
        (["--name", "n", "--origin", "*"], 1, "origins: must be one origin, not '*'"),
        (["--name", "n", "--permission", "service.admin"], 2, "needs --all-assets"),
        (["--name", "n", "--asset", "a", "--permission", "service.admin"], 2, "--all-assets"),
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


def test_the_table_shows_who_has_a_key_and_until_when(storage: list[str], database: Any) -> None:
    expiring = create(storage, "--asset", "a", "--asset", "b", "--expires", "2999-01-31")
    revoked = create(storage, "--permission", PERMISSIONS[0])
    of_all = create(storage, "--all-assets")
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
    assert " all " in rows[of_all["id"]]


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


@pytest.mark.parametrize("columns", [20, 80])
def test_an_id_can_be_copied_from_a_narrow_terminal_and_a_pipe_cuts_nothing(
    storage: list[str], columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, asset, expires = "n" * 255, "a" * 255, "2999-01-31T12:00:00+00:00"
    created = floorgate(
        *("keys", "create", "--name", name, "--asset", asset, "--expires", expires, *storage)
    )
    id = created.stdout.splitlines()[0]
    table = floorgate("keys", "list", *storage, columns=columns).stdout
    [row] = [line for line in table.splitlines() if id in line]
    assert [cell.strip() for cell in row.split("\u2502")[1:4]] == [id, name, asset]
    assert expires in row
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes any output for a terminal
    table = floorgate("keys", "list", *storage, columns=columns).stdout
    assert id in table
    assert expires not in table


def test_a_key_is_changed_in_all_ways(storage: list[str], keys: Any) -> None:
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
        "origins": [],
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
        (["--origin", "https://a.example"], "origins", ["https://a.example"]),
        (["--any-origin"], "origins", []),
        (["--expires", "never"], "expires_at", None),
    ):
        run = floorgate("keys", "update", THIRD, *options, *storage)
        assert (run.exit_code, run.stdout) == (0, f"updated {THIRD}\n"), run.stderr
        assert stored(keys, THIRD)[field] == value
    assert stored(keys, THIRD)["name"] == "web"


@pytest.mark.parametrize(
    ("options", "status", "explanation"),
    [
        ([], 2, "at least one option"),
        (["--asset", "a", "--all-assets"], 2, "exclude each other"),
        (["--asset", "a", "--add-asset", "b"], 2, "exclude each other"),
        (["--permission", PERMISSIONS[0], "--no-permissions"], 2, "exclude each other"),
        (["--origin", "https://a.example", "--any-origin"], 2, "exclude each other"),
        (["--origin", "a.example"], 1, "origins: must be an origin such as"),
        (["--permission", "service.admin"], 1, "permissions: must not have service.admin"),
        (["--remove-asset", "oak"], 1, "removeAssetIds: must be assets of the key, not 'oak'"),
        (["--expires", "soon"], 1, "expires: must be an ISO 8601 time"),
    ],
)
def test_a_change_that_cannot_be_is_explained_and_not_made(
    storage: list[str], keys: Any, options: list[str], status: int, explanation: str
) -> None:
    before = stored(keys, THIRD)
    assert_explains(floorgate("keys", "update", THIRD, *options, *storage), status, explanation)
    assert stored(keys, THIRD) == before


@pytest.mark.parametrize(
    ("overlap", "seconds"),
    [
        (["--overlap", "0"], 0),
        (["--overlap", "30m"], 1800),
        (["--overlap", "366d"], 31_622_400),
        ([], 86_400),
    ],
)
def test_a_key_is_rotated(storage: list[str], keys: Any, overlap: list[str], seconds: int) -> None:
    before = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds)
    rotated = output_of(floorgate("keys", "rotate", THIRD, *overlap, "--json", *storage))
    after = datetime.now(UTC) + timedelta(seconds=seconds)
    ended = stored(keys, THIRD)["expires_at"]
    assert before <= ended <= after
    new = stored(keys, rotated["id"])
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
    storage: list[str], keys: Any, options: list[str], expiry: str
) -> None:
    run = floorgate("keys", "rotate", THIRD, *options, *storage)
    assert run.exit_code == 0
    id, key = run.stdout.splitlines()
    assert stored(keys, id)["digest"] == hash_key(key)
    end = stored(keys, THIRD)["expires_at"].isoformat()
    assert run.stderr == (
        "Only a hash of the key is stored: it cannot be shown again.\n"
        f"The new key {expiry}; the old one, {THIRD}, expires at {end}.\n"
    )


@pytest.mark.parametrize(
    ("overlap", "explanation"),
    [
        *((text, "must be 0, or a number with s, m, h or d, such as 24h") for text in
          ("24", "-1h", "1.5h", "", "٣h")),
        ("367d", "must be at most 366d, not 367d"),
        ("8785h", "must be at most 366d, not 8785h"),
    ],
)  # fmt: skip
def test_an_overlap_has_a_unit_and_is_at_most_a_year(
    storage: list[str], keys: Any, overlap: str, explanation: str
) -> None:
    run = floorgate("keys", "rotate", THIRD, f"--overlap={overlap}", *storage)
    assert_explains(run, 2, "'--overlap'", explanation)
    assert stored(keys, THIRD)["expires_at"] is None


COMMANDS = [["keys", "revoke"], ["keys", "rotate"], ["keys", "update", "--name", "web"]]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_id_that_names_no_key_is_explained(
    storage: list[str], keys: Any, command: list[str]
) -> None:
    before = [*keys["api_keys"].find()]
    for id, parts in (
        ("key_dddd", ["no key with the id 'key_dddd', and none that begins so", "keys list"]),
        ("key_ccc", ["no key with the id 'key_ccc'", "at least its first 8 characters"]),
        ("", ["no key with the id ''", "at least its first 8 characters"]),
        ("key_aaaa", ["Several keys", f"{FIRST} (till 0), {SECOND} (till 1)"]),
    ):
        assert_explains(floorgate(*command, id, *storage), 1, *parts)
    assert [*keys["api_keys"].find()] == before


@pytest.mark.parametrize("command", COMMANDS)
def test_the_beginning_of_an_id_is_enough(
    storage: list[str], keys: Any, command: list[str]
) -> None:
    others = [stored(keys, other) for other in (FIRST, SECOND)]
    before = stored(keys, THIRD)
    assert floorgate(*command, "key_cccc", *storage).exit_code == 0
    assert [stored(keys, other) for other in (FIRST, SECOND)] == others
    assert stored(keys, THIRD) != before


def test_only_the_first_of_many_keys_that_may_be_meant_are_named(
    storage: list[str], keys: Any
) -> None:
    for count, more in ((MAX_CANDIDATES, ""), (MAX_CANDIDATES + 1, ", ...")):
        keys["api_keys"].delete_many({})
        ids = [f"key_eeee{number:02}" for number in range(count)]
        keys["api_keys"].insert_many(
            {
                "_id": id,
                "name": "n",
                "digest": id.encode(),
                "permissions": [],
                "asset_ids": [],
                "created_at": THEN,
                "expires_at": None,
                "revoked_at": None,
            }
            for id in ids
        )
        run = floorgate("keys", "revoke", "key_eeee", *storage)
        named = ", ".join(f"{id} (n)" for id in ids[:MAX_CANDIDATES])
        assert run.stderr.endswith(f"begin with 'key_eeee': {named}{more}\n")


def test_an_id_that_another_one_begins_with_is_meant_itself(storage: list[str], keys: Any) -> None:
    keys["api_keys"].insert_one({**stored(keys, FIRST), "_id": FIRST + "0", "digest": b"x"})
    assert floorgate("keys", "revoke", FIRST, *storage).exit_code == 0
    assert stored(keys, FIRST)["revoked_at"]
    assert not stored(keys, FIRST + "0")["revoked_at"]


def test_the_audit_log_is_asked_by_the_beginning_of_an_id(storage: list[str], keys: Any) -> None:
    assert floorgate("keys", "update", THIRD, "--name", "web", *storage).exit_code == 0
    record = output_of(floorgate("audit", "--target", "key_cccc", "--json", *storage))
    assert record["changes"][0]["before"] == {"name": "till 2"}
    assert record["changes"][0]["after"] == {"name": "web"}
    nothing = floorgate("audit", "--target", "key_plan-of-a-map", "--json", *storage)
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert_explains(floorgate("audit", "--actor", "key_aaaa", *storage), 1, FIRST, SECOND)


@pytest.mark.parametrize(
    "command",
    [
        "create --name n --expires 2999-01-31 --asset larkspurr --asset birch",
        f"update {THIRD} --add-asset larkspurr --add-asset birch",
        f"update {THIRD} --asset larkspurr --asset birch",
    ],
)
def test_an_asset_that_does_not_exist_is_noted_with_those_that_may_be_meant(
    storage: list[str], keys: Any, command: str
) -> None:
    run = floorgate("keys", *command.split(), "--json", *storage)
    assert output_of(run)
    assert run.stderr == "Note: there is no asset 'larkspurr' yet; did you mean 'larkspur'?\n"


def test_so_are_those_of_a_rotated_key(storage: list[str], keys: Any) -> None:
    keys["api_keys"].update_one({"_id": THIRD}, {"$set": {"asset_ids": ["birhc", "zzz"]}})
    run = floorgate("keys", "rotate", THIRD, "--json", *storage)
    assert output_of(run)
    assert run.stderr == (
        "Note: there is no asset 'birhc' yet; did you mean 'birch'?\n"
        "Note: there is no asset 'zzz' yet.\n"
    )


UNITS = "query Units {\n  units {\n    data {\n      id\n    }\n  }\n}"
ASSETS = "query Assets { assets { data { id } } }"
MD5 = hashlib.md5(ASSETS.encode(), usedforsecurity=False).hexdigest()

Run = Callable[..., Result]


@pytest.fixture
def run(mongo_url: str, database_name: str, tmp_path: Path) -> Run:
    """Runs commands on a database of their own."""
    storage = storage_options(mongo_url, database_name, tmp_path)
    return lambda command, *arguments: floorgate("documents", command, *arguments, *storage)


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def listed(run: Run) -> dict[str, dict[str, Any]]:
    """The registered documents by the first of their operations."""
    documents = [json.loads(line) for line in run("list", "--json").stdout.splitlines()]
    return {document["operations"][0]: document for document in documents}


def apollo(*operations: tuple[str, str]) -> dict[str, Any]:
    """A manifest as `generate-persisted-query-manifest` writes it."""
    return {
        "format": "apollo-persisted-query-manifest",
        "version": 1,
        "operations": [
            {"id": id, "name": "Units", "type": "query", "body": body} for id, body in operations
        ],
    }


def test_a_text_has_the_digests_of_the_forms_in_which_clients_send_it(
    run: Run, tmp_path: Path
) -> None:
    spaced = "\n query Units { units { data { id } } }\n"
    path = write(tmp_path / "units.graphql", spaced)
    assert (
        run("register", path).stdout == "1 registered, 0 with new ids, 0 were registered already\n"
    )
    assert listed(run)["Units"]["ids"] == [*map(hash_document, (spaced, spaced.strip(), UNITS))]
    assert run("register", path).stdout.startswith("0 registered, 0 with new ids, 1 ")


@pytest.mark.parametrize(
    ("manifest", "further_ids"),
    [
        (apollo((hash_document(ASSETS), ASSETS)), []),
        (apollo(("assets-1", ASSETS)), ["assets-1"]),
        ({MD5: ASSETS}, [MD5]),
        ({hash_document(ASSETS): ASSETS}, []),
        ({f"sha256:{hash_document(ASSETS)}": ASSETS}, []),
    ],
)
def test_manifests_of_apollo_relay_and_codegen_are_read(
    run: Run, tmp_path: Path, manifest: Any, further_ids: list[str]
) -> None:
    run("register", write(tmp_path / "manifest.json", manifest))
    assert listed(run)["Assets"]["ids"] == [hash_document(ASSETS), *further_ids]


def test_a_directory_has_documents_and_manifests(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "app" / "units.gql", UNITS)
    write(tmp_path / "app" / "persisted-documents.json", {MD5: ASSETS})
    write(tmp_path / "app" / "readme.md", "# nothing")
    assert run("register", tmp_path / "app").stdout.startswith("2 registered")
    table = run("list").stdout
    assert MD5 in table
    assert hash_document(UNITS) in table


def test_all_errors_are_named_by_place_and_nothing_is_registered(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "app" / "good.graphql", UNITS)
    write(tmp_path / "app" / "syntax.graphql", "query {\n  units {")
    write(tmp_path / "app" / "field.graphql", "{\n  units { data { nmae } }\n  nothing\n}")
    write(tmp_path / "app" / "fragment.graphql", "fragment F on Unit { id }")
    write(tmp_path / "app" / "manifest.json", {"a b": UNITS, "0" * 64: ASSETS, "bad": "{ no }"})
    write(tmp_path / "app" / "package.json", {"version": 1})
    assert_explains(
        run("register", tmp_path / "app"),
        1,
        "syntax.graphql:2:10: Syntax Error",
        "field.graphql:2:18: Cannot query field 'nmae' on type 'Unit'. Did you mean 'name'",
        "field.graphql:3:3: Cannot query field 'nothing'",
        "fragment.graphql",
        "manifest.json: a b: the id must be",
        f"that of the document is {hash_document(ASSETS)}",
        "manifest.json: bad:1:3: Cannot query field 'no'",
        "package.json: is neither a manifest of Apollo nor",
    )
    assert run("list", "--json").stdout == ""


def test_a_directory_without_documents_is_an_error(run: Run, tmp_path: Path) -> None:
    assert_explains(run("register", tmp_path), 1, "no file ends in .graphql, .gql, .json")


def test_documents_are_removed_by_any_id(run: Run, tmp_path: Path) -> None:
    run("register", write(tmp_path / "manifest.json", {MD5: ASSETS, "units": UNITS}))
    assert run("remove", MD5).stdout == f"removed: {hash_document(ASSETS)}\n"
    assert run("remove", MD5).stdout == "no such document is registered\n"
    assert listed(run).keys() == {"Units"}
    assert run("remove").exit_code == run("remove", "x", "--all").exit_code == 2
    assert run("remove", "--all").stdout == f"removed: {hash_document(UNITS)}\n"


def create_named(storage: list[str], name: str) -> str:
    """Create a key; return its id."""
    created = output_of(floorgate("keys", "create", "--name", name, "--json", *storage))
    id: str = created["id"]
    return id


def list_records(storage: list[str], *options: str) -> list[dict[str, Any]]:
    listed = floorgate("audit", "--json", *options, *storage)
    assert listed.exit_code == 0, listed.stderr
    return [json.loads(line) for line in listed.stdout.splitlines()]


def test_records_are_listed_latest_first_and_filtered(storage: list[str]) -> None:
    ids = [create_named(storage, name) for name in ("a", "b", "c")]
    assert floorgate("keys", "revoke", ids[0], *storage).exit_code == 0
    records = list_records(storage)
    assert [(each["action"], each["target"]["ids"]) for each in records] == [
        ("key.revoked", [ids[0]]),
        *(("key.created", [id]) for id in reversed(ids)),
    ]
    at = records[1]["at"]
    actor = records[0]["actor"]["id"]
    for options, expected in (
        (["--limit", "2"], records[:2]),
        (["--limit", "0"], records),
        (["--action", "key.revoked"], records[:1]),
        (["--target", ids[0]], [records[0], records[3]]),
        (["--since", at], records[:2]),
        (["--until", at], records[2:]),
        (["--actor", actor], records),
        (["--actor", ids[0]], []),
    ):
        assert list_records(storage, *options) == expected, options


def test_the_table_says_who_did_what_from_where(storage: list[str]) -> None:
    id = create_named(storage, "[bold]till")
    table = floorgate("audit", *storage, columns=200).stdout
    [record] = list_records(storage)
    for text in (id, "key.created", "1 api_keys inserted", "cli", record["actor"]["id"]):
        assert text in table
    assert record["client_address"] in table
    assert record["at"][:19] in table


@pytest.mark.parametrize(
    ("options", "explanation"),
    [
        (["--since", "soon"], "must be an ISO 8601 time"),
        (["--until", "soon"], "must be an ISO 8601 time"),
        (["--action", "key.lost"], "must be one of attributes.assigned, "),
        (["--limit", "-1"], "--limit"),
    ],
)
def test_a_wrong_option_is_explained(
    storage: list[str], options: list[str], explanation: str
) -> None:
    assert_explains(floorgate("audit", *options, *storage), 2, explanation)
